//! Local changes: the examples of 4.1 and 4.2, and the clauses around them.

use super::*;

#[test]
fn the_example_of_4_1_is_version_one_with_one_change() {
    let stamp = stamp("REO1750", "Sat, 21 May 2005 09:43:33 GMT");
    let item = Item::create(ItemId::new("0a7903db47fb0ae8").unwrap(), "This is a test item", stamp);
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
    let mut item = merged(&updated(&shared, "b", at("A", 2)), &updated(&shared, "c", at("B", 3)));
    assert!(item.conflict && !item.conflicts.is_empty());
    item.change(update("d", at("A", 4))).unwrap();
    assert!(!item.conflict && item.conflicts.is_empty());
}

#[test]
fn a_spent_version_is_refused_and_changes_nothing() {
    let mut item = item("a", at("A", 1));
    item.version = version(u64::MAX);
    let before = item.clone();
    assert_eq!(item.change(update("b", at("A", 2))), Err(VersionExhausted));
    assert_eq!(item, before);
}

#[test]
fn a_move_changes_no_content_and_is_an_update_all_the_same() {
    let mut moved = item("a", at("A", 1));
    let change = Change { payload: None, deleted: false, stamp: at("B", 2), keep: None };
    moved.change(change).unwrap();
    assert_eq!((moved.payload, moved.version), ("a", version(2)));
    assert!(wins(&moved, &item("a", at("A", 1))));
}
