//! What is not done, and how CouchDB says so.

use std::fmt;

use crate::revision::RevisionError;

/// Why something is not done: the status, `error` and `reason` that clients of CouchDB switch on (section 11).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", kind.error())]
pub struct Refusal {
    /// What kind of refusal it is.
    pub kind: RefusalKind,
    /// What exactly is wrong, in words.
    pub reason: String,
}

/// Kinds of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// The request says something that cannot be.
    BadRequest,
    /// A parameter of the query cannot be read.
    QueryParse,
    /// A document's id is none.
    IllegalDocumentId,
    /// A database's name is none.
    IllegalDatabaseName,
    /// There is no index for what is asked.
    NoUsableIndex,
    /// A document has a member that only servers write.
    DocumentValidation,
    /// Nobody has signed in.
    Unauthorized,
    /// Who has signed in may not.
    Forbidden,
    /// It is not there.
    NotFound,
    /// The resource knows other methods.
    MethodNotAllowed,
    /// It cannot be given in any form that is accepted.
    NotAcceptable,
    /// Somebody else changed it.
    Conflict,
    /// A database of this name is there.
    FileExists,
    /// An attachment is not there that a document says was.
    MissingStub,
    /// What came is not what its digest says.
    DigestMismatch,
    /// A request is too large.
    TooLarge,
    /// A body is of another type.
    BadContentType,
    /// There are no such bytes.
    RangeNotSatisfiable,
    /// It is not done here.
    NotImplemented,
    /// It took too long, or would.
    Timeout,
    /// The server cannot at the moment.
    Unavailable,
    /// The server failed.
    Internal,
}

impl RefusalKind {
    /// The status of the answer.
    pub const fn status(self) -> u16 {
        match self {
            Self::BadRequest
            | Self::QueryParse
            | Self::IllegalDocumentId
            | Self::IllegalDatabaseName
            | Self::NoUsableIndex
            | Self::DocumentValidation
            | Self::DigestMismatch => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::NotAcceptable => 406,
            Self::Conflict => 409,
            Self::FileExists | Self::MissingStub => 412,
            Self::TooLarge => 413,
            Self::BadContentType => 415,
            Self::RangeNotSatisfiable => 416,
            Self::NotImplemented => 501,
            Self::Timeout | Self::Internal => 500,
            Self::Unavailable => 503,
        }
    }

    /// What CouchDB calls it.
    pub const fn error(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::QueryParse => "query_parse_error",
            Self::IllegalDocumentId => "illegal_docid",
            Self::IllegalDatabaseName => "illegal_database_name",
            Self::NoUsableIndex => "no_usable_index",
            Self::DocumentValidation => "doc_validation",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::NotAcceptable => "not_acceptable",
            Self::Conflict => "conflict",
            Self::FileExists => "file_exists",
            Self::MissingStub => "missing_stub",
            Self::DigestMismatch => "content_md5_mismatch",
            Self::TooLarge => "too_large",
            Self::BadContentType => "bad_content_type",
            Self::RangeNotSatisfiable => "requested_range_not_satisfiable",
            Self::NotImplemented => "not_implemented",
            Self::Timeout => "timeout",
            Self::Unavailable => "service_unavailable",
            Self::Internal => "internal_server_error",
        }
    }

    /// The refusal for this reason.
    pub fn because(self, reason: impl fmt::Display) -> Refusal {
        Refusal { kind: self, reason: reason.to_string() }
    }
}

impl Refusal {
    /// A document, or a revision of it, is not there.
    pub fn missing() -> Self {
        RefusalKind::NotFound.because("missing")
    }

    /// A document is not there any more.
    pub fn deleted() -> Self {
        RefusalKind::NotFound.because("deleted")
    }

    /// Somebody else changed a document.
    pub fn conflict() -> Self {
        RefusalKind::Conflict.because("Document update conflict.")
    }
}

impl From<RevisionError> for Refusal {
    fn from(error: RevisionError) -> Self {
        RefusalKind::BadRequest.because(error)
    }
}
