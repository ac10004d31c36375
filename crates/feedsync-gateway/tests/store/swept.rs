//! Tests of sweeps.

use std::collections::HashSet;
use std::fs;

use feedsync_bitsy::interceptor::{Change, Content, Stored as _};
use feedsync_bitsy::outbox::EditId;
use feedsync_gateway::store::{Store, StoreError};
use tempfile::TempDir;

use crate::samples::{LARGE, bytes, durable, edit, open, pin, step, stored, sweep_once};

fn is_there(store: &Store, content: &Content) -> bool {
    match store.reader().content(content) {
        Ok(_) => true,
        Err(StoreError::NoContent(_)) => false,
        Err(error) => panic!("{error}"),
    }
}

fn files(directory: &TempDir) -> usize {
    let contents = fs::read_dir(directory.path().join("contents")).unwrap();
    contents.map(|entry| fs::read_dir(entry.unwrap().path()).unwrap().count()).sum()
}

#[test]
fn unused_contents_are_deleted_after_their_last_holder() {
    let directory = TempDir::new().unwrap();
    let (store, _) = open(&directory);
    for length in [10, LARGE] {
        let held = pin(&store, 1, length);
        let again = pin(&store, 1, length);
        let content = held.content();
        drop(held);
        sweep_once(&store, &HashSet::new());
        assert!(is_there(&store, &content), "somebody holds it");
        drop(again);
        sweep_once(&store, &HashSet::from([content.digest]));
        assert!(is_there(&store, &content), "it is needed");
        sweep_once(&store, &HashSet::new());
        assert!(!is_there(&store, &content));
    }
    assert_eq!(files(&directory), 0);
}

#[test]
fn released_unused_contents_make_a_sweep_due() {
    let directory = TempDir::new().unwrap();
    let (store, _) = open(&directory);
    assert!(!store.needs_sweep());
    (0..100).for_each(|number| drop(pin(&store, number, 50_000)));
    assert!(store.needs_sweep());
    sweep_once(&store, &HashSet::new());
    assert!(!store.needs_sweep());
}

#[test]
fn replaced_contents_are_deleted_in_batches_unless_needed_elsewhere() {
    let directory = TempDir::new().unwrap();
    let (store, _) = open(&directory);
    let held: Vec<_> = (0..200).map(|number| pin(&store, number, 100)).collect();
    let large = pin(&store, 1_000, LARGE);
    let mut changes: Vec<_> = held
        .iter()
        .enumerate()
        .map(|(number, held)| stored(&number.to_string(), held.content(), 1))
        .collect();
    changes.push(stored("twice", held[0].content(), 1));
    changes.push(stored("large", large.content(), 1));
    changes.push(edit(1, "edited", held[1].content()));
    store.apply(&[step(changes)]).unwrap();
    let contents: Vec<_> = held.iter().map(|held| held.content()).collect();
    let (other, gone) = (pin(&store, 2_000, 5), large.content());
    drop((held, large));
    let mut changes: Vec<_> =
        (0..200).map(|number| stored(&number.to_string(), other.content(), 2)).collect();
    changes.push(stored("large", other.content(), 2));
    store.apply(&[step(changes)]).unwrap();
    let needed = HashSet::from([contents[1].digest]);
    assert!(sweep_once(&store, &needed), "more than a portion");
    while sweep_once(&store, &needed) {}
    let there: Vec<_> = contents
        .iter()
        .enumerate()
        .filter(|(_, it)| is_there(&store, it))
        .map(|(at, _)| at)
        .collect();
    assert_eq!(there, [0, 1]);
    assert!(!is_there(&store, &gone) && files(&directory) == 0);
    store.apply(&[durable(vec![Change::EditRemoved(EditId(1))])]).unwrap();
    sweep_once(&store, &HashSet::new());
    assert!(!is_there(&store, &contents[1]));
}

#[test]
fn contents_stored_again_during_a_sweep_stay() {
    let directory = TempDir::new().unwrap();
    let (store, _) = open(&directory);
    for length in [10, LARGE] {
        for _ in 0..3 {
            let held = pin(&store, 1, length);
            store.apply(&[step(vec![stored("a", held.content(), 1)])]).unwrap();
            let content = held.content();
            drop(held);
            let other = pin(&store, 2, length);
            store.apply(&[step(vec![stored("a", other.content(), 1)])]).unwrap();
            // The content is stored again while its deletion is in progress.
            let held = pin(&store, 1, length);
            sweep_once(&store, &HashSet::new());
            store.apply(&[step(vec![stored("b", held.content(), 1)])]).unwrap();
            drop(held);
            sweep_once(&store, &HashSet::new());
            assert_eq!(store.reader().content(&content).unwrap(), bytes(1, length));
        }
    }
}

#[test]
fn files_of_a_crashed_process_are_deleted_at_the_next_start() {
    let directory = TempDir::new().unwrap();
    let (store, _) = open(&directory);
    let kept = pin(&store, 1, LARGE);
    store.apply(&[durable(vec![stored("a", kept.content(), 1)])]).unwrap();
    let left = pin(&store, 2, LARGE);
    let mut begun = store.incoming();
    begun.take(&bytes(3, LARGE)).unwrap();
    // As after a crash: nothing was swept, and an incomplete content was not finished.
    let (content, gone) = (kept.content(), left.content());
    let partial = directory.path().join("contents/7.partial");
    drop((kept, left, begun, store));
    fs::write(&partial, b"begun").unwrap();
    let (store, _) = open(&directory);
    assert!(is_there(&store, &content) && !is_there(&store, &gone));
    assert!(!partial.exists() && files(&directory) == 1);
}
