//! Winner and conflict detection (4.4, 4.4.1).

use super::*;

#[test]
fn the_winner_has_the_greater_version_then_the_later_when_then_the_greater_by() {
    let base = item("a", at("A", 5));
    assert!(wins(&updated(&base, "b", at("A", 1)), &item("c", at("Z", 9))));
    assert!(wins(&item("b", at("A", 6)), &item("c", at("Z", 5))));
    assert!(wins(&item("b", at("B", 5)), &base));
    assert!(wins(&item("b", at("a", 5)), &item("c", at("Z", 5))), "code points, not a dictionary");
    assert!(!wins(&base, &base.clone()));
}

#[test]
fn present_wins_over_absent() {
    let with_when = item("a", stamp("", "1 Jan 1970 00:00 GMT"));
    let with_by = item("b", stamp("Z", ""));
    assert!(wins(&with_when, &with_by));
    assert!(wins(&item("c", stamp("A", "1 Jan 1970 00:00 GMT")), &with_when));
}

#[test]
fn equal_keys_are_identical_and_nothing_is_done() {
    let local = item("local", at("A", 1));
    let mut incoming = item("incoming", at("A", 1));
    incoming.conflict = true;
    incoming.conflicts = vec![record(1, at("B", 1), "lost")];
    assert_eq!(merge(Some(local.clone()), incoming), Ok((local, Outcome::Unchanged)));
}

#[test]
fn an_ancestor_is_no_conflict_and_the_winner_comes_intact() {
    let base = item("a", at("A", 1));
    let later = updated(&updated(&base, "b", at("B", 2)), "c", at("C", 3));
    assert_eq!(merge(Some(base.clone()), later.clone()), Ok((later.clone(), Outcome::Updated)));
    assert_eq!(merge(Some(later.clone()), base), Ok((later, Outcome::Unchanged)));
}

#[test]
fn two_changes_of_one_version_are_a_conflict_found_at_n_0() {
    let base = item("a", at("A", 1));
    let (b, c) = (updated(&base, "b", at("B", 2)), updated(&base, "c", at("C", 3)));
    let (item, outcome) = merge(Some(b.clone()), c.clone()).unwrap();
    assert_eq!(outcome, Outcome::Conflict);
    assert_eq!((item.payload, item.conflict), ("c", true));
    assert_eq!(item.conflicts, [record(2, at("B", 2), "b")]);
    assert_eq!(item.history, c.history);
    assert_eq!(merged(&c, &b), item);
    assert_eq!(merge(Some(item.clone()), b), Ok((item, Outcome::Unchanged)));
}

#[test]
fn a_longer_line_of_changes_is_compared_at_the_nth_update() {
    let base = item("a", at("A", 1));
    let b = updated(&base, "b", at("B", 9));
    let c = updated(&updated(&base, "c", at("C", 2)), "cc", at("C", 3));
    assert!(conflicts_with(&c, &b) && !conflicts_with(&c, &base));
    assert_eq!(merged(&b, &c).conflicts, [record(2, at("B", 9), "b")]);
}

#[test]
fn a_change_that_the_winner_knows_at_another_step_back_is_a_conflict() {
    // The winner's changes, newest first, are by D, C, B and A. A loser of version 2 must be by B.
    let base = item("a", at("A", 1));
    let b = updated(&base, "b", at("B", 2));
    let winner = updated(&updated(&b, "c", at("C", 3)), "d", at("D", 4));
    assert!(!conflicts_with(&winner, &b));
    for stamp in [at("A", 1), at("C", 3), at("D", 4), at("B", 3), at("X", 2)] {
        let loser = updated(&base, "x", stamp.clone());
        assert!(conflicts_with(&winner, &loser), "{stamp:?}");
        assert_eq!(merged(&loser, &winner).conflicts, [record(2, stamp, "x")]);
    }
}

#[test]
fn a_missing_nth_update_hides_the_conflict_and_the_loser_is_gone() {
    // A loss that the specification accepts (reading 18): with one sx:update kept, B's edit is
    // lost.
    let base = item("a", at("A", 1));
    let b = updated(&base, "b", at("B", 2));
    let mut c = updated(&base, "c", at("C", 2));
    c.change(Change { keep: Some(0), ..update("cc", at("C", 3)) }).unwrap();
    let (item, outcome) = merge(Some(b), c.clone()).unwrap();
    assert_eq!((item, outcome), (c, Outcome::Updated));
}

#[test]
fn without_a_conflict_the_winners_own_flag_and_records_stay() {
    let base = item("a", at("A", 1));
    let flagged = merged(&updated(&base, "b", at("B", 2)), &updated(&base, "c", at("C", 3)));
    let (item, outcome) = merge(Some(base.clone()), flagged.clone()).unwrap();
    assert_eq!((item, outcome), (flagged.clone(), Outcome::Conflict));
    let resolved = updated(&flagged, "d", at("A", 4));
    assert_eq!(merge(Some(flagged), resolved.clone()), Ok((resolved, Outcome::Updated)));
}

#[test]
fn the_conflicts_of_a_loser_go() {
    let mut loser = item("a", at("A", 1));
    loser.conflicts = vec![record(1, at("X", 1), "older loss")];
    let winner = item("b", at("B", 2));
    assert_eq!(merged(&loser, &winner).conflicts, [record(1, at("A", 1), "a")]);
}

#[test]
fn items_of_two_ids_are_not_merged_and_a_new_one_is_added_intact() {
    let mut other = item("b", at("B", 2));
    other.id = ItemId::new("other").unwrap();
    assert_eq!(merge(Some(item("a", at("A", 1))), other.clone()), Err(DifferentItems));
    assert_eq!(merge(None, other.clone()), Ok((other, Outcome::Added)));
}
