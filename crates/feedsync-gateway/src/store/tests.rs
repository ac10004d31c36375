//! Tests of a store on a full disk and on a failing one.

use std::collections::HashSet;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::{Change, Counters, Entity, Representation, Stored as _};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::outbox::{Edit, EditId, NewEdit, Progress};
use feedsync_bitsy::propagation::Method;
use feedsync_bitsy::time::Time;
use http::{HeaderMap, StatusCode};
use tempfile::TempDir;

use super::*;

fn at(number: u64) -> Location {
    format!("http://example.org/{number}").parse().unwrap()
}

/// Edits with their bodies, and representations of as many addresses.
fn many(store: &Store, from: u64) -> (Vec<PinnedContent>, Step) {
    let numbers = from..from + 20;
    let held = |number: u64| store.pin(&[&number.to_be_bytes()[..], &[1; 3_000]].concat());
    let held: Vec<PinnedContent> = numbers.clone().map(|number| held(number).unwrap()).collect();
    let edits = numbers.clone().zip(&held).map(|(number, body)| {
        let requested = NewEdit {
            partition: Partition::public(),
            method: Method::Put,
            location: at(number),
            feed: at(0),
            resource: at(number),
            queue: at(0),
            base: None,
            is_conditional: false,
            previous: None,
            body: Some(Entity { headers: HeaderMap::new(), content: body.content() }),
            slug: None,
            generation: 1,
            key: String::new(),
        };
        let progress = Progress::Queued;
        let edit = Edit { id: EditId(number), requested, tries: 0, progress, stall: None };
        Change::Edit(Box::new(edit))
    });
    let stored = numbers.clone().zip(&held).map(|(number, body)| {
        let representation = Representation {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            content: body.content(),
            fetched: Time::default(),
            alias_tag: None,
        };
        Change::Representation {
            partition: Partition::public(),
            location: at(number),
            representation: Some(Box::new(representation)),
        }
    });
    let counters = Change::Counters(Counters { edit: from + 20, ..Counters::default() });
    let changes = edits.chain(stored).chain([counters]).collect();
    (held, Step { changes, is_durable: true, events: Vec::new() })
}

fn pages(store: &Store) -> u32 {
    let writer = store.writer();
    writer.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap()
}

#[test]
fn on_a_full_disk_a_step_is_there_whole_or_not_at_all_and_the_store_goes_on() {
    let directory = TempDir::new().unwrap();
    let (store, _) = Store::open(directory.path(), Quota::default()).unwrap();
    let (mut refused, mut taken) = (0, 0);
    let mut from = 1;
    let most = pages(&store) + 40;
    for bound in pages(&store)..most {
        store.bound(bound);
        let (held, step) = many(&store, from);
        let before = store.rows().unwrap();
        let total = store.writer().total;
        match store.apply(&[step]) {
            Ok(()) => {
                taken += 1;
                from += 20;
            }
            Err(error) => {
                assert!(error.is_full(), "{error}");
                refused += 1;
                assert_eq!(store.rows().unwrap(), before);
                assert_eq!(store.writer().total, total);
                let reader = store.reader();
                let stored = reader.representation(Partition::public(), &at(from)).unwrap();
                assert_eq!(stored, None);
                assert_eq!(reader.content(&held[0].content()).unwrap().len(), 3_008);
            }
        }
    }
    assert!(refused > 10 && taken > 0, "{refused} refused, {taken} taken");
    store.bound(u32::MAX);
    let (held, step) = many(&store, from);
    store.apply(&[step]).unwrap();
    drop(held);
    assert_eq!(store.rows().unwrap().edits.len() as u64, from + 19);
    let writer = store.writer();
    assert_eq!(writer.total, quota::total(&writer.connection).unwrap());
    drop(writer);
    store.remove(store.sweep(&HashSet::new()).unwrap()).unwrap();
    drop(store);
    let (store, rows) = Store::open(directory.path(), Quota::default()).unwrap();
    assert_eq!(rows.edits.len() as u64, from + 19);
    let reader = store.reader();
    assert!(reader.representation(Partition::public(), &at(from)).unwrap().is_some());
}

#[test]
fn store_refuses_writes_after_a_failed_sync() {
    let directory = TempDir::new().unwrap();
    let (store, _) = Store::open(directory.path(), Quota::default()).unwrap();
    store.has_failed_sync.store(true, Ordering::Relaxed);
    let (_held, step) = many(&store, 1);
    for error in [store.apply(&[step]).unwrap_err(), store.sync().unwrap_err()] {
        assert!(matches!(error, StoreError::Unknown(_)), "{error}");
    }
    assert!(store.rows().unwrap().edits.is_empty());
}
