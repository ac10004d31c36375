//! A database that was restored at the same location is detected when the store is opened, and nothing else
//! is mistaken for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Barrier};
use std::thread;

use feedsync_core::By;
use feedsync_store::conformance::logs::{append, assert_distinct, begun, done, grown, read_all};
use feedsync_store::conformance::samples::{all, create, ids, named, store_each};
use feedsync_store::conformance::wait;
use feedsync_store::{
    EndpointName, Epoch, Expected, Identity, ItemStore as _, LogOutcome, LogPosition, Logs as _,
    NewGeneration, NewSnapshot, SqliteStore, SystemEnvironment,
};
use tempfile::TempDir;

const DATABASE: &str = "feedsync.db";
const LOG: &str = "feedsync.db-wal";
const LIFE: &str = "feedsync.life";

/// A directory with a store that has the item `a` in `notes`, and a directory for copies.
struct Place {
    _parent: TempDir,
    data: PathBuf,
    saved: PathBuf,
}

impl Place {
    fn new() -> Self {
        let parent = TempDir::new().unwrap();
        let (data, saved) = (parent.path().join("data"), parent.path().join("saved"));
        fs::create_dir(&saved).unwrap();
        let name = EndpointName::new("anna").unwrap();
        let store = SqliteStore::init(&data, &name, Arc::new(SystemEnvironment)).unwrap();
        create(&store, "notes");
        store_each(&store, &named("notes"), &["a"]);
        Self { _parent: parent, data, saved }
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.data, Arc::new(SystemEnvironment)).unwrap()
    }

    fn save(&self, files: &[&str]) {
        for file in files {
            fs::copy(self.data.join(file), self.saved.join(file)).unwrap();
        }
    }

    /// Copies files over the existing ones, which keep their inodes.
    fn put_back(&self, files: &[&str]) {
        for file in files {
            fs::copy(self.saved.join(file), self.data.join(file)).unwrap();
        }
    }

    fn life(&self) -> String {
        fs::read_to_string(self.data.join(LIFE)).unwrap()
    }

    fn sql(&self, sql: &str) {
        let raw = rusqlite::Connection::open(self.data.join(DATABASE)).unwrap();
        raw.execute_batch(sql).unwrap();
    }

    /// Opens the store and returns its identity and epoch.
    fn look(&self) -> (Identity, Epoch) {
        look(&self.open())
    }

    /// Checks that a new incarnation began, exactly once.
    fn assert_begun_anew(&self, before: &(Identity, Epoch)) {
        let after = self.look();
        let retired: Vec<By> = before.0.retired.iter().chain([&before.0.by]).cloned().collect();
        assert_eq!(after.0.retired, retired);
        assert!(after.1 > before.1, "who saw the later state notices");
        assert_eq!(self.look(), after, "once is enough");
    }
}

fn look(store: &SqliteStore) -> (Identity, Epoch) {
    let collection = wait(store.collection(&named("notes"))).unwrap().unwrap();
    (wait(store.identity()).unwrap(), collection.epoch)
}

#[test]
fn database_restored_in_place_is_detected() {
    let place = Place::new();
    let before = place.look();
    place.save(&[DATABASE]);
    store_each(&place.open(), &named("notes"), &["b", "c"]);
    place.put_back(&[DATABASE]);
    place.assert_begun_anew(&before);
    assert_eq!(ids(&all(&place.open(), &named("notes"))), ["a"]);
}

/// The copy was made while the store was open, and the process wrote more before it ended.
#[test]
fn database_and_wal_restored_in_place_are_detected() {
    let place = Place::new();
    let store = place.open();
    store_each(&store, &named("notes"), &["b"]);
    let before = look(&store);
    place.save(&[DATABASE, LOG]);
    store_each(&store, &named("notes"), &["c"]);
    drop(store);
    place.put_back(&[DATABASE, LOG]);
    place.assert_begun_anew(&before);
    assert_eq!(ids(&all(&place.open(), &named("notes"))), ["a", "b"]);
}

#[test]
fn database_without_its_nonce_file_is_treated_as_a_copy() {
    let place = Place::new();
    let before = place.look();
    fs::remove_file(place.data.join(LIFE)).unwrap();
    place.assert_begun_anew(&before);
}

/// The file is written first, so this is the state after a crash between the two writes.
#[test]
fn a_crash_between_the_two_writes_costs_a_new_incarnation() {
    let place = Place::new();
    let before = place.look();
    fs::write(place.data.join(LIFE), "0123456789abcdef0123456789abcdef").unwrap();
    place.assert_begun_anew(&before);
    // The other order is handled, too.
    let before = place.look();
    place.sql("UPDATE endpoint SET life = 'fedcba9876543210fedcba9876543210'");
    place.assert_begun_anew(&before);
}

/// A renewal must not hide the difference, either.
#[test]
fn a_process_that_finds_the_nonces_unequal_while_it_writes_leaves_them_so() {
    let place = Place::new();
    let before = place.look();
    let store = place.open();
    fs::write(place.data.join(LIFE), "0123456789abcdef0123456789abcdef").unwrap();
    store_each(&store, &named("notes"), &["b", "c"]);
    drop(store);
    place.assert_begun_anew(&before);
}

/// As documented: both files together are a state that was current once.
#[test]
fn both_files_restored_together_are_not_detected() {
    let place = Place::new();
    let before = place.look();
    place.save(&[DATABASE, LIFE]);
    store_each(&place.open(), &named("notes"), &["b"]);
    place.put_back(&[DATABASE, LIFE]);
    assert_eq!(place.look(), before);
}

/// In this case only the log reveals the restored state. Others have read more of it than there is now, so
/// further appends get positions of their own.
#[test]
fn a_log_that_is_longer_than_what_was_put_back_goes_on_in_a_new_generation() {
    let notes = named("notes");
    let compacted = |store: &SqliteStore, bytes: &[u8]| {
        let (expected, bytes) = (Expected::Present, bytes.to_vec());
        let new = NewGeneration { expected, bytes, most: u64::MAX, act: None };
        done(wait(store.begin_log_generation(&notes, new))).place
    };
    let bytes = |store: &SqliteStore, place: LogPosition| read_all(store, &notes, place.generation);
    for is_compacted in [false, true] {
        let place = Place::new();
        let store = place.open();
        let ended = begun(&store, &notes, b"zero\n").place;
        let before = compacted(&store, b"one\n");
        let (media_type, content) = ("application/json".to_owned(), b"{}".to_vec());
        let snapshot = NewSnapshot { covers: before, media_type, bytes: content };
        done(wait(store.put_log_snapshot(&notes, snapshot)));
        drop(store);
        place.save(&[DATABASE, LIFE]);
        let store = place.open();
        let mut seen = vec![before, grown(&store, &notes, b"lost\n").place];
        if is_compacted {
            seen.push(compacted(&store, b"lost, too\n"));
        }
        drop(store);
        place.put_back(&[DATABASE, LIFE]);

        let life = place.life();
        let store = place.open();
        assert_ne!(place.life(), life, "a copy of before is known as old");
        let log = wait(store.log(&notes)).unwrap().unwrap();
        let put_back = log.place;
        assert!(put_back.generation > before.generation);
        assert_eq!(bytes(&store, put_back), Some(b"one\n".to_vec()));
        assert_eq!(log.snapshot.unwrap().covers, put_back, "it stands for what it stood for");
        assert_eq!(bytes(&store, ended), Some(b"zero\n".to_vec()), "what ended before is kept");
        for place in &seen {
            assert_eq!(bytes(&store, *place), None);
            let late = append(Expected::At(vec![*place]), b"late\n");
            let late = wait(store.append_to_log(&notes, late)).unwrap();
            assert!(matches!(late, LogOutcome::PositionMismatch(log) if log.place == put_back));
        }
        let last = grown(&store, &notes, b"more\n").place;
        assert_eq!(bytes(&store, put_back), Some(b"one\nmore\n".to_vec()));
        seen.push(last);
        assert_distinct(&seen);
        assert_eq!(fs::read_dir(place.data.join("logs")).unwrap().count(), 2);
        assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
        drop(store);
        let again = wait(place.open().log(&notes)).unwrap().unwrap();
        assert_eq!(again.place, last, "once is enough");
    }
}

#[test]
fn opening_and_reading_changes_nothing_and_writing_renews_the_nonce() {
    let place = Place::new();
    let (before, life) = (place.look(), place.life());
    assert_eq!(place.look(), before);
    assert_eq!(place.life(), life);
    let store = place.open();
    store_each(&store, &named("notes"), &["b"]);
    let renewed = place.life();
    assert_ne!(renewed, life);
    store_each(&store, &named("notes"), &["c"]);
    assert_eq!(place.life(), renewed, "not with each commit");
    drop(store);
    assert_ne!(place.life(), renewed, "but at the end");
    assert_eq!(place.look(), before);
    assert!(!place.data.join("feedsync.life.partial").exists());
}

#[test]
fn store_without_nonces_keeps_its_identity_and_gets_one() {
    let place = Place::new();
    let before = place.look();
    place.sql(
        "DROP TABLE view_nodes; DROP TABLE view_rows; DROP TABLE stored_views; DROP TABLE view_sets;
         DROP TABLE index_rows; DROP TABLE document_indexes; DROP TABLE attachment_uses; DROP TABLE attachments; DROP TABLE local_documents;
         DROP TABLE bodies; DROP TABLE documents; DROP TABLE ended_revisions; DROP TABLE body_origins;
         DROP TABLE collection_owners; DROP TABLE database_owners; DROP TABLE databases; DROP TABLE log_snapshots; DROP TABLE log_keys; DROP TABLE log_generations;
         DROP TABLE logs; DROP TABLE tokens; DROP TABLE grants; DROP TABLE users; DROP TABLE acts;
         ALTER TABLE remotes DROP COLUMN every; ALTER TABLE remotes DROP COLUMN plain;
         ALTER TABLE remotes DROP COLUMN reaches_private; ALTER TABLE remotes DROP COLUMN due;
         ALTER TABLE collections DROP COLUMN bytes;
         ALTER TABLE endpoint DROP COLUMN last_dropped_generation;
         ALTER TABLE remotes DROP COLUMN refused_at; ALTER TABLE remotes DROP COLUMN refused_up_to;
         ALTER TABLE remotes DROP COLUMN refusal;
         ALTER TABLE endpoint DROP COLUMN unfinished;
         ALTER TABLE endpoint DROP COLUMN life; PRAGMA user_version = 1;",
    );
    fs::remove_file(place.data.join(LIFE)).unwrap();
    place.save(&[DATABASE]);
    let store = place.open();
    assert_eq!(look(&store), before);
    store_each(&store, &named("notes"), &["b"]);
    drop(store);
    assert_eq!(place.look(), before);
    place.put_back(&[DATABASE]);
    place.assert_begun_anew(&before);
}

/// Handles that open, write and close concurrently, each renewing the nonces of the others.
#[test]
fn concurrent_handles_are_not_mistaken_for_copies() {
    let place = Arc::new(Place::new());
    let before = place.look();
    together(8, |number| {
        for round in 0..5 {
            let store = place.open();
            let name = format!("n{number}-{round}");
            store_each(&store, &named("notes"), &[&name]);
            assert_eq!(look(&store), before);
        }
    });
    assert_eq!(place.look(), before);
    assert_eq!(all(&place.open(), &named("notes")).len(), 41);
}

#[test]
fn concurrent_handles_on_a_restored_database_begin_one_incarnation() {
    let place = Place::new();
    let before = place.look();
    place.save(&[DATABASE]);
    store_each(&place.open(), &named("notes"), &["b"]);
    place.put_back(&[DATABASE]);
    together(8, |_| {
        let (identity, epoch) = place.look();
        assert_eq!((identity.retired.len(), &identity.retired[0]), (1, &before.0.by));
        assert!(epoch > before.1);
    });
}

/// Writes one item in its process.
#[test]
#[ignore = "run as a child process by the test below"]
fn child() {
    let directory = std::env::var("FEEDSYNC_CHILD_STORE").expect("set by the parent");
    let store = SqliteStore::open(Path::new(&directory), Arc::new(SystemEnvironment)).unwrap();
    store_each(&store, &named("notes"), &[&format!("child-{}", std::process::id())]);
}

#[test]
fn concurrent_processes_are_not_mistaken_for_copies() {
    let place = Place::new();
    let store = place.open();
    let before = look(&store);
    store_each(&store, &named("notes"), &["b"]);
    let mut children: Vec<_> = (0..4)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["put_back::child", "--exact", "--ignored"])
                .env("FEEDSYNC_CHILD_STORE", &place.data)
                .spawn()
                .unwrap()
        })
        .collect();
    store_each(&store, &named("notes"), &["c"]);
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    store_each(&store, &named("notes"), &["d"]);
    drop(store);
    assert_eq!(place.look(), before);
    assert_eq!(all(&place.open(), &named("notes")).len(), 8);
}

fn together(count: usize, run: impl Fn(usize) + Sync) {
    let (barrier, run) = (Barrier::new(count), &run);
    thread::scope(|scope| {
        for number in 0..count {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                run(number);
            });
        }
    });
}
