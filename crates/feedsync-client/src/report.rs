//! Report of a synchronisation.

use feedsync_core::window;
use feedsync_endpoint::Counts;
use feedsync_store::{Digest, RemoteState};

/// Actions of one synchronisation, or those that a dry run would take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// Outcomes of items from the remote.
    pub pulled: Counts,
    /// Number of items from the remote that changed and have conflicts now, also of those that are new here.
    pub conflicted: u64,
    /// Number of items that were offered to the remote, or would be.
    pub offered: u64,
    /// Outcomes of these items there, as the remote reports them.
    pub pushed: Counts,
    /// Number of items that were discarded because the remote no longer has them (4.1.2); they can be
    /// recovered.
    pub discarded: u64,
    /// Number of items without `sx:sync`, which take no part (R-F38).
    pub plain: u64,
    /// Items that were refused, here or there.
    pub refused: Vec<RefusedItem>,
    /// Warnings for a person.
    pub warnings: Vec<Warning>,
    /// Number of requests.
    pub requests: u64,
    /// Number of bytes of documents that were sent.
    pub sent: u64,
    /// Number of bytes of documents that were received, before decompression.
    pub received: u64,
    /// New state of the remote.
    pub state: RemoteState,
}

/// An item that was refused; the others were accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedItem {
    /// The side that refused it.
    pub by: Side,
    /// Id of the item, if it has a legible one.
    pub id: Option<String>,
    /// The reason, with line and column where they are known.
    pub reason: String,
}

/// One end of a synchronisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// This endpoint.
    Here,
    /// The remote.
    There,
}

/// A warning about a remote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// The window of the publisher causes a warning.
    #[error(transparent)]
    Window(#[from] window::Warning),
    /// The complete feed could not be read (R-F35).
    #[error("the complete feed could not be read, so nothing was discarded: {0}")]
    Complete(String),
    /// The remote accepts no pushes. It is offered changes again when there are new ones, and after an hour.
    #[error("the remote accepts no changes from here: {0}")]
    ReadOnly(String),
    /// A feed names a hub on another server.
    #[error("the feed names a hub on another server, which is ignored: {0}")]
    Elsewhere(String),
    /// The remote began anew, or from an older state: it was offered all items held here.
    #[error("the remote was reset; all items stored here are sent to it")]
    BeganAnew,
    /// The remote refused items that it may accept at another time.
    #[error("the remote refused items; they will be sent again at the next sync")]
    OfferedAgain,
    /// A blob that items name could not be transferred.
    #[error("the blob {digest} could not be transferred: {reason}")]
    Blob {
        /// Digest of the blob.
        digest: Digest,
        /// The reason.
        reason: String,
    },
    /// Entries of a plain feed have the id of another entry and other content.
    #[error(
        "{0} entries were skipped: an earlier entry of the feed has the same id and other content"
    )]
    LeftOut(usize),
    /// Items that had `sx:sync` may now come without it (R-F38).
    #[error("{0} items are not synced, because they have no sync information")]
    PlainItems(u64),
}
