//! Errors that end a replication early.

use feedsync_couch::replication::InvalidResponse;
use feedsync_couch::{Refusal, RefusalKind};
use feedsync_endpoint::documents::DocumentsError;
use feedsync_store::StoreError;
use http::StatusCode;

use feedsync_fetch::FetchError;

/// Reason why a replication ended early.
#[derive(Debug, thiserror::Error)]
pub enum ReplicationError {
    /// The database does not exist.
    #[error("{database}: there is no such database")]
    NoDatabase {
        /// Name of the database.
        database: String,
    },
    /// A database refused a request.
    #[error("{database}: {refusal}")]
    Refused {
        /// Name of the database.
        database: String,
        /// The refusal.
        refusal: Refusal,
    },
    /// A server could not be reached, or returned an error.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The response of a server violates the protocol.
    #[error("{database}: {source}")]
    Answer {
        /// Name of the database.
        database: String,
        /// The fault in it.
        source: InvalidResponse,
    },
    /// A local store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The requested documents exceed the limit.
    #[error("{database}: the response is larger than {most_bytes} bytes")]
    TooLarge {
        /// Name of the database.
        database: String,
        /// The limit in bytes.
        most_bytes: u64,
    },
    /// The database that was written to was replaced by another one.
    #[error(
        "{database}: the database was restarted or replaced during the replication; start the \
         replication again"
    )]
    Replaced {
        /// Name of the database.
        database: String,
    },
    /// A task of the replication ended unexpectedly.
    #[error("internal error: a task of the replication ended unexpectedly")]
    Ended,
}

impl ReplicationError {
    /// Returns the HTTP status of a refusal.
    pub(super) fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Refused { refusal, .. } => StatusCode::from_u16(refusal.kind.status()).ok(),
            Self::Fetch(FetchError::Status { status, .. }) => Some(*status),
            _ => None,
        }
    }

    /// Whether a refusal has a reason in the form of databases.
    pub(super) fn is_explained(&self) -> bool {
        match self {
            Self::Refused { .. } => true,
            Self::Fetch(FetchError::Status { problem, .. }) => problem.is_some(),
            _ => false,
        }
    }

    /// Whether a request was refused because it, or its response, is too large.
    pub fn is_too_large(&self) -> bool {
        matches!(self, Self::TooLarge { .. } | Self::Fetch(FetchError::TooLarge { .. }))
            || self.status() == Some(StatusCode::PAYLOAD_TOO_LARGE)
    }

    /// Returns the error name and the reason of a refusal.
    pub(super) fn describe(&self) -> (String, String) {
        match self {
            Self::Refused { refusal, .. } => {
                (refusal.kind.error().to_owned(), refusal.reason.to_string())
            }
            Self::Fetch(FetchError::Status { problem: Some(problem), status, .. }) => {
                let error = problem.title.clone().unwrap_or_else(|| status.to_string());
                (error, problem.to_string())
            }
            Self::TooLarge { .. } | Self::Fetch(FetchError::TooLarge { .. }) => {
                (RefusalKind::TooLarge.error().to_owned(), self.to_string())
            }
            Self::Fetch(FetchError::Status { status, .. }) => {
                (status.as_str().to_owned(), self.to_string())
            }
            other => ("bad_answer".to_owned(), other.to_string()),
        }
    }
}

impl From<(DocumentsError, &str)> for ReplicationError {
    fn from((error, database): (DocumentsError, &str)) -> Self {
        match error {
            DocumentsError::Refused(refusal) => {
                Self::Refused { database: database.to_owned(), refusal }
            }
            DocumentsError::Store(StoreError::NoDatabase(_)) => {
                Self::NoDatabase { database: database.to_owned() }
            }
            DocumentsError::Store(error) => error.into(),
        }
    }
}
