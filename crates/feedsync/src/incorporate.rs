//! Taking an incoming item into a set of items: merge (3.3) with the bounds and the quiet that an
//! endpoint needs.

use crate::item::{History, Item, Version};
use crate::merge::{from_versions, unite};

/// The most open conflicts an item may have; more are refused, never trimmed.
pub const MAX_CONFLICTS: usize = 256;

/// The greatest `updates` that is accepted from others: half of what there is, so that no peer can
/// use up an item's counter (R-F14).
pub const MAX_INCOMING_UPDATES: u32 = 1 << 30;

/// What incorporating an item came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incorporation<P> {
    /// There was no such item: here it is.
    Added(Item<P>),
    /// Every update of the incoming item was known: the local bytes stay (R-F13).
    Unchanged,
    /// The item that replaces the local one; it has no conflicts.
    Updated(Item<P>),
    /// The item that replaces the local one; it has conflicts.
    Conflict(Item<P>),
    /// Nothing was changed, for this reason.
    Refused(Refusal),
}

/// Why an item is not incorporated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// `updates` above [`MAX_INCOMING_UPDATES`].
    #[error("updates is {updates}: more than {MAX_INCOMING_UPDATES} is refused")]
    UpdatesTooHigh {
        /// The value that came.
        updates: u32,
    },
    /// The result would have more than [`MAX_CONFLICTS`] conflicts.
    #[error(
        "the item would have {conflicts} conflicts: more than {MAX_CONFLICTS} are refused; resolve some first"
    )]
    TooManyConflicts {
        /// How many there would be.
        conflicts: usize,
    },
}

/// Incorporates an incoming item.
///
/// `purged` is what an item that was purged here left behind: versions it covers are known, so that no
/// deletion comes back from the dead.
pub fn incorporate<P: Clone>(
    local: Option<&Item<P>>,
    purged: Option<&History>,
    incoming: Item<P>,
) -> Incorporation<P> {
    if let Some(version) =
        incoming.versions().find(|version| version.updates.get() > MAX_INCOMING_UPDATES)
    {
        return Incorporation::Refused(Refusal::UpdatesTooHigh { updates: version.updates.get() });
    }
    let result = match (local, purged) {
        (Some(local), _) if knows(local, &incoming) => return Incorporation::Unchanged,
        (Some(local), _) => {
            let merged = unite(local.clone(), incoming);
            if merged.noconflicts() && is_same(local, &merged) {
                return Incorporation::Unchanged; // the loser vanished (3.3 step 10)
            }
            merged
        }
        (None, None) => incoming,
        (None, Some(purged)) => match without_covered(incoming, purged) {
            Some(item) => item,
            None => return Incorporation::Unchanged,
        },
    };
    let conflicts = result.conflicts.len();
    if conflicts > MAX_CONFLICTS {
        Incorporation::Refused(Refusal::TooManyConflicts { conflicts })
    } else if local.is_none() {
        Incorporation::Added(result)
    } else if conflicts == 0 {
        Incorporation::Updated(result)
    } else {
        Incorporation::Conflict(result)
    }
}

/// Checks the bound on conflicts after an edit that may have added one.
pub fn check_conflicts<P>(item: &Item<P>) -> Result<(), Refusal> {
    match item.conflicts.len() {
        conflicts if conflicts > MAX_CONFLICTS => Err(Refusal::TooManyConflicts { conflicts }),
        _ => Ok(()),
    }
}

/// Whether merging would tell us nothing: every incoming update is covered, and every version of ours
/// that the incoming item covers is one that it holds too.
fn knows<P>(local: &Item<P>, incoming: &Item<P>) -> bool {
    let is_known = |version: &Version<P>| {
        local.versions().any(|known| version.is_subsumed_by(known))
            && version.history.updates().iter().all(|update| local.covers(update))
    };
    let stays = |version: &Version<P>| {
        incoming
            .versions()
            .all(|other| !version.is_subsumed_by(other) || version.dot().is_same(other.dot()))
    };
    incoming.versions().all(is_known) && local.versions().all(stays)
}

/// Whether both are one version, and the same.
fn is_same<P>(a: &Item<P>, b: &Item<P>) -> bool {
    a.conflicts.is_empty() && b.conflicts.is_empty() && a.winner.dot().is_same(b.winner.dot())
}

/// The versions of an item that a purged item's history does not cover.
fn without_covered<P>(item: Item<P>, purged: &History) -> Option<Item<P>> {
    let Item { id, winner, conflicts } = item;
    let versions: Vec<_> = std::iter::once(winner)
        .chain(conflicts)
        .filter(|version| !purged.covers(version.dot()))
        .collect();
    if versions.is_empty() { None } else { Some(from_versions(id, versions)) }
}
