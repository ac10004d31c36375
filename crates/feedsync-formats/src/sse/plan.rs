//! The decisions of a merge of two documents: for each item the winner, the changes of its `sx:sync`, and its
//! position (3, 4.4). Nothing is written yet.

use std::collections::HashMap;

use feedsync_core::sse::{
    Claim, Conflict, Item, Stamp, Tree, TreePosition, VersionNumber, cycles, merge, order, wins,
};
use feedsync_core::{Format, ItemId, Outcome, Payload};

use super::document::Document;
use super::read::Entry;

/// Document that contains the bytes of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The local document.
    Local,
    /// The incoming document.
    Incoming,
}

/// The decision about one item.
pub(super) struct Decision<'d> {
    pub(super) source: Source,
    /// The winner, in the document that contains it.
    pub(super) entry: &'d Entry,
    /// The local item, also if it lost.
    pub(super) local: Option<&'d Entry>,
    pub(super) edit: SyncEdit<'d>,
    /// New position of the item.
    pub(super) position: TreePosition,
}

/// Changes of a winner's `sx:sync`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SyncEdit<'d> {
    /// Whether `conflict="true"` is set.
    pub(super) flag: bool,
    /// The new records. `None` leaves the records unchanged.
    pub(super) records: Option<Vec<Record<'d>>>,
    /// The new claimed position. `None` leaves the claim unchanged.
    pub(super) position: Option<TreePosition>,
}

impl SyncEdit<'_> {
    pub(super) fn is_none(&self) -> bool {
        !self.flag && self.records.is_none() && self.position.is_none()
    }
}

/// A record of a version that lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Record<'d> {
    /// An existing record of the winner, by its index.
    Existing(usize),
    /// A record of the other item.
    New {
        /// Version of the item.
        version: VersionNumber,
        /// Latest change of the item.
        stamp: Stamp,
        /// Content of the item.
        payload: &'d Payload,
    },
}

/// The decisions about all items of two documents.
pub(super) struct Plan<'d> {
    pub(super) decisions: HashMap<&'d ItemId, Decision<'d>>,
    pub(super) tree: Tree,
    /// Outcome of each incoming item, in their order.
    pub(super) outcomes: Vec<(ItemId, Outcome)>,
    /// Items that were on a cycle and were moved to the root (4.4.2).
    pub(super) moved: Vec<ItemId>,
    /// Whether positions are merged and written.
    pub(super) ordered: bool,
}

/// Merges the items of two documents of one format.
pub(super) fn plan<'d>(local: &'d Document, incoming: &'d Document) -> Plan<'d> {
    let (ours, theirs) = (&local.parsed.entries, &incoming.parsed.entries);
    let places = PositionRules::new(local, incoming);
    let mut decisions: HashMap<&ItemId, Decision<'d>> = ours
        .iter()
        .map(|entry| {
            let decision = Decision {
                source: Source::Local,
                entry,
                local: Some(entry),
                edit: SyncEdit::default(),
                position: entry.position.clone(),
            };
            (&entry.item.id, decision)
        })
        .collect();
    let mut outcomes = Vec::with_capacity(theirs.len());
    for entry in theirs {
        let known = decisions.get(&entry.item.id).map(|decision| decision.entry);
        let (decision, outcome) = decide(known, entry, &places);
        outcomes.push((entry.item.id.clone(), outcome));
        decisions.insert(&entry.item.id, decision);
    }
    let moved = match local.format() {
        Format::Opml => break_cycles(&mut decisions),
        _ => Vec::new(),
    };
    let claim = |(id, decision): (&&ItemId, &Decision<'_>)| Claim {
        id: (*id).clone(),
        position: TreePosition {
            parent: decision.position.parent.clone().filter(|_| local.format() == Format::Opml),
            index: decision.position.index,
        },
    };
    let claims: Vec<Claim> = decisions.iter().map(claim).collect();
    Plan { tree: order(&claims), decisions, outcomes, moved, ordered: places.ordered }
}

/// Breaks cycles (4.4.2): moves the lowest id of each cycle to the end of the root and flags the item.
fn break_cycles(decisions: &mut HashMap<&ItemId, Decision<'_>>) -> Vec<ItemId> {
    let moved =
        cycles(decisions.iter().map(|(id, decision)| (*id, decision.position.parent.as_ref())));
    let at_root = |position: &TreePosition| {
        position.parent.as_ref().is_none_or(|id| !decisions.contains_key(id))
    };
    let indexes =
        decisions.values().map(|decision| &decision.position).filter(|position| at_root(position));
    let mut end = indexes.map(|position| position.index.saturating_add(1)).max().unwrap_or(0);
    for id in &moved {
        let Some(decision) = decisions.get_mut(id) else { continue };
        decision.position = TreePosition { parent: None, index: end };
        end = end.saturating_add(1);
        decision.edit.flag |= !decision.entry.item.conflict;
        if decision.entry.claimed {
            decision.edit.position = Some(decision.position.clone());
        }
    }
    moved
}

/// Returns an item whose contents are replaced by their locations.
fn parts(entry: &Entry) -> Item<Part<'_>> {
    let item = &entry.item;
    let record = |(index, conflict): (usize, &Conflict<Payload>)| Conflict {
        version: conflict.version,
        stamp: conflict.stamp.clone(),
        payload: Some(Part::Record(index)),
    };
    Item {
        id: item.id.clone(),
        version: item.version,
        deleted: item.deleted,
        conflict: item.conflict,
        history: item.history.clone(),
        conflicts: item.conflicts.iter().enumerate().map(record).collect(),
        payload: Part::Whole(&item.payload),
    }
}

#[derive(Clone, Copy)]
enum Part<'d> {
    Whole(&'d Payload),
    Record(usize),
}

fn decide<'d>(
    local: Option<&'d Entry>,
    incoming: &'d Entry,
    places: &PositionRules,
) -> (Decision<'d>, Outcome) {
    let taken = |edit| Decision {
        source: Source::Incoming,
        entry: incoming,
        local,
        edit,
        position: places.of_incoming(local, incoming),
    };
    let Some(known) = local else { return (taken(SyncEdit::default()), Outcome::Added) };
    let incoming_wins = wins(&incoming.item, &known.item);
    // The ids are equal, since the local item was found by the id.
    let Ok((merged, outcome)) = merge(Some(parts(known)), parts(incoming)) else {
        return (taken(SyncEdit::default()), Outcome::Unchanged);
    };
    let winner = if incoming_wins { incoming } else { known };
    let records: Vec<Record<'d>> = merged
        .conflicts
        .into_iter()
        .filter_map(|Conflict { version, stamp, payload }| {
            Some(match payload? {
                Part::Record(index) => Record::Existing(index),
                Part::Whole(payload) => Record::New { version, stamp, payload },
            })
        })
        .collect();
    let all_kept = (0..winner.item.conflicts.len()).map(Record::Existing);
    let edit = SyncEdit {
        flag: merged.conflict && !winner.item.conflict,
        records: (!all_kept.eq(records.iter().cloned())).then_some(records),
        position: None,
    };
    if incoming_wins {
        return (taken(edit), outcome);
    }
    let position = known.position.clone();
    (Decision { source: Source::Local, entry: known, local, edit, position }, outcome)
}

/// Rules for the positions of incoming items.
///
/// Outlines have positions, and so have all items if any of them has a claim. Otherwise a channel is not ordered
/// (3.1): an item keeps its position, and new ones follow the others. The index in a partial feed is meaningless and
/// is ignored; only its parents are used.
struct PositionRules {
    ordered: bool,
    partial: bool,
    after_all: u64,
}

impl PositionRules {
    fn new(local: &Document, incoming: &Document) -> Self {
        let mut entries = local.parsed.entries.iter().chain(&incoming.parsed.entries);
        Self {
            ordered: local.format() == Format::Opml || entries.any(|entry| entry.claimed),
            partial: incoming.sharing().is_some_and(|sharing| sharing.since.is_some()),
            after_all: local.parsed.entries.len() as u64,
        }
    }

    /// Whether the position of an incoming item is used.
    fn claims(&self, incoming: &Entry) -> bool {
        self.ordered && (incoming.claimed || !self.partial)
    }

    fn of_incoming(&self, local: Option<&Entry>, incoming: &Entry) -> TreePosition {
        if self.claims(incoming) {
            return incoming.position.clone();
        }
        let stays =
            |known: &&Entry| !self.ordered || known.position.parent == incoming.position.parent;
        match local.filter(stays) {
            Some(known) => known.position.clone(),
            None => TreePosition {
                parent: incoming.position.parent.clone(),
                index: incoming.position.index.saturating_add(self.after_all),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_that_changes_nothing_is_none() {
        let none = SyncEdit::default();
        assert!(none.is_none());
        let position = TreePosition { parent: None, index: 0 };
        for edit in [
            SyncEdit { flag: true, ..none.clone() },
            SyncEdit { records: Some(Vec::new()), ..none.clone() },
            SyncEdit { position: Some(position), ..none.clone() },
        ] {
            assert!(!edit.is_none(), "{edit:?}");
        }
    }
}
