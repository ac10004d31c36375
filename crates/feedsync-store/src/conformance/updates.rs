//! Read, decide, write.

use std::sync::{Arc, Mutex};

use super::samples::{
    all, by, create, deleted, id, ids, item, open, put, store_each, version, write,
};
use super::{Constructor, wait};
use crate::{
    ChangeNumber, Environment as _, ItemStore, ItemStoreExt as _, Moment, StoreError, Write,
};

/// Numbers are consecutive, in the order of the writes; an item has its latest number only.
pub fn each_change_takes_the_next_number(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let writes = vec![put(item("b", "A", 1)), put(item("a", "A", 1)), put(item("b", "A", 2))];
    let after = write(store, &notes, &["a", "b"], writes).unwrap();
    assert_eq!(after.last.get(), 3);
    let after = write(store, &notes, &["c"], vec![put(item("c", "A", 1))]).unwrap();
    assert_eq!(after.last.get(), 4);
    assert_eq!(wait(store.collection(&notes)).unwrap(), Some(after));
    let items = all(store, &notes);
    let numbers: Vec<_> = items.iter().map(|stored| stored.number.get()).collect();
    assert_eq!((ids(&items), numbers), (vec!["a", "b", "c"], vec![2, 3, 4]));
    assert_eq!(items[1].item.winner.updates.get(), 2);
}

/// A refusal leaves everything as it is.
pub fn a_decision_without_writes_changes_nothing(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    store_each(store, &notes, &["a"]);
    let before = wait(store.collection(&notes)).unwrap().unwrap();
    assert_eq!(write(store, &notes, &["a", "b"], Vec::new()).unwrap(), before);
    assert_eq!(wait(store.collection(&notes)).unwrap().unwrap(), before);
}

/// A decision that writes or removes an item outside its keys is rejected as a whole.
pub fn a_faulty_decision_changes_nothing(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    store_each(store, &notes, &["a", "b"]);
    let before = (wait(store.collection(&notes)).unwrap().unwrap(), all(store, &notes));
    let identity = wait(store.identity()).unwrap();
    let issue = |name| Write::Issue {
        item: id(name),
        by: by("tester.x"),
        sequence: super::samples::sequence(1),
    };
    let faulty = [
        put(item("b", "A", 2)),
        issue("b"),
        Write::Purge { ids: vec![id("b")] },
        Write::Purge { ids: vec![id("c")] },
        Write::Discard { ids: vec![id("c")], reason: String::new() },
        Write::Purge { ids: vec![id("a"), id("a")] },
        Write::Reincarnate { by: identity.by.clone() },
    ];
    for fault in faulty {
        let good =
            vec![put(item("a", "A", 2)), issue("a"), Write::Reincarnate { by: by("tester.y") }];
        let writes = good.into_iter().chain([fault.clone()]).collect();
        let refused = write(store, &notes, &["a", "c"], writes);
        assert!(matches!(refused, Err(StoreError::Decision(_))), "{fault:?}: {refused:?}");
    }
    assert_eq!(before, (wait(store.collection(&notes)).unwrap().unwrap(), all(store, &notes)));
    assert_eq!(wait(store.identity()).unwrap(), identity);
    assert_eq!(wait(store.issued(&id("a"))).unwrap(), []);
}

/// A panic in a decision does not affect other updates.
pub fn a_decision_that_panics_changes_nothing(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = fixture.store.clone();
    let notes = create(&*store, "notes").name;
    store_each(&*store, &notes, &["a"]);
    let (panicking, collection) = (store.clone(), notes.clone());
    let outcome = std::thread::spawn(move || {
        let decide = |_: &crate::Snapshot| panic!("on purpose: part of the test");
        wait(panicking.update(&collection, vec![id("a")], Box::new(decide)))
    })
    .join();
    assert!(!matches!(outcome, Ok(Ok(_))));
    store_each(&*store, &notes, &["b"]);
    assert_eq!(ids(&all(&*store, &notes)), ["a", "b"]);
}

/// [`ItemStoreExt::decide`](crate::ItemStoreExt::decide) returns the result of the decision.
pub fn a_value_comes_out_of_a_decision(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let outcome = wait(store.decide(&notes, vec![id("a")], |snapshot| {
        let new = snapshot.item(&id("a")).is_none();
        (vec![put(item("a", "A", 1))], new)
    }));
    let (collection, new) = outcome.unwrap();
    assert!(new);
    assert_eq!(collection.last.get(), 1);
    let refused = wait(store.decide(&notes, Vec::new(), |_| (Vec::new(), Err::<(), _>("no"))));
    assert_eq!(refused.unwrap().1, Err("no"));
}

/// An update sees the writes of the previous one; a snapshot contains exactly the requested keys.
pub fn a_snapshot_shows_what_was_written_before(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, environment) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    store_each(store, &notes, &["a", "b"]);
    let expected = all(store, &notes).remove(0);
    let identity = wait(store.identity()).unwrap();
    let collection = wait(store.collection(&notes)).unwrap().unwrap();
    let now = crate::Environment::now(&*environment);
    let seen = Arc::new(Mutex::new(0));
    let count = seen.clone();
    let keys = vec![id("a"), id("new"), id("a")];
    let decide = move |snapshot: &crate::Snapshot| {
        assert_eq!(snapshot.item(&id("a")), Some(&expected));
        assert_eq!(snapshot.entry(&id("new")), Some(&crate::Entry::default()));
        assert!(snapshot.entry(&id("b")).is_none());
        assert_eq!(*snapshot.identity(), identity);
        assert_eq!(*snapshot.collection(), collection);
        assert_eq!(snapshot.now(), now);
        let minted = snapshot.mint();
        assert!(minted.as_str().starts_with("tester."));
        assert_ne!(minted, snapshot.mint());
        *count.lock().unwrap() += 1;
        Vec::new()
    };
    wait(store.update(&notes, keys, Box::new(decide))).unwrap();
    assert_eq!(*seen.lock().unwrap(), 1);
}

/// Counts of live, deleted and conflicted items follow every change.
pub fn counts_follow_the_items(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let mut contested = item("c", "A", 1);
    contested.conflicts.push(version("B", 1, "<b/>"));
    let counts = |writes| {
        let after = write(store, &notes, &["a", "b", "c"], writes).unwrap();
        assert_eq!(wait(store.collection(&notes)).unwrap().unwrap(), after);
        (after.live, after.deleted, after.conflicted)
    };
    let put_all = vec![put(item("a", "A", 1)), put(item("b", "A", 1)), put(contested.clone())];
    assert_eq!(counts(put_all), (3, 0, 1));
    let bury = vec![put(deleted(item("a", "A", 2))), put(deleted(contested))];
    assert_eq!(counts(bury), (1, 2, 1));
    assert_eq!(counts(vec![put(item("c", "A", 3))]), (2, 1, 0));
    assert_eq!(counts(vec![Write::Purge { ids: vec![id("a")] }]), (2, 0, 0));
    let discard = Write::Discard { ids: vec![id("b"), id("c")], reason: String::new() };
    assert_eq!(counts(vec![discard]), (0, 0, 0));
}

/// No two changes have the same moment, whatever the clock does.
pub fn moments_of_changes_strictly_increase(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, environment) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    store_each(store, &notes, &["a", "b"]);
    environment.set(Moment::from_micros(5));
    let writes = vec![put(item("c", "A", 1)), put(item("d", "A", 1))];
    write(store, &notes, &["c", "d"], writes).unwrap();
    environment.set(Moment::from_micros(1_999_999_999_000_000));
    store_each(store, &notes, &["e"]);
    let items = all(store, &notes);
    assert!(items.windows(2).all(|pair| pair[0].edited < pair[1].edited), "{items:?}");
    assert_eq!(items[4].edited.micros(), 1_999_999_999_000_000);
    let collection = wait(store.collection(&notes)).unwrap().unwrap();
    assert_eq!(collection.edited, items[4].edited);
}

/// A clock that was ahead temporarily leaves no moments in the future. From the next change on, the moments
/// of all changes are in the past again, and in the order of the changes.
pub fn moments_follow_a_clock_that_was_ahead(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, environment) = open(constructor);
    let store = &*fixture.store;
    let [notes, books] = ["notes", "books"].map(|name| create(store, name).name);
    let start = environment.now().micros();
    let year = 365 * 24 * 3_600 * 1_000_000;
    store_each(store, &notes, &["a", "b"]);
    store_each(store, &books, &["a"]);
    environment.set(Moment::from_micros(start + 10 * year));
    store_each(store, &notes, &["c", "d", "e", "f"]);
    store_each(store, &books, &["b"]);
    let now = Moment::from_micros(start + 60_000_000);
    environment.set(now);
    let writes =
        vec![Write::Shared { id: id("c") }, put(item("d", "A", 2)), put(item("g", "A", 1))];
    write(store, &notes, &["c", "d", "g"], writes).unwrap();
    let items = all(store, &notes);
    assert_eq!(ids(&items), ["a", "b", "c", "e", "f", "d", "g"]);
    let moments: Vec<_> = items.iter().map(|stored| stored.edited.micros()).collect();
    assert!(moments.is_sorted_by(|one, other| one < other), "{moments:?}");
    let now = now.micros();
    assert_eq!(moments[2..], [now - 3, now - 2, now - 1, now, now + 1]);
    let edited = |name| wait(store.collection(name)).unwrap().unwrap().edited.micros();
    assert_eq!(edited(&notes), now + 1);
    assert!(edited(&books) > now, "nothing has changed there since");
}

/// The mark never decreases, and never exceeds the last change.
pub fn the_sent_mark_never_decreases_or_exceeds_the_last_change(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    store_each(store, &notes, &["a", "b", "c"]);
    for (mark, sent) in [(2, 2), (1, 2), (3, 3), (u64::MAX, 3)] {
        wait(store.mark_sent(&notes, ChangeNumber::new(mark))).unwrap();
        assert_eq!(wait(store.collection(&notes)).unwrap().unwrap().sent.get(), sent);
    }
    store_each(store, &notes, &["d"]);
    wait(store.mark_sent(&notes, ChangeNumber::new(u64::MAX))).unwrap();
    assert_eq!(wait(store.collection(&notes)).unwrap().unwrap().sent.get(), 4);
}
