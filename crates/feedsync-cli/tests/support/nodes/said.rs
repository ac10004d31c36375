//! Record of the hub's acknowledgements, which is compared with its state at the end.

use std::collections::{BTreeMap, BTreeSet};

/// An acknowledged version: the authoring line that it extends, and its sequence number there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AcknowledgedVersion {
    pub(crate) id: String,
    pub(crate) by: String,
    pub(crate) sequence: u32,
    pub(crate) title: String,
}

/// Record of the responses to one client.
#[derive(Debug, Default)]
pub(crate) struct ResponseRecord {
    /// All acknowledged versions.
    pub(crate) written: Vec<AcknowledgedVersion>,
    /// Items that only this client edits, with the last acknowledged title.
    pub(crate) own: BTreeMap<String, String>,
    /// Deleted items of this client, with their number of updates.
    pub(crate) deleted: BTreeMap<String, u32>,
    /// Items that this client created.
    pub(crate) made: BTreeSet<String>,
    /// Number of requests with an unknown outcome.
    pub(crate) untold: usize,
    /// Number of requests that were refused because of a newer version.
    pub(crate) stale: usize,
}

impl ResponseRecord {
    pub(crate) fn acknowledged(&self) -> usize {
        self.written.len() + self.deleted.len()
    }
}
