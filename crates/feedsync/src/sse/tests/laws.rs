//! The laws of merging that hold, and those that the text breaks.

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
    // C's version beat B's at one endpoint; where it met nobody, it has no record (reading 21).
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
