//! Indexes of documents in a file: damage, files of earlier versions, and removal.

use std::path::Path;
use std::sync::Arc;

use feedsync_couch::plan::KeyRange;
use feedsync_couch::{DatabaseName, DocumentId};
use feedsync_store::Queries as _;
use feedsync_store::conformance::{TestEnvironment, wait};
use feedsync_store::{
    Databases as _, EndpointName, IndexId, IndexRange, MAX_INDEXES, SelectBodies, SqliteStore,
};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::transfer_databases::{body, join};

const DESIGN: &str = "_design/indexes";

fn notes() -> DatabaseName {
    "notes".parse().unwrap()
}

fn id(text: &str) -> DocumentId {
    text.parse().unwrap()
}

/// A design document with indexes of these fields.
fn design(fields: &[&str]) -> String {
    let view = |field: &&str| {
        format!(r#""{field}":{{"map":{{"fields":{{"{field}":"asc"}}}},"options":{{"def":{{}}}}}}"#)
    };
    let views: Vec<_> = fields.iter().map(view).collect();
    format!(r#"{{"language":"query","views":{{{}}}}}"#, views.join(","))
}

fn write(store: &SqliteStore, documents: &[(&str, &[&'static str], &str)]) {
    let document = |(name, path, text): &(&str, &[&'static str], &str)| {
        (id(name), path.to_vec(), false, body(text, &[]))
    };
    join(store, documents.iter().map(document).collect());
}

/// A store with a built index of `a` that contains the documents `1` to `5`.
fn store(directory: &Path) -> SqliteStore {
    let name = EndpointName::new("anna").unwrap();
    let store = SqliteStore::init(directory, &name, Arc::new(TestEnvironment::new(1))).unwrap();
    wait(store.create_database(&notes(), Default::default())).unwrap().unwrap();
    for (at, name) in ["1", "2", "3", "4", "5"].into_iter().enumerate() {
        write(&store, &[(name, &["a"], &format!(r#"{{"a":{},"b":1}}"#, 9 - at))]);
    }
    write(&store, &[(DESIGN, &["a"], &design(&["a"])), ("without", &["a"], "{}")]);
    build(&store, 2);
    store
}

/// Builds all indexes, and returns the number of pieces.
fn build(store: &SqliteStore, most: usize) -> u32 {
    let mut pieces = 0;
    while wait(store.build_indexes(&notes(), most)).unwrap() {
        pieces += 1;
    }
    pieces
}

fn ids_of_indexes(store: &SqliteStore) -> Vec<IndexId> {
    wait(store.indexes(&notes())).unwrap().indexes.iter().map(|index| index.id).collect()
}

fn found(store: &SqliteStore, index: IndexId) -> Option<Vec<String>> {
    let keys = KeyRange { start: Vec::new(), end: vec![0xff] };
    let range = IndexRange { index, keys, after: None, is_descending: false, most: 99 };
    let choose: SelectBodies = Box::new(|_| Vec::new());
    let page = wait(store.documents_by_key(&notes(), range, choose, u64::MAX)).unwrap()?;
    Some(page.documents.into_iter().map(|(_, read)| read.document.id.to_string()).collect())
}

fn raw(directory: &Path) -> Connection {
    Connection::open(directory.join("feedsync.db")).unwrap()
}

#[test]
fn inconsistent_rows_of_indexes_are_found() {
    let differs = "the index a of notes/_design/indexes differs from the documents";
    for (sql, fault) in [
        ("DELETE FROM index_rows WHERE document = '3'", differs),
        ("UPDATE index_rows SET key = x'05' WHERE document = '3'", differs),
        ("INSERT INTO index_rows SELECT index_id, x'05', document FROM index_rows", differs),
        ("UPDATE document_indexes SET reached = '4'", differs),
        ("UPDATE databases SET indexes = 2", "notes has 1 indexes, but counts 2"),
    ] {
        let directory = TempDir::new().unwrap();
        let store = store(directory.path());
        assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
        assert!(raw(directory.path()).execute(sql, []).unwrap() > 0, "{sql}");
        assert_eq!(wait(store.check()).unwrap(), [fault], "{sql}");
    }
}

/// Indexes of a file that an earlier version wrote, or whose rows another version has, are built again.
#[test]
fn indexes_of_another_version_are_built_again() {
    for sql in [
        "UPDATE databases SET index_version = 7; UPDATE index_rows SET key = x'05';",
        "UPDATE databases SET index_version = 0, indexes = 0;
         DELETE FROM document_indexes; DELETE FROM index_rows;",
    ] {
        let directory = TempDir::new().unwrap();
        let store = store(directory.path());
        let before = ids_of_indexes(&store)[0];
        raw(directory.path()).execute_batch(sql).unwrap();
        assert_eq!(found(&store, before), None);
        assert!(!wait(store.indexes(&notes())).unwrap().are_built);
        write(&store, &[("3", &["a", "b"], r#"{"a":1}"#)]);
        // A program of the other version must not use its rows any more.
        let version = "SELECT index_version FROM databases";
        let version = raw(directory.path()).query_row(version, [], |row| row.get::<_, u32>(0));
        assert_eq!(version.unwrap(), 0);
        assert_eq!(build(&store, 99), 2, "the indexes are defined, then built");
        let [after] = ids_of_indexes(&store)[..] else { panic!("one index") };
        assert_ne!(after, before);
        assert_eq!(found(&store, before), None);
        assert_eq!(found(&store, after).unwrap(), ["3", "5", "4", "2", "1"]);
        assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
    }
}

#[test]
fn rows_of_dropped_indexes_are_removed() {
    let directory = TempDir::new().unwrap();
    let store = store(directory.path());
    let count = |table: &str| {
        let sql = format!("SELECT count(*) FROM {table}");
        raw(directory.path()).query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let sweep = || while wait(store.sweep_databases()).unwrap() {};
    let [first] = ids_of_indexes(&store)[..] else { panic!("one index") };
    write(&store, &[(DESIGN, &["a", "b"], &design(&["b"]))]);
    assert_eq!(found(&store, first), None);
    let [second] = ids_of_indexes(&store)[..] else { panic!("one index") };
    assert_eq!(found(&store, second), None);
    build(&store, 99);
    assert_eq!(count("index_rows"), 10);
    sweep();
    assert_eq!((count("index_rows"), count("document_indexes")), (5, 1));
    assert_eq!(found(&store, second).unwrap().len(), 5);
    let database = wait(store.database(&notes())).unwrap().unwrap();
    wait(store.drop_database(&notes(), database.epoch)).unwrap();
    sweep();
    assert_eq!((count("index_rows"), count("document_indexes")), (0, 0));
}

/// The number of indexes is limited. A design document may have more; they are not stored.
#[test]
fn a_database_has_a_limited_number_of_indexes() {
    let directory = TempDir::new().unwrap();
    let store = store(directory.path());
    let names: Vec<_> = (0..MAX_INDEXES + 9).map(|number| format!("f{number:03}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    write(&store, &[("_design/many", &["a"], &design(&names))]);
    assert_eq!(ids_of_indexes(&store).len(), MAX_INDEXES);
    write(&store, &[("_design/many", &["a", "b"], &design(&names[..3]))]);
    assert_eq!(ids_of_indexes(&store).len(), 4);
}
