//! Incorporating one item of a feed: winner, conflict detection, and the stored part of the loser (4.3,
//! 4.4, 4.4.1, 5.2).
//!
//! Every endpoint finds the same winner (S38). Flags and lists may differ. An item with equal keys is
//! skipped, so a conflict found at one endpoint need not reach the next (reading 21). A truncated
//! history hides a conflict (reading 18). This follows the specification; FeedSync was made to fix it.

use std::cmp::Ordering;

use crate::merge::{DifferentItems, Outcome};
use crate::sse::{Item, Stamp, VersionNumber, add_conflict};

fn keys<P>(item: &Item<P>) -> (VersionNumber, &Stamp) {
    (item.version, &item.history.latest)
}

/// Whether the first item wins against the second: by version, then `when`, then `by` (4.4 step 1,
/// S39). Neither wins when all three are equal.
pub fn wins<P>(item: &Item<P>, other: &Item<P>) -> bool {
    keys(item) > keys(other)
}

/// Conflict detection (4.4.1, S41 to S43): whether winner and loser were made from the same version,
/// neither knowing the other. Let n be the winner's version minus the loser's; the winner's change n
/// steps back must be the loser's latest. If the winner no longer has it, no conflict is assumed.
pub fn conflicts_with<P>(winner: &Item<P>, loser: &Item<P>) -> bool {
    let ahead = winner.version.get().saturating_sub(loser.version.get());
    winner.history.back(ahead).is_some_and(|stamp| *stamp != loser.history.latest)
}

/// Merges an incoming item into the local one of the same id (4.4).
///
/// - Equal keys: the items are identical, nothing is done (S40).
/// - Otherwise the winner is kept with its `sx:sync` unchanged (4.2). If a conflict is detected, the
///   winner is flagged and the loser is added to its conflicts (S44, S52). The loser's own conflicts
///   are dropped (reading 23).
///
/// The outcome is [`Outcome::Conflict`] if the item changed and is flagged, whichever endpoint found
/// the conflict.
pub fn merge<P>(
    local: Option<Item<P>>,
    incoming: Item<P>,
) -> Result<(Item<P>, Outcome), DifferentItems> {
    let Some(local) = local else {
        return Ok((incoming, Outcome::Added));
    };
    if local.id != incoming.id {
        return Err(DifferentItems);
    }
    let (mut winner, loser, local_wins) = match keys(&local).cmp(&keys(&incoming)) {
        Ordering::Equal => return Ok((local, Outcome::Unchanged)),
        Ordering::Greater => (local, incoming, true),
        Ordering::Less => (incoming, local, false),
    };
    let mut changed = !local_wins;
    if conflicts_with(&winner, &loser) {
        changed |= !std::mem::replace(&mut winner.conflict, true);
        changed |= add_conflict(&mut winner.conflicts, loser.into_conflict());
    }
    let outcome = match (changed, winner.conflict) {
        (false, _) => Outcome::Unchanged,
        (true, false) => Outcome::Updated,
        (true, true) => Outcome::Conflict,
    };
    Ok((winner, outcome))
}
