//! Results of a synchronization.

/// Effects of a synchronization, or of a merge of a feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyncReport {
    /// Number of items that changed here.
    pub received: u64,
    /// Number of items that changed there.
    pub sent: u64,
    /// Number of the received items that have conflicts now, also of those that are new here.
    pub conflicts: u64,
    /// Number of items that were dropped here, because the remote has purged them and nothing of this replica depends
    /// on them.
    pub discarded: u64,
    /// Items that one side refused; the others were taken. They stay here, and a warning says whether the next sync
    /// offers them again.
    pub refused: Vec<RefusedItem>,
    /// Messages for people.
    pub warnings: Vec<String>,
}

/// An item that was refused by one side of a synchronization.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedItem {
    /// Its id, if it has a legible one.
    pub id: Option<String>,
    /// Whether the remote refused it, and not this replica.
    pub by_remote: bool,
    /// Why.
    pub reason: String,
}
