//! Errors of a synchronisation. Everything stored before the error stays stored.

use feedsync_endpoint::EndpointError;
use feedsync_formats::ReadError;
use feedsync_store::{CollectionName, Moment, StoreError};

use feedsync_fetch::FetchError;

/// Reason for the failure of a synchronisation with a remote.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The remote could not be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The remote sent a document that cannot be read; nothing of it was used.
    #[error("{url}:{error}")]
    Document {
        /// Address of the document.
        url: String,
        /// The fault, with its position.
        error: ReadError,
    },
    /// The feed has no sync information.
    #[error("{url}: not a FeedSync feed; use import to copy its entries")]
    NotFeedSync {
        /// Address of the feed.
        url: String,
    },
    /// The response of the hub is invalid.
    #[error("{url}: {reason}")]
    Protocol {
        /// Address of the hub.
        url: String,
        /// The fault in the response.
        reason: String,
    },
    /// The remote asked not to be read before a time.
    #[error("{url}: the remote asked not to be contacted before {}", shown(*.until))]
    NotYet {
        /// Address of the remote.
        url: String,
        /// The time.
        until: Moment,
    },
    /// Only a push was requested, and the remote accepts none.
    #[error("{url}: the remote is read-only")]
    ReadOnly {
        /// Address of the remote.
        url: String,
    },
    /// The remote was removed in the meantime.
    #[error("the remote {url} of {collection} was removed in the meantime")]
    Forgotten {
        /// The collection of the remote.
        collection: CollectionName,
        /// Address of the remote.
        url: String,
    },
    /// The disk of this endpoint is full. Changes made here were still offered, if the remote accepts them.
    #[error(
        "the disk is full: changes from {url} cannot be stored here; {} from here {} sent to it",
        changes(*.offered),
        if *.offered == 1 { "was" } else { "were" }
    )]
    DiskFull {
        /// Address of the remote.
        url: String,
        /// Number of items that were offered.
        offered: u64,
    },
    /// This endpoint failed.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

impl From<StoreError> for SyncError {
    fn from(error: StoreError) -> Self {
        Self::Endpoint(error.into())
    }
}

impl SyncError {
    /// Whether the disk of this endpoint is full.
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
