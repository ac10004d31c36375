//! A log grows only at its end, by one append at a time, and is readable up to its committed length.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::samples::{create, open};
use super::{Constructor, wait};
use crate::{
    Append, CollectionName, Expected, Generation, ItemStore, Log, LogOutcome, LogPosition, Logs,
    MAX_APPEND_KEYS, Moment, NewGeneration, StoreError,
};

/// An append without a key or an audit entry.
pub fn append(expected: Expected, bytes: &[u8]) -> Append {
    Append {
        expected,
        bytes: bytes.to_vec(),
        media_type: "application/x-ndjson".to_owned(),
        key: None,
        most: u64::MAX,
        act: None,
    }
}

/// The log in a successful result.
pub fn done(outcome: Result<LogOutcome, StoreError>) -> Log {
    match outcome {
        Ok(LogOutcome::Done(log)) => log,
        other => panic!("{other:?}"),
    }
}

/// The log after these bytes were appended, at any position.
pub fn grown(store: &(impl Logs + ?Sized), name: &CollectionName, bytes: &[u8]) -> Log {
    done(wait(store.append_to_log(name, append(Expected::Present, bytes))))
}

/// A new log with these bytes.
pub fn begun(store: &(impl Logs + ?Sized), name: &CollectionName, bytes: &[u8]) -> Log {
    done(wait(store.append_to_log(name, append(Expected::Absent, bytes))))
}

/// All bytes of a generation, read in pieces.
pub fn read_all(
    store: &(impl Logs + ?Sized),
    name: &CollectionName,
    generation: Generation,
) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let piece = wait(store.read_log(name, generation, all.len() as u64, 60_000));
        let piece = piece.expect("read")?;
        if piece.is_empty() {
            return Some(all);
        }
        all.extend(piece);
    }
}

/// Bytes can be appended only at the current end of the log.
pub fn a_log_is_appended_to_where_it_stands(
    constructor: Constructor<impl ItemStore + Logs + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let ask = |expected, bytes: &[u8]| wait(store.append_to_log(&notes, append(expected, bytes)));
    let nowhere = LogPosition { generation: Generation::new(1, 7), length: 0 };
    assert_eq!(wait(store.log(&notes)).unwrap(), None);
    for expected in [Expected::Present, Expected::At(vec![nowhere])] {
        assert_eq!(ask(expected, b"a\n").unwrap(), LogOutcome::Absent(None));
    }
    let first = done(ask(Expected::Absent, b"one\n"));
    assert_eq!((first.place.generation.number(), first.place.length), (1, 4));
    assert_eq!((&*first.media_type, first.removed), ("application/x-ndjson", false));
    assert_eq!(wait(store.log(&notes)).unwrap(), Some(first.clone()));
    assert_eq!(ask(Expected::Absent, b"x").unwrap(), LogOutcome::PositionMismatch(first.clone()));

    let mut other = append(Expected::At(vec![nowhere, first.place]), b"two\n");
    other.media_type = "text/plain".to_owned();
    let second = done(wait(store.append_to_log(&notes, other)));
    assert_eq!(second.place, LogPosition { length: 8, ..first.place });
    assert_eq!(second.media_type, first.media_type, "whoever began it said what it is");
    for places in [vec![], vec![first.place], vec![LogPosition { length: 9, ..first.place }]] {
        let late = ask(Expected::At(places), b"late\n").unwrap();
        assert_eq!(late, LogOutcome::PositionMismatch(second.clone()));
    }
    let third = done(ask(Expected::Present, b"three\n"));
    assert_eq!(wait(store.log(&notes)).unwrap(), Some(third.clone()));
    let bytes = read_all(store, &notes, third.place.generation);
    assert_eq!(bytes.as_deref(), Some(&b"one\ntwo\nthree\n"[..]));
}

/// One of several appends that expect the log at one position succeeds, whether the log exists or not.
pub fn of_all_who_expect_a_log_at_one_place_one_appends(
    constructor: Constructor<impl ItemStore + Logs + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let mut expected = Expected::Absent;
    let mut winners = Vec::new();
    for round in 0..12_u8 {
        let outcomes: Vec<_> = thread::scope(|scope| {
            let ask = |writer: u8| {
                let append = append(expected.clone(), &[round, writer, b'\n']);
                let notes = &notes;
                scope.spawn(move || (writer, wait(store.append_to_log(notes, append)).unwrap()))
            };
            let threads: Vec<_> = (0..8).map(ask).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut place = None;
        for (writer, outcome) in outcomes {
            match outcome {
                LogOutcome::Done(log) => {
                    assert_eq!(place.replace(log.place), None, "one appends");
                    winners.extend([round, writer, b'\n']);
                }
                LogOutcome::PositionMismatch(log) => {
                    assert_eq!(log.place.length, 3 * (u64::from(round) + 1));
                }
                other => panic!("{other:?}"),
            }
        }
        expected = Expected::At(vec![place.expect("one appends")]);
    }
    let log = wait(store.log(&notes)).unwrap().unwrap();
    assert_eq!(read_all(store, &notes, log.place.generation), Some(winners));
}

/// Reads return the requested range, nothing beyond the end, and unchanged bytes.
pub fn a_log_is_read_in_parts(constructor: Constructor<impl ItemStore + Logs + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let mut all: Vec<u8> = (0..=255).collect();
    let mut log = begun(store, &notes, &all);
    // Longer than any backend stores in one row, and as short as possible.
    let long: Vec<u8> = (0..2_500_000_u32).map(|number| (number % 251) as u8).collect();
    for piece in [&long[..], &[0], &long[..70_000], b"\r\n"] {
        log = grown(store, &notes, piece);
        all.extend_from_slice(piece);
    }
    let length = all.len() as u64;
    assert_eq!(log.place.length, length);
    let generation = log.place.generation;
    let read = |from, most| wait(store.read_log(&notes, generation, from, most)).unwrap();
    for (from, most) in [(0, 1), (255, 2), (256, 65_536), (1_048_000, 2_000), (0, usize::MAX)] {
        let end = all.len().min(most.saturating_add(from));
        assert_eq!(read(from as u64, most).as_deref(), Some(&all[from..end]), "{from} {most}");
    }
    assert_eq!(read(length - 3, 65_536).as_deref(), Some(&all[all.len() - 3..]));
    for (from, most) in [(length, 9), (length + 1, 9), (u64::MAX, usize::MAX), (0, 0)] {
        assert_eq!(read(from, most), Some(Vec::new()), "{from} {most}");
    }
    let other = Generation::new(generation.number(), !generation.tail());
    assert_eq!(wait(store.read_log(&notes, other, 0, 9)).unwrap(), None);
    assert_eq!(read_all(store, &notes, generation), Some(all));
}

/// Reads during concurrent appends see complete appends only, and never less than the stated length.
pub fn reads_during_appends_see_complete_appends(
    constructor: Constructor<impl ItemStore + Logs + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let generation = begun(store, &notes, &[b'a'; 100]).place.generation;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while !is_over.load(Ordering::SeqCst) {
                let log = wait(store.log(&notes)).unwrap().unwrap();
                let bytes = wait(store.read_log(&notes, generation, 0, usize::MAX));
                let bytes = bytes.unwrap().unwrap();
                assert!(bytes.len() as u64 >= log.place.length && bytes.len() >= seen);
                assert_eq!(bytes.len() % 100, 0, "whole appends");
                assert!(bytes.chunks(100).all(|record| record.iter().all(|b| *b == record[0])));
                seen = bytes.len();
            }
        });
        for number in 0..100_u8 {
            grown(store, &notes, &[b'b' + number % 20; 100]);
        }
        is_over.store(true, Ordering::SeqCst);
        reader.join().unwrap();
    });
}

/// An append that exceeds the limit changes nothing; earlier generations count as long as they are stored.
pub fn a_log_grows_no_further_than_it_may(
    constructor: Constructor<impl ItemStore + Logs + ?Sized>,
) {
    let (fixture, environment) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let ask = |expected, bytes: &[u8]| {
        wait(store.append_to_log(&notes, Append { most: 10, ..append(expected, bytes) })).unwrap()
    };
    assert_eq!(ask(Expected::Absent, &[b'x'; 11]), LogOutcome::Full { bytes: 11 });
    assert_eq!(wait(store.log(&notes)).unwrap(), None);
    done(Ok(ask(Expected::Absent, &[b'x'; 6])));
    assert_eq!(ask(Expected::Present, &[b'x'; 5]), LogOutcome::Full { bytes: 11 });
    let log = done(Ok(ask(Expected::Present, &[b'x'; 1])));
    let begin = |bytes: &[u8]| {
        let expected = Expected::At(vec![log.place]);
        let new = NewGeneration { expected, bytes: bytes.to_vec(), most: 10, act: None };
        wait(store.begin_log_generation(&notes, new)).unwrap()
    };
    assert_eq!(begin(&[b'y'; 11]), LogOutcome::Full { bytes: 11 });
    assert_eq!(wait(store.log(&notes)).unwrap(), Some(log.clone()));
    // The previous generation does not count towards the limit of the new one.
    let kept = done(Ok(begin(&[b'y'; 3])));
    assert_eq!(kept.earlier.len(), 1);
    let full = done(Ok(ask(Expected::Present, &[b'z'; 7])));
    assert_eq!(ask(Expected::Present, b"z"), LogOutcome::Full { bytes: 11 });
    // Compacting a full log makes room by removing generations that ended a day ago.
    let new =
        NewGeneration { expected: Expected::Present, bytes: vec![b'a'; 4], most: 10, act: None };
    let refused = wait(store.begin_log_generation(&notes, new.clone())).unwrap();
    assert_eq!(refused, LogOutcome::Full { bytes: 21 });
    assert_eq!(wait(store.log(&notes)).unwrap(), Some(full.clone()));
    environment.set(Moment::from_micros(full.changed.micros() + 24 * 60 * 60 * 1_000_000));
    let begun = done(wait(store.begin_log_generation(&notes, new)));
    assert_eq!(begun.earlier.keys().copied().collect::<Vec<_>>(), [full.place.generation]);
    let gone = wait(store.read_log(&notes, log.place.generation, 0, 9)).unwrap();
    assert_eq!(gone, None);
}

/// An append is recognized by its key, also in a later generation, until a hundred others follow.
pub fn an_append_is_known_by_its_key(constructor: Constructor<impl ItemStore + Logs + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let (notes, books) = (create(store, "notes").name, create(store, "books").name);
    let ask = |name: &CollectionName, key: &str, expected, bytes: &[u8]| {
        let append = Append { key: Some(key.to_owned()), ..append(expected, bytes) };
        wait(store.append_to_log(name, append)).unwrap()
    };
    let first = done(Ok(ask(&notes, "k", Expected::Absent, b"one\n")));
    let second = done(Ok(ask(&notes, "l", Expected::At(vec![first.place]), b"two\n")));
    let repeated = LogOutcome::Repeated { start: 4, end: second.place };
    for expected in [Expected::At(vec![first.place]), Expected::Absent, Expected::Present] {
        assert_eq!(ask(&notes, "l", expected, b"two\n"), repeated, "wherever it is expected");
    }
    assert_eq!(ask(&notes, "l", Expected::Present, b"Two\n"), LogOutcome::KeyReused);
    assert_eq!(wait(store.log(&notes)).unwrap(), Some(second.clone()), "nothing changed");
    done(Ok(ask(&books, "l", Expected::Absent, b"a key is one log's\n")));

    let new = NewGeneration {
        expected: Expected::Present,
        bytes: b"compact\n".to_vec(),
        most: u64::MAX,
        act: None,
    };
    done(wait(store.begin_log_generation(&notes, new)));
    assert_eq!(ask(&notes, "l", Expected::Present, b"two\n"), repeated);
    for number in 1..MAX_APPEND_KEYS {
        done(Ok(ask(&notes, &format!("k{number}"), Expected::Present, b"more\n")));
    }
    assert_eq!(ask(&notes, "l", Expected::Present, b"two\n"), repeated, "the last of a hundred");
    done(Ok(ask(&notes, "k", Expected::Present, b"another\n")));
    done(Ok(ask(&notes, "l", Expected::Present, b"a new one\n")));
    done(wait(store.remove_log(&notes, Expected::Present, None)));
    done(Ok(ask(&notes, "k1", Expected::Absent, b"begun again\n")));
}

/// Checks that no two positions of a log are equal.
pub fn assert_distinct(places: &[LogPosition]) {
    assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), places.len(), "{places:?}");
}
