//! Processes that share a store.
//!
//! The children are this test binary, run again with the one ignored test below.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use feedsync_core::ItemId;
use feedsync_store::conformance::change_order::follow;
use feedsync_store::conformance::samples::{all, by, create, id, item, named, put, sequence};
use feedsync_store::conformance::wait;
use feedsync_store::{
    ChangeNumber, EndpointName, Environment as _, ItemStore, SqliteStore, SystemEnvironment, Write,
};
use tempfile::TempDir;

const THREADS: usize = 4;

/// Makes `FEEDSYNC_CHILD_COUNT` updates of the store in `FEEDSYNC_CHILD_STORE` with each of its threads. Each
/// update changes an item that all share and creates one of its own. Acknowledged updates are printed.
#[test]
#[ignore = "run as a child process by the other tests"]
fn child() {
    let variable = |name: &str| std::env::var(name).expect("set by the parent");
    let directory = variable("FEEDSYNC_CHILD_STORE");
    let count: u64 = variable("FEEDSYNC_CHILD_COUNT").parse().expect("a number");
    let store = SqliteStore::open(Path::new(&directory), Arc::new(SystemEnvironment)).unwrap();
    let store = Arc::new(store);
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let store = store.clone();
            thread::spawn(move || {
                for number in 0..count {
                    write(&store, number);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn write(store: &SqliteStore, number: u64) {
    let own = id(&format!("own-{:016x}", SystemEnvironment.random()));
    let shared = id(&format!("shared-{}", number % 5));
    let writes = vec![
        put(item(shared.as_str(), "A", 1)),
        put(item(own.as_str(), "A", 1)),
        Write::Issue { item: own.clone(), by: by("tester.x"), sequence: sequence(1) },
    ];
    let keys = vec![own.clone(), shared];
    let decide = Box::new(move |_: &feedsync_store::Snapshot| writes.clone());
    let after = wait(store.update(&named("notes"), keys, decide)).unwrap();
    println!("\nacknowledged {own} {}", after.last);
}

fn spawn(directory: &Path, count: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["processes::child", "--exact", "--ignored", "--nocapture"])
        .env("FEEDSYNC_CHILD_STORE", directory)
        .env("FEEDSYNC_CHILD_COUNT", count.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

fn acknowledged(output: &str) -> BTreeMap<ItemId, ChangeNumber> {
    output
        .lines()
        .filter_map(|line| line.strip_prefix("acknowledged "))
        .filter_map(|line| line.split_once(' '))
        .map(|(own, number)| (id(own), ChangeNumber::new(number.parse().unwrap())))
        .collect()
}

fn init(directory: &Path) -> SqliteStore {
    let name = EndpointName::new("tester").unwrap();
    let store = SqliteStore::init(directory, &name, Arc::new(SystemEnvironment)).unwrap();
    create(&store, "notes");
    store
}

fn own(items: BTreeMap<ItemId, ChangeNumber>) -> BTreeMap<ItemId, ChangeNumber> {
    items.into_iter().filter(|(id, _)| id.as_str().starts_with("own")).collect()
}

/// The contents of a store after such updates, in change order. Each update took two numbers, the second of
/// them for an item that never changed again.
fn check(store: &SqliteStore) -> BTreeMap<ItemId, ChangeNumber> {
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
    let collection = wait(store.collection(&named("notes"))).unwrap().unwrap();
    let items = all(store, &named("notes"));
    assert_eq!(collection.live, items.len() as u64);
    let own = own(items.into_iter().map(|item| (item.item.id, item.number)).collect());
    let mut numbers: Vec<u64> = own.values().map(|number| number.get()).collect();
    numbers.sort_unstable();
    let expected: Vec<u64> = (1..=collection.last.get() / 2).map(|update| update * 2).collect();
    assert_eq!(numbers, expected, "no gap and no half of an update");
    assert_eq!(collection.last.get() % 2, 0);
    for id in own.keys() {
        assert_eq!(wait(store.issued(id)).unwrap().len(), 1, "the ledger is of the same commit");
    }
    own
}

#[test]
fn processes_that_share_a_store_write_one_order() {
    let directory = TempDir::new().unwrap();
    let store = Arc::new(init(directory.path()));
    let writing = Arc::new(AtomicUsize::new(1));
    let followers: Vec<_> = (0..4)
        .map(|number| {
            let (store, writing) = (store.clone(), writing.clone());
            thread::spawn(move || follow(&*store, &named("notes"), &writing, number % 2 == 0))
        })
        .collect();
    let children: Vec<_> = (0..3).map(|_| spawn(directory.path(), 40)).collect();
    let mut said = BTreeMap::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        said.append(&mut acknowledged(&String::from_utf8_lossy(&output.stdout)));
    }
    writing.store(0, Ordering::SeqCst);
    assert_eq!(said.len(), 3 * THREADS * 40);
    for follower in followers {
        assert_eq!(own(follower.join().unwrap()), said, "no follower misses or repeats a change");
    }
    assert_eq!(check(&store), said);
}

/// A command that runs concurrently with a busy hub can write.
#[test]
fn a_process_that_writes_all_the_time_leaves_room_for_others() {
    let directory = TempDir::new().unwrap();
    let store = Arc::new(init(directory.path()));
    let busy = Arc::new(AtomicUsize::new(1));
    let writers: Vec<_> = (0..16)
        .map(|_| {
            let (store, busy) = (store.clone(), busy.clone());
            thread::spawn(move || {
                while busy.load(Ordering::SeqCst) != 0 {
                    write(&store, 0);
                }
            })
        })
        .collect();
    let begin = Instant::now();
    let output = spawn(directory.path(), 5).wait_with_output().unwrap();
    let took = begin.elapsed();
    busy.store(0, Ordering::SeqCst);
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert!(output.status.success());
    assert_eq!(acknowledged(&String::from_utf8_lossy(&output.stdout)).len(), THREADS * 5);
    assert!(took < Duration::from_secs(30), "{took:?}");
    println!("{} updates beside a busy process in {took:?}", THREADS * 5);
    check(&store);
}
