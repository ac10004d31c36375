//! Comparison of merge with a second implementation: the steps of 3.3 word for word, without shortcuts.

use std::collections::BTreeSet;

use feedsync_core::{
    By, History, Incorporation, Item, ItemId, Outcome, Sequence, Timestamp, Update, Updates,
    Version, incorporate_unbounded, merge,
};
use proptest::prelude::*;

type V = Version<u8>;

/// History subsumption (3.3 note 2).
fn is_history_subsumed(x: &Update, y: &Update) -> bool {
    match x.by() {
        Some(by) => y.by() == Some(by) && y.sequence() >= x.sequence(),
        None => y.by().is_none() && y.when() == x.when() && y.sequence() == x.sequence(),
    }
}

/// Item subsumption (3.3 note 1).
fn is_subsumed(x: &V, y: &V) -> bool {
    y.history.updates().iter().any(|update| is_history_subsumed(&x.history.updates()[0], update))
}

/// Winner picking (3.3 note 3).
fn wins(x: &V, y: &V) -> bool {
    let (dot_x, dot_y) = (&x.history.updates()[0], &y.history.updates()[0]);
    if x.updates != y.updates {
        return x.updates > y.updates;
    }
    match (dot_x.when(), dot_y.when()) {
        (Some(_), None) => return true,
        (None, Some(_)) => return false,
        (Some(when_x), Some(when_y)) if when_x != when_y => return when_x > when_y,
        _ => {}
    }
    match (dot_x.by(), dot_y.by()) {
        (Some(_), None) => true,
        (Some(x), Some(y)) => x.as_str().chars().gt(y.as_str().chars()),
        (None, _) => false,
    }
}

/// Steps 2 to 11 of 3.3.
fn expected(local: &Item<u8>, incoming: &Item<u8>) -> Item<u8> {
    let list = |item: &Item<u8>| -> Vec<V> {
        item.conflicts.iter().chain([&item.winner]).cloned().collect()
    };
    let (mut l, mut i) = (list(local), list(incoming));
    let mut m: Vec<V> = Vec::new();
    let mut w: Option<usize> = None;
    for is_local in [true, false] {
        let (outer, inner) = if is_local { (&mut l, &i) } else { (&mut i, &l) };
        let inner = inner.clone();
        for x in std::mem::take(outer) {
            if inner.iter().any(|y| is_subsumed(&x, y)) {
                continue; // removed from the outer collection
            }
            m.push(x.clone());
            if w.is_none_or(|at| wins(&x, &m[at])) {
                w = Some(m.len() - 1);
            }
            outer.push(x);
        }
    }
    let winner = m.remove(w.expect("a version of either side is left"));
    if winner.noconflicts == Some(true) {
        m.clear();
    }
    Item { id: local.id.clone(), winner, conflicts: m }
}

/// The versions of an item, a set without order (reading 8).
fn versions(item: &Item<u8>) -> BTreeSet<String> {
    item.versions().map(|version| format!("{version:?}")).collect()
}

/// An update: every fourth has no `by`, every fourth no `when`.
fn an_update() -> impl Strategy<Value = Update> {
    let by = prop_oneof![Just(None), Just(Some("a")), Just(Some("A")), Just(Some("b"))];
    (1..4u32, 0..4i64, by).prop_map(|(sequence, second, by)| {
        let when = (second > 0 || by.is_none())
            .then(|| Timestamp::from_unix_seconds(second).expect("a time"));
        let by = by.map(|by| By::new(by).expect("a name"));
        Update::new(Sequence::new(sequence).expect("from 1"), when, by).expect("signed")
    })
}

/// A version. Its sequence follows from what decides winners, so that two versions tie only if they are copies. It is
/// `updates` where there is no `by` (3.2 step 2.2).
fn a_version() -> impl Strategy<Value = V> {
    let history = proptest::collection::vec(an_update(), 1..4);
    let noconflicts = prop_oneof![4 => Just(None), 1 => Just(Some(false)), 1 => Just(Some(true))];
    (1..4u32, any::<bool>(), noconflicts, history, 0..3u8).prop_map(
        |(updates, deleted, noconflicts, mut history, payload)| {
            let (when, by) = (history[0].when(), history[0].by().cloned());
            let second = when.map_or(0, |when| when.unix_seconds() as u32);
            let sequence = if by.is_some() { (updates + second) % 3 + 1 } else { updates };
            let sequence = Sequence::new(sequence).expect("from 1");
            history[0] = Update::new(sequence, when, by).expect("signed");
            Version {
                updates: Updates::new(updates).expect("from 1"),
                deleted,
                noconflicts,
                history: History::from_updates(history).expect("not empty"),
                payload,
            }
        },
    )
}

/// Two items whose versions come from one pool, so that both often contain the same one. Conflicts may cover
/// each other or beat their winner, as in items of a faulty endpoint. Only copies of one update within an
/// item are excluded.
fn two_items() -> impl Strategy<Value = (Item<u8>, Item<u8>)> {
    let pool = proptest::collection::vec(a_version(), 1..6);
    let chosen = || proptest::collection::vec(any::<proptest::sample::Index>(), 1..5);
    (pool, chosen(), chosen()).prop_map(|(pool, local, incoming)| {
        let item = |chosen: Vec<proptest::sample::Index>| {
            let mut versions: Vec<V> = Vec::new();
            for index in chosen {
                let version = &pool[index.index(pool.len())];
                if versions.iter().all(|known| known.dot() != version.dot()) {
                    versions.push(version.clone());
                }
            }
            let winner = versions.remove(0);
            Item { id: ItemId::new("item").expect("an id"), winner, conflicts: versions }
        };
        (item(local), item(incoming))
    })
}

/// Whether an item follows the rules: none of its versions covers another, none beats the winner.
fn is_sound(item: &Item<u8>) -> bool {
    let all: Vec<&V> = item.versions().collect();
    item.conflicts.iter().all(|conflict| !conflict.beats(&item.winner))
        && (item.conflicts.is_empty() || !item.noconflicts())
        && (0..all.len()).all(|x| (0..all.len()).all(|y| x == y || !is_subsumed(all[x], all[y])))
}

/// The update that names a version. Of two copies the time may differ, unless it is all that names the update.
fn name(version: &V) -> (Sequence, Option<By>, Option<Timestamp>) {
    let dot = version.dot();
    let when = if dot.by().is_some() { None } else { dot.when() };
    (dot.sequence(), dot.by().cloned(), when)
}

/// Whether versions of one name are the same on both sides, except for their payloads.
fn agree(local: &Item<u8>, incoming: &Item<u8>) -> bool {
    let plain = |version: &V| Version { payload: 0, ..version.clone() };
    local.versions().all(|one| {
        incoming.versions().all(|other| name(one) != name(other) || plain(one) == plain(other))
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 20_000,
        failure_persistence: None,
        max_global_rejects: 1_000_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn merge_equals_the_steps_of_3_3((local, incoming) in two_items()) {
        let expected = expected(&local, &incoming);
        let (merged, outcome) = merge(Some(local.clone()), incoming.clone()).expect("one id");
        prop_assert_eq!(versions(&merged), versions(&expected));
        // Versions without `by` can tie; then any of them may be the winner.
        prop_assert!(merged.winner == expected.winner
            || !wins(&expected.winner, &merged.winner) && !wins(&merged.winner, &expected.winner));
        let is_local = versions(&merged) == versions(&local) && merged.winner == local.winner;
        let is_known = is_local && is_sound(&local) && is_sound(&incoming);
        match outcome {
            Outcome::Unchanged => prop_assert!(is_local),
            Outcome::Updated => prop_assert!(!is_known && merged.conflicts.is_empty()),
            Outcome::Conflict => prop_assert!(!is_known && !merged.conflicts.is_empty()),
            Outcome::Added => prop_assert!(false, "there was a local item"),
        }
    }

    #[test]
    fn incorporation_equals_the_steps_of_3_3_but_for_payloads((local, incoming) in two_items()) {
        prop_assume!(is_sound(&local) && is_sound(&incoming) && agree(&local, &incoming));
        let names = |item: &Item<u8>| {
            let mut names: Vec<_> = item.versions().map(name).collect();
            names.sort();
            names
        };
        let expected = expected(&local, &incoming);
        let item = match incorporate_unbounded(Some(&local), incoming) {
            Incorporation::Unchanged => local,
            Incorporation::Updated(item) | Incorporation::Conflict(item) => item,
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(names(&item), names(&expected));
    }
}
