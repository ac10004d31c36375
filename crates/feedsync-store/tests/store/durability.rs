//! Simulated power cuts: of everything that a killed process wrote, only synchronized data remains.
//!
//! The child process runs this test binary with `durability/shim.c` preloaded. This layer between the process
//! and its files maintains a second directory with synchronized data only. The test opens that directory
//! after the kill.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use feedsync_store::conformance::logs::{begun, grown, read_all};
use feedsync_store::conformance::samples::{all, create, id, item, named, put};
use feedsync_store::conformance::wait;
use feedsync_store::{
    EndpointName, Environment as _, Expected, ItemStore as _, LogPosition, Logs as _,
    NewGeneration, SqliteStore, SystemEnvironment,
};
use tempfile::TempDir;

/// Writes until it is killed and prints what is acknowledged.
#[test]
#[ignore = "run as a child process by the other tests"]
fn careful() {
    let disk = std::env::var("FEEDSYNC_DISK").expect("set by the parent");
    let (disk, system) = (Path::new(&disk), Arc::new(SystemEnvironment));
    let store = if SqliteStore::exists(disk) {
        SqliteStore::open(disk, system).unwrap()
    } else {
        init(disk)
    };
    let store = Arc::new(store);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let store = store.clone();
            thread::spawn(move || {
                loop {
                    write(&store);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn init(directory: &Path) -> SqliteStore {
    let name = EndpointName::new("tester").unwrap();
    let store = SqliteStore::init(directory, &name, Arc::new(SystemEnvironment)).unwrap();
    let notes = create(&store, "notes").name;
    begun(&store, &notes, b"begun\n");
    store
}

/// Writes an item of several pages, so that a checkpoint soon copies the write-ahead log into the database.
fn write(store: &SqliteStore) {
    let name = format!("own-{:016x}", SystemEnvironment.random());
    let mut item = item(&name, "A", 1);
    item.winner.payload = item.winner.payload.with_parsed_text("x".repeat(20_000));
    let writes = vec![put(item)];
    let decide = Box::new(move |_: &feedsync_store::Snapshot| writes.clone());
    wait(store.update(&named("notes"), vec![id(&name)], decide)).unwrap();
    println!("\nacknowledged {name}");
    let log = grown(store, &named("notes"), format!("{name}\n").as_bytes());
    println!("\nacknowledged log {name}");
    if log.place.length > 700 {
        compact(store, log.place);
    }
}

/// Continues the log in a generation of its last records, unless another thread is faster. Records that are
/// left out are printed before.
fn compact(store: &SqliteStore, place: LogPosition) {
    let notes = named("notes");
    let Some(bytes) = read_all(store, &notes, place.generation) else { return };
    let bytes = bytes[..place.length as usize].to_vec();
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (left_out, kept) = lines.split_at(lines.len() / 2);
    let bytes = kept.concat().into_bytes();
    let expected = Expected::At(vec![place]);
    // Printed first: the compaction may happen even if it is not acknowledged, and then these records are
    // missing.
    left_out.iter().for_each(|line| print!("\nleft out {line}"));
    let new = NewGeneration { expected, bytes, most: u64::MAX, act: None };
    wait(store.begin_log_generation(&notes, new)).unwrap();
}

/// A program that acknowledges writes without synchronizing them.
#[test]
#[ignore = "run as a child process by the other tests"]
fn careless() {
    let disk = std::env::var("FEEDSYNC_DISK").expect("set by the parent");
    let database = rusqlite::Connection::open(Path::new(&disk).join("careless.db")).unwrap();
    database
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE items (id TEXT) STRICT;")
        .unwrap();
    database.pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
    database.execute_batch("PRAGMA synchronous = NORMAL").unwrap();
    for number in 0u64.. {
        database.execute("INSERT INTO items VALUES (?1)", [number.to_string()]).unwrap();
        println!("\nacknowledged {number}");
    }
}

fn shim(directory: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store/durability/shim.c");
    let library = directory.join("shim.so");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
        .arg(&library)
        .arg(source)
        .status()
        .expect("a C compiler, which building SQLite needs too");
    assert!(status.success());
    library
}

/// Runs a child until it has printed this many acknowledgements, kills it, and returns all of them.
fn kill_after(
    child: &str,
    count: usize,
    shim: &Path,
    disk: &Path,
    durable: &Path,
) -> BTreeSet<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([&format!("durability::{child}"), "--exact", "--ignored", "--nocapture"])
        .env("LD_PRELOAD", shim)
        .env("FEEDSYNC_DISK", disk)
        .env("FEEDSYNC_DURABLE", durable)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut said, mut left_out) = (BTreeSet::new(), BTreeSet::new());
    let lines = BufReader::new(child.stdout.take().unwrap()).split(b'\n');
    for line in lines {
        let line = String::from_utf8(line.unwrap()).unwrap();
        said.extend(line.strip_prefix("acknowledged ").map(str::to_owned));
        left_out.extend(line.strip_prefix("left out ").map(|name| format!("log {name}")));
        if said.len() == count {
            // Further output was also printed before the kill.
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(said.len() >= count, "the child ended by itself");
    &said - &left_out
}

/// Checks that all acknowledged data is present after a power cut.
fn cut_power(root: &Path, shim: &Path, begin: impl Fn(&Path)) {
    let (disk, durable) = (root.join("disk"), root.join("durable"));
    for directory in [&disk, &durable] {
        fs::create_dir(directory).unwrap();
        begin(directory);
    }
    let count = 1 + (SystemEnvironment.random() % 400) as usize;
    let said = kill_after("careful", count, shim, &disk, &durable);
    let store = SqliteStore::open(&durable, Arc::new(SystemEnvironment)).unwrap();
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
    let items = all(&store, &named("notes"));
    let mut kept: BTreeSet<_> = items.iter().map(|item| item.item.id.to_string()).collect();
    let log = wait(store.log(&named("notes"))).unwrap().unwrap();
    let bytes = read_all(&store, &named("notes"), log.place.generation).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.ends_with('\n'), "a torn record");
    kept.extend(text.lines().map(|line| format!("log {line}")));
    let lost: Vec<_> = said.difference(&kept).collect();
    assert!(lost.is_empty(), "{} of {} lost: {lost:?}", lost.len(), said.len());
    assert_eq!(items.len() as u64, items.last().unwrap().number.get(), "no gap");
    drop(store);
    fs::remove_dir_all(&disk).unwrap();
    fs::remove_dir_all(&durable).unwrap();
}

fn rounds() -> usize {
    if std::env::var_os("FEEDSYNC_LONG").is_some() { 100 } else { 8 }
}

#[test]
fn a_power_cut_loses_nothing_that_was_acknowledged() {
    let parent = TempDir::new().unwrap();
    let root = parent.path().canonicalize().unwrap();
    let shim = shim(&root);
    for _ in 0..rounds() {
        cut_power(&root, &shim, |_| {});
    }
}

/// A backup is a file without a write-ahead log; opening it creates one.
#[test]
fn a_power_cut_loses_nothing_of_a_store_made_of_a_backup() {
    let parent = TempDir::new().unwrap();
    let root = parent.path().canonicalize().unwrap();
    let shim = shim(&root);
    let backup = root.join("backup");
    assert!(wait(init(&root.join("data")).backup(&backup)).unwrap().is_complete());
    for _ in 0..rounds() {
        cut_power(&root, &shim, |directory| {
            fs::copy(&backup, directory.join("feedsync.db")).unwrap();
        });
    }
}

/// Checks the shim itself: without synchronization no data remains.
#[test]
fn a_power_cut_loses_what_was_not_synchronised() {
    let parent = TempDir::new().unwrap();
    let root = parent.path().canonicalize().unwrap();
    let (disk, durable) = (root.join("disk"), root.join("durable"));
    fs::create_dir(&disk).unwrap();
    fs::create_dir(&durable).unwrap();
    let said = kill_after("careless", 20, &shim(&root), &disk, &durable);
    let count = |directory: &Path| -> i64 {
        let database = rusqlite::Connection::open(directory.join("careless.db")).unwrap();
        database.query_row("SELECT count(*) FROM items", [], |row| row.get(0)).unwrap_or(0)
    };
    assert!(count(&disk) >= said.len() as i64, "a kill alone loses nothing");
    assert!(count(&durable) < said.len() as i64, "a power cut does");
}
