//! Purges, the recoverable list, the ledger and incarnations.

use feedsync_core::{Item, Payload, Update};

use super::samples::{
    all, by, create, deleted, id, ids, item, open, put, sequence, version, write,
};
use super::{Constructor, wait};
use crate::{CollectionName, Entry, ItemStore, ItemStoreExt as _, Origin, StoredItem, Write};

fn entry(store: &(impl ItemStore + ?Sized), collection: &CollectionName, name: &str) -> Entry {
    let key = id(name);
    let wanted = key.clone();
    wait(store.decide(collection, vec![key], move |snapshot| {
        (Vec::new(), snapshot.entry(&wanted).cloned().expect("a key"))
    }))
    .expect("read")
    .1
}

fn purge(name: &str) -> Write {
    Write::Purge { ids: vec![id(name)] }
}

fn dot(item: &Item<Payload>) -> &Update {
    item.winner.dot()
}

/// A subscriber that has not seen a purged deletion is out of sync (4.2.4); known updates stay known.
pub fn a_purge_moves_the_horizon_and_leaves_the_vector(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let mut gone = deleted(item("b", "A", 3));
    gone.conflicts.push(version("B", 2, "<b/>"));
    let writes = vec![put(item("a", "A", 1)), put(gone.clone()), put(item("c", "A", 1))];
    write(store, &notes, &["a", "b", "c"], writes).unwrap();
    let after = write(store, &notes, &["a", "b"], vec![purge("b"), purge("a")]).unwrap();
    assert_eq!((after.horizon.get(), after.last.get()), (2, 3), "the highest number removed");
    assert_eq!(ids(&all(store, &notes)), ["c"]);

    let entry = entry(store, &notes, "b");
    assert_eq!(entry.item, None);
    for version in gone.versions() {
        assert!(version.history.updates().iter().all(|update| entry.is_purged(update)));
    }
    assert!(!entry.is_purged(dot(&item("b", "A", 4))), "a later update is news");
    assert!(!entry.is_purged(dot(&item("b", "C", 1))), "so is one of another line");
    assert_eq!(entry.purged.len(), 2, "one update for each line of edits");
    assert!(!self::entry(store, &notes, "c").is_purged(dot(&item("c", "A", 1))));
}

/// A purged item's vector is retained when the item is stored again, and when it is purged again.
pub fn vectors_of_repeated_purges_are_united(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    for (line, updates) in [("A", 5), ("B", 2), ("A", 3), ("B", 4)] {
        let writes = vec![put(item("x", line, updates)), purge("x")];
        write(store, &notes, &["x"], writes).unwrap();
    }
    write(store, &notes, &["x"], vec![put(item("x", "C", 1))]).unwrap();
    let entry = entry(store, &notes, "x");
    assert!(entry.item.is_some());
    for (line, updates, known) in
        [("A", 5, true), ("A", 6, false), ("B", 4, true), ("B", 5, false), ("C", 1, false)]
    {
        assert_eq!(entry.is_purged(dot(&item("x", line, updates))), known, "{line}{updates}");
    }
}

/// The recoverable list contains a removed item until the item is removed from the list.
pub fn discarded_items_can_be_recovered(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, environment) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let mut contested = item("b", "A", 1);
    contested.conflicts.push(version("B", 1, "<b/>"));
    let writes = vec![put(item("a", "A", 1)), put(contested.clone()), put(item("c", "A", 1))];
    write(store, &notes, &["a", "b", "c"], writes).unwrap();
    let discard = |names: &[&str]| Write::Discard {
        ids: names.iter().map(|name| id(name)).collect(),
        reason: "the publisher no longer has it".to_owned(),
    };
    write(store, &notes, &["b", "c"], vec![discard(&["c", "b"])]).unwrap();
    assert_eq!(ids(&all(store, &notes)), ["a"]);
    let list = wait(store.discarded(&notes)).unwrap();
    assert_eq!(list.len(), 2);
    assert_eq!(list[0].item, item("c", "A", 1));
    assert_eq!(list[1].item, contested);
    assert_eq!(list[1].reason, "the publisher no longer has it");
    assert_eq!(list[1].at, crate::Environment::now(&*environment));
    assert!(list[0].id < list[1].id);
    assert!(!entry(store, &notes, "b").is_purged(dot(&contested)), "it may come back");

    let recover = vec![put(contested), Write::Recovered(list[1].id), Write::Recovered(list[1].id)];
    write(store, &notes, &["b"], recover).unwrap();
    assert_eq!(ids(&all(store, &notes)), ["a", "b"]);
    assert_eq!(wait(store.discarded(&notes)).unwrap(), list[..1]);
    write(store, &notes, &["a"], vec![discard(&["a"])]).unwrap();
    let last = wait(store.discarded(&notes)).unwrap().remove(1);
    assert!(last.id > list[1].id, "a place in the list is never used again");
}

/// Subscribers must learn that something is gone, so the horizon is above every number that a subscriber has
/// seen.
pub fn discarding_puts_subscribers_out_of_step(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let writes = vec![put(item("a", "A", 1)), put(item("b", "A", 1))];
    let before = write(store, &notes, &["a", "b"], writes).unwrap();
    let discard = |ids| vec![Write::Discard { ids, reason: String::new() }];
    let after = write(store, &notes, &["a"], discard(vec![id("a")])).unwrap();
    assert!(after.horizon > before.last);
    assert_eq!(after.horizon, after.last);
    let nothing = write(store, &notes, &["a"], discard(Vec::new())).unwrap();
    assert_eq!(nothing, after);
}

/// The ledger stores the highest sequence, by line and item, for all collections.
pub fn the_ledger_keeps_the_highest_sequence(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let other = create(store, "other").name;
    let current = wait(store.identity()).unwrap().by;
    let issue = |line: &str, number| Write::Issue {
        item: id("a"),
        by: by(line),
        sequence: sequence(number),
    };
    let writes = vec![issue(current.as_str(), 3), issue("tester.once", 9)];
    write(store, &notes, &["a"], writes).unwrap();
    write(store, &other, &["a"], vec![issue(current.as_str(), 2)]).unwrap();
    let check = |snapshot: &crate::Snapshot| {
        let issued = |line: &feedsync_core::By| {
            snapshot.issued(&id("a"), line).map(|issued| issued.sequence.get())
        };
        assert_eq!(issued(&snapshot.identity().by), Some(3));
        assert_eq!(issued(&by("tester.once")), Some(9));
        assert_eq!(issued(&by("other")), None);
        assert!(snapshot.is_own(&id("a"), &by("tester.once")));
        assert!(!snapshot.is_own(&id("b"), &by("tester.once")), "the ledger knows it item by item");
        assert!(snapshot.is_own(&id("b"), &snapshot.identity().by));
        assert!(!snapshot.is_own(&id("a"), &by("tester.other")));
        Vec::new()
    };
    wait(store.update(&other, vec![id("a"), id("b")], Box::new(check))).unwrap();
    let issued = wait(store.issued(&id("a"))).unwrap();
    assert_eq!(issued.len(), 2);
    assert!(issued.iter().all(|issued| issued.incarnation == current));
    assert!(issued[0].by < issued[1].by);
}

/// An issued sequence stays in the ledger forever.
pub fn the_ledger_survives_purge_and_drop(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let line = wait(store.identity()).unwrap().by;
    let issue = Write::Issue { item: id("a"), by: line.clone(), sequence: sequence(4) };
    write(store, &notes, &["a"], vec![put(item("a", line.as_str(), 4)), issue]).unwrap();
    write(store, &notes, &["a"], vec![purge("a")]).unwrap();
    assert_eq!(entry(store, &notes, "a").issued[0].sequence, sequence(4));
    wait(store.drop_collection(&notes)).unwrap();
    assert_eq!(wait(store.issued(&id("a"))).unwrap()[0].sequence, sequence(4));
    create(store, "notes");
    assert_eq!(entry(store, &notes, "a").issued[0].by, line);
}

/// An item that another endpoint has too is of mixed origin. Readers see no change.
pub fn a_shared_item_is_of_mixed_origin_and_keeps_its_number(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    write(store, &notes, &["a"], vec![put(item("a", "tester.x", 1))]).unwrap();
    let before = entry(store, &notes, "a").item.unwrap();
    let after = write(store, &notes, &["a"], vec![Write::Shared { id: id("a") }]).unwrap();
    assert_eq!(after.last, before.number);
    let shared = entry(store, &notes, "a").item.unwrap();
    assert_eq!(shared, StoredItem { origin: Origin::Mixed, ..before });
    assert_eq!(all(store, &notes), [shared], "it is still among the changes");
    write(store, &notes, &["b"], vec![Write::Shared { id: id("b") }]).unwrap();
    assert_eq!(entry(store, &notes, "b").item, None);
}

/// The ledger stores the sequence that others had seen when a line was last extended.
pub fn the_ledger_knows_what_was_shown(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let line = wait(store.identity()).unwrap().by;
    let extend = |number| {
        let issue = Write::Issue { item: id("a"), by: line.clone(), sequence: sequence(number) };
        write(store, &notes, &["a"], vec![issue, put(item("a", line.as_str(), number))]).unwrap();
        entry(store, &notes, "a").issued[0].shown
    };
    assert_eq!(extend(1), None);
    assert_eq!(extend(2), None, "nobody has seen the first");
    let last = wait(store.collection(&notes)).unwrap().unwrap().last;
    wait(store.mark_sent(&notes, last)).unwrap();
    assert_eq!(extend(3), Some(sequence(2)));
    assert_eq!(extend(4), Some(sequence(2)), "nobody has seen the third");
    assert_eq!(wait(store.issued(&id("a"))).unwrap()[0].shown, Some(sequence(2)));
}

/// A new incarnation signs. Retired ones are still own, and their lines retain their incarnation.
pub fn an_incarnation_retires_and_stays_own(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let first = wait(store.identity()).unwrap();
    assert_eq!(first.name.as_str(), "tester");
    assert_eq!(first.retired, []);
    assert!(first.by.as_str().starts_with("tester."));
    let issue = |line: &str, number| Write::Issue {
        item: id("a"),
        by: by(line),
        sequence: sequence(number),
    };
    let reincarnate = |line: &str| Write::Reincarnate { by: by(line) };
    let writes = vec![
        issue("tester.once", 1),
        reincarnate("tester.second"),
        issue("tester.second", 1),
        reincarnate("tester.third"),
        issue("tester.once", 2),
    ];
    write(store, &notes, &["a"], writes).unwrap();
    let identity = wait(store.identity()).unwrap();
    assert_eq!(identity.by, by("tester.third"));
    assert_eq!(identity.retired, [first.by.clone(), by("tester.second")]);
    assert!(identity.is_incarnation(&first.by));
    let issued = wait(store.issued(&id("a"))).unwrap();
    let rows: Vec<_> =
        issued.iter().map(|row| (row.by.as_str(), row.sequence.get(), &row.incarnation)).collect();
    let second = by("tester.second");
    assert_eq!(rows, [("tester.once", 2, &first.by), ("tester.second", 1, &second)]);
    let again = write(store, &notes, &["a"], vec![reincarnate("tester.second")]);
    assert!(again.is_err(), "a retired incarnation never comes back");
}
