//! Progress and outcome of a replication.

use feedsync_couch::replication::{RejectedDocument, ReplicationStats, UpdateSequence};

/// Maximum number of refused documents that are listed.
const MAX_NAMED_REFUSALS: usize = 1_000;

/// Outcome of a replication.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replicated {
    /// Counts of the work done.
    pub stats: ReplicationStats,
    /// Documents that were not replicated, with the reason; if there are very many, the first of them.
    pub refused: Vec<RejectedDocument>,
    /// Whether checkpoints are stored, so that the next run continues there.
    pub has_checkpoints: bool,
    /// Position in the changes of the source at which the replication began, if it did.
    pub began_at: Option<UpdateSequence>,
    /// Position up to which everything is replicated.
    pub reached: Option<UpdateSequence>,
}

impl Replicated {
    /// Adds the outcome of a part.
    pub(super) fn add(&mut self, part: Self) {
        let (stats, part_worked) = (&mut self.stats, part.stats);
        stats.checked += part_worked.checked;
        stats.missing += part_worked.missing;
        stats.read += part_worked.read;
        stats.written += part_worked.written;
        stats.refused += part_worked.refused;
        let room = MAX_NAMED_REFUSALS.saturating_sub(self.refused.len());
        self.refused.extend(part.refused.into_iter().take(room));
    }

    /// Records a document that was not replicated.
    pub(super) fn refuse(&mut self, refused: RejectedDocument) {
        self.stats.refused += 1;
        self.refused.push(refused);
    }
}

/// Receives progress reports of a replication.
pub trait ReplicationProgress: Send + Sync {
    /// The replication begins, at a checkpoint or at the beginning.
    fn begins(&self, is_resumed: bool);

    /// A number of further documents changed; `pending` is the number of others that will follow, if known.
    fn examined(&self, documents: u64, pending: Option<u64>);

    /// A document is not replicated, and not tried again until it changes.
    fn refused(&self, refused: &RejectedDocument);

    /// A number of further documents were transferred.
    fn replicated(&self, documents: u64);

    /// Everything up to a position was replicated, with these statistics.
    fn reached(&self, place: &UpdateSequence, stats: ReplicationStats) {
        let _ = (place, stats);
    }
}
