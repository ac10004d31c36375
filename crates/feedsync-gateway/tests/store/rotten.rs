//! Tests that a flipped bit in the stored data is reported as an error and never returned.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use feedsync_bitsy::interceptor::{Content, Stored as _};
use feedsync_gateway::store::{Opened, Store, StoreError, check};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::samples::{LARGE, bytes, durable, edit, open, pin, stored};

/// Kind of storage in which a bit was flipped.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Where {
    Column,
    File,
}

fn flip(bytes: &mut [u8], random: &mut SmallRng) {
    let at = random.random_range(0..bytes.len() * 8);
    bytes[at / 8] ^= 1 << (at % 8);
}

fn flip_stored(directory: &Path, content: &Content, random: &mut SmallRng) -> Where {
    let name = content.digest.to_string();
    let file = directory.join("contents").join(&name[..2]).join(&name);
    if let Ok(mut bytes) = fs::read(&file) {
        flip(&mut bytes, random);
        fs::write(file, bytes).unwrap();
        return Where::File;
    }
    let connection = Connection::open(directory.join("gateway.db")).unwrap();
    let sql = "SELECT bytes FROM content WHERE digest = ?1";
    let mut bytes: Vec<u8> =
        connection.query_row(sql, [content.digest.0], |row| row.get(0)).unwrap();
    flip(&mut bytes, random);
    let sql = "UPDATE content SET bytes = ?1 WHERE digest = ?2";
    assert_eq!(connection.execute(sql, (bytes, content.digest.0)).unwrap(), 1);
    Where::Column
}

/// A store with one content, as a representation and as an edit.
fn store(directory: &TempDir, number: u64, length: usize) -> (Store, Content) {
    let (store, _) = open(directory);
    let held = pin(&store, number, length);
    let content = held.content();
    let changes = match number % 2 {
        0 => vec![stored("a", content, 1)],
        _ => vec![edit(1, "a", content)],
    };
    store.apply(&[durable(changes)]).unwrap();
    drop(held);
    (store, content)
}

fn opened(store: &Store, content: &Content) -> Result<(), StoreError> {
    match store.reader().open(content)? {
        Opened::Bytes(_) => Ok(()),
        Opened::File(file) => file.check().map(drop),
    }
}

#[test]
fn a_flipped_bit_is_an_error_and_never_bytes() {
    let mut random = SmallRng::seed_from_u64(7);
    let mut seen = Vec::new();
    for number in 0..40 {
        let length =
            if number % 4 < 2 { 8 + number as usize * 300 } else { LARGE + number as usize };
        let directory = TempDir::new().unwrap();
        let (store, content) = store(&directory, number, length);
        opened(&store, &content).unwrap();
        drop(store);
        assert_eq!(check(directory.path()).unwrap(), []);
        seen.push(flip_stored(directory.path(), &content, &mut random));
        let faults = check(directory.path()).unwrap();
        assert_eq!(faults.len(), 1, "{number}: {faults:?}");
        let owner =
            if number % 2 == 0 { "http://example.org/a" } else { "edit 1 of http://example.org/a" };
        assert_eq!(faults[0].about, owner);
        let (store, _) = open(&directory);
        for error in [opened(&store, &content).err(), store.reader().content(&content).err()] {
            assert!(error.is_some_and(|error| error.is_corrupt()), "{number}");
        }
        let damaged = store.take_damaged();
        assert_eq!(damaged, HashSet::from([content.digest]));
        // Intact bytes can be stored again.
        store.forget_damaged(&damaged, &HashSet::new()).unwrap();
        let held = pin(&store, number, length);
        store.apply(&[durable(vec![stored("a", held.content(), 2)])]).unwrap();
        drop(held);
        assert_eq!(store.reader().content(&content).unwrap(), bytes(number, length));
    }
    assert!(seen.contains(&Where::Column) && seen.contains(&Where::File));
}

/// A store that has found its content of this length damaged, in a directory that must outlive it.
fn damaged_store(length: usize) -> (TempDir, Store, Content) {
    let directory = TempDir::new().unwrap();
    let (first, content) = store(&directory, 2, length);
    drop(first);
    flip_stored(directory.path(), &content, &mut SmallRng::seed_from_u64(1));
    let (store, _) = open(&directory);
    assert!(opened(&store, &content).is_err());
    (directory, store, content)
}

/// Damage is handled in two steps, and the same contents may be fetched between them.
#[test]
fn the_right_bytes_stay_where_they_are_stored_before_the_damaged_ones_are_forgotten() {
    for length in [100, LARGE] {
        let (_directory, store, content) = damaged_store(length);
        let damaged = store.take_damaged();
        let held = pin(&store, 2, length);
        store.apply(&[durable(vec![stored("a", held.content(), 2)])]).unwrap();
        drop(held);
        store.forget_damaged(&damaged, &HashSet::new()).unwrap();
        assert_eq!(store.reader().content(&content).unwrap(), bytes(2, length), "{length}");
    }
}

/// An edit that is being sent is handled later, and nothing reads its bytes in between.
#[test]
fn damaged_bytes_that_are_still_needed_are_reported_again_until_they_are_not() {
    for length in [100, LARGE] {
        let (_directory, store, content) = damaged_store(length);
        let needed = HashSet::from([content.digest]);
        for needed in [&needed, &needed, &HashSet::new()] {
            let damaged = store.take_damaged();
            assert_eq!(damaged, HashSet::from([content.digest]), "{length}");
            store.forget_damaged(&damaged, needed).unwrap();
        }
        assert!(store.take_damaged().is_empty(), "{length}");
    }
}

#[test]
fn damaged_bytes_are_replaced_by_the_same_ones_that_come_again() {
    for length in [100, LARGE] {
        let directory = TempDir::new().unwrap();
        let (store, content) = store(&directory, 2, length);
        drop(store);
        flip_stored(directory.path(), &content, &mut SmallRng::seed_from_u64(1));
        // The damage was not read since.
        let (store, _) = open(&directory);
        let held = pin(&store, 2, length);
        store.apply(&[durable(vec![stored("a", held.content(), 2)])]).unwrap();
        drop(held);
        assert_eq!(store.reader().content(&content).unwrap(), bytes(2, length));
    }
}
