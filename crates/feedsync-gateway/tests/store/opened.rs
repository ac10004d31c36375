//! Tests of opening a store.

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::{Content, Stored as _};
use feedsync_gateway::store::{Opened, Quota, Store, StoreError};
use tempfile::TempDir;

use crate::samples::{LARGE, at, bytes, durable, open, pin, stored};

#[test]
fn one_process_at_a_time_has_a_directory() {
    let directory = TempDir::new().unwrap();
    let (store, _) = open(&directory);
    let error = Store::open(directory.path(), Quota::default()).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }));
    let name = directory.path().canonicalize().unwrap();
    let text = error.to_string();
    assert!(
        text.contains(&name.display().to_string()) && text.contains("data directory"),
        "{text}"
    );
    drop(store);
    open(&directory);
}

#[test]
fn foreign_and_newer_databases_are_left_unchanged() {
    let directory = TempDir::new().unwrap();
    drop(open(&directory));
    let file = directory.path().join("gateway.db");
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let error = Store::open(directory.path(), Quota::default()).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
    let other = TempDir::new().unwrap();
    let file = other.path().join("gateway.db");
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute_batch("CREATE TABLE theirs (a)").unwrap();
    drop(connection);
    let error = Store::open(other.path(), Quota::default()).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    std::fs::write(&file, b"no database, but long enough to be none for certain").unwrap();
    let error = Store::open(other.path(), Quota::default()).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn files_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let parent = TempDir::new().unwrap();
    let directory = parent.path().join("data");
    let (store, _) = Store::open(&directory, Quota::default()).unwrap();
    let held = pin(&store, 1, LARGE);
    store.apply(&[durable(vec![stored("a", held.content(), 1)])]).unwrap();
    let mut directories = vec![directory];
    let mut files = 0;
    while let Some(directory) = directories.pop() {
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&directory), 0o700, "{}", directory.display());
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files >= 4, "database, log, lock and a content: {files}");
}

#[test]
fn bytes_are_read_at_once_and_large_ones_from_a_file() {
    let directory = TempDir::new().unwrap();
    let (store, _) = open(&directory);
    let reader = store.reader();
    for (number, length) in [(1, 100), (2, LARGE)] {
        let held = pin(&store, number, length);
        let content = held.content();
        assert_eq!(content, Content::of(&bytes(number, length)));
        assert_eq!(reader.content(&content).unwrap(), bytes(number, length));
        store.apply(&[durable(vec![stored("a", content, 1)])]).unwrap();
        drop(held);
        assert_eq!(reader.content(&content).unwrap(), bytes(number, length));
        let is_file = matches!(reader.open(&content).unwrap(), Opened::File(_));
        assert_eq!(is_file, length == LARGE);
    }
    assert_eq!(reader.content(&Content::of(b"")).unwrap(), b"");
}

#[test]
fn a_step_whose_bytes_nobody_has_is_refused_whole() {
    let directory = TempDir::new().unwrap();
    let (store, _) = open(&directory);
    let held = pin(&store, 1, 10);
    let nowhere = Content::of(b"nowhere");
    let changes = vec![stored("a", held.content(), 1), stored("b", nowhere, 1)];
    let error = store.apply(&[durable(changes)]).unwrap_err();
    assert!(matches!(error, StoreError::NoContent(digest) if digest == nowhere.digest));
    let reader = store.reader();
    assert_eq!(reader.representation(Partition::public(), &at("a")).unwrap(), None);
    store.apply(&[durable(vec![stored("a", held.content(), 1)])]).unwrap();
}

#[test]
fn an_address_whose_file_was_taken_away_is_fetched_again() {
    let directory = TempDir::new().unwrap();
    let (store, _) = open(&directory);
    let (lost, kept) = (pin(&store, 1, LARGE), pin(&store, 2, LARGE));
    let changes = vec![stored("lost", lost.content(), 1), stored("kept", kept.content(), 1)];
    store.apply(&[durable(changes)]).unwrap();
    let name = lost.content().digest.to_string();
    drop((lost, kept, store));
    let file = directory.path().join("contents").join(&name[..2]).join(&name);
    std::fs::remove_file(file).unwrap();
    let (store, _) = open(&directory);
    let reader = store.reader();
    let stored = |path| reader.representation(Partition::public(), &at(path)).unwrap();
    assert!(stored("lost").is_none() && stored("kept").is_some());
}
