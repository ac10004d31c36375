//! On a full disk nothing is lost, deletions free space, and the store continues when there is space again.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use feedsync_store::conformance::samples::{
    all, create, deleted, id, item, named, put, store_each, write,
};
use feedsync_store::conformance::{TestEnvironment, wait};
use feedsync_store::{
    Alteration, AlterationDecision, EndpointName, ItemStore, SqliteStore, StoreError, Write,
};
use feedsync_test::small_disk::SmallDisk;

const RESERVE: &str = "feedsync.reserve";

fn init(disk: &SmallDisk) -> SqliteStore {
    let name = EndpointName::new("anna").unwrap();
    SqliteStore::init(disk.path(), &name, Arc::new(TestEnvironment::new(1))).unwrap()
}

fn large(number: u32) -> feedsync_core::Item<feedsync_core::Payload> {
    let mut large = item(&format!("item-{number:04}"), "A", 1);
    let text = format!("<entry>{}</entry>", "x".repeat(20_000));
    large.winner.payload = feedsync_core::Payload::from_parsed(feedsync_core::Format::Atom, text);
    large
}

fn has_reserve(disk: &SmallDisk) -> bool {
    disk.path().join(RESERVE).exists()
}

/// Writes until the disk is full, including the space of the write-ahead log.
fn exhaust(store: &SqliteStore, disk: &SmallDisk) {
    disk.fill();
    for number in 0..10_000 {
        let large = large(5_000 + number);
        let key = large.id.to_string();
        match write(store, &named("notes"), &[&key], vec![put(large)]) {
            Err(StoreError::Full) if !has_reserve(disk) => return,
            // Also fills the space that the store has returned.
            Ok(_) | Err(StoreError::Full) => disk.fill(),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the disk is never full");
}

#[test]
fn deletions_and_purges_are_stored_on_a_full_disk() {
    let Some(disk) = SmallDisk::mount(64) else { return };
    let store = init(&disk);
    let notes = create(&store, "notes").name;
    for number in 0..500 {
        let large = large(number);
        let key = large.id.to_string();
        write(&store, &notes, &[&key], vec![put(large)]).unwrap();
    }
    assert!(has_reserve(&disk));
    assert!(wait(store.check_space()).is_ok());
    exhaust(&store, &disk);
    assert!(matches!(wait(store.check_space()), Err(StoreError::Full)));
    let before = all(&store, &notes).len();
    let refused = write(&store, &notes, &["new"], vec![put(item("new", "A", 1))]);
    assert!(matches!(refused, Err(StoreError::Full)), "{refused:?}");
    assert!(matches!(wait(store.put_blob(vec![1; 10_000])), Err(StoreError::Full)));
    for number in 0..500 {
        let name = format!("item-{number:04}");
        let writes = match number % 2 {
            0 => vec![put(deleted(item(&name, "A", 2)))],
            _ => vec![Write::Purge { ids: vec![id(&name)] }],
        };
        write(&store, &notes, &[&name], writes).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let items = all(&store, &notes);
    assert_eq!(items.len(), before - 250);
    assert_eq!(items.iter().filter(|stored| stored.item.winner.deleted).count(), 250);
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
}

#[test]
fn a_full_disk_has_room_again_when_a_collection_is_removed() {
    let Some(disk) = SmallDisk::mount(64) else { return };
    let store = init(&disk);
    create(&store, "notes");
    let books = create(&store, "books").name;
    for number in 0..1_000 {
        let large = large(number);
        let key = large.id.to_string();
        write(&store, &books, &[&key], vec![put(large)]).unwrap();
    }
    exhaust(&store, &disk);
    let drop = AlterationDecision { alteration: Alteration::Drop, act: None };
    wait(store.alter_collection(&books, Box::new(|_| drop))).unwrap();
    // The removal frees space for the reserve first, and then for writes.
    let mut stored = Err(StoreError::Full);
    for _ in 0..10 {
        thread::sleep(Duration::from_millis(1_100));
        stored = write(&store, &named("notes"), &["new"], vec![put(item("new", "A", 1))]);
        if stored.is_ok() {
            break;
        }
    }
    stored.unwrap();
    assert!(has_reserve(&disk));
}

#[test]
fn a_store_takes_all_writes_when_there_is_room_again() {
    let Some(disk) = SmallDisk::mount(32) else { return };
    let store = init(&disk);
    let notes = create(&store, "notes").name;
    store_each(&store, &notes, &["a"]);
    exhaust(&store, &disk);
    assert!(!has_reserve(&disk), "it was released");
    disk.empty();
    thread::sleep(Duration::from_millis(1_100));
    assert!(wait(store.check_space()).is_ok());
    store_each(&store, &notes, &["b"]);
    assert!(has_reserve(&disk));
    drop(store);
    let store = SqliteStore::open(disk.path(), Arc::new(TestEnvironment::new(2))).unwrap();
    assert!(all(&store, &notes).iter().any(|stored| stored.item.id.as_str() == "b"));
}

#[test]
fn a_store_is_opened_and_read_on_a_full_disk() {
    let Some(disk) = SmallDisk::mount(32) else { return };
    let store = init(&disk);
    let notes = create(&store, "notes").name;
    store_each(&store, &notes, &["a", "b"]);
    drop(store);
    disk.fill();
    let store = SqliteStore::open(disk.path(), Arc::new(TestEnvironment::new(2))).unwrap();
    assert_eq!(all(&store, &notes).len(), 2);
    write(&store, &notes, &["a"], vec![put(deleted(item("a", "A", 2)))]).unwrap();
}
