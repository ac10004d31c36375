//! Equivalence with a model: any operation on a store has the same result as on the memory store.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::log_model::{self, LogCalls};
use super::samples::{by, deleted, id, item, named, sequence, version};
use super::{Constructor, TestEnvironment, wait};
use crate::{
    ChangeNumber, CollectionChange, Digest, DiscardedId, EndpointName, ItemStore, MemoryStore,
    Moment, NewCollection, NewRemote, Origin, PageLimit, Put, Remote, RemoteId, RemoteState,
    Selection, Snapshot, Write,
};

const ITEMS: u8 = 6;
const COLLECTIONS: u8 = 3;

#[derive(Debug, Clone)]
enum Operation {
    Create(u8),
    Drop(u8),
    Rename(u8, u8),
    Update(u8, Vec<Change>),
    MarkSent(u8, u64),
    AddRemote(u8, u8),
    ChangeRemote(u64, u8),
    RemoveRemote(u64),
    PutBlob(u8),
    Sweep(u64),
    Log(u8, log_model::Operation),
    SweepLogs(u64),
    Clock(u64),
}

#[derive(Debug, Clone)]
enum Change {
    Put { item: u8, line: u8, updates: u32, deleted: bool, conflicts: u8, blob: Option<u8> },
    Discard(Vec<u8>),
    Purge(Vec<u8>),
    PurgeWhatIsThere,
    Issue { item: u8, line: u8, sequence: u32 },
    Reincarnate,
    Remote(u64, u64),
    Recover(u64),
}

fn change() -> impl Strategy<Value = Change> {
    let some = || prop::collection::vec(0..ITEMS, 0..3);
    prop_oneof![
        10 => (0..ITEMS, 0..3u8, 1..5u32, any::<bool>(), 0..3u8, prop::option::of(0..3u8)).prop_map(
            |(item, line, updates, deleted, conflicts, blob)| Change::Put {
                item, line, updates, deleted, conflicts, blob
            }
        ),
        1 => some().prop_map(Change::Discard),
        1 => some().prop_map(Change::Purge),
        2 => Just(Change::PurgeWhatIsThere),
        3 => (0..ITEMS, 0..3u8, 1..9u32)
            .prop_map(|(item, line, sequence)| Change::Issue { item, line, sequence }),
        1 => Just(Change::Reincarnate),
        1 => (1..4u64, 0..9u64).prop_map(|(remote, pushed)| Change::Remote(remote, pushed)),
        1 => (1..6u64).prop_map(Change::Recover),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    let collection = || 0..COLLECTIONS;
    prop_oneof![
        2 => collection().prop_map(Operation::Create),
        1 => collection().prop_map(Operation::Drop),
        1 => (collection(), collection()).prop_map(|(from, to)| Operation::Rename(from, to)),
        16 => (collection(), prop::collection::vec(change(), 0..5))
            .prop_map(|(name, changes)| Operation::Update(name, changes)),
        1 => (collection(), 0..20u64).prop_map(|(name, mark)| Operation::MarkSent(name, mark)),
        1 => (collection(), 0..2u8).prop_map(|(name, url)| Operation::AddRemote(name, url)),
        1 => (1..4u64, 0..2u8).prop_map(|(id, url)| Operation::ChangeRemote(id, url)),
        1 => (1..4u64).prop_map(Operation::RemoveRemote),
        1 => (0..3u8).prop_map(Operation::PutBlob),
        1 => (0..40u64).prop_map(Operation::Sweep),
        10 => (collection(), log_model::operation())
            .prop_map(|(name, operation)| Operation::Log(name, operation)),
        1 => (0..40u64).prop_map(Operation::SweepLogs),
        2 => (0..40u64).prop_map(Operation::Clock),
    ]
}

fn collection(number: u8) -> crate::CollectionName {
    named(&format!("c{}", number % COLLECTIONS))
}

fn key(number: u8) -> feedsync_core::ItemId {
    id(&format!("item{number}"))
}

fn line(number: u8) -> feedsync_core::By {
    by(["A", "tester.once", "C"][usize::from(number) % 3])
}

fn digest(number: u8) -> Digest {
    Digest::of(&[number])
}

fn moment(number: u64) -> Moment {
    Moment::from_micros(1_763_668_000_000_000 + number)
}

fn writes(changes: &[Change], snapshot: &Snapshot) -> Vec<Write> {
    changes.iter().map(|change| write(change, snapshot)).collect()
}

fn write(change: &Change, snapshot: &Snapshot) -> Write {
    let keys = |numbers: &[u8]| numbers.iter().map(|number| key(*number)).collect();
    match change {
        Change::Put { item: number, line: by, updates, deleted: dead, conflicts, blob } => {
            let mut item = item(key(*number).as_str(), line(*by).as_str(), *updates);
            if *dead {
                item = deleted(item);
            }
            let conflict =
                |number: u8| version(&format!("D{number}"), u32::from(number) + 1, "<c/>");
            item.conflicts = (0..*conflicts).map(conflict).collect();
            let origin = match by {
                0 => Origin::Here,
                1 => Origin::Mixed,
                _ => Origin::Remote(RemoteId(u64::from(*updates))),
            };
            let blobs = blob.map(digest).into_iter().collect();
            Write::Put(Put { item, created_here: *by == 1, origin, blobs })
        }
        Change::Discard(ids) => Write::Discard { ids: keys(ids), reason: "gone".to_owned() },
        Change::Purge(ids) => Write::Purge { ids: keys(ids) },
        Change::PurgeWhatIsThere => Write::Purge {
            ids: (0..ITEMS).map(key).filter(|id| snapshot.item(id).is_some()).collect(),
        },
        Change::Issue { item, line: by, sequence: number } => {
            Write::Issue { item: key(*item), by: line(*by), sequence: sequence(*number) }
        }
        Change::Reincarnate => Write::Reincarnate { by: snapshot.mint() },
        Change::Remote(id, pushed) => Write::Remote {
            id: RemoteId(*id),
            state: RemoteState { pushed: ChangeNumber::new(*pushed), ..RemoteState::default() },
        },
        Change::Recover(id) => Write::Recovered(DiscardedId(*id)),
    }
}

/// Applies an operation and returns the store's result as text.
fn answer<S: ItemStore + ?Sized>(
    store: &S,
    log_calls: Option<LogCalls<S>>,
    environment: &TestEnvironment,
    operation: Operation,
) -> String {
    let url = |number: u8| format!("http://example.org/{number}");
    match operation {
        Operation::Create(number) => {
            let new = NewCollection {
                name: collection(number),
                title: format!("The {number}"),
                format: feedsync_core::Format::ALL[usize::from(number)],
                settings: [("number".to_owned(), number.to_string())].into(),
            };
            said(wait(store.create_collection(new)))
        }
        Operation::Drop(number) => said(wait(store.drop_collection(&collection(number)))),
        Operation::Rename(from, to) => {
            let change = CollectionChange {
                name: Some(collection(to)),
                title: Some("renamed".to_owned()),
                ..Default::default()
            };
            said(wait(store.change_collection(&collection(from), change)))
        }
        Operation::Update(number, changes) => {
            let decide = Box::new(move |snapshot: &Snapshot| writes(&changes, snapshot));
            let keys = (0..ITEMS - 1).map(key).collect();
            said(wait(store.update(&collection(number), keys, decide)))
        }
        Operation::MarkSent(number, mark) => {
            said(wait(store.mark_sent(&collection(number), ChangeNumber::new(mark))))
        }
        Operation::AddRemote(number, address) => {
            let collection = collection(number);
            let new = NewRemote { collection, name: None, url: url(address), subscription: None };
            said(wait(store.add_remote(new)).map(|remote| Remote { id: RemoteId(0), ..remote }))
        }
        Operation::ChangeRemote(number, address) => {
            let remotes = wait(store.remotes(None)).expect("read");
            let Some(mut remote) = remotes.into_iter().find(|known| known.id.0 == number) else {
                return "no such remote".to_owned();
            };
            remote.url = url(address);
            remote.state.failures += 1;
            said(wait(store.change_remote(remote)))
        }
        Operation::RemoveRemote(number) => said(wait(store.remove_remote(RemoteId(number)))),
        Operation::PutBlob(number) => said(wait(store.put_blob(vec![number]))),
        Operation::Sweep(number) => said(wait(store.sweep_blobs(moment(number)))),
        Operation::Log(number, operation) => log_calls.map_or_else(String::new, |calls| {
            (calls.answer)(store, &collection(number), operation)
        }),
        Operation::SweepLogs(number) => {
            log_calls.map_or_else(String::new, |calls| (calls.sweep)(store, moment(number)))
        }
        Operation::Clock(number) => {
            environment.set(moment(number));
            String::new()
        }
    }
}

pub(super) fn said<T: std::fmt::Debug>(answer: Result<T, crate::StoreError>) -> String {
    format!("{answer:?}")
}

/// All readable state of a store as text, one line each.
fn dump<S: ItemStore + ?Sized>(store: &S, log_calls: Option<LogCalls<S>>) -> Vec<String> {
    let mut lines = vec![said(wait(store.identity())), said(wait(store.remotes(None)))];
    for collection in wait(store.collections()).expect("read") {
        let name = &collection.name;
        lines.push(format!("{collection:?}"));
        lines.push(said(wait(store.discarded(name))));
        lines.extend(log_calls.iter().flat_map(|calls| (calls.dump)(store, &collection)));
        for limit in [PageLimit::items(2), PageLimit { items: 100, bytes: 700 }] {
            let mut after = ChangeNumber::ZERO;
            loop {
                let page = wait(store.changes(name, after, None, limit)).expect("read");
                lines.push(format!("{page:?}"));
                after = page.through;
                if !page.more {
                    break;
                }
            }
            lines.push(said(wait(store.items_by_id(name, Some(&key(1)), limit))));
            for flags in 0..8 {
                let selection = Selection {
                    before: (flags == 7).then_some(ChangeNumber::new(9)),
                    deleted: flags & 1 != 0,
                    conflicted: flags & 2 != 0,
                    containing: (flags & 4 != 0).then(|| "ITEM2".to_owned()),
                };
                lines.push(said(wait(store.listing(name, &selection, limit))));
            }
        }
        let snapshot = std::sync::Mutex::new(Vec::new());
        let snapshot = Arc::new(snapshot);
        let seen = Arc::clone(&snapshot);
        let keys: Vec<_> = (0..ITEMS).map(key).collect();
        let decide = move |snapshot: &Snapshot| {
            let entries = (0..ITEMS).map(|number| format!("{:?}", snapshot.entry(&key(number))));
            seen.lock().expect("not poisoned").extend(entries);
            Vec::new()
        };
        wait(store.update(name, keys, Box::new(decide))).expect("read");
        lines.append(&mut snapshot.lock().expect("not poisoned"));
    }
    for number in 0..3 {
        lines.push(said(wait(store.blob(digest(number)))));
        let mut named = wait(store.blob_named_by(digest(number))).expect("read");
        named.sort();
        lines.push(format!("{named:?}"));
    }
    lines
}

/// Random operations have the same results, and lead to the same contents. The number of cases is
/// `FEEDSYNC_RUNS`, by default 48.
pub fn any_sequence_of_operations_gives_what_the_memory_store_gives(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    compare(constructor, None);
}

/// Compares a store with the memory store; operations on logs do nothing if there are no calls for them.
pub(super) fn compare<S: ItemStore + ?Sized>(
    constructor: Constructor<S>,
    log_calls: Option<(LogCalls<MemoryStore>, LogCalls<S>)>,
) {
    let cases = std::env::var("FEEDSYNC_RUNS").ok().and_then(|cases| cases.parse().ok());
    let config =
        Config { cases: cases.unwrap_or(48), failure_persistence: None, ..Config::default() };
    let operations = prop::collection::vec(operation(), 1..50);
    let (model_calls, calls) = log_calls.unzip();
    TestRunner::new(config)
        .run(&operations, |operations| {
            let ours = Arc::new(TestEnvironment::new(1));
            let theirs = Arc::new(TestEnvironment::new(1));
            let name = EndpointName::new("tester").expect("a legal name");
            let model = MemoryStore::new(&name, ours.clone());
            let fixture = constructor(theirs.clone());
            let store = &*fixture.store;
            for operation in
                [Operation::Create(0), Operation::Create(1)].into_iter().chain(operations)
            {
                let expected = answer(&model, model_calls, &ours, operation.clone());
                let answered = answer(store, calls, &theirs, operation.clone());
                prop_assert_eq!(answered, expected, "{:?}", operation);
            }
            let (expected, found) = (dump(&model, model_calls), dump(store, calls));
            prop_assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert_eq!(found, expected);
            }
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
}
