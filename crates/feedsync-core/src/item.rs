//! The data model: items, their versions, and the histories that order them.
//!
//! An [`Item`] is an antichain: a set of [`Version`]s none of which covers another, one of them the winner. A
//! version's [`History`] is a version vector once every update has a `by`, and its topmost update is the
//! version's *dot*. The engine is generic over the payload and never reads it.

use std::sync::Arc;

use crate::bounds::{MAX_CONFLICTS, MAX_UPDATES};
use crate::counter::{Sequence, Updates};
use crate::history::History;
use crate::identifier::{By, ItemId};
use crate::timestamp::Timestamp;

/// One update of an item: `sx:history` (2.5). It has a `when`, a `by`, or both.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Update {
    sequence: Sequence,
    when: Option<Timestamp>,
    by: Option<By>,
    foreign: Option<Arc<str>>,
}

/// An update that has neither `when` nor `by` (2.5 forbids it).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an update needs a 'when', a 'by', or both (FeedSync 2.5)")]
pub struct Unsigned;

impl Update {
    /// An update; at least one of `when` and `by` is required, both are recommended.
    pub fn new(
        sequence: Sequence,
        when: Option<Timestamp>,
        by: Option<By>,
    ) -> Result<Self, Unsigned> {
        if when.is_none() && by.is_none() {
            return Err(Unsigned);
        }
        Ok(Self { sequence, when, by, foreign: None })
    }

    /// An update signed as by this project's endpoints.
    pub fn signed(sequence: Sequence, when: Timestamp, by: By) -> Self {
        Self { sequence, when: Some(when), by: Some(by), foreign: None }
    }

    /// The same update with the foreign markup of its `sx:history` (2.1 rule 7): opaque text that stays with
    /// the update and has no effect.
    #[must_use]
    pub fn with_foreign(mut self, foreign: impl Into<Arc<str>>) -> Self {
        self.foreign = Some(foreign.into());
        self
    }

    /// Position in its authoring line.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// Time of the update according to the clock of its device, which may be wrong.
    pub fn when(&self) -> Option<Timestamp> {
        self.when
    }

    /// Its authoring line.
    pub fn by(&self) -> Option<&By> {
        self.by.as_ref()
    }

    /// Foreign markup that was received with it.
    pub fn foreign(&self) -> Option<&str> {
        self.foreign.as_deref()
    }

    /// History subsumption (3.3 note 2). An update with a `by` is subsumed by one with the same `by` and an
    /// equal or greater sequence; one without, by an equal stamp without `by`.
    pub fn is_subsumed_by(&self, other: &Update) -> bool {
        match (&self.by, &other.by) {
            (Some(mine), Some(theirs)) => self.sequence <= other.sequence && mine == theirs,
            (None, None) => self.sequence == other.sequence && self.when == other.when,
            _ => false,
        }
    }

    /// Whether both are the same update: each is subsumed by the other.
    pub fn is_same(&self, other: &Update) -> bool {
        self.sequence == other.sequence && self.is_subsumed_by(other)
    }
}

/// One version of an item: its `sx:sync` data and its payload.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version<P> {
    /// Number of updates that led to it.
    pub updates: Updates,
    /// Whether this version is a tombstone.
    pub deleted: bool,
    /// `noconflicts` as the first update set it: true, false or absent, and never changed (2.4).
    pub noconflicts: Option<bool>,
    /// The updates, newest first.
    pub history: History,
    /// Content of the version.
    pub payload: P,
}

impl<P> Version<P> {
    /// The update that made this version.
    pub fn dot(&self) -> &Update {
        self.history.topmost()
    }

    /// Item subsumption (3.3 note 1): the other version covers this one's topmost update.
    pub fn is_subsumed_by(&self, other: &Version<P>) -> bool {
        other.history.covers(self.dot())
    }

    /// The same version with another payload.
    pub fn map<Q>(self, change: impl FnOnce(P) -> Q) -> Version<Q> {
        Version {
            updates: self.updates,
            deleted: self.deleted,
            noconflicts: self.noconflicts,
            history: self.history,
            payload: change(self.payload),
        }
    }
}

/// An item: its winner and the conflicting versions, a set of which no version covers another (2.4, 2.6).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Item<P> {
    /// Id, the same wherever the item is shared.
    pub id: ItemId,
    /// Version that is shown.
    pub winner: Version<P>,
    /// The other versions that are neither superseded nor resolved; a flat set in no particular order.
    pub conflicts: Vec<Version<P>>,
}

impl<P> Item<P> {
    /// All versions, the winner first.
    pub fn versions(&self) -> impl Iterator<Item = &Version<P>> + Clone {
        std::iter::once(&self.winner).chain(&self.conflicts)
    }

    /// All versions, mutable, the winner first.
    pub fn versions_mut(&mut self) -> impl Iterator<Item = &mut Version<P>> {
        std::iter::once(&mut self.winner).chain(&mut self.conflicts)
    }

    /// The conflicts in the order in which 3.3 would pick winners among them, with their indices in
    /// [`Item::conflicts`]: the same order at every endpoint.
    pub fn ranked_conflicts(&self) -> Vec<(usize, &Version<P>)> {
        fn rank<P>(version: &Version<P>) -> impl Ord + '_ {
            let dot = version.dot();
            (version.updates, dot.when(), dot.by(), dot.sequence())
        }
        let mut conflicts: Vec<_> = self.conflicts.iter().enumerate().collect();
        conflicts.sort_by(|(_, one), (_, two)| rank(*two).cmp(&rank(*one)));
        conflicts
    }

    /// Whether conflicts must not be preserved (2.4), according to the winner.
    pub fn noconflicts(&self) -> bool {
        self.winner.noconflicts == Some(true)
    }

    /// Whether any version covers this update.
    pub fn covers(&self, update: &Update) -> bool {
        self.versions().any(|version| version.history.covers(update))
    }

    /// The greatest sequence of an authoring line over all versions.
    pub fn highest(&self, by: &By) -> Option<Sequence> {
        self.versions().filter_map(|version| version.history.highest(by)).max()
    }

    /// Shortens the histories of all versions, so that together they contain at most [`MAX_UPDATES`]. An item
    /// below the limit is unchanged.
    ///
    /// The coverage of each version stays the same, unless its item has thousands of lines, or hundreds of
    /// conflicts with dozens of lines. Then the lines with the lowest sequences are removed. That may cost a
    /// conflict, never an edit.
    pub fn shorten_histories(&mut self) {
        self.versions_mut().for_each(|version| version.history.shorten(version.updates));
        let updates: usize = self.versions().map(|version| version.history.updates().len()).sum();
        if updates > MAX_UPDATES {
            let most = MAX_UPDATES / self.versions().count().min(MAX_CONFLICTS + 1);
            self.versions_mut().for_each(|version| version.history.truncate(most, version.updates));
        }
    }

    /// The same item with other payloads.
    pub fn map<Q>(self, mut change: impl FnMut(P) -> Q) -> Item<Q> {
        Item {
            id: self.id,
            winner: self.winner.map(&mut change),
            conflicts: self.conflicts.into_iter().map(|version| version.map(&mut change)).collect(),
        }
    }
}
