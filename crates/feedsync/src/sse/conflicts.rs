//! Keeping what lost: the `sx:conflict`s of an item (5, 5.2).

use std::cmp::Ordering;

use crate::sse::{Conflict, Item};

/// Puts a conflict into an item's list and keeps one for each `by`, of the highest version (S50, S53);
/// an equal version leaves the one that is there. Those without `by` share one place, kept by version,
/// then `when` (S54). More than one for a place, which others may have written, count as one from then
/// on, so that the order of insertions does not matter (reading 22). True if the list changed.
pub fn add_conflict<P>(list: &mut Vec<Conflict<P>>, new: Conflict<P>) -> bool {
    let same_place = |old: &Conflict<P>| old.stamp.by() == new.stamp.by();
    let Some(first) = list.iter().position(same_place) else {
        list.push(new);
        return true;
    };
    let by_height = |x: &Conflict<P>, y: &Conflict<P>| match x.version.cmp(&y.version) {
        Ordering::Equal if x.stamp.by().is_none() => x.stamp.when().cmp(&y.stamp.when()),
        order => order,
    };
    let before = list.len();
    let mut highest = first;
    for index in first + 1..list.len() {
        if same_place(&list[index]) && by_height(&list[index], &list[highest]).is_gt() {
            highest = index;
        }
    }
    let new_is_higher = by_height(&new, &list[highest]).is_gt();
    let by = new.stamp.by().cloned();
    if new_is_higher {
        list[highest] = new;
    }
    let mut index = 0;
    list.retain(|old| {
        let keep = index == highest || old.stamp.by() != by.as_ref();
        index += 1;
        keep
    });
    new_is_higher || list.len() != before
}

impl<P> Item<P> {
    /// What is kept of this item when it loses: its version, its `sx:history` and its content, none
    /// of the `sx:update`s, none of its own conflicts (S52; reading 23).
    pub fn into_conflict(self) -> Conflict<P> {
        Conflict { version: self.version, stamp: self.history.latest, payload: Some(self.payload) }
    }
}
