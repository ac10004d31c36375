//! Items that are also edited as documents: some of their updates are revisions (`docs/mapping.md`).
//!
//! A revision's ancestors are known from its path. The path may be short, and does not contain what its
//! authors had taken into account. So two endpoints may have different, equally true histories of one
//! version, and the known history of a version grows:
//!
//! - A version that lists another one learns its history.
//! - A deletion that came as a revision is settled by any other version, as among documents, where this
//!   resolves conflicts. The others then cover it and its whole history. Of several deletions, the greatest
//!   stays.
//!
//! Joining is commutative, associative and idempotent with respect to coverage. A version is removed only
//! where another one truly followed it, or followed a deletion of it.

use crate::counter::Sequence;
use crate::identifier::By;
use crate::item::{Item, Update, Version};
use crate::line::REVISIONS;
use crate::merge::from_versions;

/// Whether an item has revisions among its updates.
pub(crate) fn is_among<P>(item: &Item<P>) -> bool {
    item.versions().flat_map(|version| version.history.updates()).any(is_revision)
}

fn is_revision(update: &Update) -> bool {
    update.by().is_some_and(|by| by.as_str().starts_with(REVISIONS))
}

/// Joins the local item with an incoming one. A version in both must have one history by now.
pub(crate) fn join<P: Clone>(local: Option<&Item<P>>, incoming: Item<P>) -> Item<P> {
    let Item { id, winner, conflicts } = incoming;
    let mut versions: Vec<Version<P>> = std::iter::once(winner).chain(conflicts).collect();
    for version in local.into_iter().flat_map(Item::versions) {
        if !versions.iter().any(|known| known.dot().is_same(version.dot())) {
            versions.push(version.clone());
        }
    }
    loop {
        while merge_listed(&mut versions) {}
        drop_covered(&mut versions);
        if !settle(&mut versions) {
            return from_versions(id, versions);
        }
    }
}

/// Whether an item adds nothing to another one, and has the same versions.
pub(crate) fn adds_nothing<P>(item: &Item<P>, than: &Item<P>) -> bool {
    item.versions().count() == than.versions().count()
        && item.winner.dot().is_same(than.winner.dot())
        && item.versions().all(|version| {
            let same = than.versions().find(|known| known.dot().is_same(version.dot()));
            same.is_some_and(|same| same.history.covers_all(&version.history))
        })
}

/// Lets each version learn the histories of the versions that it lists. Returns whether any history grew.
fn merge_listed<P>(versions: &mut [Version<P>]) -> bool {
    let mut is_more = false;
    for one in 0..versions.len() {
        for other in (0..versions.len()).filter(|other| *other != one) {
            if versions[one].history.lists(versions[other].dot()) {
                let history = versions[other].history.clone();
                is_more |= versions[one].history.merge_missing(&history);
            }
        }
    }
    is_more
}

/// Removes the deletions that came as revisions, except the greatest if there is nothing else. The remaining
/// versions learn their histories. Returns whether any history grew.
fn settle<P>(versions: &mut Vec<Version<P>>) -> bool {
    let stays = match versions.iter().all(is_deletion) {
        true => versions.iter().map(deletion_rank).max(),
        false => None,
    };
    let is_settled =
        |version: &Version<P>| is_deletion(version) && Some(deletion_rank(version)) != stays;
    let (settled, mut left): (Vec<_>, Vec<_>) = versions.drain(..).partition(is_settled);
    let mut is_more = false;
    let mut settled = settled.into_iter().map(|version| version.history);
    if let Some(mut known) = settled.next() {
        for history in settled {
            known.merge_missing(&history);
        }
        left.iter_mut().for_each(|version| is_more |= version.history.merge_missing(&known));
    }
    *versions = left;
    is_more
}

/// Removes versions that another version covers; one always stays.
///
/// Two versions may cover each other: one was settled by the other, which was deleted later, and the version
/// that settled that deletion knows both. Then the deletion stays: it covers what was truly followed. Of two
/// deletions the greater one stays.
fn drop_covered<P>(versions: &mut Vec<Version<P>>) {
    let gives_way = |version: &Version<P>, covering: &Version<P>| {
        !covering.is_subsumed_by(version) || deletion_rank(version) <= deletion_rank(covering)
    };
    let mut at = 0;
    while at < versions.len() {
        let version = &versions[at];
        let is_covered = versions.iter().enumerate().any(|(other, covering)| {
            other != at && version.is_subsumed_by(covering) && gives_way(version, covering)
        });
        match is_covered {
            true => drop(versions.remove(at)),
            false => at += 1,
        }
    }
}

fn is_deletion<P>(version: &Version<P>) -> bool {
    version.deleted && is_revision(version.dot())
}

/// Sort key in which deletions that came as revisions are the greatest, and among them the one that stays.
/// Other deletions come next, since of two versions that cover each other the later one was deleted.
fn deletion_rank<P>(version: &Version<P>) -> (bool, bool, Sequence, Option<By>) {
    let dot = version.dot();
    (is_deletion(version), version.deleted, dot.sequence(), dot.by().cloned())
}

#[cfg(test)]
mod tests {
    use crate::{
        By, History, Incorporation, Item, ItemId, Sequence, Timestamp, Update, Updates, Version,
        incorporate,
    };

    /// A version whose updates are named by single letters: a capital letter is an endpoint's update, a small
    /// one a revision.
    fn version(updates: u32, history: &str, is_deleted: bool) -> Version<&str> {
        let update = |name: char| {
            let (sequence, by) = (Sequence::new(1).unwrap(), name.to_string());
            match name.is_uppercase() {
                true => Update::signed(
                    sequence,
                    Timestamp::from_unix_seconds(0).unwrap(),
                    By::new(&by).unwrap(),
                ),
                false => {
                    let by = By::new(&format!("couch.1-{by}")).unwrap();
                    Update::new(sequence, None, Some(by)).unwrap()
                }
            }
        };
        Version {
            updates: Updates::new(updates).unwrap(),
            deleted: is_deleted,
            noconflicts: None,
            history: History::from_updates(history.chars().map(update).collect()).unwrap(),
            payload: "",
        }
    }

    fn item(mut versions: Vec<Version<&str>>) -> Item<&str> {
        let winner = versions.remove(0);
        Item { id: ItemId::new("a").unwrap(), winner, conflicts: versions }
    }

    fn names(item: &Item<&str>) -> Vec<String> {
        let name = |update: &Update| update.by().unwrap().as_str().chars().last().unwrap();
        item.versions()
            .map(|version| version.history.updates().iter().map(name).collect::<String>())
            .collect()
    }

    /// Incorporates the items one after the other.
    fn joined(items: Vec<Item<&'static str>>) -> Item<&'static str> {
        let mut local: Option<Item<&'static str>> = None;
        for item in items {
            match incorporate(local.as_ref(), None, item) {
                Incorporation::Added(item)
                | Incorporation::Updated(item)
                | Incorporation::Conflict(item) => local = Some(item),
                Incorporation::Unchanged => {}
                Incorporation::Refused(refusal) => panic!("{refusal}"),
            }
        }
        local.unwrap()
    }

    #[test]
    fn a_version_knows_what_those_know_that_it_lists() {
        // R resolved X; c followed R, and its path contains no more.
        let (resolved, child) = (version(2, "RX", false), version(3, "cR", false));
        let x = version(1, "X", false);
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let all = [resolved.clone(), child.clone(), x.clone()];
            let item = joined(order.map(|at| item(vec![all[at].clone()])).into());
            assert_eq!(names(&item), ["cRX"], "{order:?}");
        }
    }

    /// A history learnt through another version does not depend on the order of versions.
    #[test]
    fn histories_are_learnt_through_other_versions() {
        let (a, b) = (version(3, "aB", false), version(2, "BC", false));
        let (c, x) = (version(1, "CX", false), version(1, "X", false));
        for conflicts in [vec![c.clone(), a.clone()], vec![a.clone(), c.clone()]] {
            let item = joined(vec![item(vec![b.clone()]), item(conflicts), item(vec![x.clone()])]);
            assert_eq!(names(&item), ["aBCX"]);
        }
    }

    #[test]
    fn more_revisions_than_are_kept_cost_no_refusal() {
        let of = |at: usize, is_deleted: bool| {
            let by = By::new(&format!("couch.1-{at}")).unwrap();
            let update = Update::new(Sequence::new(1).unwrap(), None, Some(by)).unwrap();
            Version { history: History::new(update), ..version(1, "a", is_deleted) }
        };
        let many = (0..8_000).map(|at| of(at, at % 2 == 0)).collect();
        let Incorporation::Refused(_) = incorporate(None, None, item(many)) else {
            panic!("they are taken");
        };
        let mut local = item(vec![of(0, false)]);
        let mut kept = Vec::new();
        for at in 1..2_000 {
            match incorporate(Some(&local), None, item(vec![of(at, true)])) {
                Incorporation::Updated(next) => local = next,
                // The least of the settled deletions is replaced by the others.
                Incorporation::Unchanged => {}
                other => panic!("{other:?}"),
            }
            kept.push(local.winner.history.updates().len());
        }
        assert_eq!(kept.iter().max(), Some(&(crate::MAX_LONE_UPDATES + 1)));
        assert!(!local.winner.deleted && local.conflicts.is_empty());
    }

    #[test]
    fn a_deletion_among_revisions_is_settled_by_whatever_is_left() {
        let live = version(1, "c", false);
        let gone = version(1, "dx", true);
        let x = version(1, "x", false);
        let other = version(1, "N", true);
        assert_eq!(names(&joined(vec![item(vec![live.clone(), gone.clone()])])), ["cdx"]);
        let all = vec![item(vec![live.clone()]), item(vec![gone.clone()]), item(vec![x])];
        assert_eq!(names(&joined(all)), ["cdx"]);
        assert_eq!(names(&joined(vec![item(vec![gone.clone()])])), ["dx"]);
        assert_eq!(names(&joined(vec![item(vec![gone.clone(), other])])), ["Ndx"]);
        let greater = version(1, "ey", true);
        assert_eq!(names(&joined(vec![item(vec![gone, greater])])), ["eydx"]);
        // A version that was deleted itself does not return.
        let deleted = version(1, "tc", true);
        assert_eq!(names(&joined(vec![item(vec![live]), item(vec![deleted])])), ["tc"]);
    }

    /// A deletion may be settled by a version that was itself deleted later. Then one deletion settles the
    /// other: in any order of arrival, deleted content stays deleted.
    #[test]
    fn settled_deletions_stay_deleted_in_any_order() {
        let (live, gone) = (version(1, "c", false), version(1, "zx", true));
        let later = version(1, "dc", true);
        let mut ends = Vec::new();
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let all = [live.clone(), gone.clone(), later.clone()];
            ends.push(joined(order.map(|at| item(vec![all[at].clone()])).into()));
        }
        ends.push(joined(vec![item(vec![live, gone])]));
        for one in &ends {
            let all = std::iter::once(one).chain(&ends).cloned().collect();
            let end = joined(all);
            assert!(end.winner.deleted && end.conflicts.is_empty(), "{:?}", names(&end));
            assert!(names(&end)[0].starts_with('z'), "{:?}", names(&end));
        }
    }

    #[test]
    fn known_versions_change_nothing() {
        let local = joined(vec![item(vec![version(1, "cR", false), version(1, "dx", true)])]);
        assert_eq!(names(&local), ["cRdx"]);
        for known in ["cR", "c", "R", "dx", "x", "cx", "cRdx"] {
            let known = item(vec![version(1, known, known.starts_with('d'))]);
            assert_eq!(incorporate(Some(&local), None, known), Incorporation::Unchanged);
        }
        // A superseded version may still add history, once.
        let told = item(vec![version(1, "RX", false)]);
        let Incorporation::Updated(learnt) = incorporate(Some(&local), None, told.clone()) else {
            panic!("nothing was learnt");
        };
        assert_eq!(names(&learnt), ["cRdxX"]);
        assert_eq!(incorporate(Some(&learnt), None, told), Incorporation::Unchanged);
    }
}
