//! The expected end: edits of each item that were not superseded or resolved.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_core::ItemId;

/// Number of an edit; every edit writes its own number as content.
pub(crate) type EditNumber = u32;

#[derive(Debug, Default)]
struct Edits {
    made: BTreeSet<EditNumber>,
    superseded: BTreeSet<EditNumber>,
    /// Edits that were made on each one, by an author who had seen it.
    next: BTreeMap<EditNumber, BTreeSet<EditNumber>>,
}

/// All edits ever made, and the edits that each one had seen.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    last: EditNumber,
    items: BTreeMap<ItemId, Edits>,
    deletions: BTreeSet<EditNumber>,
}

impl Truth {
    /// Returns the number of a new edit.
    pub(crate) fn next(&mut self) -> EditNumber {
        self.last += 1;
        self.last
    }

    /// Returns the number of the latest edit.
    pub(crate) fn last(&self) -> EditNumber {
        self.last
    }

    /// Records an edit by an author who had seen these versions and decided about them.
    pub(crate) fn made(
        &mut self,
        item: &ItemId,
        edit: EditNumber,
        seen: impl IntoIterator<Item = EditNumber>,
        deletion: bool,
    ) {
        let edits = self.items.entry(item.clone()).or_default();
        edits.made.insert(edit);
        for seen in seen {
            edits.superseded.insert(seen);
            edits.next.entry(seen).or_default().insert(edit);
        }
        if deletion {
            self.deletions.insert(edit);
        }
    }

    /// Returns every item that ever existed.
    pub(crate) fn items(&self) -> impl Iterator<Item = &ItemId> {
        self.items.keys()
    }

    /// Returns the edits of an item that were not superseded.
    pub(crate) fn open(&self, item: &ItemId) -> BTreeSet<EditNumber> {
        self.items
            .get(item)
            .map(|edits| edits.made.difference(&edits.superseded).copied().collect())
            .unwrap_or_default()
    }

    /// Returns all edits of an item that supersede one: edits made on it, on those, and so on.
    pub(crate) fn later(&self, item: &ItemId, edit: EditNumber) -> BTreeSet<EditNumber> {
        let Some(edits) = self.items.get(item) else { return BTreeSet::new() };
        let (mut later, mut unexplored) = (BTreeSet::new(), vec![edit]);
        while let Some(edit) = unexplored.pop() {
            for next in edits.next.get(&edit).into_iter().flatten() {
                if later.insert(*next) {
                    unexplored.push(*next);
                }
            }
        }
        later
    }

    /// Whether an edit left its item deleted.
    pub(crate) fn is_deletion(&self, edit: EditNumber) -> bool {
        self.deletions.contains(&edit)
    }
}
