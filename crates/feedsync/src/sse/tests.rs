//! The text's examples, its clauses, and the laws that hold and that do not.

use proptest::prelude::*;

use crate::sse::{
    Change, Conflict, Date, History, Item, Stamp, VersionNumber, VersionsSpent, add_conflict,
    merge, steps_on, wins,
};
use crate::{By, DifferentItems, ItemId, Outcome};

fn date(text: &str) -> Date {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn stamp(by: &str, when: &str) -> Stamp {
    let when = (!when.is_empty()).then(|| date(when));
    Stamp::new(when, By::new(by).ok()).unwrap()
}

/// A stamp of 20 May 2005 at so many seconds after midnight.
fn at(by: &str, second: u32) -> Stamp {
    stamp(
        by,
        &format!("20 May 2005 {:02}:{:02}:{:02} GMT", second / 3600, second / 60 % 60, second % 60),
    )
}

fn version(number: u64) -> VersionNumber {
    VersionNumber::new(number).unwrap()
}

fn item(payload: &'static str, stamp: Stamp) -> Item<&'static str> {
    Item::create(ItemId::new("item").unwrap(), payload, stamp)
}

fn update(payload: &'static str, stamp: Stamp) -> Change<&'static str> {
    Change { payload: Some(payload), deleted: false, stamp, keep: None }
}

fn updated(item: &Item<&'static str>, payload: &'static str, stamp: Stamp) -> Item<&'static str> {
    let mut item = item.clone();
    item.change(update(payload, stamp)).unwrap();
    item
}

fn merged(x: &Item<&'static str>, y: &Item<&'static str>) -> Item<&'static str> {
    merge(Some(x.clone()), y.clone()).unwrap().0
}

fn record(number: u64, stamp: Stamp, payload: &'static str) -> Conflict<&'static str> {
    Conflict { version: version(number), stamp, payload: Some(payload) }
}

fn days(item: &Item<&'static str>) -> Vec<String> {
    let stamps = std::iter::once(&item.history.latest).chain(&item.history.updates);
    stamps.map(|stamp| stamp.when().map_or_else(String::new, Date::to_string)).collect()
}

mod creation_and_update {
    use super::*;

    #[test]
    fn the_example_of_4_1_is_version_one_with_one_change() {
        let stamp = stamp("REO1750", "Sat, 21 May 2005 09:43:33 GMT");
        let item =
            Item::create(ItemId::new("0a7903db47fb0ae8").unwrap(), "This is a test item", stamp);
        assert_eq!((item.version, item.deleted, item.conflict), (version(1), false, false));
        assert_eq!(days(&item), ["Sat, 21 May 2005 09:43:33 GMT"]);
        assert!(item.history.updates.is_empty() && item.conflicts.is_empty());
    }

    #[test]
    fn the_examples_of_4_2_are_three_updates_and_two_more_with_three_kept() {
        let day = |weekday: &str, day: u8| {
            stamp("REO1750", &format!("{weekday}, {day} May 2005 09:43:33 GMT"))
        };
        let mut item = item("This is a test item", day("Sat", 21));
        for stamp in [day("Sun", 22), day("Mon", 23), day("Tue", 24)] {
            item.change(Change { payload: None, deleted: false, stamp, keep: None }).unwrap();
        }
        assert_eq!(item.version, version(4));
        assert_eq!(
            days(&item),
            [
                "Tue, 24 May 2005 09:43:33 GMT",
                "Mon, 23 May 2005 09:43:33 GMT",
                "Sun, 22 May 2005 09:43:33 GMT",
                "Sat, 21 May 2005 09:43:33 GMT",
            ]
        );
        for stamp in [day("Wed", 25), day("Thu", 26)] {
            item.change(Change { payload: None, deleted: false, stamp, keep: Some(3) }).unwrap();
        }
        assert_eq!((item.version, item.payload), (version(6), "This is a test item"));
        assert_eq!(
            days(&item),
            [
                "Thu, 26 May 2005 09:43:33 GMT",
                "Wed, 25 May 2005 09:43:33 GMT",
                "Tue, 24 May 2005 09:43:33 GMT",
                "Mon, 23 May 2005 09:43:33 GMT",
            ]
        );
    }

    #[test]
    fn all_earlier_updates_may_be_dropped_or_none() {
        let mut none_kept = item("a", at("A", 1));
        none_kept.change(Change { keep: Some(0), ..update("b", at("A", 2)) }).unwrap();
        assert!(none_kept.history.updates.is_empty());
        let mut all_kept = item("a", at("A", 1));
        all_kept.change(Change { keep: Some(9), ..update("b", at("A", 2)) }).unwrap();
        assert_eq!(all_kept.history.updates, [at("A", 1)]);
    }

    #[test]
    fn an_update_signs_with_all_it_knows_and_nothing_of_the_one_before() {
        let before = item("a", at("A", 1));
        let after = updated(&before, "b", Stamp::new(None, By::new("B").ok()).unwrap());
        assert_eq!(after.history.latest.when(), None);
        assert_eq!(after.history.updates, [at("A", 1)]);
    }

    #[test]
    fn a_deletion_makes_a_tombstone_and_any_update_revives_it() {
        let mut item = item("a", at("A", 1));
        let deletion = Change { payload: None, deleted: true, stamp: at("A", 2), keep: None };
        item.change(deletion).unwrap();
        assert!(item.deleted);
        item.change(update("b", at("A", 3))).unwrap();
        assert_eq!((item.deleted, item.payload, item.version), (false, "b", version(3)));
    }

    #[test]
    fn an_update_resolves_the_conflict_even_unseen() {
        let shared = item("a", at("A", 1));
        let mut item =
            merged(&updated(&shared, "b", at("A", 2)), &updated(&shared, "c", at("B", 3)));
        assert!(item.conflict && !item.conflicts.is_empty());
        item.change(update("d", at("A", 4))).unwrap();
        assert!(!item.conflict && item.conflicts.is_empty());
    }

    #[test]
    fn a_spent_version_is_refused_and_changes_nothing() {
        let mut item = item("a", at("A", 1));
        item.version = version(u64::MAX);
        let before = item.clone();
        assert_eq!(item.change(update("b", at("A", 2))), Err(VersionsSpent));
        assert_eq!(item, before);
    }
}

mod winner_and_conflict {
    use super::*;

    #[test]
    fn the_winner_has_the_greater_version_then_the_later_when_then_the_greater_by() {
        let base = item("a", at("A", 5));
        assert!(wins(&updated(&base, "b", at("A", 1)), &item("c", at("Z", 9))));
        assert!(wins(&item("b", at("A", 6)), &item("c", at("Z", 5))));
        assert!(wins(&item("b", at("B", 5)), &base));
        assert!(
            wins(&item("b", at("a", 5)), &item("c", at("Z", 5))),
            "code points, not a dictionary"
        );
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
        assert!(steps_on(&c, &b) && !steps_on(&c, &base));
        assert_eq!(merged(&b, &c).conflicts, [record(2, at("B", 9), "b")]);
    }

    #[test]
    fn a_missing_nth_update_hides_the_conflict_and_the_loser_is_gone() {
        // The loss that the text accepts (reading 18): with one sx:update kept, B's edit vanishes.
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
}

mod records {
    use super::*;

    fn all_orders(records: &[Conflict<&'static str>]) -> Vec<Vec<Conflict<&'static str>>> {
        if records.is_empty() {
            return vec![vec![]];
        }
        let mut orders = Vec::new();
        for index in 0..records.len() {
            let mut rest = records.to_vec();
            let first = rest.remove(index);
            for mut order in all_orders(&rest) {
                order.insert(0, first.clone());
                orders.push(order);
            }
        }
        orders
    }

    fn inserted(records: Vec<Conflict<&'static str>>) -> Vec<Conflict<&'static str>> {
        let mut list = Vec::new();
        for record in records {
            add_conflict(&mut list, record);
        }
        list.sort_by_key(|conflict| conflict.stamp.clone());
        list
    }

    #[test]
    fn the_record_of_5_2_is_the_losers_history() {
        let base = item("a", at("A", 1));
        let b = updated(&base, "b", stamp("GPM7383", "Tue, 24 May 2005 08:00:11 GMT"));
        let c = updated(&base, "c", stamp("REO1750", "Tue, 24 May 2005 09:43:33 GMT"));
        let item = merged(&c, &b);
        assert_eq!(item.conflicts, [record(2, b.history.latest.clone(), "b")]);
    }

    #[test]
    fn one_record_is_kept_for_each_by_and_one_without() {
        let records = [
            record(1, at("A", 9), "A1"),
            record(3, at("A", 1), "A3"),
            record(2, at("B", 5), "B2"),
            record(4, stamp("", "20 May 2005 01:00 GMT"), "early"),
            record(4, stamp("", "20 May 2005 02:00 GMT"), "late"),
            record(3, stamp("", "20 May 2005 03:00 GMT"), "low"),
        ];
        for order in all_orders(&records) {
            let kept: Vec<&str> =
                inserted(order).into_iter().filter_map(|conflict| conflict.payload).collect();
            assert_eq!(kept, ["A3", "B2", "late"]);
        }
    }

    #[test]
    fn an_equal_version_leaves_the_record_that_is_there() {
        let mut list = vec![record(2, at("A", 1), "first")];
        assert!(!add_conflict(&mut list, record(2, at("A", 5), "second")));
        assert_eq!(list, [record(2, at("A", 1), "first")]);
        assert!(add_conflict(&mut list, record(3, at("A", 0), "third")));
        assert_eq!(list, [record(3, at("A", 0), "third")]);
    }

    #[test]
    fn any_number_without_by_is_one_from_the_next_insertion_on() {
        let without = |version, hour: u8, name| {
            record(version, stamp("", &format!("20 May 2005 {hour:02}:00 GMT")), name)
        };
        let mut list = vec![
            without(2, 1, "a"),
            record(1, at("B", 1), "b"),
            without(3, 1, "c"),
            without(3, 0, "d"),
        ];
        assert!(add_conflict(&mut list, without(1, 5, "e")));
        assert_eq!(list, [record(1, at("B", 1), "b"), without(3, 1, "c")]);
        assert!(!add_conflict(&mut list, without(3, 1, "f")));
    }
}

mod laws {
    use super::*;

    /// States that three endpoints can be in: a line of versions with forks, each step one of them.
    fn states() -> impl Strategy<Value = Vec<Item<&'static str>>> {
        let steps =
            proptest::collection::vec((0..3usize, 0..3usize, 0..4u32, any::<bool>()), 0..12);
        (steps, 0..3usize).prop_map(|(steps, keep)| {
            let names = ["A", "B", "C"];
            let mut states = vec![item("", at("A", 0)); 3];
            for (number, (actor, other, skew, merges)) in steps.into_iter().enumerate() {
                if merges {
                    states[actor] = merged(&states[actor], &states[other]);
                } else {
                    let stamp = at(names[actor], number as u32 / 2 + skew);
                    let keep = (keep > 0).then_some(keep);
                    let payload = ["a", "b", "c"][actor];
                    let change = Change { payload: Some(payload), deleted: skew == 3, stamp, keep };
                    states[actor].change(change).unwrap();
                }
            }
            states
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        #[test]
        fn merging_again_changes_nothing(states in states()) {
            let once = merged(&states[0], &states[1]);
            prop_assert_eq!(&merged(&once, &states[1]), &once);
            prop_assert_eq!(&merged(&once, &once), &once);
            let (again, outcome) = merge(Some(once.clone()), states[1].clone()).unwrap();
            prop_assert_eq!((again, outcome), (once, Outcome::Unchanged));
        }

        #[test]
        fn every_order_finds_the_same_winner(states in states()) {
            let winner = |order: [usize; 3]| {
                let item = merged(&merged(&states[order[0]], &states[order[1]]), &states[order[2]]);
                (item.version, item.history, item.deleted)
            };
            for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                prop_assert_eq!(winner([0, 1, 2]), winner(order));
            }
        }

        #[test]
        fn an_item_is_flagged_exactly_if_it_keeps_a_record(states in states()) {
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
}
