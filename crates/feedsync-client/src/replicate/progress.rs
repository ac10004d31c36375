//! Progress and outcome of a replication.

use feedsync_couch::replication::{NotWritten, Worked};

/// Maximum number of refused documents that are listed.
const MOST_REFUSED: usize = 1_000;

/// Outcome of a replication.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replicated {
    /// Counts of the work done.
    pub worked: Worked,
    /// Documents that were not replicated, with the reason; if there are very many, the first of them.
    pub refused: Vec<NotWritten>,
    /// Whether checkpoints are stored, so that the next run continues there.
    pub has_checkpoints: bool,
}

impl Replicated {
    /// Adds the outcome of a part.
    pub(super) fn add(&mut self, part: Self) {
        let (worked, part_worked) = (&mut self.worked, part.worked);
        worked.checked += part_worked.checked;
        worked.missing += part_worked.missing;
        worked.read += part_worked.read;
        worked.written += part_worked.written;
        worked.refused += part_worked.refused;
        let room = MOST_REFUSED.saturating_sub(self.refused.len());
        self.refused.extend(part.refused.into_iter().take(room));
    }

    /// Records a document that was not replicated.
    pub(super) fn refuse(&mut self, refused: NotWritten) {
        self.worked.refused += 1;
        self.refused.push(refused);
    }
}

/// Receives progress reports of a replication.
pub trait ReplicationProgress: Send + Sync {
    /// The replication begins, at a checkpoint or at the beginning.
    fn begins(&self, is_resumed: bool);

    /// A number of further documents changed; `pending` is the number of others that will follow, if known.
    fn looked(&self, documents: u64, pending: Option<u64>);

    /// A document is not replicated, and not tried again until it changes.
    fn refused(&self, refused: &NotWritten);

    /// A number of further documents were transferred.
    fn carried(&self, documents: u64);
}
