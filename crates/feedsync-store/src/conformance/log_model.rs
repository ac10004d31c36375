//! Equivalence with a model, with operations on logs.

use proptest::prelude::*;

use super::logs::{append, read_all};
use super::model::{compare, said};
use super::{Constructor, wait};
use crate::{
    Append, Collection, CollectionName, Expected, Generation, ItemStore, LogPosition, Logs, Moment,
    NewGeneration, NewSnapshot,
};

/// Random operations on items and logs have the same results as on the memory store, and lead to the same
/// contents.
pub fn any_sequence_of_operations_on_items_and_logs_gives_what_the_memory_store_gives(
    constructor: Constructor<impl ItemStore + Logs + ?Sized>,
) {
    compare(constructor, Some((LogCalls::new(), LogCalls::new())));
}

/// An operation on the log of a collection.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    Append { expected: Where, length: u8, key: Option<u8>, most: u64 },
    Compact { expected: Where, length: u8, most: u64 },
    Remove(Where),
    Snapshot { behind: i8 },
}

/// Expected position of the log.
#[derive(Debug, Clone, Copy)]
pub(super) enum Where {
    Nowhere,
    Anywhere,
    /// This many bytes before its end.
    Behind(i8),
}

/// Operations on the logs of a store, for a model that is used with and without logs.
pub(super) struct LogCalls<S: ?Sized> {
    pub(super) answer: fn(&S, &CollectionName, Operation) -> String,
    pub(super) dump: fn(&S, &Collection) -> Vec<String>,
    pub(super) sweep: fn(&S, Moment) -> String,
}

impl<S: ?Sized> Clone for LogCalls<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: ?Sized> Copy for LogCalls<S> {}

impl<S: Logs + ?Sized> LogCalls<S> {
    pub(super) fn new() -> Self {
        let sweep = |store: &S, before| said(wait(store.sweep_logs(before)));
        Self { answer, dump, sweep }
    }
}

pub(super) fn operation() -> impl Strategy<Value = Operation> {
    let expected = || {
        prop_oneof![
            3 => Just(Where::Nowhere),
            2 => Just(Where::Anywhere),
            4 => Just(Where::Behind(0)),
            1 => (-3..4_i8).prop_map(Where::Behind),
        ]
    };
    let most = || prop_oneof![Just(u64::MAX), 0..60_u64];
    let key = || prop::option::of(0..3_u8);
    prop_oneof![
        6 => (expected(), 1..20_u8, key(), most()).prop_map(|(expected, length, key, most)| {
            Operation::Append { expected, length, key, most }
        }),
        2 => (expected(), 0..20_u8, most())
            .prop_map(|(expected, length, most)| Operation::Compact { expected, length, most }),
        1 => expected().prop_map(Operation::Remove),
        2 => (-3..9_i8).prop_map(|behind| Operation::Snapshot { behind }),
    ]
}

/// Applies an operation and returns the store's result as text.
fn answer<S: Logs + ?Sized>(store: &S, name: &CollectionName, operation: Operation) -> String {
    let log = wait(store.log(name)).ok().flatten();
    let nowhere = LogPosition { generation: Generation::new(1, 1), length: 3 };
    let place = log.map_or(nowhere, |log| log.place);
    let behind = |bytes: i8| {
        let length = place.length.saturating_add_signed(-i64::from(bytes));
        LogPosition { length, ..place }
    };
    let expected = |expected| match expected {
        Where::Nowhere => Expected::Absent,
        Where::Anywhere => Expected::Present,
        Where::Behind(bytes) => Expected::At(vec![nowhere, behind(bytes)]),
    };
    let bytes = |length: u8| (0..length).collect::<Vec<u8>>();
    match operation {
        Operation::Append { expected: place, length, key, most } => {
            let key = key.map(|key| format!("key{key}"));
            let append = Append { key, most, ..append(expected(place), &bytes(length)) };
            said(wait(store.append_to_log(name, append)))
        }
        Operation::Compact { expected: place, length, most } => {
            let (expected, bytes) = (expected(place), bytes(length));
            let new = NewGeneration { expected, bytes, most, act: None };
            said(wait(store.begin_log_generation(name, new)))
        }
        Operation::Remove(place) => said(wait(store.remove_log(name, expected(place), None))),
        Operation::Snapshot { behind: back } => {
            let (covers, bytes) = (behind(back), vec![back as u8; 9]);
            let new = NewSnapshot { covers, media_type: "text/plain".to_owned(), bytes };
            said(wait(store.put_log_snapshot(name, new)))
        }
    }
}

/// All readable state of a log, as text.
fn dump<S: Logs + ?Sized>(store: &S, collection: &Collection) -> Vec<String> {
    let name = &collection.name;
    let log = wait(store.log(name)).expect("read");
    let generations = log.iter().flat_map(|log| log.generations()).map(|(kept, _)| kept);
    let generations: Vec<_> =
        generations.chain(log.iter().map(|log| log.place.generation)).collect();
    let mut lines = vec![format!("{log:?}"), said(wait(store.log_snapshot(name)))];
    lines.extend(generations.iter().map(|kept| format!("{:?}", read_all(store, name, *kept))));
    lines
}
