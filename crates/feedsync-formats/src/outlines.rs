//! How outlines nest when they are written, which is ours, not the texts' (R-P11).
//!
//! Children nest in their parents, siblings by position and id. A child whose parent is deleted or
//! unknown shows at the root, and of each cycle the lowest id does: computed here, never stored. What
//! decides it of an item is small, so that outlines of any number of bytes are written from short
//! reads in that order: [`nest`] the places of all, then append each with
//! [`FeedWriter::outline`](crate::FeedWriter::outline).

use std::collections::HashMap;

use feedsync_core::{Item, ItemId, Payload};

use crate::opml::claim;

/// Outlines are nested at most this deep when written; deeper ones show at the root.
pub(crate) const DEEPEST: usize = 100;

/// Order of an outline that claims no position: after all that are counted from 0, and before those that were moved
/// behind it.
pub(crate) const UNCLAIMED: u64 = 1 << 32;

/// What of an item decides where its outline shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlinePlace {
    id: ItemId,
    parent: Option<ItemId>,
    /// Absent if it claims none: see [`UNCLAIMED`].
    position: Option<u64>,
    deleted: bool,
}

impl OutlinePlace {
    /// The place that an item's winner claims.
    pub fn of(item: &Item<Payload>) -> Self {
        let claim = claim(&item.winner.payload);
        // What is no identifier is nobody's.
        let parent = claim.parent.and_then(|parent| ItemId::new(&parent).ok());
        let deleted = item.winner.deleted;
        Self { id: item.id.clone(), parent, position: claim.position, deleted }
    }

    /// Whose place it is.
    pub fn id(&self) -> &ItemId {
        &self.id
    }

    pub(crate) fn parent(&self) -> Option<&ItemId> {
        self.parent.as_ref()
    }

    /// Order among its siblings.
    pub(crate) fn order(&self) -> u64 {
        self.position.unwrap_or(UNCLAIMED)
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.deleted
    }
}

/// An outline where it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nested {
    /// Which of the places it has.
    pub index: usize,
    /// How many outlines it is in.
    pub depth: usize,
}

/// All outlines in the order of the document.
pub fn nest(places: &[OutlinePlace]) -> Vec<Nested> {
    let index: HashMap<&ItemId, usize> =
        places.iter().enumerate().map(|(index, place)| (&place.id, index)).collect();
    let mut parents: Vec<Option<usize>> = places
        .iter()
        .map(|place| {
            let parent = *index.get(place.parent.as_ref()?)?;
            (!places[parent].deleted).then_some(parent)
        })
        .collect();
    drop(index);
    break_cycles(&mut parents, places);
    let mut order: Vec<usize> = (0..places.len()).collect();
    // Backwards, for a stack.
    order.sort_unstable_by_key(|&index| {
        std::cmp::Reverse((places[index].order(), &places[index].id))
    });
    let mut children = vec![Vec::new(); places.len()];
    let mut waiting = Vec::new();
    for index in order {
        match parents[index].filter(|_| depth(index, &parents) <= DEEPEST) {
            Some(parent) => children[parent].push(index),
            None => waiting.push(Nested { index, depth: 0 }),
        }
    }
    let mut nested = Vec::with_capacity(places.len());
    while let Some(next) = waiting.pop() {
        let inside = children[next.index].iter();
        waiting.extend(inside.map(|&index| Nested { index, depth: next.depth + 1 }));
        nested.push(next);
    }
    nested
}

/// How many ancestors there are, counted no further than matters.
fn depth(index: usize, parents: &[Option<usize>]) -> usize {
    let ancestors = std::iter::successors(parents[index], |&parent| parents[parent]);
    ancestors.take(DEEPEST + 1).count()
}

/// Lifts the lowest id of each cycle to the root.
fn break_cycles(parents: &mut [Option<usize>], places: &[OutlinePlace]) {
    // 0: not seen, otherwise the walk that saw it first.
    let mut seen = vec![0usize; parents.len()];
    for start in 0..parents.len() {
        let walk = start + 1;
        let mut at = Some(start);
        while let Some(index) = at {
            if seen[index] == walk {
                let cycle = std::iter::successors(parents[index], |&next| {
                    (next != index).then(|| parents[next]).flatten()
                });
                let lowest = cycle.min_by_key(|&member| &places[member].id);
                if let Some(lowest) = lowest {
                    parents[lowest] = None;
                }
                break;
            }
            if seen[index] != 0 {
                break;
            }
            seen[index] = walk;
            at = parents[index];
        }
    }
}
