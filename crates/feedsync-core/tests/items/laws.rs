//! The laws of merging, over realistic schedules in which every update has a `by` (3.3).

use std::collections::BTreeSet;

use feedsync_core::{Incorporation, Item, Outcome, Update, incorporate, merge};
use feedsync_test::schedule::{Schedule, Shape, TestItem};

const TRIPLES: usize = 100_000;

/// Meaning of an item: its versions by dot, content and coverage, and its winner.
fn meaning(item: &TestItem) -> (String, BTreeSet<String>) {
    let version = |version: &feedsync_core::Version<u32>| {
        let coverage: BTreeSet<_> = version
            .history
            .updates()
            .iter()
            .filter_map(|update| update.by().cloned())
            .map(|by| (version.history.highest(&by), by))
            .collect();
        let dot = (version.dot().sequence(), version.dot().by());
        format!("{dot:?} {} {} {} {coverage:?}", version.updates, version.deleted, version.payload)
    };
    (version(&item.winner), item.conflicts.iter().map(version).collect())
}

fn merged(local: &TestItem, incoming: &TestItem) -> TestItem {
    merge(Some(local.clone()), incoming.clone()).expect("one id").0
}

/// Runs a check on at least [`TRIPLES`] triples of states that endpoints held at any time.
fn for_triples(mut check: impl FnMut(u64, &TestItem, &TestItem, &TestItem)) {
    let mut seen = 0;
    let mut seed = 0;
    while seen < TRIPLES {
        seed += 1;
        let shape = Shape { endpoints: 3 + (seed as usize % 3), steps: 4, clean_up: seed % 2 == 0 };
        let mut schedule = Schedule::new(seed, shape);
        let mut states = Vec::new();
        for _ in 0..30 {
            schedule.step();
            states.extend(schedule.items());
        }
        for index in 0..states.len().saturating_sub(2) {
            let other = (index * 7 + 3) % states.len();
            let third = (index * 13 + 11) % states.len();
            check(seed, &states[index], &states[other], &states[third]);
            seen += 1;
        }
    }
}

#[test]
fn merge_is_commutative() {
    for_triples(|seed, a, b, _| {
        assert_eq!(meaning(&merged(a, b)), meaning(&merged(b, a)), "seed {seed}");
    });
}

#[test]
fn merge_is_associative() {
    for_triples(|seed, a, b, c| {
        let left = merged(&merged(a, b), c);
        let right = merged(a, &merged(b, c));
        assert_eq!(meaning(&left), meaning(&right), "seed {seed}");
    });
}

#[test]
fn merge_is_idempotent() {
    for_triples(|seed, a, b, _| {
        let once = merged(a, b);
        let (twice, outcome) = merge(Some(once.clone()), b.clone()).expect("one id");
        assert_eq!(meaning(&once), meaning(&twice), "seed {seed}");
        assert_eq!(merge(Some(once.clone()), once).expect("one id").1, Outcome::Unchanged);
        assert_ne!(outcome, Outcome::Added);
    });
}

#[test]
fn no_version_covers_another() {
    for_triples(|seed, a, b, _| {
        let item = merged(a, b);
        let versions: Vec<_> = item.versions().collect();
        for (index, version) in versions.iter().enumerate() {
            for (other, covering) in versions.iter().enumerate() {
                assert!(index == other || !version.is_subsumed_by(covering), "seed {seed}");
            }
            assert!(!version.beats(&item.winner), "seed {seed}");
        }
    });
}

#[test]
fn incorporating_agrees_with_merging_and_rests() {
    for_triples(|seed, a, b, _| {
        let expected = merged(a, b);
        let item = match incorporate(Some(a), None, b.clone()) {
            Incorporation::Unchanged => a.clone(),
            Incorporation::Updated(item) | Incorporation::Conflict(item) => item,
            other => panic!("seed {seed}: {other:?}"),
        };
        assert_eq!(meaning(&item), meaning(&expected), "seed {seed}");
        assert_eq!(incorporate(Some(&item), None, b.clone()), Incorporation::Unchanged);
        assert_eq!(incorporate(Some(&item), None, a.clone()), Incorporation::Unchanged);
    });
}

#[test]
fn every_endpoint_ends_with_exactly_the_edits_nobody_superseded() {
    for seed in 0..4_000 {
        let shape =
            Shape { endpoints: 3 + (seed as usize % 3), steps: 60, clean_up: seed % 2 == 0 };
        let mut schedule = Schedule::new(seed, shape);
        let items = schedule.settle();
        let expected = schedule.open_edits();
        for item in &items {
            let held: BTreeSet<u32> = item.versions().map(|version| version.payload).collect();
            assert_eq!(held, expected, "seed {seed}");
            assert_eq!(meaning(item), meaning(&items[0]), "seed {seed}");
        }
    }
}

/// Reading 12: without `by` two endpoints can create equal stamps, and then one edit is lost. The
/// specification allows this, which is why our endpoints always write `by`.
#[test]
fn anonymous_edits_in_one_second_can_be_lost() {
    let update = |second: i64, sequence: u32| {
        let sequence = feedsync_core::Sequence::new(sequence).unwrap();
        Update::new(sequence, feedsync_core::Timestamp::from_unix_seconds(second), None).unwrap()
    };
    let version = |content: &'static str| feedsync_core::Version {
        updates: feedsync_core::Updates::FIRST,
        deleted: false,
        noconflicts: None,
        history: feedsync_core::History::new(update(0, 1)),
        payload: content,
    };
    let id = feedsync_core::ItemId::new("x").unwrap();
    let item = |content| Item { id: id.clone(), winner: version(content), conflicts: vec![] };
    let (merged, outcome) = merge(Some(item("ann's")), item("bob's")).unwrap();
    assert_eq!((merged.winner.payload, merged.conflicts.len()), ("bob's", 0));
    assert_eq!(outcome, Outcome::Updated);
}
