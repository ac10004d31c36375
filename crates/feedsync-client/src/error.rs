//! What can go wrong in a synchronisation, by culprit. What was done before stays done.

use feedsync_endpoint::EndpointError;
use feedsync_formats::ReadError;
use feedsync_store::{CollectionName, Moment, StoreError};

use crate::fetch::FetchError;

/// Why a collection could not be brought in step with a remote.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The remote, or the way to it.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// What the remote sent is not a document that can be read; nothing of it was used.
    #[error("{url}:{error}")]
    Document {
        /// Where it came from.
        url: String,
        /// What is wrong, and where.
        error: ReadError,
    },
    /// A feed without any sync information.
    #[error("{url}: not a FeedSync feed; take its entries with import")]
    NotFeedSync {
        /// Where it came from.
        url: String,
    },
    /// The hub's answer makes no sense.
    #[error("{url}: {reason}")]
    Protocol {
        /// Whose answer.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The remote asked to be left alone until then.
    #[error("{url}: the remote asked not to be read before {}", shown(*.until))]
    NotYet {
        /// Which.
        url: String,
        /// Until when.
        until: Moment,
    },
    /// Only pushing was asked for, and the remote takes no pushes.
    #[error("{url}: a feed that can only be read")]
    ReadOnly {
        /// Which.
        url: String,
    },
    /// The remote was removed meanwhile.
    #[error("{collection} has no such remote any more")]
    Forgotten {
        /// Where it was.
        collection: CollectionName,
    },
    /// The disk of this endpoint is full. What changed here was offered all the same, where the remote takes it.
    #[error(
        "the disk is full: changes from {url} cannot be stored here; {} made here {} offered to it",
        changes(*.offered),
        if *.offered == 1 { "was" } else { "were" }
    )]
    DiskFull {
        /// Address of the remote.
        url: String,
        /// Number of items that were offered.
        offered: u64,
    },
    /// This endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

impl From<StoreError> for SyncError {
    fn from(error: StoreError) -> Self {
        Self::Endpoint(error.into())
    }
}

impl SyncError {
    /// Tells whether the disk of this endpoint is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::DiskFull { .. } => true,
            Self::Endpoint(EndpointError::Store(error)) => error.is_full(),
            _ => false,
        }
    }
}

fn changes(count: u64) -> String {
    if count == 1 { "1 change".to_owned() } else { format!("{count} changes") }
}

fn shown(moment: Moment) -> String {
    moment.timestamp().map(|when| when.to_string()).unwrap_or_default()
}
