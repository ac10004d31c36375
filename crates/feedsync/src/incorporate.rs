//! Taking an incoming item into a set of items: merge (3.3) with the bounds and the quiet that an
//! endpoint needs.

use crate::coverage::Coverage;
use crate::item::{History, Item, Version};
use crate::merge::{from_versions, unite};
use crate::revision;

/// The most open conflicts an item may have; more are refused, never trimmed.
pub const MAX_CONFLICTS: usize = 256;

/// The greatest `updates` that is accepted from others: half of what there is, so that no peer can
/// use up an item's counter (R-F14).
pub const MAX_INCOMING_UPDATES: u32 = 1 << 30;

/// The most updates that the histories of an item may have together: what is done with an item takes
/// time by them.
pub const MAX_UPDATES: usize = 8_192;

/// The most versions that are looked at of an incoming item: some may be known, or cover each other.
const MOST_VERSIONS: usize = 2 * (MAX_CONFLICTS + 1);

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
    /// More than [`MAX_UPDATES`].
    #[error("the item's histories hold {updates} updates: more than {MAX_UPDATES} are refused")]
    TooManyUpdates {
        /// How many there are.
        updates: usize,
    },
    /// The item's versions together are larger than the endpoint takes.
    #[error("the item's versions have {bytes} bytes together: more than {most} are refused")]
    TooLarge {
        /// How many there are.
        bytes: usize,
        /// How many are taken.
        most: usize,
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
///
/// Beyond 3.3, so that endpoints come to rest whatever others send: versions that another version of
/// the same item covers are left out, and of a version that is here already the local payload stays,
/// with what both histories know. Items with [revisions](crate::line::REVISIONS) among their updates are joined by rules of
/// their own (`docs/mapping.md`).
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
    let updates = incoming.versions().map(|version| version.history.updates().len()).sum();
    if updates > MAX_UPDATES {
        return Incorporation::Refused(Refusal::TooManyUpdates { updates });
    }
    // Each is looked at beside each other one, and most of them would be refused as conflicts.
    let versions = incoming.conflicts.len() + 1;
    if versions > MOST_VERSIONS {
        return Incorporation::Refused(Refusal::TooManyConflicts { conflicts: versions - 1 });
    }
    let with_revisions = local.into_iter().chain([&incoming]).any(revision::is_among);
    let mut incoming = if with_revisions { incoming } else { without_stale(incoming) };
    let result = match (local, purged) {
        (Some(local), _) if knows(local, &incoming) => return Incorporation::Unchanged,
        (Some(local), _) => {
            keep_local_payloads(local, &mut incoming);
            let merged = match with_revisions {
                true => revision::join(Some(local), incoming),
                false => unite(local.clone(), incoming),
            };
            if with_revisions && revision::says_no_more(&merged, local) {
                return Incorporation::Unchanged;
            }
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
    let result = match local {
        None if with_revisions => revision::join(None, result),
        _ => result,
    };
    // What comes of a few is larger than they only where what is known of a version grows.
    let updates = match with_revisions {
        true => result.versions().map(|version| version.history.updates().len()).sum(),
        false => 0,
    };
    let conflicts = result.conflicts.len();
    if updates > MAX_UPDATES {
        Incorporation::Refused(Refusal::TooManyUpdates { updates })
    } else if conflicts > MAX_CONFLICTS {
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
    let stays = |version: &Version<P>| {
        incoming
            .versions()
            .all(|other| !version.is_subsumed_by(other) || version.dot().is_same(other.dot()))
    };
    // A dot that no version covers is by far the commonest news; it is looked for first.
    incoming.versions().all(|version| local.covers(version.dot()))
        && local.versions().all(stays)
        && knows_histories(local, incoming)
}

/// Whether every update of the incoming histories is covered by some local one.
fn knows_histories<P>(local: &Item<P>, incoming: &Item<P>) -> bool {
    let updates = || incoming.versions().flat_map(|version| version.history.updates());
    let known = Coverage::of(local.versions().map(|version| &version.history), updates().count());
    updates().all(|update| known.covers(update))
}

/// The item without versions that another of its versions covers: peers that omit step 4 of 3.2 send
/// such (reading 10).
fn without_stale<P>(item: Item<P>) -> Item<P> {
    if item.conflicts.is_empty() {
        return item;
    }
    let is_stale = |index: usize, version: &Version<P>| {
        item.versions().enumerate().any(|(other, covering)| {
            other != index
                && version.is_subsumed_by(covering)
                && (other < index || !covering.is_subsumed_by(version))
        })
    };
    if !item.versions().enumerate().any(|(index, version)| is_stale(index, version)) {
        return item;
    }
    let stale: Vec<bool> =
        item.versions().enumerate().map(|(index, version)| is_stale(index, version)).collect();
    let Item { id, winner, conflicts } = item;
    let versions = std::iter::once(winner).chain(conflicts).zip(stale);
    from_versions(id, versions.filter(|(_, stale)| !stale).map(|(version, _)| version).collect())
}

/// Gives the incoming copy of a version that is here the local payload, and both histories.
fn keep_local_payloads<P: Clone>(local: &Item<P>, incoming: &mut Item<P>) {
    for version in incoming.versions_mut() {
        let known = local.versions().find(|known| known.dot().is_same(version.dot()));
        if let Some(known) = known {
            let mut history = known.history.clone();
            history.learn(&version.history);
            version.history = history;
            version.payload = known.payload.clone();
        }
    }
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
