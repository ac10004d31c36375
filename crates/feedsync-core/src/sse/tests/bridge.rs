//! SSE to FeedSync and back (U1 to U12, D1 to D6).

use std::collections::BTreeSet;

use super::*;
use crate::sse::{
    DowngradeLoss, Downgraded, UpgradeError, UpgradeLoss, Upgraded, downgrade, upgrade,
};
use crate::{MAX_COUNTER, Sequence, Timestamp, Update, Updates, Version};

fn up(item: Item<&'static str>) -> Upgraded<&'static str> {
    upgrade(item, |_| "(not kept)").unwrap()
}

fn dots(version: &Version<&'static str>) -> Vec<(u32, String)> {
    let updates = version.history.updates().iter();
    let dot = |update: &Update| {
        (update.sequence().get(), update.by().map_or_else(String::new, By::to_string))
    };
    updates.map(dot).collect()
}

fn owned(dots: &[(u32, &str)]) -> Vec<(u32, String)> {
    dots.iter().map(|(sequence, by)| (*sequence, (*by).to_owned())).collect()
}

#[test]
fn versions_become_sequences_and_dates_become_timestamps() {
    let base = item("a", stamp("A", "Sat, 21 May 2005 09:43:33 GMT"));
    let mut item = updated(&updated(&base, "b", at("B", 2)), "c", at("C", 3));
    item.deleted = true;
    let Upgraded { item, losses } = up(item);
    assert_eq!((item.id.as_str(), item.winner.updates.get()), ("item", 3));
    assert_eq!(dots(&item.winner), owned(&[(3, "C"), (2, "B"), (1, "A")]));
    assert_eq!(
        item.winner.history.oldest().when().map(|when| when.to_string()).as_deref(),
        Some("2005-05-21T09:43:33Z")
    );
    assert!(item.winner.deleted && item.winner.noconflicts.is_none() && losses.is_empty());
}

#[test]
fn truncated_updates_stay_unknown_so_that_an_ancestor_conflicts() {
    let base = item("a", at("A", 1));
    let mut later = base.clone();
    later.change(Change { keep: Some(0), ..update("b", at("B", 2)) }).unwrap();
    assert!(!conflicts_with(&later, &base));
    let (merged, outcome) = crate::merge(Some(up(base).item), up(later).item).unwrap();
    assert_eq!((merged.conflicts.len(), outcome), (1, Outcome::Conflict));
}

#[test]
fn a_record_becomes_a_conflict_with_one_update() {
    let mut item = updated(&item("a", at("A", 1)), "b", at("B", 2));
    item.conflict = true;
    item.conflicts =
        vec![record(2, at("C", 2), "c"), Conflict { payload: None, ..record(3, at("D", 2), "") }];
    let Upgraded { item, losses } = up(item);
    assert_eq!(dots(&item.conflicts[0]), owned(&[(2, "C")]));
    assert_eq!((item.conflicts[0].updates.get(), item.conflicts[0].payload), (2, "c"));
    assert_eq!(item.conflicts[1].payload, "(not kept)");
    assert_eq!(losses, [UpgradeLoss::Content { version: version(3) }]);
}

#[test]
fn upgrade_losses_are_reported() {
    let mut flagged = item("a", at("A", 1));
    flagged.conflict = true;
    assert_eq!(up(flagged).losses, [UpgradeLoss::Flag]);

    let mut covered = updated(&item("a", at("A", 1)), "b", at("A", 2));
    covered.conflicts = vec![record(1, at("A", 1), "x"), record(1, at("B", 1), "y")];
    let Upgraded { item: upgraded, losses } = up(covered);
    assert_eq!(losses, [UpgradeLoss::Covered { version: version(1) }]);
    assert_eq!(upgraded.conflicts.len(), 1);

    let mut surplus = item("a", at("A", 1));
    surplus.history.updates = vec![at("B", 1), at("C", 1)];
    let Upgraded { item: upgraded, losses } = up(surplus);
    assert_eq!(losses, [UpgradeLoss::Surplus { updates: 2 }]);
    assert_eq!(dots(&upgraded.winner), owned(&[(1, "A")]));
}

#[test]
fn a_version_beyond_feedsync_is_refused() {
    let mut high = item("a", at("A", 1));
    high.version = version(u64::from(MAX_COUNTER));
    assert!(upgrade(high.clone(), |_| "").is_ok());
    high.version = version(u64::from(MAX_COUNTER) + 1);
    assert_eq!(upgrade(high.clone(), |_| ""), Err(UpgradeError { version: high.version }));
    let mut record_high = item("a", at("A", 1));
    record_high.conflicts = vec![record(u64::MAX, at("B", 1), "x")];
    assert_eq!(upgrade(record_high, |_| ""), Err(UpgradeError { version: version(u64::MAX) }));
}

#[test]
fn downgrade_losses_are_reported() {
    let feedsync = |updates, dots: &[(u32, &str)]| {
        let update = |&(sequence, by): &(u32, &str)| {
            let when = Timestamp::from_unix_seconds(0).unwrap();
            Update::signed(Sequence::new(sequence).unwrap(), when, By::new(by).unwrap())
        };
        Version {
            updates: Updates::new(updates).unwrap(),
            deleted: false,
            noconflicts: None,
            history: crate::History::from_updates(dots.iter().map(update).collect()).unwrap(),
            payload: "",
        }
    };
    let losses = |winner, conflicts| {
        downgrade(crate::Item { id: ItemId::new("item").unwrap(), winner, conflicts }).losses
    };
    // The example of 3.4, and FeedSync's own: 5G 4J 4G 3J 2R 1R.
    let resolved = feedsync(5, &[(5, "G"), (4, "J"), (4, "G"), (3, "J"), (2, "R"), (1, "R")]);
    assert_eq!(losses(resolved.clone(), vec![]), [DowngradeLoss::Sideline { updates: 1 }]);
    let reversed = feedsync(5, &[(5, "G"), (4, "G"), (4, "J"), (3, "J"), (2, "R"), (1, "R")]);
    for winner in [resolved, reversed] {
        let id = ItemId::new("i").unwrap();
        let down = downgrade(crate::Item { id, winner, conflicts: vec![] });
        let by: Vec<_> =
            down.item.history.updates.iter().filter_map(Stamp::by).map(By::as_str).collect();
        assert_eq!(by, ["J", "J", "R", "R"], "of two with one sequence the greater (when, by)");
    }

    let gap = feedsync(5, &[(5, "A"), (3, "B"), (1, "C")]);
    assert_eq!(losses(gap, vec![]), [DowngradeLoss::Gap { updates: 2 }]);
    let out_of_line = feedsync(2, &[(7, "A"), (1, "B")]);
    assert_eq!(losses(out_of_line, vec![]), [DowngradeLoss::Sequence]);
    let out_of_order = feedsync(3, &[(3, "A"), (1, "B"), (2, "B")]);
    assert_eq!(losses(out_of_order, vec![]), [DowngradeLoss::Order]);

    let winner = || feedsync(3, &[(3, "A")]);
    let conflict = |by| feedsync(3, &[(3, by)]);
    let deleted = Version { deleted: true, ..conflict("B") };
    assert_eq!(losses(winner(), vec![deleted]), [DowngradeLoss::ConflictDeleted]);
    let longer = feedsync(3, &[(3, "B"), (2, "B")]);
    assert_eq!(losses(winner(), vec![longer]), [DowngradeLoss::ConflictHistory]);
    let noconflicts = Version { noconflicts: Some(true), ..winner() };
    assert_eq!(losses(noconflicts, vec![]), [DowngradeLoss::Noconflicts]);
    assert_eq!(losses(winner(), vec![conflict("B"), conflict("C")]), []);
}

/// Any FeedSync item with complete stamps, including gaps, siblings and markers.
fn any_feedsync_item() -> impl Strategy<Value = crate::Item<&'static str>> {
    let update = (1..6u32, 0..3usize, 0..4i64);
    let version = (
        1..6u32,
        proptest::collection::vec(update, 1..5),
        proptest::bool::weighted(0.2),
        proptest::option::weighted(0.1, any::<bool>()),
        any::<bool>(),
    );
    let version = version.prop_map(|(updates, dots, deleted, noconflicts, in_line)| {
        let dot = |(index, (sequence, by, when)): (usize, (u32, usize, i64))| {
            let sequence =
                if in_line { updates.saturating_sub(index as u32).max(1) } else { sequence };
            let when = Timestamp::from_unix_seconds(when).unwrap();
            let by = By::new(["A", "B", "C"][by]).unwrap();
            Update::signed(Sequence::new(sequence).unwrap(), when, by)
        };
        let history = dots.into_iter().enumerate().map(dot).collect();
        let history = crate::History::from_updates(history).unwrap();
        let updates = Updates::new(updates).unwrap();
        Version { updates, deleted, noconflicts, history, payload: "" }
    });
    (version.clone(), proptest::collection::vec(version, 0..3)).prop_map(|(winner, others)| {
        let mut item = crate::Item { id: ItemId::new("item").unwrap(), winner, conflicts: vec![] };
        for other in others {
            let apart = |known: &Version<&str>| {
                !other.is_subsumed_by(known) && !known.is_subsumed_by(&other)
            };
            if item.versions().all(apart) {
                item.conflicts.push(other);
            }
        }
        item
    })
}

/// Whether an item is in the set for which U12 promises the identity.
fn fits(item: &crate::Item<&'static str>) -> bool {
    let in_line = |version: &Version<&str>| {
        let sequences = version.history.updates().iter().map(|update| update.sequence().get());
        sequences.eq((1..=version.updates.get()).rev().take(version.history.updates().len()))
    };
    let mut lines = BTreeSet::new();
    item.versions().all(|version| version.noconflicts.is_none() && in_line(version))
        && item.conflicts.iter().all(|conflict| {
            conflict.history.updates().len() == 1
                && !conflict.deleted
                && lines.insert(conflict.dot().by().cloned())
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6_000, ..ProptestConfig::default() })]

    #[test]
    fn the_winner_is_the_same_before_and_after_the_upgrade(
        states in any::<bool>().prop_flat_map(states)
    ) {
        for local in &states {
            for incoming in &states {
                let (x, y) = (up(local.clone()).item, up(incoming.clone()).item);
                let winner = crate::merge(Some(x), y).unwrap().0.winner;
                prop_assert_eq!(up(merged(local, incoming)).item.winner, winner);
            }
        }
    }

    #[test]
    fn an_upgrade_comes_back_as_it_was(states in states(true)) {
        for item in states {
            let Upgraded { item: upgraded, losses } = up(item.clone());
            if losses.is_empty() {
                prop_assert_eq!(downgrade(upgraded), Downgraded { item, losses: vec![] });
            }
        }
    }

    #[test]
    fn a_downgrade_comes_back_as_it_was_exactly_if_nothing_was_reported(
        item in any_feedsync_item()
    ) {
        let Downgraded { item: down, losses } = downgrade(item.clone());
        let back = up(down);
        prop_assert_eq!(losses.is_empty(), fits(&item), "{:?}", &losses);
        prop_assert_eq!(losses.is_empty(), back.item == item, "{:?}", &losses);
    }
}
