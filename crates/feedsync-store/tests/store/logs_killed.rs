//! Two processes at a time append to one log, compact it, and are killed: acknowledged bytes are present,
//! complete and once (LR37). On a full disk, an append that does not fit changes nothing.
//!
//! The child processes run this test binary with one of the ignored tests below.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use feedsync_store::conformance::logs::{append, begun, done, grown, read_all};
use feedsync_store::conformance::samples::{create, named, store_each};
use feedsync_store::conformance::wait;
use feedsync_store::{
    EndpointName, Environment as _, Expected, LogOutcome, Logs as _, NewGeneration, SqliteStore,
    StoreError, SystemEnvironment,
};
use tempfile::TempDir;

const THREADS: usize = 3;

fn init(directory: &Path) -> SqliteStore {
    let name = EndpointName::new("tester").unwrap();
    let store = SqliteStore::init(directory, &name, Arc::new(SystemEnvironment)).unwrap();
    create(&store, "notes");
    store
}

fn open(directory: &Path) -> SqliteStore {
    SqliteStore::open(directory, Arc::new(SystemEnvironment)).unwrap()
}

/// Appends and compacts until it is killed, and prints what is acknowledged.
#[test]
#[ignore = "run as a child process by the other tests"]
fn child() {
    let directory = std::env::var("FEEDSYNC_CHILD_STORE").expect("set by the parent");
    let store = Arc::new(open(Path::new(&directory)));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let store = Arc::clone(&store);
            thread::spawn(move || {
                loop {
                    if SystemEnvironment.random().is_multiple_of(6) {
                        compact(&store)
                    } else {
                        add(&store)
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// A record that states its length.
fn record(id: u64) -> String {
    let length = (id % 300) as usize;
    format!("{id:016x} {} {length}\n", "x".repeat(length))
}

/// The records of a log by id; fails if one is incomplete.
fn records(bytes: &[u8]) -> BTreeMap<u64, usize> {
    let text = std::str::from_utf8(bytes).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "a torn record");
    let mut records = BTreeMap::new();
    for line in text.lines() {
        let id = line.split(' ').next().unwrap();
        let id = u64::from_str_radix(id, 16).unwrap();
        assert_eq!(format!("{line}\n"), record(id), "a torn record");
        *records.entry(id).or_default() += 1;
    }
    records
}

/// Appends at the current end, and retries until no other process is faster.
fn add(store: &SqliteStore) {
    let (notes, id) = (named("notes"), SystemEnvironment.random());
    loop {
        let log = wait(store.log(&notes)).unwrap().unwrap();
        let append = append(Expected::At(vec![log.place]), record(id).as_bytes());
        match wait(store.append_to_log(&notes, append)).unwrap() {
            LogOutcome::Done(_) => break,
            LogOutcome::PositionMismatch(_) => {}
            other => panic!("{other:?}"),
        }
    }
    println!("\nacknowledged {id:016x}");
}

/// Begins a generation with all bytes of the last one, unless another process is faster.
fn compact(store: &SqliteStore) {
    let notes = named("notes");
    let place = wait(store.log(&notes)).unwrap().unwrap().place;
    // The log was compacted meanwhile, more often than the number of stored generations.
    let Some(bytes) = read_all(store, &notes, place.generation) else { return };
    let expected = Expected::At(vec![place]);
    let new = NewGeneration { expected, bytes, most: u64::MAX, act: None };
    wait(store.begin_log_generation(&notes, new)).unwrap();
}

/// Kills a child once it has acknowledged this many records; returns all acknowledged ones.
fn kill_after(count: usize, directory: &Path) -> Vec<u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["logs_killed::child", "--exact", "--ignored", "--nocapture"])
        .env("FEEDSYNC_CHILD_STORE", directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let id = line.strip_prefix("acknowledged ");
        said.extend(id.map(|id| u64::from_str_radix(id, 16).unwrap()));
        if said.len() == count {
            // Further output was also printed before the kill.
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(said.len() >= count, "the child ended by itself");
    said
}

#[test]
fn processes_that_share_a_log_and_are_killed_lose_no_record_and_tear_none() {
    let directory = TempDir::new().unwrap();
    let store = init(directory.path());
    let notes = named("notes");
    begun(&store, &notes, record(0).as_bytes());
    drop(store);
    let mut said = vec![0];
    let rounds = if std::env::var_os("FEEDSYNC_LONG").is_some() { 200 } else { 12 };
    for round in 0..rounds {
        thread::scope(|scope| {
            let children = [0, 1].map(|_| {
                let count = 1 + (SystemEnvironment.random() % 30) as usize;
                let directory = directory.path();
                scope.spawn(move || kill_after(count, directory))
            });
            said.extend(children.into_iter().flat_map(|child| child.join().unwrap()));
        });
        let store = open(directory.path());
        let log = wait(store.log(&notes)).unwrap().unwrap();
        let kept = records(&read_all(&store, &notes, log.place.generation).unwrap());
        let lost: Vec<_> = said.iter().filter(|id| !kept.contains_key(id)).collect();
        assert!(lost.is_empty(), "round {round}: {} of {} lost", lost.len(), said.len());
        assert!(kept.values().all(|times| *times == 1), "each once");
        for (generation, ended) in &log.earlier {
            let bytes = read_all(&store, &notes, *generation).unwrap();
            assert_eq!(bytes.len() as u64, ended.length);
            records(&bytes);
        }
        assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
        // After the store was opened, nothing that the kill left remains.
        let mut files = BTreeMap::new();
        for file in fs::read_dir(directory.path().join("logs")).unwrap() {
            let file = file.unwrap();
            files.insert(file.file_name(), file.metadata().unwrap().len());
        }
        let known = log.earlier.iter().map(|(generation, ended)| (*generation, ended.length));
        let known = known.chain([(log.place.generation, log.place.length)]);
        let known: BTreeMap<_, _> = known
            .map(|(generation, length)| (format!("1-{generation}.log").into(), length))
            .collect();
        assert_eq!(files, known);
    }
    println!("{} records through {rounds} rounds of two kills", said.len());
}

/// A small disk that only this process sees, with a file on it that can be removed.
const SMALL_DISK: &str = "mount -t tmpfs -o size=4m tmpfs \"$FEEDSYNC_CHILD_STORE\" \
     && head -c 1000000 /dev/zero >\"$FEEDSYNC_CHILD_STORE/ballast\" && exec \"$0\" \"$@\"";

#[test]
fn an_append_that_does_not_fit_on_the_disk_changes_nothing() {
    let directory = TempDir::new().unwrap();
    let small = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", SMALL_DISK]).arg(program).args(arguments);
        command.env("FEEDSYNC_CHILD_STORE", directory.path()).status()
    };
    if !small(Path::new("true"), &[]).is_ok_and(|status| status.success()) {
        eprintln!("no disk can be made here: left out");
        return;
    }
    let test = std::env::current_exe().unwrap();
    let status =
        small(&test, &["logs_killed::on_a_small_disk", "--exact", "--ignored", "--nocapture"]);
    assert!(status.unwrap().success());
}

#[test]
#[ignore = "run as a child process by the test above"]
fn on_a_small_disk() {
    let directory = std::env::var("FEEDSYNC_CHILD_STORE").expect("set by the parent");
    let directory = Path::new(&directory);
    let data = directory.join("data");
    let store = init(&data);
    let notes = named("notes");
    let mut expected = b"begin\n".to_vec();
    let mut log = begun(&store, &notes, &expected);
    let refused = |outcome: Result<LogOutcome, StoreError>| match outcome {
        Ok(LogOutcome::Done(_)) => panic!("it fits"),
        Ok(other) => panic!("{other:?}"),
        Err(error) => assert!(error.is_full(), "{error:?}"),
    };
    let large = [b"x".repeat(299_999), b"\n".to_vec()].concat();
    loop {
        let append = append(Expected::At(vec![log.place]), &large);
        match wait(store.append_to_log(&notes, append)) {
            Ok(outcome) => log = done(Ok(outcome)),
            outcome => break refused(outcome),
        }
        expected.extend(&large);
        assert!(expected.len() < 4 << 20, "the disk is small");
    }
    let unchanged = || {
        assert_eq!(wait(store.log(&notes)).unwrap().as_ref(), Some(&log));
        let bytes = read_all(&store, &notes, log.place.generation).unwrap();
        assert!(bytes == expected, "what was there is there");
    };
    unchanged();
    let new = NewGeneration {
        expected: Expected::Present,
        bytes: large.repeat(4),
        most: u64::MAX,
        act: None,
    };
    refused(wait(store.begin_log_generation(&notes, new)));
    unchanged();
    // The released space is enough for small writes of the log and of items.
    expected.extend(b"small\n");
    log = grown(&store, &notes, b"small\n");
    store_each(&store, &notes, &["a"]);
    fs::remove_file(directory.join("ballast")).unwrap();
    let append = append(Expected::At(vec![log.place]), &large);
    expected.extend(&large);
    log = done(wait(store.append_to_log(&notes, append)));
    drop(store);
    let store = open(&data);
    assert_eq!(wait(store.log(&notes)).unwrap().as_ref(), Some(&log));
    assert!(read_all(&store, &notes, log.place.generation).unwrap() == expected);
    assert_eq!(fs::read_dir(data.join("logs")).unwrap().count(), 1);
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
}
