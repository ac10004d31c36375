//! Local changes: creation (4.1) and update, deletion, resolution (4.2, 5).

use crate::identifier::ItemId;
use crate::sse::{History, Item, Stamp, VersionNumber};

/// A local change of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change<P> {
    /// The new content; `None` leaves it as it is.
    pub payload: Option<P>,
    /// Whether this is a deletion. Any other change of a tombstone restores the item (S36), unlike in
    /// FeedSync.
    pub deleted: bool,
    /// This endpoint and the current time.
    pub stamp: Stamp,
    /// Number of the newest `sx:update`s to keep; `None` keeps all (4.2 step 2.3, S34). Fewer than the
    /// changes that a peer may have missed hide conflicts (reading 18).
    pub keep: Option<usize>,
}

/// Error: the item is at version 2^64-1 and cannot be changed any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the item has version {}, which is the highest possible", u64::MAX)]
pub struct VersionExhausted;

impl<P> Item<P> {
    /// A new item (4.1, S31): version 1, one change, no conflict. The caller ensures that the id is
    /// unique.
    pub fn create(id: ItemId, payload: P, stamp: Stamp) -> Self {
        Self {
            id,
            version: VersionNumber::FIRST,
            deleted: false,
            conflict: false,
            history: History { latest: stamp, updates: Vec::new() },
            conflicts: Vec::new(),
            payload,
        }
    }

    /// A local update, move, deletion, undeletion or resolution (4.2, S32 to S37). The version
    /// increases by one, and the previous change becomes the first of the `sx:update`s. The conflict
    /// flag and all stored conflicts are removed, even if no user has seen them (reading 24).
    pub fn change(&mut self, change: Change<P>) -> Result<(), VersionExhausted> {
        self.version = self.version.next().ok_or(VersionExhausted)?;
        let previous = std::mem::replace(&mut self.history.latest, change.stamp);
        self.history.updates.insert(0, previous);
        if let Some(keep) = change.keep {
            self.history.updates.truncate(keep);
        }
        self.deleted = change.deleted;
        self.conflict = false;
        self.conflicts.clear();
        if let Some(payload) = change.payload {
            self.payload = payload;
        }
        Ok(())
    }
}
