//! Why a replication ends before all is there, by culprit.

use feedsync_couch::replication::BadAnswer;
use feedsync_couch::{Refusal, RefusalKind};
use feedsync_endpoint::documents::DocumentsError;
use feedsync_store::StoreError;
use http::StatusCode;

use crate::fetch::FetchError;

/// Why a replication ends before all is there.
#[derive(Debug, thiserror::Error)]
pub enum ReplicationError {
    /// There is no such database.
    #[error("{database}: there is no such database")]
    NoDatabase {
        /// Which.
        database: String,
    },
    /// A database refuses something.
    #[error("{database}: {refusal}")]
    Refused {
        /// Which.
        database: String,
        /// What it says.
        refusal: Refusal,
    },
    /// A server cannot be reached, or says no.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A server answers what is none of the protocol.
    #[error("{database}: {source}")]
    Answer {
        /// Which.
        database: String,
        /// What is wrong.
        source: BadAnswer,
    },
    /// A store here fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is asked for has more bytes than are wanted.
    #[error("{database}: more than {most_bytes} bytes at once")]
    TooLarge {
        /// Whose documents.
        database: String,
        /// The bound.
        most_bytes: u64,
    },
    /// Another database has taken the place of the one that was written to.
    #[error("{database}: it was restarted, or another one has taken its place; begin again")]
    Replaced {
        /// Which.
        database: String,
    },
    /// A part of it ended unexpectedly.
    #[error("a part of the replication ended unexpectedly")]
    Ended,
}

impl ReplicationError {
    /// The status of a refusal.
    pub(super) fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Refused { refusal, .. } => StatusCode::from_u16(refusal.kind.status()).ok(),
            Self::Fetch(FetchError::Status { status, .. }) => Some(*status),
            _ => None,
        }
    }

    /// Whether a refusal says why, as a database does.
    pub(super) fn is_explained(&self) -> bool {
        match self {
            Self::Refused { .. } => true,
            Self::Fetch(FetchError::Status { problem, .. }) => problem.is_some(),
            _ => false,
        }
    }

    /// Whether what was asked for was more than was wanted.
    pub fn is_too_large(&self) -> bool {
        matches!(self, Self::TooLarge { .. } | Self::Fetch(FetchError::TooLarge { .. }))
            || self.status() == Some(StatusCode::PAYLOAD_TOO_LARGE)
    }

    /// What a refusal says: one word, and in words.
    pub(super) fn said(&self) -> (String, String) {
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
