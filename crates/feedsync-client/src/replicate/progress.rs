//! What a replication does, and what came of it.

use feedsync_couch::replication::{NotWritten, Worked};

/// So many refused documents are told by name.
const MOST_REFUSED: usize = 1_000;

/// What came of a replication.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replicated {
    /// What was done.
    pub worked: Worked,
    /// Documents that were not replicated, and why; of very many, the first.
    pub refused: Vec<NotWritten>,
    /// Whether it is written down how far it is, so that it goes on there.
    pub has_checkpoints: bool,
}

impl Replicated {
    /// Adds what came of a part.
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

    /// A document was not replicated.
    pub(super) fn refuse(&mut self, refused: NotWritten) {
        self.worked.refused += 1;
        self.refused.push(refused);
    }
}

/// Is told what a replication does.
pub trait ReplicationProgress: Send + Sync {
    /// It begins; where it was interrupted, or from the beginning.
    fn begins(&self, is_resumed: bool);

    /// So many more documents changed, and so many others will be looked at, if that is known.
    fn looked(&self, documents: u64, pending: Option<u64>);

    /// A document is not replicated, and not tried again until it changes.
    fn refused(&self, refused: &NotWritten);

    /// So many more of them are there.
    fn carried(&self, documents: u64);
}
