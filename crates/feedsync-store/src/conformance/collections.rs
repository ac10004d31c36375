//! Collections, remotes and blobs.

use std::time::Duration;

use feedsync_core::Format;

use super::samples::{
    all, by, create, id, ids, item, named, open, put, sequence, store_each, write,
};
use super::{Constructor, wait};
use crate::{
    ChangeNumber, Collection, CollectionChange, Digest, ItemStore, Moment, NewCollection,
    NewRemote, Origin, PageLimit, PushRefusal, Put, RemoteId, RemoteState, Selection, StoreError,
    Subscription, Write,
};

/// Names, titles and settings are stored; a name can be used once only.
pub fn collections_are_found_by_name(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, environment) = open(constructor);
    let store = &*fixture.store;
    assert_eq!(wait(store.collections()).unwrap(), []);
    let notes = create(store, "notes");
    let books = create(store, "books");
    assert_eq!(wait(store.collections()).unwrap(), [books.clone(), notes.clone()]);
    let after = |name: Option<&str>, most| {
        wait(store.collections_after(name.map(named).as_ref(), most)).unwrap()
    };
    assert_eq!(after(None, 1), std::slice::from_ref(&books));
    assert_eq!(after(None, 9), [books.clone(), notes.clone()]);
    assert_eq!(after(Some("books"), 9), std::slice::from_ref(&notes));
    assert_eq!(after(Some("c"), 9), std::slice::from_ref(&notes));
    assert_eq!(after(Some("notes"), 9), []);
    assert_eq!(wait(store.collection(&named("notes"))).unwrap(), Some(notes.clone()));
    assert_eq!(wait(store.collection(&named("other"))).unwrap(), None);
    assert_eq!(notes.title, "The notes");
    assert_eq!(notes.settings["purge"], "90d");
    assert_eq!((notes.last, notes.horizon, notes.sent), Default::default());
    assert_eq!(notes.created, crate::Environment::now(&*environment));
    assert_ne!(notes.feed_id, books.feed_id);
    let digits = notes.feed_id.strip_prefix("urn:uuid:").expect("a UUID");
    assert_eq!(digits.len(), 36);
    assert_eq!(&digits[14..15], "4", "a random UUID");
    let again = NewCollection {
        name: named("notes"),
        title: String::new(),
        format: Format::Json,
        settings: Default::default(),
    };
    let refused = wait(store.create_collection(again));
    assert!(matches!(refused, Err(StoreError::CollectionExists(name)) if name == named("notes")));
    assert_eq!(wait(store.collections()).unwrap(), [books, notes]);
}

/// A rename leaves items, order, remotes and the feed id unchanged.
pub fn a_renamed_collection_keeps_what_it_holds(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes");
    create(store, "books");
    store_each(store, &notes.name, &["a", "b"]);
    let url = "http://example.org/".to_owned();
    let new = NewRemote { collection: notes.name.clone(), name: None, url, subscription: None };
    wait(store.add_remote(new)).unwrap();
    let discard = Write::Discard { ids: vec![id("b")], reason: "gone".to_owned() };
    let before = write(store, &notes.name, &["b"], vec![discard]).unwrap();
    let taken = CollectionChange { name: Some(named("books")), ..Default::default() };
    let refused = wait(store.change_collection(&notes.name, taken));
    assert!(matches!(refused, Err(StoreError::CollectionExists(_))));

    let change = CollectionChange {
        name: Some(named("memos")),
        title: Some("Memos".to_owned()),
        format: Some(Format::Json),
        settings: Some(Default::default()),
    };
    let memos = wait(store.change_collection(&notes.name, change)).unwrap();
    assert!(memos.edited > before.edited, "title, format and settings are in the feed");
    let expected = Collection {
        name: named("memos"),
        title: "Memos".to_owned(),
        format: Format::Json,
        settings: Default::default(),
        edited: memos.edited,
        ..before
    };
    assert_eq!(memos, expected);
    assert_eq!(wait(store.collection(&named("memos"))).unwrap(), Some(memos));
    assert_eq!(wait(store.collection(&named("notes"))).unwrap(), None);
    assert_eq!(ids(&all(store, &named("memos"))), ["a"]);
    assert_eq!(wait(store.remotes(None)).unwrap()[0].collection, named("memos"));
    assert_eq!(wait(store.discarded(&named("memos"))).unwrap()[0].collection, named("memos"));
    let same = CollectionChange { name: Some(named("memos")), ..Default::default() };
    assert_eq!(
        wait(store.change_collection(&named("memos"), same)).unwrap(),
        expected_again(store)
    );
}

fn expected_again(store: &(impl ItemStore + ?Sized)) -> Collection {
    wait(store.collection(&named("memos"))).unwrap().unwrap()
}

/// Dropping a collection removes items, discarded items, purged vectors and remotes, but not the ledger. A
/// later collection of the same name is a different one.
pub fn a_dropped_collection_takes_everything_but_the_ledger(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes");
    let other = create(store, "other");
    store_each(store, &other.name, &["a"]);
    store_each(store, &notes.name, &["a", "b", "c"]);
    let url = "http://example.org/".to_owned();
    let new = NewRemote { collection: notes.name.clone(), name: None, url, subscription: None };
    let remote = wait(store.add_remote(new.clone())).unwrap();
    let writes = vec![
        Write::Discard { ids: vec![id("b")], reason: "gone".to_owned() },
        Write::Purge { ids: vec![id("c")] },
        Write::Issue { item: id("c"), by: by("tester.x"), sequence: sequence(7) },
    ];
    write(store, &notes.name, &["b", "c"], writes).unwrap();

    wait(store.drop_collection(&notes.name)).unwrap();
    assert_eq!(wait(store.collection(&notes.name)).unwrap(), None);
    assert_eq!(wait(store.remotes(None)).unwrap(), []);
    assert_eq!(wait(store.issued(&id("c"))).unwrap()[0].sequence, sequence(7));
    assert_eq!(ids(&all(store, &other.name)), ["a"], "other collections are untouched");

    let again = create(store, "notes");
    assert!(again.epoch > notes.epoch);
    assert_ne!(again.feed_id, notes.feed_id);
    assert_eq!((again.last, again.live), (ChangeNumber::ZERO, 0));
    assert_eq!(all(store, &notes.name), []);
    assert_eq!(wait(store.discarded(&notes.name)).unwrap(), []);
    let keys = vec![id("c")];
    wait(store.update(
        &notes.name,
        keys,
        Box::new(|snapshot| {
            assert_eq!(snapshot.entry(&id("c")).unwrap().purged, []);
            Vec::new()
        }),
    ))
    .unwrap();
    let added = wait(store.add_remote(new)).unwrap();
    assert_ne!(added.id, remote.id, "a remote's id is never used again");
}

/// Each epoch is later than all before, both as a value and as text.
pub fn epochs_never_repeat_even_if_the_clock_runs_backwards(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    let (fixture, environment) = open(constructor);
    let store = &*fixture.store;
    let mut last = create(store, "first").epoch;
    environment.set(Moment::from_micros(1));
    for round in 0..3 {
        let name = named("again");
        let collection = create(store, "again");
        assert!(collection.epoch.began() > last.began(), "round {round}");
        assert!(collection.epoch.to_string() > last.to_string());
        last = collection.epoch;
        wait(store.drop_collection(&name)).unwrap();
    }
}

/// Every method that takes the name of a collection reports which one does not exist.
pub fn a_collection_that_does_not_exist_is_named(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let name = named("nothing");
    let limit = PageLimit::items(1);
    let selection = Selection::default();
    let new =
        NewRemote { collection: name.clone(), name: None, url: String::new(), subscription: None };
    let errors = [
        wait(store.change_collection(&name, CollectionChange::default())).err(),
        wait(store.drop_collection(&name)).err(),
        wait(store.item(&name, &id("a"))).err(),
        wait(store.items(&name, &[id("a")])).err(),
        wait(store.changes(&name, ChangeNumber::ZERO, None, limit)).err(),
        wait(store.items_by_id(&name, None, limit)).err(),
        wait(store.listing(&name, &selection, limit)).err(),
        wait(store.update(&name, Vec::new(), Box::new(|_| Vec::new()))).err(),
        wait(store.mark_sent(&name, ChangeNumber::new(1))).err(),
        wait(store.discarded(&name)).err(),
        wait(store.remotes(Some(&name))).err(),
        wait(store.add_remote(new)).err(),
    ];
    for (method, error) in errors.into_iter().enumerate() {
        assert!(
            matches!(&error, Some(StoreError::NoCollection(missing)) if *missing == name),
            "method {method}: {error:?}"
        );
    }
}

/// Remotes are added once, changed, written together with items, and removed.
pub fn remotes_are_remembered(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    create(store, "books");
    let new = NewRemote {
        collection: notes.clone(),
        name: Some("hub".to_owned()),
        url: "http://example.org/notes".to_owned(),
        subscription: None,
    };
    let mut remote = wait(store.add_remote(new.clone())).unwrap();
    assert_eq!(remote.state, RemoteState::default());
    assert!(matches!(wait(store.add_remote(new.clone())), Err(StoreError::RemoteExists(_))));
    let books = NewRemote { collection: named("books"), ..new.clone() };
    let second = wait(store.add_remote(books)).unwrap();
    assert_eq!(wait(store.remotes(None)).unwrap(), [remote.clone(), second.clone()]);
    assert_eq!(wait(store.remotes(Some(&notes))).unwrap(), [remote.clone()]);

    let moment = Some(Moment::from_micros(1_763_668_000_000_001));
    let state = RemoteState {
        changes: Some("http://example.org/notes/changes".to_owned()),
        complete: Some("http://example.org/notes/complete".to_owned()),
        until: Some("2005-05-21T11:43:33Z".to_owned()),
        etag: Some("\"x\"".to_owned()),
        last_modified: Some("Sat, 21 May 2005 11:43:33 GMT".to_owned()),
        pushed: ChangeNumber::new(17),
        may_lack: true,
        needs_complete: true,
        read_only: true,
        refusal: Some(PushRefusal {
            at: Moment::from_micros(1_763_668_000_000_002),
            up_to: ChangeNumber::new(19),
            reason: "403 Forbidden".to_owned(),
        }),
        not_before: moment,
        expires: moment,
        failures: 3,
        failure: Some("timed out".to_owned()),
        succeeded: moment,
    };
    let writes = vec![
        put(item("a", "A", 1)),
        Write::Remote { id: remote.id, state: state.clone() },
        Write::Remote { id: RemoteId(99), state: RemoteState::default() },
    ];
    write(store, &notes, &["a"], writes).unwrap();
    remote.state = state;
    assert_eq!(wait(store.remotes(Some(&notes))).unwrap(), [remote.clone()]);

    remote.name = None;
    remote.url = "http://example.org/moved".to_owned();
    remote.state.failures = 0;
    wait(store.change_remote(remote.clone())).unwrap();
    assert_eq!(wait(store.remotes(Some(&notes))).unwrap(), [remote.clone()]);
    let third = wait(store.add_remote(new)).unwrap();
    let same = crate::Remote { url: remote.url.clone(), ..third.clone() };
    assert!(matches!(wait(store.change_remote(same)), Err(StoreError::RemoteExists(_))));

    wait(store.remove_remote(remote.id)).unwrap();
    assert!(matches!(wait(store.remove_remote(remote.id)), Err(StoreError::NoRemote)));
    assert!(matches!(wait(store.change_remote(remote)), Err(StoreError::NoRemote)));
    assert_eq!(wait(store.remotes(None)).unwrap(), [second, third]);
}

/// One of several callers that saw the same due moment of a subscription moves it. A remote without a
/// subscription is never due.
pub fn of_all_who_see_a_subscription_due_one_reads_it(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let new = NewRemote {
        collection: notes.clone(),
        name: None,
        url: "http://example.org/feed".to_owned(),
        subscription: None,
    };
    let mut remote = wait(store.add_remote(new.clone())).unwrap();
    let moment = |micros| Moment::from_micros(1_763_668_000_000_000 + micros);
    assert!(!wait(store.reschedule(remote.id, None, moment(1))).unwrap());
    let subscription = Subscription {
        every: Duration::from_secs(900),
        plain: true,
        reaches_private: true,
        due: None,
    };
    remote.subscription = Some(subscription.clone());
    wait(store.change_remote(remote.clone())).unwrap();
    assert_eq!(wait(store.remotes(None)).unwrap(), [remote.clone()]);
    let url = "http://example.org/other".to_owned();
    let subscribed = NewRemote { url, subscription: remote.subscription.clone(), ..new };
    let other = wait(store.add_remote(subscribed)).unwrap();
    assert_eq!(other.subscription, remote.subscription);
    assert_eq!(wait(store.remotes(None)).unwrap(), [remote.clone(), other.clone()]);
    wait(store.remove_remote(other.id)).unwrap();
    let claims = std::thread::scope(|scope| {
        let claim = |micros| wait(store.reschedule(remote.id, None, moment(micros))).unwrap();
        let claims: Vec<_> = (0..8).map(|number| scope.spawn(move || claim(number))).collect();
        claims.into_iter().map(|claim| claim.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(claims.iter().filter(|claimed| **claimed).count(), 1);
    let due = claims.iter().position(|claimed| *claimed).map(|number| moment(number as u64));
    remote.subscription = Some(Subscription { due, ..subscription });
    assert_eq!(wait(store.remotes(None)).unwrap(), [remote.clone()]);
    // The synchronization state does not affect the due moment.
    let state = RemoteState { failures: 2, ..RemoteState::default() };
    write(store, &notes, &[], vec![Write::Remote { id: remote.id, state: state.clone() }]).unwrap();
    remote.state = state;
    assert_eq!(wait(store.remotes(None)).unwrap(), [remote.clone()]);
    assert!(!wait(store.reschedule(remote.id, None, moment(9))).unwrap());
    assert!(wait(store.reschedule(remote.id, due, moment(9))).unwrap());
    remote.subscription = None;
    wait(store.change_remote(remote.clone())).unwrap();
    assert_eq!(wait(store.remotes(None)).unwrap(), [remote]);
}

/// A blob is not swept while an item or a discarded item names it, or while it is recent.
pub fn blobs_are_kept_while_somebody_names_them(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, environment) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let start = crate::Environment::now(&*environment);
    let digests: Vec<Digest> = ["named", "discarded", "unnamed"]
        .map(|text| wait(store.put_blob(text.as_bytes().to_vec())).unwrap())
        .into();
    assert_eq!(digests[0], Digest::of(b"named"));
    let named = |name: &str, digest| {
        let item = item(name, "A", 1);
        Write::Put(Put { item, created_here: true, origin: Origin::Here, blobs: vec![digest] })
    };
    let gone = Write::Discard { ids: vec![id("b")], reason: "gone".to_owned() };
    let writes = vec![named("a", digests[0]), named("b", digests[1]), gone];
    write(store, &notes, &["a", "b"], writes).unwrap();

    environment.set(Moment::from_micros(start.micros() + 10));
    let young = wait(store.put_blob(b"young".to_vec())).unwrap();
    let later = Moment::from_micros(start.micros() + 5);
    assert_eq!(wait(store.sweep_blobs(later)).unwrap(), 1);
    let asked = [digests[2], digests[0], digests[1], young, digests[2]];
    assert_eq!(wait(store.missing_blobs(&asked)).unwrap(), [digests[2]]);
    assert_eq!(wait(store.blob(digests[0])).unwrap().as_deref(), Some(&b"named"[..]));
    assert_eq!(wait(store.blob(digests[2])).unwrap(), None);
    assert_eq!(wait(store.blob_named_by(digests[0])).unwrap(), [(notes.clone(), id("a"))]);
    assert_eq!(wait(store.blob_named_by(young)).unwrap(), []);

    let discarded = wait(store.discarded(&notes)).unwrap();
    assert_eq!(discarded[0].blobs, [digests[1]]);
    write(store, &notes, &[], vec![Write::Recovered(discarded[0].id)]).unwrap();
    write(store, &notes, &["a"], vec![put(item("a", "A", 2))]).unwrap();
    let end = Moment::from_micros(start.micros() + 11);
    assert_eq!(wait(store.sweep_blobs(end)).unwrap(), 3);
}

/// A blob is recent again after it was put again, or after a client was told that it is stored.
pub fn a_blob_asked_for_or_put_again_is_young_again(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    let (fixture, environment) = open(constructor);
    let store = &*fixture.store;
    let start = crate::Environment::now(&*environment).micros();
    let put = |text: &str| wait(store.put_blob(text.as_bytes().to_vec())).unwrap();
    let (again, asked, idle) = (put("again"), put("asked"), put("idle"));
    let hours = |hours: u64| Moment::from_micros(start + hours * 3_600_000_000);
    environment.set(hours(1));
    assert_eq!(wait(store.missing_blobs(&[idle])).unwrap(), []);
    environment.set(hours(2));
    assert_eq!(put("again"), again);
    assert_eq!(wait(store.missing_blobs(&[asked])).unwrap(), []);
    assert_eq!(wait(store.sweep_blobs(hours(1))).unwrap(), 1, "asked for within the hour");
    assert_eq!(wait(store.missing_blobs(&[again, asked, idle])).unwrap(), [idle]);
    assert_eq!(wait(store.sweep_blobs(hours(3))).unwrap(), 2);
}

/// Lists each missing blob once, in order, and for this collection only.
pub fn blobs_that_items_name_and_that_are_not_here_are_listed(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let (notes, other) = (create(store, "notes").name, create(store, "other").name);
    let mut digests = ["a", "b", "c", "d"].map(|text| Digest::of(text.as_bytes()));
    digests.sort_unstable();
    let [first, second, third, elsewhere] = digests;
    let naming = |name: &str, blobs: &[Digest]| {
        let (item, blobs) = (item(name, "A", 1), blobs.to_vec());
        Write::Put(Put { item, created_here: true, origin: Origin::Here, blobs })
    };
    let here = wait(store.put_blob(b"here".to_vec())).unwrap();
    let writes = vec![naming("a", &[third, here, first]), naming("b", &[second, first])];
    write(store, &notes, &["a", "b"], writes).unwrap();
    write(store, &other, &["c"], vec![naming("c", &[elsewhere])]).unwrap();
    let lost = |from, most| wait(store.lost_blobs(&notes, from, most)).unwrap();
    assert_eq!(lost(Digest::from_bytes([0; 32]), 9), [first, second, third]);
    assert_eq!(lost(second, 9), [second, third]);
    assert_eq!(lost(first, 2), [first, second]);
    assert_eq!(lost(Digest::from_bytes([0xff; 32]), 9), []);
    assert_eq!(wait(store.lost_blobs(&other, first, 9)).unwrap(), [elsewhere]);
    write(store, &notes, &["b"], vec![put(item("b", "A", 2))]).unwrap();
    assert_eq!(lost(first, 9), [first, third]);
}
