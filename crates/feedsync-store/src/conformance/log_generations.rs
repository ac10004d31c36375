//! Generations, removal and recreation of a log, its snapshot, and its notices.

use std::time::Duration;

use super::logs::{append, assert_distinct, begun, done, grown, read_all};
use super::notices::{QUIET, drain_notices, receives_notice};
use super::samples::{create, named, open};
use super::{Constructor, wait};
use crate::{
    CollectionChange, CollectionName, Digest, Expected, ItemStore, LogOutcome, LogPosition,
    LogSnapshot, Logs, MAX_EARLIER_GENERATIONS, Moment, NewGeneration, NewSnapshot, StoreError,
};

fn compaction(expected: Expected, bytes: &[u8]) -> NewGeneration {
    NewGeneration { expected, bytes: bytes.to_vec(), most: u64::MAX, act: None }
}

fn snapshot(covers: LogPosition, bytes: &[u8]) -> NewSnapshot {
    NewSnapshot { covers, media_type: "application/json".to_owned(), bytes: bytes.to_vec() }
}

/// The previous generation stays unchanged until it is swept; the log grows in the new one.
pub fn a_generation_stays_until_it_is_swept(
    constructor: Constructor<impl ItemStore + Logs + ?Sized>,
) {
    let (fixture, environment) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let first = begun(store, &notes, b"one\ntwo\n");
    let begin = |expected, bytes: &[u8]| {
        wait(store.begin_log_generation(&notes, compaction(expected, bytes)))
    };
    let stale = LogPosition { length: 4, ..first.place };
    let elsewhere = begin(Expected::At(vec![stale]), b"x").unwrap();
    assert_eq!(elsewhere, LogOutcome::PositionMismatch(first.clone()));
    let later = Moment::from_micros(first.changed.micros() + 10);
    environment.set(later);
    let second = done(begin(Expected::At(vec![stale, first.place]), b"both\n"));
    assert_eq!((second.place.generation.number(), second.place.length), (2, 5));
    assert_eq!((second.began, second.changed), (later, later));
    assert_eq!(second.media_type, first.media_type);
    let ended = second.earlier[&first.place.generation];
    assert_eq!((ended.length, ended.at, second.earlier.len()), (8, later, 1));
    let third = done(begin(Expected::Present, b""));
    let third = (third.place.generation, grown(store, &notes, b"more\n"));
    let bytes = |generation| read_all(store, &notes, generation);
    assert_eq!(bytes(first.place.generation), Some(b"one\ntwo\n".to_vec()));
    assert_eq!(bytes(second.place.generation), Some(b"both\n".to_vec()));
    assert_eq!(bytes(third.0), Some(b"more\n".to_vec()));

    assert_eq!(wait(store.sweep_logs(later)).unwrap(), 0);
    assert_eq!(wait(store.log(&notes)).unwrap(), Some(third.1));
    assert_eq!(wait(store.sweep_logs(later.next())).unwrap(), 2);
    assert_eq!(bytes(first.place.generation), None);
    assert_eq!(bytes(second.place.generation), None);
    assert_eq!(bytes(third.0), Some(b"more\n".to_vec()));
    assert!(wait(store.log(&notes)).unwrap().unwrap().earlier.is_empty());
    assert_eq!(wait(store.sweep_logs(Moment::MAX)).unwrap(), 0);
}

/// However often a log is compacted, a fixed number of its generations is stored.
pub fn so_many_generations_are_kept(constructor: Constructor<impl ItemStore + Logs + ?Sized>) {
    let (fixture, environment) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let first = begun(store, &notes, b"0");
    let mut places = vec![first.place];
    for number in 1..MAX_EARLIER_GENERATIONS + 3 {
        // Each is stored for a day at least.
        let days = 24 * 60 * 60 * 1_000_000 * number as u64;
        environment.set(Moment::from_micros(first.changed.micros() + days));
        let bytes = number.to_string();
        let new = compaction(Expected::Present, bytes.as_bytes());
        places.push(done(wait(store.begin_log_generation(&notes, new))).place);
    }
    assert_distinct(&places);
    assert!(places.is_sorted());
    let log = wait(store.log(&notes)).unwrap().unwrap();
    assert_eq!(log.earlier.len(), MAX_EARLIER_GENERATIONS);
    for (number, place) in places.iter().enumerate() {
        let bytes = (number >= 2).then(|| number.to_string().into_bytes());
        assert_eq!(read_all(store, &notes, place.generation), bytes, "{number}");
        assert_eq!(log.length_of(place.generation), bytes.map(|bytes| bytes.len() as u64));
    }
}

/// A log may be compacted any number of times a day. The stored bytes stay within bounds, and the generation
/// of a day ago stays.
pub fn compacting_goes_on_within_a_day(constructor: Constructor<impl ItemStore + Logs + ?Sized>) {
    let (fixture, environment) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let first = begun(store, &notes, &[b'0'; 100]);
    let (start, minute) = (first.changed.micros(), 60_000_000);
    let mut last = first.clone();
    for number in 1..=10 * MAX_EARLIER_GENERATIONS as u64 {
        // Every tenth generation lasts longer than those before it.
        let pause = number * minute + number / 10 * minute;
        environment.set(Moment::from_micros(start + pause));
        let bytes = vec![b'1'; 100 + number as usize];
        let most = 10_000;
        let new = NewGeneration { most, ..compaction(Expected::Present, &bytes) };
        let log = done(wait(store.begin_log_generation(&notes, new)));
        assert!(log.earlier.len() <= MAX_EARLIER_GENERATIONS, "{number}");
        let kept: u64 = log.earlier.values().map(|ended| ended.length).sum();
        assert!(kept + log.place.length <= most + last.place.length, "{number}: {kept}");
        for generation in [first.place.generation, last.place.generation] {
            let kept = log.length_of(generation);
            let read = read_all(store, &notes, generation).map(|bytes| bytes.len() as u64);
            assert!(kept.is_some() && kept == read, "{number}");
        }
        last = log;
    }
    // A day later the oldest is removed first.
    environment.set(Moment::from_micros(start + 48 * 60 * minute));
    let new = NewGeneration { most: 10_000, ..compaction(Expected::Present, &[b'2'; 100]) };
    let log = done(wait(store.begin_log_generation(&notes, new)));
    assert_eq!(log.length_of(first.place.generation), None);
    let kept = log.earlier.keys().chain([&log.place.generation]);
    for generation in kept {
        assert!(read_all(store, &notes, *generation).is_some());
    }
}

/// Only the last position of a removed log is retained, and the log begins again with a greater generation
/// number.
pub fn a_removed_log_begins_again_later(constructor: Constructor<impl ItemStore + Logs + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let remove = |expected| wait(store.remove_log(&notes, expected, None));
    assert_eq!(remove(Expected::Present).unwrap(), LogOutcome::Absent(None));
    let mut places = vec![begun(store, &notes, b"one\n").place];
    let new = compaction(Expected::Present, b"two\n");
    let log = done(wait(store.begin_log_generation(&notes, new)));
    places.push(log.place);
    done(wait(store.put_log_snapshot(&notes, snapshot(log.place, b"{}"))));
    let stale = remove(Expected::At(vec![places[0]])).unwrap();
    assert!(matches!(stale, LogOutcome::PositionMismatch(log) if log.place == places[1]));
    let gone = done(remove(Expected::At(vec![log.place])));
    assert!(gone.removed && gone.earlier.is_empty() && gone.snapshot.is_none());
    assert_eq!(gone.place, log.place);
    assert_eq!(wait(store.log(&notes)).unwrap(), Some(gone.clone()));
    for place in &places {
        assert_eq!(read_all(store, &notes, place.generation), None);
        assert_eq!(gone.length_of(place.generation), None);
    }
    assert_eq!(wait(store.log_snapshot(&notes)).unwrap(), None);
    let absent = LogOutcome::Absent(Some(gone));
    assert_eq!(remove(Expected::Present).unwrap(), absent);
    let grow = append(Expected::At(vec![log.place]), b"x");
    assert_eq!(wait(store.append_to_log(&notes, grow)).unwrap(), absent);
    let new = compaction(Expected::Present, b"x");
    assert_eq!(wait(store.begin_log_generation(&notes, new)).unwrap(), absent);
    let new = snapshot(log.place, b"x");
    assert_eq!(wait(store.put_log_snapshot(&notes, new)).unwrap(), absent);

    let again = begun(store, &notes, b"three\n");
    assert_eq!(again.place.generation.number(), 3);
    places.push(again.place);
    assert_distinct(&places);
    assert_eq!(read_all(store, &notes, again.place.generation), Some(b"three\n".to_vec()));
}

/// A snapshot covers stored bytes, and is replaced by one that covers more.
pub fn a_snapshot_gives_way_to_a_younger_one(
    constructor: Constructor<impl ItemStore + Logs + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let put = |covers, bytes: &[u8]| wait(store.put_log_snapshot(&notes, snapshot(covers, bytes)));
    let log = begun(store, &notes, b"one\ntwo\n");
    let at = |length| LogPosition { length, ..log.place };
    assert_eq!(wait(store.log_snapshot(&notes)).unwrap(), None);
    assert_eq!(put(at(9), b"beyond").unwrap(), LogOutcome::NotCovered(log.clone()));
    let after = done(put(at(4), b"{\"one\"}"));
    let expected = LogSnapshot {
        covers: at(4),
        media_type: "application/json".to_owned(),
        digest: Digest::of(b"{\"one\"}"),
        length: 7,
        stored: after.snapshot.as_ref().unwrap().stored,
    };
    assert_eq!(after.snapshot, Some(expected.clone()));
    assert_eq!((after.place, after.changed), (log.place, log.changed), "the log stays as it was");
    let found = wait(store.log_snapshot(&notes)).unwrap();
    assert_eq!(found, Some((expected, b"{\"one\"}".to_vec())));
    for covers in [at(0), at(4)] {
        assert_eq!(put(covers, b"older").unwrap(), LogOutcome::NotCovered(after.clone()));
    }
    done(put(at(8), b"both"));
    let new = compaction(Expected::Present, b"both\n");
    let next = done(wait(store.begin_log_generation(&notes, new)));
    assert_eq!(next.snapshot.as_ref().map(|snapshot| snapshot.covers), Some(at(8)));
    assert_eq!(put(at(8), b"gone").unwrap(), LogOutcome::NotCovered(next.clone()));
    done(put(LogPosition { length: 0, ..next.place }, &[0xff; 100_000]));
    let (snapshot, bytes) = wait(store.log_snapshot(&notes)).unwrap().unwrap();
    assert_eq!((snapshot.length, bytes), (100_000, vec![0xff; 100_000]));
}

/// A log is renamed and dropped with its collection; a new collection of the name has none.
pub fn a_log_goes_with_its_collection(constructor: Constructor<impl ItemStore + Logs + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let (notes, books) = (create(store, "notes").name, create(store, "books").name);
    let log = begun(store, &notes, b"notes\n");
    let other = begun(store, &books, b"books\n");
    assert_distinct(&[log.place, other.place]);
    done(wait(store.put_log_snapshot(&notes, snapshot(log.place, b"{}"))));
    let log = wait(store.log(&notes)).unwrap();
    let change = CollectionChange { name: Some(named("diary")), ..Default::default() };
    let diary = wait(store.change_collection(&notes, change)).unwrap().name;
    assert_no_collection(store, &notes);
    assert_eq!(wait(store.log(&diary)).unwrap(), log);
    let place = log.unwrap().place;
    assert_eq!(read_all(store, &diary, place.generation), Some(b"notes\n".to_vec()));
    wait(store.drop_collection(&diary)).unwrap();
    assert_no_collection(store, &diary);
    create(store, "diary");
    assert_eq!(wait(store.log(&diary)).unwrap(), None);
    assert_eq!(wait(store.log_snapshot(&diary)).unwrap(), None);
    assert_eq!(read_all(store, &diary, place.generation), None);
    let again = begun(store, &diary, b"diary\n").place;
    assert!(again.generation.number() > place.generation.number(), "not only by chance");
    assert_eq!(read_all(store, &books, other.place.generation), Some(b"books\n".to_vec()));
}

fn assert_no_collection(store: &(impl Logs + ?Sized), name: &CollectionName) {
    fn assert<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
        assert!(matches!(answer, Err(StoreError::NoCollection(_))), "{answer:?}");
    }
    let place: LogPosition = "1.00000000-0".parse().unwrap();
    assert(wait(store.log(name)));
    assert(wait(store.log_snapshot(name)));
    assert(wait(store.read_log(name, place.generation, 0, 9)));
    assert(wait(store.append_to_log(name, append(Expected::Absent, b"x"))));
    assert(wait(store.begin_log_generation(name, compaction(Expected::Present, b"x"))));
    assert(wait(store.remove_log(name, Expected::Present, None)));
    assert(wait(store.put_log_snapshot(name, snapshot(place, b"x"))));
}

/// A new log has a greater generation number than every dropped one, whatever its name was and whether it had
/// been removed before. This does not depend on random numbers.
pub fn a_log_begins_later_than_those_that_were_dropped(
    constructor: Constructor<impl ItemStore + Logs + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let mut last = 0;
    for (name, compactions) in [("notes", 0), ("notes", 4), ("diary", 0), ("notes", 0)] {
        let name = create(store, name).name;
        let mut log = begun(store, &name, b"one\n");
        assert!(log.place.generation.number() > last);
        for _ in 0..compactions {
            log = done(wait(store.begin_log_generation(&name, compaction(Expected::Present, b""))));
        }
        last = log.place.generation.number();
        if compactions > 0 {
            done(wait(store.remove_log(&name, Expected::Present, None)));
        }
        wait(store.drop_collection(&name)).unwrap();
    }
    assert_eq!(last, 8);
    create(store, "empty");
    wait(store.drop_collection(&named("empty"))).unwrap();
    let books = create(store, "books").name;
    assert_eq!(begun(store, &books, b"one\n").place.generation.number(), 9);
}

/// Subscribers of the collection are notified of every change of its log, and of nothing else.
pub fn changes_of_a_log_are_noticed(constructor: Constructor<impl ItemStore + Logs + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes").name;
    let mut notices = store.subscribe(&notes);
    drain_notices(&mut notices);
    let mut assert_heard = |what: &str| {
        assert!(receives_notice(&mut notices, Duration::from_secs(5)), "{what}");
    };
    let log = begun(store, &notes, b"one\n");
    assert_heard("it begins");
    done(wait(store.put_log_snapshot(&notes, snapshot(log.place, b"{}"))));
    assert_heard("a snapshot");
    grown(store, &notes, b"two\n");
    assert_heard("it grows");
    done(wait(store.begin_log_generation(&notes, compaction(Expected::Present, b"x\n"))));
    assert_heard("a generation");
    done(wait(store.remove_log(&notes, Expected::Present, None)));
    assert_heard("it ends");
    begun(store, &notes, b"again\n");
    done(wait(store.begin_log_generation(&notes, compaction(Expected::Present, b"x\n"))));
    drain_notices(&mut notices);
    let late = append(Expected::At(vec![log.place]), b"late\n");
    assert!(matches!(wait(store.append_to_log(&notes, late)), Ok(LogOutcome::PositionMismatch(_))));
    assert_eq!(wait(store.sweep_logs(Moment::MAX)).unwrap(), 1);
    assert!(!receives_notice(&mut notices, QUIET), "nobody sees any of this");
}
