//! What the hub acknowledged, as it is held against it at the end.

use std::collections::{BTreeMap, BTreeSet};

/// A version that was acknowledged: whose line it extends, and how far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) id: String,
    pub(crate) by: String,
    pub(crate) sequence: u32,
    pub(crate) title: String,
}

/// What one client was told.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// All versions that were acknowledged.
    pub(crate) written: Vec<Written>,
    /// Items that this client alone edits, with the title that it was told last.
    pub(crate) own: BTreeMap<String, String>,
    /// Items of its own that it deleted, with the number of their updates.
    pub(crate) deleted: BTreeMap<String, u32>,
    /// Items that it made.
    pub(crate) made: BTreeSet<String>,
    /// Requests whose outcome nobody told.
    pub(crate) untold: usize,
    /// Requests that were refused since something newer was there.
    pub(crate) stale: usize,
}

impl Said {
    pub(crate) fn acknowledged(&self) -> usize {
        self.written.len() + self.deleted.len()
    }
}
