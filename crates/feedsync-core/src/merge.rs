//! Merge (3.3): combines two sets of versions of one item, without losing a version that is not superseded.
//!
//! With a `by` on every update, merging is the union of two antichains without the covered versions: it is
//! commutative, associative and idempotent. Items without `by` are merged as the specification says.

use crate::coverage::Coverage;
use crate::item::{Item, Version};

/// Effect of a merge on the local item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// There was no local item.
    Added,
    /// The result is the local item.
    Unchanged,
    /// The result differs from the local item and has no conflicts.
    Updated,
    /// The result differs from the local item and has conflicts.
    Conflict,
}

/// Two items with different ids cannot be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("only versions of one item can be merged: the ids differ")]
pub struct DifferentItems;

impl<P> Version<P> {
    /// Winner picking (3.3 note 3): whether this version beats the other. On a full tie neither does, and the
    /// one found first stays (readings 3 to 5). The sequence has no influence.
    pub fn beats(&self, other: &Version<P>) -> bool {
        let rank = |version: &Self| (version.updates, version.dot().when());
        match rank(self).cmp(&rank(other)) {
            std::cmp::Ordering::Equal => self.dot().by() > other.dot().by(),
            order => order.is_gt(),
        }
    }
}

/// Merges an incoming item into the local one, exactly as in 3.3: of two copies of one version the incoming
/// one stays (reading 2).
///
/// ```
/// # use feedsync_core::{By, Item, ItemId, Outcome, Stamp, Timestamp, merge};
/// let stamp = |by: &str| Stamp::new(Timestamp::from_unix_seconds(0).unwrap(), By::new(by).unwrap());
/// let shared = Item::create(ItemId::new("milk")?, Default::default(), &stamp("ann"), "milk")?;
/// let (mut ann, mut bob) = (shared.clone(), shared);
/// ann.update(&stamp("ann"), "oat milk".into())?;
/// bob.update(&stamp("bob"), "two milk".into())?;
/// let (merged, outcome) = merge(Some(ann), bob)?;
/// assert_eq!(outcome, Outcome::Conflict);
/// assert_eq!((merged.winner.payload, merged.conflicts[0].payload), ("two milk", "oat milk"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn merge<P: Eq>(
    local: Option<Item<P>>,
    incoming: Item<P>,
) -> Result<(Item<P>, Outcome), DifferentItems> {
    let Some(local) = local else {
        return Ok((incoming, Outcome::Added)); // step 1: as it is, conflicts included
    };
    if local.id != incoming.id {
        return Err(DifferentItems);
    }
    if local.conflicts.is_empty() && incoming.conflicts.is_empty() {
        return Ok(merge_single(local, incoming));
    }
    if leaves_unchanged(&local, &incoming) {
        return Ok((local, Outcome::Unchanged));
    }
    let merged = unite(local, incoming);
    let outcome = if merged.conflicts.is_empty() { Outcome::Updated } else { Outcome::Conflict };
    Ok((merged, outcome))
}

/// The common case without conflicts: each version covers the other or not.
fn merge_single<P: Eq>(local: Item<P>, incoming: Item<P>) -> (Item<P>, Outcome) {
    if local.winner.is_subsumed_by(&incoming.winner) {
        return if local.winner == incoming.winner {
            (local, Outcome::Unchanged)
        } else {
            (incoming, Outcome::Updated)
        };
    }
    let is_known = incoming.winner.is_subsumed_by(&local.winner);
    if is_known || (local.noconflicts() && !incoming.winner.beats(&local.winner)) {
        return (local, Outcome::Unchanged);
    }
    let merged = from_versions(local.id, vec![local.winner, incoming.winner]);
    let outcome = if merged.conflicts.is_empty() { Outcome::Updated } else { Outcome::Conflict };
    (merged, outcome)
}

/// Steps 2 to 11. The inner collection of the second pass is the remaining outer one of the first, so that of
/// two identical copies exactly one remains (reading 1).
pub(crate) fn unite<P>(local: Item<P>, incoming: Item<P>) -> Item<P> {
    let id = local.id;
    if local.conflicts.is_empty() && incoming.conflicts.is_empty() {
        if local.winner.is_subsumed_by(&incoming.winner) {
            return Item { id, winner: incoming.winner, conflicts: incoming.conflicts };
        }
        if incoming.winner.is_subsumed_by(&local.winner) {
            return Item { id, winner: local.winner, conflicts: local.conflicts };
        }
    }
    let mut ours = local.conflicts;
    ours.push(local.winner);
    let mut theirs = incoming.conflicts;
    theirs.push(incoming.winner);
    drop_covered(&mut ours, &theirs);
    drop_covered(&mut theirs, &ours);
    ours.append(&mut theirs);
    from_versions(id, ours)
}

/// Removes the versions that some of the others cover.
fn drop_covered<P>(versions: &mut Vec<Version<P>>, others: &[Version<P>]) {
    let known = Coverage::of(others.iter().map(|other| &other.history));
    versions.retain(|version| !known.covers(version.dot()));
}

/// Steps 9 to 11: the item whose winner is picked from a non-empty list of versions. The others are its
/// conflicts unless it is marked noconflicts (reading 6).
pub(crate) fn from_versions<P>(id: crate::ItemId, mut versions: Vec<Version<P>>) -> Item<P> {
    let mut best = 0;
    for index in 1..versions.len() {
        if versions[index].beats(&versions[best]) {
            best = index;
        }
    }
    let winner = versions.remove(best);
    if winner.noconflicts == Some(true) {
        versions.clear();
    }
    Item { id, winner, conflicts: versions }
}

/// Whether merging yields the local item again, decided without building the result.
fn leaves_unchanged<P: Eq>(local: &Item<P>, incoming: &Item<P>) -> bool {
    // Losers against a local winner that is marked noconflicts are dropped (step 10).
    let vanishes = |version: &Version<P>| {
        !local.winner.is_subsumed_by(version)
            && (version.is_subsumed_by(&local.winner) || !version.beats(&local.winner))
    };
    if local.noconflicts() && local.conflicts.is_empty() && incoming.versions().all(vanishes) {
        return true;
    }
    let survives = |version: &Version<P>| {
        !incoming.versions().any(|other| version.is_subsumed_by(other) && version != other)
    };
    (local.conflicts.is_empty() || !local.noconflicts())
        && local.conflicts.iter().all(|conflict| !conflict.beats(&local.winner))
        && local.versions().all(survives)
        && incoming.versions().all(|version| {
            // Either the incoming version is held here and stays, or a version that only the local item holds
            // drops it (step 8). If both are true, the held copy is dropped too; if neither is, the version
            // is new.
            let is_held = local.versions().any(|known| version == known);
            let is_dropped = local.versions().any(|known| {
                version.is_subsumed_by(known) && !incoming.versions().any(|other| known == other)
            });
            is_held != is_dropped
        })
}
