//! What became of a synchronisation.

use feedsync_core::window;
use feedsync_endpoint::Counts;
use feedsync_store::{Digest, RemoteState};

/// What one synchronisation did, or, in a dry run, would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// What became of the items that came from the remote.
    pub pulled: Counts,
    /// Items that were offered to the remote, or would be.
    pub offered: u64,
    /// What became of them there, as the remote says.
    pub pushed: Counts,
    /// Items dropped because the remote no longer has them (4.1.2); they can be recovered.
    pub discarded: u64,
    /// Items without `sx:sync`, which take no part (R-F38).
    pub plain: u64,
    /// Items that were not taken, here or there.
    pub refused: Vec<RefusedItem>,
    /// What a person should know.
    pub warnings: Vec<Warning>,
    /// Requests made.
    pub requests: u64,
    /// Bytes of documents sent.
    pub sent: u64,
    /// Bytes of documents received, compressed as they were.
    pub received: u64,
    /// How far we are with the remote now.
    pub state: RemoteState,
}

/// An item that was refused; the others were taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedItem {
    /// By whom.
    pub by: Side,
    /// Its id, if it has a legible one.
    pub id: Option<String>,
    /// Why, with line and column where they are known.
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

/// What a person should know of a remote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// About the publisher's window.
    #[error(transparent)]
    Window(#[from] window::Warning),
    /// The complete feed could not be read (R-F35).
    #[error("the complete feed could not be read, nothing was discarded: {0}")]
    Complete(String),
    /// The remote takes no pushes; it is remembered as read-only.
    #[error("the remote takes no changes from us: {0}")]
    ReadOnly(String),
    /// A feed names a hub on another server.
    #[error("the feed names a hub on another server, which is not followed: {0}")]
    Elsewhere(String),
    /// It began anew, or from an older state: it was offered all that we hold.
    #[error("the remote began anew; it is offered everything that is held here")]
    BeganAnew,
    /// It refused items that it may take another time.
    #[error("the remote refused items; they are offered again at the next synchronisation")]
    OfferedAgain,
    /// A blob that items name could not be moved.
    #[error("the blob {digest} could not be moved: {reason}")]
    Blob {
        /// Which.
        digest: Digest,
        /// Why.
        reason: String,
    },
    /// Entries of a plain feed have the id of another entry and say something else.
    #[error("{0} entries left out: an earlier one of the feed has the same id and other content")]
    LeftOut(usize),
    /// Items that had `sx:sync` may now come without (R-F38).
    #[error("{0} items take no part, as they have no sync information")]
    PlainItems(u64),
}
