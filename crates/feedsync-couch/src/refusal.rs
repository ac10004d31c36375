//! Errors in CouchDB's form.

use std::fmt;

use crate::revision::RevisionError;

/// Error of a request: the status, `error` and `reason` on which clients of CouchDB depend (section 11).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", kind.error())]
pub struct Refusal {
    /// Kind of the error.
    pub kind: RefusalKind,
    /// Description of the error.
    pub reason: String,
}

/// Kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// The request is not valid.
    BadRequest,
    /// A parameter of the query cannot be parsed.
    QueryParse,
    /// The id of a document is not valid.
    IllegalDocumentId,
    /// The name of a database is not valid.
    IllegalDatabaseName,
    /// No index supports the request.
    NoUsableIndex,
    /// The definition of an index is not valid.
    InvalidIndex,
    /// The name of an index is not valid.
    InvalidIndexName,
    /// Indexes of this type are not supported.
    IndexService,
    /// The design document of an index contains functions in a language.
    InvalidDesignLanguage,
    /// A member that the request must have is missing.
    MissingKey,
    /// The request has a member that is not known.
    InvalidKey,
    /// A member must be a string.
    InvalidString,
    /// A member must be true or false.
    InvalidBoolean,
    /// A member must be an integer that is not negative.
    InvalidNonNegativeInteger,
    /// A member must be an integer greater than zero.
    InvalidPositiveInteger,
    /// The bookmark of a page has no meaning for the request.
    InvalidBookmark,
    /// The indexes to delete must be an array of names.
    InvalidBulkDocuments,
    /// The part of the list of indexes does not exist.
    InvalidListParameters,
    /// A selector must be an object.
    InvalidSelector,
    /// A sort order must be an array.
    InvalidSort,
    /// A field of a sort order is not valid.
    InvalidSortField,
    /// The fields of a sort order have different directions.
    MixedSort,
    /// A document has a member that only servers may write.
    DocumentValidation,
    /// The request has no signed-in user.
    Unauthorized,
    /// The signed-in user lacks the right.
    Forbidden,
    /// The object does not exist.
    NotFound,
    /// A database that a replication names does not exist.
    DatabaseNotFound,
    /// The resource does not support the method.
    MethodNotAllowed,
    /// No accepted media type is available.
    NotAcceptable,
    /// The document was changed since the given revision.
    Conflict,
    /// The resource exists no longer in any version.
    Gone,
    /// A database of this name exists.
    FileExists,
    /// An attachment that a document refers to does not exist.
    MissingStub,
    /// The received bytes do not have the stated digest.
    DigestMismatch,
    /// The request is too large.
    TooLarge,
    /// The body has an unsupported type.
    BadContentType,
    /// The requested range does not exist.
    RangeNotSatisfiable,
    /// The operation is not supported.
    NotImplemented,
    /// A design document is not valid.
    InvalidDesign,
    /// The values of a view cannot be reduced by a built-in function.
    BuiltinReduce,
    /// A function of a design document reduces too little.
    ReduceOverflow,
    /// A value of a view is not one of those that a built-in function reduces.
    InvalidValue,
    /// A function of a design document cannot be compiled.
    Compilation,
    /// A function of a design document was stopped, or its process failed.
    FunctionProcess,
    /// The operation timed out, or would.
    Timeout,
    /// A replication failed.
    Replication,
    /// The server is temporarily unable to respond.
    Unavailable,
    /// The server failed.
    Internal,
}

impl RefusalKind {
    /// HTTP status of the response.
    pub const fn status(self) -> u16 {
        match self {
            Self::BadRequest
            | Self::QueryParse
            | Self::IllegalDocumentId
            | Self::IllegalDatabaseName
            | Self::NoUsableIndex
            | Self::InvalidIndex
            | Self::InvalidIndexName
            | Self::InvalidDesignLanguage
            | Self::MissingKey
            | Self::InvalidKey
            | Self::InvalidString
            | Self::InvalidBoolean
            | Self::InvalidNonNegativeInteger
            | Self::InvalidPositiveInteger
            | Self::InvalidBookmark
            | Self::InvalidBulkDocuments
            | Self::InvalidSelector
            | Self::InvalidSort
            | Self::InvalidSortField
            | Self::MixedSort
            | Self::DocumentValidation
            | Self::InvalidDesign
            | Self::DigestMismatch => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound | Self::DatabaseNotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::NotAcceptable => 406,
            Self::Conflict => 409,
            Self::Gone => 410,
            Self::FileExists | Self::MissingStub => 412,
            Self::TooLarge => 413,
            Self::BadContentType => 415,
            Self::RangeNotSatisfiable => 416,
            Self::NotImplemented => 501,
            Self::BuiltinReduce
            | Self::ReduceOverflow
            | Self::InvalidValue
            | Self::Compilation
            | Self::FunctionProcess
            | Self::Timeout
            | Self::Replication
            | Self::Internal
            | Self::InvalidListParameters => 500,
            Self::Unavailable | Self::IndexService => 503,
        }
    }

    /// Name of the error in CouchDB.
    pub const fn error(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::QueryParse => "query_parse_error",
            Self::IllegalDocumentId => "illegal_docid",
            Self::IllegalDatabaseName => "illegal_database_name",
            Self::NoUsableIndex => "no_usable_index",
            Self::InvalidIndex => "invalid_index",
            Self::InvalidIndexName => "invalid_index_name",
            Self::IndexService => "required index service unavailable",
            Self::InvalidDesignLanguage => "invalid_ddoc_lang",
            Self::MissingKey => "missing_required_key",
            Self::InvalidKey => "invalid_key",
            Self::InvalidString => "invalid_string",
            Self::InvalidBoolean => "invalid_boolean",
            Self::InvalidNonNegativeInteger => "invalid_non_neg_integer",
            Self::InvalidPositiveInteger => "invalid_pos_integer",
            Self::InvalidBookmark => "invalid_bookmark",
            Self::InvalidBulkDocuments => "invalid_bulk_docs",
            Self::InvalidListParameters => "invalid_list_index_params",
            Self::InvalidSelector => "invalid_selector_json",
            Self::InvalidSort => "invalid_sort_json",
            Self::InvalidSortField => "invalid_sort_field",
            Self::MixedSort => "unsupported_mixed_sort",
            Self::DocumentValidation => "doc_validation",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::DatabaseNotFound => "db_not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::NotAcceptable => "not_acceptable",
            Self::Conflict => "conflict",
            Self::Gone => "gone",
            Self::FileExists => "file_exists",
            Self::MissingStub => "missing_stub",
            Self::DigestMismatch => "content_md5_mismatch",
            Self::TooLarge => "too_large",
            Self::BadContentType => "bad_content_type",
            Self::RangeNotSatisfiable => "requested_range_not_satisfiable",
            Self::NotImplemented => "not_implemented",
            Self::InvalidDesign => "invalid_design_doc",
            Self::BuiltinReduce => "builtin_reduce_error",
            Self::ReduceOverflow => "reduce_overflow_error",
            Self::InvalidValue => "invalid_value",
            Self::Compilation => "compilation_error",
            Self::FunctionProcess => "os_process_error",
            Self::Timeout => "timeout",
            Self::Replication => "replication_error",
            Self::Unavailable => "service_unavailable",
            Self::Internal => "internal_server_error",
        }
    }

    /// An error of this kind with a reason.
    pub fn with_reason(self, reason: impl fmt::Display) -> Refusal {
        Refusal { kind: self, reason: reason.to_string() }
    }
}

impl Refusal {
    /// A document or revision does not exist.
    pub fn missing() -> Self {
        RefusalKind::NotFound.with_reason("missing")
    }

    /// A document was deleted.
    pub fn deleted() -> Self {
        RefusalKind::NotFound.with_reason("deleted")
    }

    /// A document was changed since the given revision.
    pub fn conflict() -> Self {
        RefusalKind::Conflict.with_reason("Document update conflict.")
    }
}

impl From<RevisionError> for Refusal {
    fn from(error: RevisionError) -> Self {
        RefusalKind::BadRequest.with_reason(error)
    }
}
