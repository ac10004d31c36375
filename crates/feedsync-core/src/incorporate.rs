//! Incorporating an incoming item into a set of items: the merge (3.3), with limits, and without changes
//! where nothing is new.

use crate::bounds::{MAX_CONFLICTS, MAX_INCOMING_UPDATES, MAX_READ_UPDATES};
use crate::coverage::covers_all;
use crate::history::History;
use crate::item::{Item, Version};
use crate::merge::{from_versions, unite};
use crate::revision;

/// Maximum number of versions of an incoming item: some may be known, or cover each other.
const MAX_VERSIONS: usize = 2 * (MAX_CONFLICTS + 1);

/// Result of incorporating an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incorporation<P> {
    /// The new item; there was none with its id.
    Added(Item<P>),
    /// Every update of the incoming item was known: the local bytes stay (R-F13).
    Unchanged,
    /// Item that replaces the local one; it has no conflicts.
    Updated(Item<P>),
    /// Item that replaces the local one; it has conflicts.
    Conflict(Item<P>),
    /// Nothing was changed, for this reason.
    Refused(Refusal),
}

/// Reason why an item is not incorporated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// `updates` above [`MAX_INCOMING_UPDATES`].
    #[error("updates is {updates}, more than the limit of {MAX_INCOMING_UPDATES}")]
    UpdatesTooHigh {
        /// The received value.
        updates: u32,
    },
    /// More than [`MAX_READ_UPDATES`].
    #[error(
        "the histories of the item have {updates} updates, more than the limit of \
         {MAX_READ_UPDATES}"
    )]
    TooManyUpdates {
        /// Number of updates.
        updates: usize,
    },
    /// The total size of the item's versions exceeds the endpoint's limit.
    #[error("the versions of the item have {bytes} bytes together, more than the limit of {most}")]
    TooLarge {
        /// Size in bytes.
        bytes: usize,
        /// Limit in bytes.
        most: usize,
    },
    /// The result would have more than [`MAX_CONFLICTS`] conflicts.
    #[error(
        "the item would have {conflicts} conflicts, more than the limit of {MAX_CONFLICTS}; \
         resolve some first"
    )]
    TooManyConflicts {
        /// Number of conflicts of the result.
        conflicts: usize,
    },
}

/// Incorporates an incoming item.
///
/// `purged` is the history of a purged item: versions that it covers count as known, so that deleted content
/// does not return, also where the item has returned in another version.
///
/// There are additional rules beyond 3.3, so that endpoints converge whatever others send. Versions that
/// another version of the same item covers are left out. A version that is stored already keeps its local
/// payload, with the updates of both histories. Items with [revisions](crate::line::REVISIONS) among their
/// updates are merged by separate rules (`docs/mapping.md`). Histories are shortened before the limits are
/// checked.
pub fn incorporate<P: Clone>(
    local: Option<&Item<P>>,
    purged: Option<&History>,
    incoming: Item<P>,
) -> Incorporation<P> {
    if let Err(refusal) = check_incoming(&incoming) {
        return Incorporation::Refused(refusal);
    }
    let mut incoming = incoming;
    incoming.shorten_histories();
    let outcome = join(local, purged, incoming, Item::shorten_histories);
    match &outcome {
        Incorporation::Added(item)
        | Incorporation::Updated(item)
        | Incorporation::Conflict(item) => {
            check_bounds(item, local).map_or_else(Incorporation::Refused, |()| outcome)
        }
        Incorporation::Unchanged | Incorporation::Refused(_) => outcome,
    }
}

/// Incorporates an incoming item without any limit, and with complete histories. It is for documents in
/// files: merging them needs no protection of an endpoint, and accepts everything that 2.4 allows.
pub fn incorporate_unbounded<P: Clone>(
    local: Option<&Item<P>>,
    incoming: Item<P>,
) -> Incorporation<P> {
    join(local, None, incoming, |_| ())
}

/// Joins both sides; the result is shortened before it is compared with the local item.
fn join<P: Clone>(
    local: Option<&Item<P>>,
    purged: Option<&History>,
    incoming: Item<P>,
    shorten: impl Fn(&mut Item<P>),
) -> Incorporation<P> {
    let with_revisions = local.into_iter().chain([&incoming]).any(revision::is_among);
    let mut incoming = if with_revisions { incoming } else { without_stale(incoming) };
    // Of an item that is here, documents are joined as their revisions say.
    if let Some(purged) = purged.filter(|_| local.is_none() || !with_revisions) {
        match without_covered(incoming, purged, local) {
            Some(item) => incoming = item,
            None => return Incorporation::Unchanged,
        }
    }
    let mut result = match local {
        Some(local) if knows(local, &incoming) => return Incorporation::Unchanged,
        Some(local) => {
            keep_local_payloads(local, &mut incoming);
            let merged = match with_revisions {
                true => revision::join(Some(local), incoming),
                false => unite(local.clone(), incoming),
            };
            if merged.noconflicts() && is_same(local, &merged) {
                return Incorporation::Unchanged; // the loser was dropped (3.3 step 10)
            }
            merged
        }
        None => incoming,
    };
    if local.is_none() && with_revisions {
        result = revision::join(None, result);
    }
    shorten(&mut result);
    match local {
        None => Incorporation::Added(result),
        Some(local) if revision::adds_nothing(&result, local) => Incorporation::Unchanged,
        Some(_) if result.conflicts.is_empty() => Incorporation::Updated(result),
        Some(_) => Incorporation::Conflict(result),
    }
}

/// Checks the limits on an incoming item before it is merged. They limit the work.
fn check_incoming<P>(incoming: &Item<P>) -> Result<(), Refusal> {
    check_counters(incoming, None)?;
    let updates = incoming.versions().map(|version| version.history.updates().len()).sum();
    if updates > MAX_READ_UPDATES {
        return Err(Refusal::TooManyUpdates { updates });
    }
    // Each conflict is compared with each other one, and most of them would be refused.
    match incoming.conflicts.len() {
        conflicts if conflicts >= MAX_VERSIONS => Err(Refusal::TooManyConflicts { conflicts }),
        _ => Ok(()),
    }
}

/// Checks the limits on an item, whether it was received or created here: a peer of this version accepts each
/// item that passes. Histories need no check, since they are shortened. An item that was above a limit
/// `before` may stay so.
pub fn check_bounds<P>(item: &Item<P>, before: Option<&Item<P>>) -> Result<(), Refusal> {
    check_counters(item, before)?;
    let most = before.map_or(0, |before| before.conflicts.len()).max(MAX_CONFLICTS);
    match item.conflicts.len() {
        conflicts if conflicts > most => Err(Refusal::TooManyConflicts { conflicts }),
        _ => Ok(()),
    }
}

fn check_counters<P>(item: &Item<P>, before: Option<&Item<P>>) -> Result<(), Refusal> {
    let highest = |item: &Item<P>| item.versions().map(|version| version.updates.get()).max();
    let most = before.and_then(highest).unwrap_or(0).max(MAX_INCOMING_UPDATES);
    match highest(item) {
        Some(updates) if updates > most => Err(Refusal::UpdatesTooHigh { updates }),
        _ => Ok(()),
    }
}

/// Whether merging would add nothing: every incoming update is covered, and every local version that the
/// incoming item covers is also contained in it.
fn knows<P>(local: &Item<P>, incoming: &Item<P>) -> bool {
    let stays = |version: &Version<P>| {
        incoming
            .versions()
            .all(|other| !version.is_subsumed_by(other) || version.dot().is_same(other.dot()))
    };
    // A dot that no version covers is by far the most common case of a new update, so it is checked first.
    covers_all(
        local.versions().map(|version| &version.history),
        incoming.versions().map(Version::dot),
    ) && local.versions().all(stays)
        && knows_histories(local, incoming)
}

/// Whether local histories cover every update of the incoming ones.
fn knows_histories<P>(local: &Item<P>, incoming: &Item<P>) -> bool {
    let updates = incoming.versions().flat_map(|version| version.history.updates());
    covers_all(local.versions().map(|version| &version.history), updates)
}

/// The item without versions that another of its versions covers. Peers that omit step 4 of 3.2 send such
/// versions (reading 10).
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

/// Gives the incoming copy of a stored version the local payload, and both histories.
fn keep_local_payloads<P: Clone>(local: &Item<P>, incoming: &mut Item<P>) {
    for version in incoming.versions_mut() {
        let known = local.versions().find(|known| known.dot().is_same(version.dot()));
        if let Some(known) = known {
            let mut history = known.history.clone();
            history.merge_missing(&version.history);
            version.history = history;
            version.payload = known.payload.clone();
        }
    }
}

/// Whether both have one version, and it is the same.
fn is_same<P>(a: &Item<P>, b: &Item<P>) -> bool {
    a.conflicts.is_empty() && b.conflicts.is_empty() && a.winner.dot().is_same(b.winner.dot())
}

/// The versions of an item that a purged item's history does not cover, and those that supersede what is here.
fn without_covered<P>(item: Item<P>, purged: &History, local: Option<&Item<P>>) -> Option<Item<P>> {
    let supersedes = |version: &Version<P>| {
        local.is_some_and(|local| local.versions().any(|known| known.is_subsumed_by(version)))
    };
    let Item { id, winner, conflicts } = item;
    let versions: Vec<_> = std::iter::once(winner)
        .chain(conflicts)
        .filter(|version| !purged.covers(version.dot()) || supersedes(version))
        .collect();
    if versions.is_empty() { None } else { Some(from_versions(id, versions)) }
}
