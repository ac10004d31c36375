//! Outcomes of incoming items, singly and in total.

use feedsync_core::{ItemId, Refusal};
use feedsync_store::Collection;

/// Outcome of one incoming item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemOutcome {
    /// The item is new here.
    Added,
    /// All of its versions were known.
    Unchanged,
    /// It superseded the stored item.
    Updated,
    /// It was incorporated, and the item has conflicts now.
    Conflict,
    /// It was refused.
    Refused(Refusal),
}

impl ItemOutcome {
    /// Returns the name of the outcome in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Unchanged => "unchanged",
            Self::Updated => "updated",
            Self::Conflict => "conflict",
            Self::Refused(_) => "refused",
        }
    }

    /// Whether the item was refused by a bound that may pass, so that it may be accepted later.
    pub const fn may_succeed_later(self) -> bool {
        matches!(self, Self::Refused(Refusal::TooManyConflicts { .. }))
    }

    /// Whether the collection changed.
    pub const fn changes(self) -> bool {
        matches!(self, Self::Added | Self::Updated | Self::Conflict)
    }
}

/// Id and outcome of an incoming item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemReport {
    /// The item.
    pub id: ItemId,
    /// Its outcome.
    pub outcome: ItemOutcome,
}

/// Number of items by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Items that are new here.
    pub added: u64,
    /// Items that were known already.
    pub unchanged: u64,
    /// Items that superseded stored ones.
    pub updated: u64,
    /// Items that left conflicts.
    pub conflict: u64,
    /// Items that were refused.
    pub refused: u64,
}

impl Counts {
    /// Counts the outcomes of these items.
    pub fn of(reports: &[ItemReport]) -> Self {
        let mut counts = Self::default();
        reports.iter().for_each(|report| counts.count(report.outcome));
        counts
    }

    /// Counts one more outcome.
    pub fn count(&mut self, outcome: ItemOutcome) {
        let counter = match outcome {
            ItemOutcome::Added => &mut self.added,
            ItemOutcome::Unchanged => &mut self.unchanged,
            ItemOutcome::Updated => &mut self.updated,
            ItemOutcome::Conflict => &mut self.conflict,
            ItemOutcome::Refused(_) => &mut self.refused,
        };
        *counter += 1;
    }

    /// Returns the number of items that changed the collection.
    pub fn changed(self) -> u64 {
        self.added + self.updated + self.conflict
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.unchanged += other.unchanged;
        self.updated += other.updated;
        self.conflict += other.conflict;
        self.refused += other.refused;
    }
}

/// Outcome of an incorporation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The collection afterwards.
    pub collection: Collection,
    /// Number of items by outcome.
    pub counts: Counts,
    /// Number of items that changed and have conflicts afterwards, also of those that are new here.
    pub conflicted: u64,
    /// Reports of all incoming items, in their order; an item may occur once for each of its versions.
    pub items: Vec<ItemReport>,
}

impl Report {
    pub(super) fn new(collection: Collection, items: Vec<ItemReport>, conflicted: u64) -> Self {
        Self { collection, counts: Counts::of(&items), conflicted, items }
    }
}
