//! Storing losing versions: the `sx:conflict`s of an item (5, 5.2).

use std::cmp::Ordering;

use crate::sse::{Conflict, Item};

/// Adds a conflict to an item's list, which has one for each `by`, that of the highest version (S50,
/// S53); an equal version does not replace the existing one. Conflicts without `by` share one slot,
/// ordered by version, then `when` (S54). If another endpoint wrote several for one slot, they count
/// as one from then on, so that the order of insertions does not matter (reading 22). Returns whether
/// the list changed.
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
    /// The conflict entry for this item when it loses: its version, its `sx:history` and its content,
    /// without `sx:update`s and without its own conflicts (S52; reading 23).
    pub fn into_conflict(self) -> Conflict<P> {
        Conflict { version: self.version, stamp: self.history.latest, payload: Some(self.payload) }
    }
}
