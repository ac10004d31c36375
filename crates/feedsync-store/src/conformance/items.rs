//! Items and pages of items.

use std::num::NonZeroUsize;

use feedsync_core::{Format, History, Payload, Timestamp, Update, Version};

use super::samples::{
    ALL, all, by, create, deleted, id, ids, item, named, open, put, sequence, store_each, version,
    write,
};
use super::{Constructor, wait};
use crate::environment::Environment as _;
use crate::{
    ChangeNumber, Digest, ItemStore, Moment, Origin, PageLimit, Put, Recent, RemoteId, Selection,
    StoreError, StoredItem, Write,
};

/// Every field of an item, of its versions and of its metadata is stored.
pub fn an_item_comes_back_as_it_went_in(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, environment) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let mut rich = item("urn:x/%2F?#", "A", 3);
    let lower = Timestamp::parse_tolerant("2005-05-21t11:43:33z").unwrap();
    rich.winner.noconflicts = Some(false);
    rich.winner.history = History::from_updates(vec![
        Update::new(sequence(3), None, Some(by("-"))).unwrap().with_foreign("x=\"1\"\n\t\\n"),
        Update::new(sequence(2), Some(lower), None).unwrap(),
        Update::signed(sequence(1), lower, by("A")).with_foreign(""),
    ])
    .unwrap();
    rich.winner.payload = Payload::from_parsed(Format::Rss, "<item>\r\n\t\u{10ffff}é</item>")
        .with_sync_foreign(Some("<x/>"));
    let tombstone = Version { deleted: true, ..version("B", 2, "{}") };
    let strict = Version { noconflicts: Some(true), ..version("C", 1, "") };
    rich.conflicts = vec![tombstone, strict, version("D", 4, "<b/>")];
    let mut blobs = vec![Digest::of(b"2"), Digest::of(b"1"), Digest::of(b"2")];
    let stored = |origin, blobs: &[Digest]| {
        let item = rich.clone();
        Write::Put(Put { item, created_here: false, origin, blobs: blobs.to_vec() })
    };
    for origin in [Origin::Here, Origin::Mixed, Origin::Remote(RemoteId(4))] {
        write(store, &notes, &[rich.id.as_str()], vec![stored(origin, &blobs)]).unwrap();
        let found = wait(store.item(&notes, &rich.id)).unwrap().expect("stored");
        let mut expected = StoredItem {
            item: rich.clone(),
            number: found.number,
            edited: found.edited,
            created_here: false,
            origin,
            blobs: blobs.clone(),
        };
        expected.blobs.sort_unstable();
        expected.blobs.dedup();
        assert_eq!(found, expected);
        assert!(found.edited >= environment.now());
        let text = found.item.winner.history.updates()[1].when().unwrap().to_string();
        assert_eq!(text, "2005-05-21t11:43:33z", "a time keeps its text");
        blobs.pop();
    }
    assert_eq!(wait(store.item(&notes, &id("urn:x/%2f?#"))).unwrap(), None, "ids are texts");
}

/// Changes after a number and up to a bound; `through` states how far a reader has read.
pub fn changes_come_in_their_order_within_their_bounds(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let other = create(store, "other").name;
    store_each(store, &notes, &["c", "a", "b"]);
    store_each(store, &other, &["z"]);
    store_each(store, &notes, &["a"]);
    let read = |after, up_to: Option<u64>| {
        let page = wait(store.changes(
            &notes,
            ChangeNumber::new(after),
            up_to.map(ChangeNumber::new),
            ALL,
        ))
        .unwrap();
        let numbers: Vec<_> = page.items.iter().map(|stored| stored.number.get()).collect();
        (ids(&page.items).join(" "), numbers, page.through.get(), page.more)
    };
    assert_eq!(read(0, None), ("c b a".to_owned(), vec![1, 3, 4], 4, false));
    assert_eq!(read(1, None), ("b a".to_owned(), vec![3, 4], 4, false));
    assert_eq!(read(1, Some(2)), (String::new(), vec![], 2, false), "2 was superseded by 4");
    assert_eq!(read(0, Some(3)), ("c b".to_owned(), vec![1, 3], 3, false));
    assert_eq!(read(4, None), (String::new(), vec![], 4, false));
    assert_eq!(read(3, Some(u64::MAX)), ("a".to_owned(), vec![4], 4, false));
    assert_eq!(read(u64::MAX, None).0, "");
    assert_eq!(read(3, Some(1)).0, "");
}

/// A page holds at least one item, and ends before it exceeds either limit.
pub fn pages_end_at_either_limit(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    store_each(store, &notes, &["a", "b", "c", "d", "e"]);
    let weight = all(store, &notes)[0].weight();
    assert!(weight > 100);
    let page = |limit| wait(store.changes(&notes, ChangeNumber::ZERO, None, limit)).unwrap();
    for (items, bytes, expected) in [
        (2, usize::MAX, 2),
        (9, weight * 3, 3),
        (9, weight * 3 - 1, 2),
        (9, 0, 1),
        (0, usize::MAX, 1),
        (5, weight * 5, 5),
    ] {
        let page = page(PageLimit { items, bytes });
        assert_eq!(page.items.len(), expected, "{items} items, {bytes} bytes");
        assert_eq!(page.more, expected < 5);
        assert_eq!(page.through.get(), expected as u64);
    }
}

/// Keyset paging by id returns each item once, even if items change between the pages.
pub fn the_whole_collection_is_read_by_id(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let other = create(store, "other").name;
    store_each(store, &other, &["a", "zz"]);
    store_each(store, &notes, &["b", "Z", "a", "a%20", "_"]);
    write(store, &notes, &["c"], vec![put(deleted(item("c", "A", 1)))]).unwrap();
    let mut read: Vec<String> = Vec::new();
    let mut after = None;
    loop {
        let page = wait(store.items_by_id(&notes, after.as_ref(), PageLimit::items(2))).unwrap();
        read.extend(ids(&page.items).iter().map(|id| (*id).to_owned()));
        store_each(store, &notes, &[&read[0], "a"]);
        if !page.more {
            break;
        }
        after = page.items.last().map(|stored| stored.item.id.clone());
    }
    assert_eq!(read, ["Z", "_", "a", "a%20", "b", "c"], "by code point");
    let some = [id("c"), id("nothing"), id("Z"), id("c")];
    assert_eq!(ids(&wait(store.items(&notes, &some)).unwrap()), ["Z", "c"]);
    let back = |before: Option<&str>, places: usize| {
        let (before, places) = (before.map(id), NonZeroUsize::new(places).unwrap());
        let found = wait(store.id_before(&notes, before.as_ref(), places)).unwrap();
        found.map(|id| id.as_str().to_owned())
    };
    for (before, all) in
        [(None, 6), (Some("zz"), 6), (Some("b"), 4), (Some("aa"), 4), (Some("Z"), 0)]
    {
        let read: Vec<String> = (1..=all).rev().filter_map(|places| back(before, places)).collect();
        assert_eq!(read, ["Z", "_", "a", "a%20", "b", "c"][..all], "{before:?}");
        assert_eq!(back(before, all + 1), None, "{before:?}");
    }
    assert!(matches!(
        wait(store.id_before(&named("nothing"), None, NonZeroUsize::MIN)),
        Err(StoreError::NoCollection(_))
    ));
}

/// Returns the number of the last change outside a bound on the number of items and a moment.
pub fn recent_changes_begin_after_the_last_one_left_out(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    let (fixture, environment) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let last_before = |count, from| {
        let recent = Recent { count, from };
        wait(store.last_before(&notes, recent)).unwrap()
    };
    assert_eq!(last_before(Some(0), Some(Moment::MAX)), ChangeNumber::ZERO);
    let other = create(store, "other").name;
    store_each(store, &other, &["z"]);
    let mut moments = Vec::new();
    for ids in [["a", "b"], ["c", "d"], ["a", "e"]] {
        environment.set(Moment::from_micros(environment.now().micros() + 1_000_000));
        store_each(store, &notes, &ids);
        moments.push(environment.now());
    }
    store_each(store, &other, &["y"]);
    // The items in change order: b 2, c 3, d 4, a 5, e 6.
    let numbers: Vec<u64> = all(store, &notes).iter().map(|it| it.number.get()).collect();
    assert_eq!(numbers, [2, 3, 4, 5, 6]);
    for (count, from, expected) in [
        (None, None, 0),
        (Some(5), None, 0),
        (Some(u64::MAX), None, 0),
        (Some(4), None, 2),
        (Some(2), None, 4),
        (Some(0), None, 6),
        (None, Some(moments[0]), 0),
        (None, Some(moments[1]), 2),
        (None, Some(moments[2]), 4),
        (None, Some(Moment::MAX), 6),
        (Some(4), Some(moments[2]), 4),
        (Some(1), Some(moments[1]), 5),
    ] {
        assert_eq!(last_before(count, from).get(), expected, "{count:?} {from:?}");
    }
    assert!(matches!(
        wait(store.last_before(&named("nothing"), Recent::default())),
        Err(StoreError::NoCollection(_))
    ));
}

/// A listing shows the newest change first, page by page.
pub fn a_listing_shows_the_newest_first(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let after = create(store, "other").name;
    store_each(store, &notes, &["a", "b", "c", "d"]);
    store_each(store, &after, &["z"]);
    store_each(store, &notes, &["b"]);
    write(store, &notes, &["d"], vec![put(deleted(item("d", "A", 2)))]).unwrap();
    let mut selection = Selection::default();
    let first = wait(store.listing(&notes, &selection, PageLimit::items(2))).unwrap();
    assert_eq!((ids(&first.items), first.more), (vec!["b", "c"], true));
    selection.before = Some(first.items[1].number);
    let second = wait(store.listing(&notes, &selection, PageLimit::items(2))).unwrap();
    assert_eq!((ids(&second.items), second.more), (vec!["a"], false));
    assert_eq!(second.collection.live, 3);
}

/// A listing filters by deletion, by conflicts and by text.
pub fn a_listing_selects(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let conflicted = |name: &str| {
        let mut item = item(name, "A", 1);
        item.conflicts.push(version("B", 1, "<entry>of Bertha</entry>"));
        item
    };
    let writes = vec![
        put(item("live", "A", 1)),
        put(deleted(item("dead", "A", 1))),
        put(conflicted("contested")),
        put(deleted(conflicted("disputed"))),
    ];
    write(store, &notes, &["live", "dead", "contested", "disputed"], writes).unwrap();
    let list = |deleted, conflicted, containing: Option<&str>| {
        let containing = containing.map(str::to_owned);
        let selection = Selection { before: None, deleted, conflicted, containing };
        let page = wait(store.listing(&notes, &selection, ALL)).unwrap();
        ids(&page.items).join(" ")
    };
    assert_eq!(list(false, false, None), "contested live");
    assert_eq!(list(true, false, None), "disputed contested dead live");
    assert_eq!(list(false, true, None), "contested");
    assert_eq!(list(true, true, None), "disputed contested");
    assert_eq!(list(false, false, Some("<ID>LIVE")), "live");
    assert_eq!(list(true, false, Some("ted</id>")), "disputed contested");
    assert_eq!(list(true, true, Some("Bertha")), "", "the winner's text is searched");
    assert_eq!(list(true, false, Some("%")), "", "no character is special");
    assert_eq!(list(true, false, Some("")), "disputed contested dead live");
}
