//! Properties of databases in a file: damage, and commits of other connections while a row is cached.

use std::path::Path;
use std::sync::Arc;

use feedsync_couch::AttachmentDigest;
use feedsync_store::conformance::samples::{all, create, ids, named, store_each};
use feedsync_store::conformance::{TestEnvironment, wait};
use feedsync_store::{CollectionName, DatabaseChange, Databases as _, EndpointName, SqliteStore};
use tempfile::TempDir;

use crate::transfer_databases;

fn environment() -> Arc<TestEnvironment> {
    Arc::new(TestEnvironment::new(1))
}

fn init(directory: &Path) -> SqliteStore {
    SqliteStore::init(directory, &EndpointName::new("anna").unwrap(), environment()).unwrap()
}

/// The check names each kind of inconsistent row, and finds none in a sound file.
#[test]
fn inconsistent_database_rows_are_found() {
    let damages = [
        ("documents without a database", "UPDATE documents SET database = 99 WHERE id = '007'"),
        (
            "documents with a change number that their database has not reached",
            "UPDATE documents SET number = 99999 WHERE id = '007'",
        ),
        (
            "databases with a wrong count of documents",
            "UPDATE databases SET deleted = deleted + 1 WHERE name = 'notes'",
        ),
        (
            "document bodies without a database",
            "UPDATE bodies SET key = 99 << 40 WHERE key & 1023 = 7",
        ),
        (
            "document bodies with a number that their database has not issued",
            "UPDATE bodies SET key = key + 99999 WHERE key & 1023 = 7",
        ),
        (
            "ended revisions without a database",
            "UPDATE ended_revisions SET database = 99 WHERE document = '001'",
        ),
        (
            "ended revisions whose body is missing",
            "UPDATE ended_revisions SET key = key + 99999 WHERE document = '001'",
        ),
        (
            "databases with a wrong count of bytes that only the history keeps",
            "UPDATE ended_revisions SET held = 1 - held WHERE document = '001'",
        ),
        ("writers of bodies that are not stored", "UPDATE body_origins SET key = key + 99999"),
        (
            "local documents without a database",
            "UPDATE local_documents SET database = 99 WHERE id = 'one'",
        ),
        (
            "attachments without a database",
            "UPDATE attachments SET database = 99 WHERE content = x'6f6e65'",
        ),
        (
            "unused attachments that are marked as used",
            "UPDATE attachment_uses SET key = key + 99999",
        ),
    ];
    for (fault, sql) in damages {
        let directory = TempDir::new().unwrap();
        let store = init(directory.path());
        transfer_databases::fill(&store);
        assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
        let raw = rusqlite::Connection::open(directory.path().join("feedsync.db")).unwrap();
        assert!(raw.execute(sql, []).unwrap() > 0, "{sql}");
        let found = wait(store.check()).unwrap();
        assert!(
            found.iter().any(|line| line.starts_with(&format!("{fault}: "))),
            "{fault}: {found:?}"
        );
    }
}

#[test]
fn cached_database_is_invalidated_by_any_commit() {
    let directory = TempDir::new().unwrap();
    let store = init(directory.path());
    let other = SqliteStore::open(directory.path(), environment()).unwrap();
    let name = "notes".parse().unwrap();
    wait(store.create_database(&name, Default::default())).unwrap().unwrap();
    let read = || [&store, &other].map(|store| wait(store.database(&name)).unwrap());
    let epochs = || read().map(|it| it.unwrap().epoch);
    let first = epochs();
    for kept in 1..20 {
        let writer = if kept % 2 == 0 { &store } else { &other };
        // Long access rules are not cached, but must be equally current.
        let security =
            (kept % 3 == 0).then(|| format!("\"{}\"", "x".repeat(5_000 + kept as usize)));
        let change = DatabaseChange {
            revisions_kept: Some(kept),
            security: security.clone(),
            ..Default::default()
        };
        wait(writer.change_database(&name, first[0], change)).unwrap();
        for database in read().map(Option::unwrap).into_iter().chain(read().map(Option::unwrap)) {
            assert_eq!(database.revisions_kept, kept);
            assert!(security.is_none() || database.security == security);
        }
    }
    wait(other.drop_database(&name, first[0])).unwrap();
    assert_eq!(read(), [None, None]);
    wait(other.create_database(&name, Default::default())).unwrap().unwrap();
    assert!(epochs().iter().all(|epoch| *epoch > first[0]));
}

/// The file shrinks when something is dropped; the remaining contents are complete and sound.
#[test]
fn space_of_dropped_databases_is_returned() {
    let directory = TempDir::new().unwrap();
    let store = init(directory.path());
    transfer_databases::fill(&store);
    let large = "large".parse().unwrap();
    let made = wait(store.create_database(&large, Default::default())).unwrap().unwrap();
    for at in 0..40_u8 {
        let bytes = vec![at; 500_000];
        let digest = AttachmentDigest::of(&bytes);
        assert!(wait(store.put_attachment(&large, &digest, bytes)).unwrap());
    }
    let name: CollectionName = named("notes");
    create(&store, "notes");
    store_each(&store, &name, &["last"]);
    let length = || directory.path().join("feedsync.db").metadata().unwrap().len();
    let raw = rusqlite::Connection::open(directory.path().join("feedsync.db")).unwrap();
    raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(raw);
    let before = length();
    assert!(before > 20_000_000, "{before}");
    wait(store.drop_database(&large, made.epoch)).unwrap();
    let contents = transfer_databases::contents(&store);
    let mut pieces = 0;
    while wait(store.sweep_databases()).unwrap() {
        pieces += 1;
        assert!(pieces < 100, "an end is reached");
    }
    let after = length();
    assert!(after < before - 18_000_000, "{before} {after}");
    assert_eq!(transfer_databases::contents(&store), contents);
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
    assert_eq!(ids(&all(&store, &name)), ["last"]);
    assert!(!wait(store.sweep_databases()).unwrap(), "nothing is left to do");
}

/// Contents of a dropped database are removed completely, and in pieces of limited size, however large the
/// rows are.
#[test]
fn dropped_rows_are_removed_in_pieces_of_limited_bytes() {
    let directory = TempDir::new().unwrap();
    let store = init(directory.path());
    transfer_databases::fill(&store);
    while wait(store.sweep_databases()).unwrap() {}
    let large = "large".parse().unwrap();
    let made = wait(store.create_database(&large, Default::default())).unwrap().unwrap();
    for at in 0..7_u8 {
        let bytes = vec![at; 24 << 20];
        let digest = AttachmentDigest::of(&bytes);
        assert!(wait(store.put_attachment(&large, &digest, bytes)).unwrap());
    }
    let raw = rusqlite::Connection::open(directory.path().join("feedsync.db")).unwrap();
    let of_large = |sql: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM {sql}");
        raw.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    // Creates large bodies and documents directly in the tables, instead of writing each one.
    let id: i64 = raw
        .query_row("SELECT id FROM databases WHERE name = 'large'", [], |row| row.get(0))
        .unwrap();
    for at in 0..5_i64 {
        raw.execute(
            "INSERT INTO bodies (key, text, attachments) VALUES ((?1 << 40) | ?2, hex(zeroblob(15000000)), '[]')",
            [id, at],
        )
        .unwrap();
        raw.execute(
            "INSERT INTO attachment_uses (key, digest) VALUES ((?1 << 40) | ?2, 'x')",
            [id, at],
        )
        .unwrap();
        raw.execute(
            "INSERT INTO documents (database, id, number, deleted, tree) VALUES (?1, ?2, ?2, 0, zeroblob(30000000))",
            [id, at],
        )
        .unwrap();
    }
    let all = of_large("databases");
    wait(store.drop_database(&large, made.epoch)).unwrap();
    let left = || {
        [
            "bodies WHERE length(text) > 23000000",
            "documents WHERE length(tree) > 23000000",
            "attachments WHERE length(content) > 23000000",
        ]
        .map(of_large)
    };
    let mut pieces = Vec::new();
    while of_large("databases") == all {
        assert!(wait(store.sweep_databases()).unwrap());
        pieces.push(left());
    }
    assert_eq!(
        pieces,
        [[2, 5, 7], [0, 4, 7], [0, 1, 7], [0, 0, 5], [0, 0, 2], [0, 0, 0], [0, 0, 0]]
    );
    assert_eq!(of_large("attachment_uses WHERE digest = 'x'"), 0);
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
}

/// A file that was created without incremental vacuum keeps its size, and the sweep still ends.
#[test]
fn file_that_cannot_shrink_is_left_unchanged() {
    let directory = TempDir::new().unwrap();
    drop(init(directory.path()));
    let raw = rusqlite::Connection::open(directory.path().join("feedsync.db")).unwrap();
    raw.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM; PRAGMA journal_mode = WAL")
        .unwrap();
    raw.execute_batch(
        "CREATE TABLE free (x); INSERT INTO free VALUES (zeroblob(5000000)); DROP TABLE free",
    )
    .unwrap();
    drop(raw);
    let store = SqliteStore::open(directory.path(), environment()).unwrap();
    assert!(!wait(store.sweep_databases()).unwrap());
}
