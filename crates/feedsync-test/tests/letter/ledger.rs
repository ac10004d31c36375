//! The edits of both sides: which ones were not superseded, and which ones left their item deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// All edits by item. An edit is identified by the title that it wrote.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    last: u32,
    made: BTreeMap<String, BTreeSet<String>>,
    superseded: BTreeSet<String>,
    deletions: BTreeSet<String>,
    time: Arc<AtomicU64>,
}

impl Ledger {
    /// Returns the title of a new edit.
    pub(crate) fn next(&mut self) -> String {
        self.last += 1;
        format!("edit {}", self.last)
    }

    /// Returns the clock of both sides, in minutes since 1 March 2026: edits of one minute have equal times.
    pub(crate) fn time(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.time)
    }

    /// Advances the clock by some minutes.
    pub(crate) fn pass(&self, minutes: u64) {
        self.time.fetch_add(minutes, Ordering::Relaxed);
    }

    /// Returns the time of the clock.
    pub(crate) fn when(&self) -> String {
        let minutes = self.time.load(Ordering::Relaxed);
        let (days, hours) = (minutes / 1_440, minutes / 60 % 24);
        format!("2026-03-{:02}T{hours:02}:{:02}:00Z", days + 1, minutes % 60)
    }

    /// Records an edit, whether it left its item deleted, and the edits that it supersedes.
    pub(crate) fn made(&mut self, id: &str, title: &str, deleted: bool, superseded: Vec<String>) {
        self.made.entry(id.to_owned()).or_default().insert(title.to_owned());
        if deleted {
            self.deletions.insert(title.to_owned());
        }
        self.superseded.extend(superseded);
    }

    /// Returns the ids of all items.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &String> {
        self.made.keys()
    }

    /// Whether an edit left its item deleted.
    pub(crate) fn is_deletion(&self, title: &str) -> bool {
        self.deletions.contains(title)
    }

    /// Returns the edits of an item that were not superseded.
    pub(crate) fn open(&self, id: &str) -> BTreeSet<String> {
        self.made[id].difference(&self.superseded).cloned().collect()
    }
}
