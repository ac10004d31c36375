//! What became of items that came, one by one and together.

use feedsync_core::{ItemId, Refusal};
use feedsync_store::Collection;

/// What became of one incoming item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemOutcome {
    /// It is new here.
    Added,
    /// Everything in it was known.
    Unchanged,
    /// It superseded what was here.
    Updated,
    /// It is here, and the item has conflicts now.
    Conflict,
    /// It was not taken.
    Refused(Refusal),
}

impl ItemOutcome {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Unchanged => "unchanged",
            Self::Updated => "updated",
            Self::Conflict => "conflict",
            Self::Refused(_) => "refused",
        }
    }

    /// Whether the item was refused by a bound that may pass, so that it may be taken another time.
    pub const fn may_pass(self) -> bool {
        matches!(self, Self::Refused(Refusal::TooManyConflicts { .. }))
    }

    /// Whether something changed here.
    pub const fn changes(self) -> bool {
        matches!(self, Self::Added | Self::Updated | Self::Conflict)
    }
}

/// What became of an incoming item, by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemReport {
    /// The item.
    pub id: ItemId,
    /// What became of it.
    pub outcome: ItemOutcome,
}

/// How many items came to what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// New here.
    pub added: u64,
    /// Known already.
    pub unchanged: u64,
    /// Superseded what was here.
    pub updated: u64,
    /// Left conflicts.
    pub conflict: u64,
    /// Not taken.
    pub refused: u64,
}

impl Counts {
    /// How many of these came to what.
    pub fn of(reports: &[ItemReport]) -> Self {
        let mut counts = Self::default();
        reports.iter().for_each(|report| counts.count(report.outcome));
        counts
    }

    /// Counts one more.
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

    /// How many items changed something here.
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

/// What became of all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The collection afterwards.
    pub collection: Collection,
    /// How many came to what.
    pub counts: Counts,
    /// One a version of an item that came, in its order.
    pub items: Vec<ItemReport>,
}

impl Report {
    pub(super) fn new(collection: Collection, items: Vec<ItemReport>) -> Self {
        Self { collection, counts: Counts::of(&items), items }
    }
}
