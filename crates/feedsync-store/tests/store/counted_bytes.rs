//! Counters of bytes in a file: filled by the migration that added them, and verified by the check.

use std::sync::Arc;

use feedsync_store::conformance::people::user;
use feedsync_store::conformance::samples::{create, item, named, put, store_each, version, write};
use feedsync_store::conformance::{TestEnvironment, wait};
use feedsync_store::{
    Databases as _, EndpointName, Grant, LocalDocument, People as _, Role, SqliteStore,
};
use tempfile::TempDir;

fn environment(seed: u64) -> Arc<TestEnvironment> {
    Arc::new(TestEnvironment::new(seed))
}

/// The migration counts existing bytes in the same way as `check`.
#[test]
fn a_store_of_before_bytes_were_counted_counts_them() {
    let directory = TempDir::new().unwrap();
    let name = EndpointName::new("anna").unwrap();
    let store = SqliteStore::init(directory.path(), &name, environment(1)).unwrap();
    create(&store, "notes");
    create(&store, "empty");
    store_each(&store, &named("notes"), &["a", "b"]);
    let mut contested = item("c", "A", 1);
    contested.conflicts.push(version("B", 1, "<b/>"));
    contested.winner.payload =
        contested.winner.payload.clone().with_sync_foreign(Some("<f>\u{20ac}</f>"));
    write(&store, &named("notes"), &["c"], vec![put(contested)]).unwrap();
    let anna = user("anna", false);
    wait(store.add_user(user("root", true))).unwrap();
    wait(store.add_user(anna.clone())).unwrap();
    let grant = Grant { user: anna.name.clone(), collection: named("notes"), role: Role::Owner };
    wait(store.grant(grant)).unwrap();
    let name = "papers".parse().unwrap();
    let made = wait(store.create_database(&name, Default::default())).unwrap().unwrap();
    let document = LocalDocument { revision: 1, body: "{\"a\":\"\u{e4}\"}".to_owned() };
    let id = "place".parse().unwrap();
    wait(store.put_local_document(&name, made.epoch, &id, Some(document))).unwrap();
    wait(store.charge(&name, &anna.id)).unwrap();
    wait(store.charge_collection(&named("notes"), &anna.id)).unwrap();
    let expected = wait(store.usage(&anna.id)).unwrap();
    assert!(expected.item_bytes > 150 && expected.database_bytes > 5, "{expected:?}");
    drop(store);
    let raw = rusqlite::Connection::open(directory.path().join("feedsync.db")).unwrap();
    raw.execute_batch(
        "DROP TABLE view_nodes; DROP TABLE view_rows; DROP TABLE stored_views; DROP TABLE view_sets;
         DROP TABLE index_rows; DROP TABLE document_indexes; DROP TABLE collection_owners;
         ALTER TABLE collections DROP COLUMN bytes; ALTER TABLE databases DROP COLUMN local_bytes;
         ALTER TABLE databases DROP COLUMN indexes; ALTER TABLE databases DROP COLUMN index_version;
         ALTER TABLE remotes DROP COLUMN refused_at; ALTER TABLE remotes DROP COLUMN refused_up_to;
         ALTER TABLE remotes DROP COLUMN refusal; ALTER TABLE users DROP COLUMN databases_only;
         DROP TABLE ended_revisions; DROP TABLE body_origins;
         ALTER TABLE databases DROP COLUMN history_seconds; ALTER TABLE databases DROP COLUMN history_since;
         ALTER TABLE databases DROP COLUMN history_last; ALTER TABLE databases DROP COLUMN history_bytes;
         DROP INDEX dropped_databases; ALTER TABLE databases DROP COLUMN named_at;
         ALTER TABLE databases DROP COLUMN dropped_name; ALTER TABLE databases DROP COLUMN dropped_at;
         ALTER TABLE databases DROP COLUMN dropped_by;
         PRAGMA user_version = 9;",
    )
    .unwrap();
    drop(raw);
    let store = SqliteStore::open(directory.path(), environment(2)).unwrap();
    assert_eq!(wait(store.usage(&anna.id)).unwrap(), expected);
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
    drop(store);
    let raw = rusqlite::Connection::open(directory.path().join("feedsync.db")).unwrap();
    raw.execute_batch(
        "UPDATE collections SET bytes = bytes + 1; UPDATE databases SET local_bytes = 0;",
    )
    .unwrap();
    drop(raw);
    let store = SqliteStore::open(directory.path(), environment(2)).unwrap();
    let faults = wait(store.check()).unwrap();
    assert_eq!(faults.len(), 2, "{faults:?}");
}
