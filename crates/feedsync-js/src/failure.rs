//! Failures of requests, by culprit.

use feedsync_core::{EditError, IdentifierError, Refusal, ResolveError};
use feedsync_formats::json::push_string;
use feedsync_formats::{PayloadError, ReadError};

/// Reason why a request changed nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The script made a request that cannot be read.
    #[error("the request is not valid: {0}")]
    Request(String),
    /// The stored text is no item.
    #[error("the stored item is damaged: {0}")]
    Damaged(String),
    /// The application gave an id that is not valid.
    #[error(transparent)]
    Id(#[from] IdentifierError),
    /// The application gave content that no item may have.
    #[error("the content is not valid: {0}")]
    Content(#[from] PayloadError),
    /// The edited version is in another format than JSON.
    #[error(
        "the item is an entry of another format: here it can be deleted, restored and resolved only"
    )]
    Format,
    /// The item allows no further edit.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The item has changed since the application read it.
    #[error("the item has changed since it was read: read its conflict again")]
    Changed,
    /// The item has no conflicts.
    #[error("the item has no conflicts")]
    NoConflicts,
    /// The item keeps no conflicts, and has changed since the application read it.
    #[error("the item has changed since it was read, and it does not keep conflicts")]
    KeepsNone,
    /// A bound of items would be exceeded.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The hub sent a document that is not valid.
    #[error("the document of the hub is not valid: {0}")]
    Document(#[from] ReadError),
}

impl From<ResolveError> for Failure {
    fn from(error: ResolveError) -> Self {
        match error {
            ResolveError::Edit(error) => Self::Edit(error),
            error => Self::Request(error.to_string()),
        }
    }
}

impl Failure {
    /// Name of the failure for programs.
    fn code(&self) -> &'static str {
        match self {
            Self::Request(_) => "request",
            Self::Damaged(_) => "damaged",
            Self::Id(_) => "id",
            Self::Content(_) | Self::Format => "content",
            Self::Edit(_) | Self::KeepsNone | Self::Refused(_) => "refused",
            Self::Changed | Self::NoConflicts => "changed",
            Self::Document(_) => "document",
        }
    }

    /// The response to a request that failed.
    pub(crate) fn response(&self) -> String {
        let mut out = String::from("{\"error\":");
        push_string(&mut out, self.code());
        out.push_str(",\"message\":");
        push_string(&mut out, &self.to_string());
        out.push('}');
        out
    }
}
