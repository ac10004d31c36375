//! Histories of databases in a file: they survive the end of a process at any time, and a copy of the file has them.
//!
//! The child process runs this test binary with the ignored test below.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use feedsync_couch::DatabaseName;
use feedsync_store::conformance::TestEnvironment;
use feedsync_store::conformance::history::state_at;
use feedsync_store::conformance::schedule::Schedule;
use feedsync_store::conformance::wait;
use feedsync_store::{Digest, EndpointName, Environment, Moment, SqliteStore};
use tempfile::TempDir;

fn init(directory: &Path, environment: &Arc<TestEnvironment>) -> SqliteStore {
    let environment: Arc<dyn Environment> = Arc::<TestEnvironment>::clone(environment);
    SqliteStore::init(directory, &EndpointName::new("tester").unwrap(), environment).unwrap()
}

fn open(directory: &Path, environment: &Arc<TestEnvironment>) -> SqliteStore {
    SqliteStore::open(directory, Arc::<TestEnvironment>::clone(environment) as _).unwrap()
}

#[test]
fn history_survives_reopening() {
    for seed in 0..4 {
        let (directory, environment) = (TempDir::new().unwrap(), Arc::new(TestEnvironment::new(7)));
        let mut schedule = Schedule::new(seed, Arc::clone(&environment));
        schedule.create(&init(directory.path(), &environment));
        for _ in 0..8 {
            let store = open(directory.path(), &environment);
            schedule.check(&store, usize::MAX);
            (0..4).for_each(|_| schedule.step(&store));
            assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
        }
        schedule.lose_everything(&open(directory.path(), &environment));
        schedule.check(&open(directory.path(), &environment), usize::MAX);
    }
}

#[test]
fn backup_contains_the_history() {
    let (directory, environment) = (TempDir::new().unwrap(), Arc::new(TestEnvironment::new(7)));
    let store = init(directory.path(), &environment);
    let mut schedule = Schedule::new(3, Arc::clone(&environment));
    schedule.create(&store);
    (0..20).for_each(|_| schedule.step(&store));
    let backup = directory.path().join("backup.db");
    assert_eq!(wait(store.backup(&backup)).unwrap().damaged.len(), 0);
    drop(store);
    let copy = rusqlite::Connection::open(&backup).unwrap();
    let sql = "SELECT count(*) FROM ended_revisions";
    assert!(copy.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() > 0);
    // Every moment can be read in the restored store, and what is lost there afterwards, too.
    let restored = directory.path().join("restored");
    let restored =
        SqliteStore::restore(&backup, &restored, Arc::<TestEnvironment>::clone(&environment))
            .unwrap();
    schedule.check(&restored, usize::MAX);
    schedule.lose_everything(&restored);
    schedule.check(&restored, usize::MAX);
}

/// Writes until it is killed, and prints the digest of each state with its moment once it is acknowledged.
#[test]
#[ignore = "run as a child process by the other tests"]
fn child() {
    let directory = std::env::var("FEEDSYNC_CHILD_STORE").expect("set by the parent");
    let environment = Arc::new(TestEnvironment::new(7));
    let store = init(Path::new(&directory), &environment);
    let mut schedule = Schedule::new(1, environment);
    schedule.create(&store);
    loop {
        schedule.write(&store);
        let (moment, state) = schedule.last_state().expect("it was written");
        println!(
            "\nacknowledged {} {}",
            moment.micros(),
            Digest::of(format!("{state:?}").as_bytes())
        );
    }
}

#[test]
fn killed_process_leaves_the_history_of_all_acknowledged_writes() {
    for count in [3, 40, 90] {
        let directory = TempDir::new().unwrap();
        let data = directory.path().join("data");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["sqlite_history::child", "--exact", "--ignored", "--nocapture"])
            .env("FEEDSYNC_CHILD_STORE", &data)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said: Vec<(Moment, String)> = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            let Some(state) = line.strip_prefix("acknowledged ") else { continue };
            let (moment, state) = state.split_once(' ').unwrap();
            said.push((Moment::from_micros(moment.parse().unwrap()), state.to_owned()));
            if said.len() == count {
                // Further output was also printed before the kill.
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(said.len() >= count);
        let store = open(&data, &Arc::new(TestEnvironment::new(8)));
        assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
        let name: DatabaseName = "schedule/1".parse().unwrap();
        for (moment, state) in said {
            let found = state_at(&store, &name, moment, (3, 1 << 20)).unwrap();
            assert_eq!(Digest::of(format!("{found:?}").as_bytes()).to_string(), state);
        }
    }
}
