//! The change order is the commit order. These tests use threads, since asynchronous concurrency on one
//! thread does not test it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use feedsync_core::ItemId;

use super::samples::{create, id, item, open, put};
use super::{Constructor, wait};
use crate::{ChangeNumber, CollectionName, ItemStore, PageLimit};

const WRITERS: usize = 16;
const FOLLOWERS: usize = 8;

/// Duration of the writers: 2 seconds, or `FEEDSYNC_SECONDS`.
pub fn duration() -> Duration {
    let seconds = std::env::var("FEEDSYNC_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(2))
}

/// Sixteen writers and eight followers. Each follower reads changes in ascending order and without
/// repetition. It sees every acknowledged item with the acknowledged number.
pub fn no_follower_misses_or_repeats_a_change(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let notes = create(&*fixture.store, "notes").name;
    let writing = Arc::new(AtomicUsize::new(WRITERS));
    let until = Instant::now() + duration();
    let followers: Vec<_> = (0..FOLLOWERS)
        .map(|number| {
            let (store, notes, writing) = (fixture.store.clone(), notes.clone(), writing.clone());
            thread::spawn(move || follow(&*store, &notes, &writing, number % 2 == 0))
        })
        .collect();
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let (store, notes, writing) = (fixture.store.clone(), notes.clone(), writing.clone());
            thread::spawn(move || {
                let acknowledged = write(&*store, &notes, number, until);
                writing.fetch_sub(1, Ordering::SeqCst);
                acknowledged
            })
        })
        .collect();
    let mut acknowledged = BTreeMap::new();
    for writer in writers {
        acknowledged.append(&mut writer.join().expect("a writer"));
    }
    assert!(acknowledged.len() > WRITERS, "the writers wrote");
    for follower in followers {
        let mut seen = follower.join().expect("a follower");
        seen.retain(|id, _| !id.as_str().starts_with("shared"));
        assert_eq!(seen.len(), acknowledged.len());
        assert_eq!(seen, acknowledged, "each change at its number, none missed");
    }
}

/// Writes items of its own, each once, and items that all writers change.
fn write(
    store: &(impl ItemStore + ?Sized),
    notes: &CollectionName,
    writer: usize,
    until: Instant,
) -> BTreeMap<ItemId, ChangeNumber> {
    let mut acknowledged = BTreeMap::new();
    let mut count = 0;
    while Instant::now() < until {
        let own = id(&format!("own-{writer}-{count}"));
        let shared = id(&format!("shared-{}", count % 5));
        let writes = vec![put(item(shared.as_str(), "A", 1)), put(item(own.as_str(), "A", 1))];
        let keys = vec![own.clone(), shared];
        let after = wait(store.update(notes, keys, Box::new(move |_| writes.clone())))
            .expect("acknowledged");
        let stored = wait(store.item(notes, &own)).expect("read").expect("its own write");
        assert_eq!(stored.number, after.last);
        acknowledged.insert(own, after.last);
        count += 1;
    }
    acknowledged
}

/// Reads changes page by page until the writers are done; returns every item with its last number.
pub fn follow(
    store: &(impl ItemStore + ?Sized),
    notes: &CollectionName,
    writing: &AtomicUsize,
    waits: bool,
) -> BTreeMap<ItemId, ChangeNumber> {
    let mut seen = BTreeMap::new();
    let mut through = ChangeNumber::ZERO;
    let mut notices = store.subscribe(notes);
    loop {
        let done = writing.load(Ordering::SeqCst) == 0;
        let page = wait(store.changes(notes, through, None, PageLimit::items(50))).expect("read");
        let mut last = through;
        for stored in page.items {
            assert!(stored.number > last, "{} after {last}", stored.number);
            last = stored.number;
            let before = seen.insert(stored.item.id.clone(), stored.number);
            assert!(
                before.is_none() || stored.item.id.as_str().starts_with("shared"),
                "{} came twice",
                stored.item.id
            );
        }
        assert!(page.through >= last && page.collection.last >= page.through);
        let idle = page.through == through;
        through = page.through;
        if done && idle {
            return seen;
        }
        if idle && waits {
            let notice =
                async { tokio::time::timeout(Duration::from_millis(50), notices.next()).await };
            // The changes are read after a notice, and also after the timeout.
            let _ = wait(notice);
        }
    }
}

/// A thread that learns of an acknowledged write by other means can read it.
pub fn a_reader_sees_what_was_acknowledged(constructor: Constructor<impl ItemStore + ?Sized>) {
    let (fixture, _) = open(constructor);
    let notes = create(&*fixture.store, "notes").name;
    let (told, tells) = std::sync::mpsc::sync_channel(0);
    let (store, collection) = (fixture.store.clone(), notes.clone());
    let writer = thread::spawn(move || {
        for count in 0..100 {
            let new = id(&format!("item{count}"));
            let writes = vec![put(item(new.as_str(), "A", 1))];
            let decide = Box::new(move |_: &crate::Snapshot| writes.clone());
            let after = wait(store.update(&collection, vec![new.clone()], decide)).expect("stored");
            told.send((new, after.last)).expect("a listener");
        }
    });
    for (new, number) in tells {
        let stored = wait(fixture.store.item(&notes, &new)).expect("read").expect("there");
        assert_eq!(stored.number, number);
        let collection = wait(fixture.store.collection(&notes)).expect("read").expect("there");
        assert!(collection.last >= number);
    }
    writer.join().expect("the writer");
}
