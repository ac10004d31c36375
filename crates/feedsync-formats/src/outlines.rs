//! Nesting of outlines when they are written. The specifications do not define it; it is R-P11.
//!
//! Children are nested in their parents, and siblings are ordered by position and id. A child whose parent is deleted
//! or unknown is shown at the root. In each cycle the outline with the lowest id is moved to the root. The result is
//! computed and never stored. The data that determines it is small, so any number of outlines can be written with
//! short reads in that order: [`nest`] the positions of all outlines, then append each with
//! [`FeedWriter::outline`](crate::FeedWriter::outline).

use std::collections::HashMap;

use feedsync_core::{Item, ItemId, Payload};

use crate::opml::claim;

/// Maximum depth of nesting when outlines are written. Deeper ones are shown at the root.
pub(crate) const MAX_OUTLINE_DEPTH: usize = 100;

/// Order of an outline without a position: after all positions that are counted from 0, and before outlines that were
/// moved after it.
pub(crate) const UNCLAIMED: u64 = 1 << 32;

/// Properties of an item that determine the position of its outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlinePosition {
    id: ItemId,
    parent: Option<ItemId>,
    /// Claimed position. For its absence see [`UNCLAIMED`].
    position: Option<u64>,
    deleted: bool,
}

impl OutlinePosition {
    /// Returns the position that an item's winner claims.
    pub fn of(item: &Item<Payload>) -> Self {
        let claim = claim(&item.winner.payload);
        // A parent that is not a valid identifier is ignored.
        let parent = claim.parent.and_then(|parent| ItemId::new(&parent).ok());
        let deleted = item.winner.deleted;
        Self { id: item.id.clone(), parent, position: claim.position, deleted }
    }

    /// Id of the item.
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

/// An outline at its computed position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nested {
    /// Index of its `OutlinePosition`.
    pub index: usize,
    /// Number of outlines around it.
    pub depth: usize,
}

/// Returns all outlines in document order.
pub fn nest(places: &[OutlinePosition]) -> Vec<Nested> {
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
    // In reverse order, since they are pushed to a stack.
    order.sort_unstable_by_key(|&index| {
        std::cmp::Reverse((places[index].order(), &places[index].id))
    });
    let mut children = vec![Vec::new(); places.len()];
    let mut waiting = Vec::new();
    for index in order {
        match parents[index].filter(|_| depth(index, &parents) <= MAX_OUTLINE_DEPTH) {
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

/// Number of ancestors, counted up to one more than the maximum.
fn depth(index: usize, parents: &[Option<usize>]) -> usize {
    let ancestors = std::iter::successors(parents[index], |&parent| parents[parent]);
    ancestors.take(MAX_OUTLINE_DEPTH + 1).count()
}

/// Moves the lowest id of each cycle to the root.
fn break_cycles(parents: &mut [Option<usize>], places: &[OutlinePosition]) {
    // 0 if not visited, otherwise the walk that visited it first.
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
