//! Laws of merging that hold, and those that the specification breaks.

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn merging_again_changes_nothing(states in states(true)) {
        let once = merged(&states[0], &states[1]);
        prop_assert_eq!(&merged(&once, &states[1]), &once);
        prop_assert_eq!(&merged(&once, &once), &once);
        let (again, outcome) = merge(Some(once.clone()), states[1].clone()).unwrap();
        prop_assert_eq!((again, outcome), (once, Outcome::Unchanged));
    }

    #[test]
    fn a_conflict_is_a_loser_that_is_not_the_winners_nth_update(states in states(true)) {
        for (local, incoming) in states.iter().flat_map(|x| states.iter().map(move |y| (x, y))) {
            let (winner, loser) =
                if wins(incoming, local) { (incoming, local) } else { (local, incoming) };
            let n = (winner.version.get() - loser.version.get()) as usize;
            // The history is number 0, the updates are numbered from 1 (4.4.1).
            let mut stamps = vec![&winner.history.latest];
            stamps.extend(&winner.history.updates);
            let is_conflict = stamps.get(n).is_some_and(|nth| **nth != loser.history.latest);
            prop_assert_eq!(conflicts_with(winner, loser), is_conflict);
            let (item, outcome) = merge(Some(local.clone()), incoming.clone()).unwrap();
            prop_assert_eq!(item.conflict, winner.conflict || is_conflict);
            prop_assert_eq!((item.version, &item.history), (winner.version, &winner.history));
            // Equal keys leave the local item as it is (4.4 step 2).
            let is_equal = !wins(local, incoming) && !wins(incoming, local);
            prop_assert!(!is_equal || (&item, outcome) == (local, Outcome::Unchanged));
        }
    }

    #[test]
    fn by_tells_two_edits_of_one_second_apart(
        first in 0..4usize, second in 0..4usize, version_number in 1..5u64
    ) {
        // Two people, each with two devices.
        let names = ["ann.phone", "ann.desk", "bob.phone", "Bob.phone"];
        let edit = |payload, by: usize| {
            let mut item = item(payload, at("A", 0));
            for number in 1..version_number {
                item.change(update("before", at("A", number as u32))).unwrap();
            }
            item.change(update(payload, at(names[by], 9))).unwrap();
            item
        };
        let (one, other) = (edit("one", first), edit("other", second));
        let mut kept = vec![];
        for (local, incoming) in [(&one, &other), (&other, &one)] {
            let item = merged(local, incoming);
            let conflicts = item.conflicts.iter().filter_map(|record| record.payload);
            let mut payloads: Vec<_> = std::iter::once(item.payload).chain(conflicts).collect();
            if first == second {
                prop_assert_eq!(payloads, [local.payload]);
                continue;
            }
            let winner = if names[first] > names[second] { "one" } else { "other" };
            prop_assert_eq!(payloads[0], winner);
            payloads.sort_unstable();
            prop_assert_eq!(payloads, ["one", "other"]);
            kept.push(item);
        }
        prop_assert!(kept.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn every_order_finds_the_same_winner(states in states(true)) {
        let winner = |order: [usize; 3]| {
            let item = merged(&merged(&states[order[0]], &states[order[1]]), &states[order[2]]);
            (item.version, item.history, item.deleted)
        };
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            prop_assert_eq!(winner([0, 1, 2]), winner(order));
        }
    }

    #[test]
    fn an_item_is_flagged_exactly_if_it_keeps_a_record(states in states(true)) {
        for item in &states {
            prop_assert_eq!(item.conflict, !item.conflicts.is_empty());
        }
    }
}

#[test]
fn merging_is_not_commutative_since_equal_keys_hide_a_flag() {
    // C's version beat B's at one endpoint; where it met no other version, it has no record
    // (reading 21).
    let base = item("a", at("A", 1));
    let (b, c) = (updated(&base, "b", at("B", 2)), updated(&base, "c", at("C", 3)));
    let flagged = merged(&b, &c);
    assert_eq!(merged(&flagged, &c), flagged);
    assert_eq!(merged(&c, &flagged), c);
    assert!(flagged.conflict && !c.conflict);
}

#[test]
fn merging_is_not_associative_since_the_conflicts_of_a_loser_go() {
    let [a, b, c] = [item("a", at("A", 1)), item("b", at("B", 2)), item("c", at("C", 3))];
    let left = merged(&merged(&a, &b), &c);
    let right = merged(&a, &merged(&b, &c));
    assert_eq!((left.conflicts.len(), right.conflicts.len()), (1, 2));
}

#[test]
fn without_by_two_edits_of_one_second_are_taken_for_one() {
    let second = || stamp("", "20 May 2005 09:00:00 GMT");
    let history = History { latest: second(), updates: vec![at("A", 1)] };
    let edit = |payload| Item {
        history: history.clone(),
        version: version(2),
        ..item(payload, at("A", 1))
    };
    let (b, c) = (edit("b"), edit("c"));
    assert_eq!(merged(&b, &c), b);
    assert_eq!(merged(&c, &b), c);
}
