//! Rows of views in a file: consistency after any updates, damage, and removal.

use std::path::Path;
use std::sync::Arc;

use feedsync_store::Queries as _;
use feedsync_store::conformance::views::for_any_updates_of_views;
use feedsync_store::conformance::{Fixture, TestEnvironment, wait};
use feedsync_store::{Databases as _, EndpointName, Environment, SqliteStore};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::stored_views::{INCONSISTENT, fill, notes, views};

fn sqlite(environment: Arc<dyn Environment>) -> Fixture<SqliteStore> {
    let memory = Path::new("/dev/shm");
    let directory = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
    Fixture { store: Arc::new(init(directory.path(), environment)), kept: Box::new(directory) }
}

fn init(directory: &Path, environment: Arc<dyn Environment>) -> SqliteStore {
    SqliteStore::init(directory, &EndpointName::new("anna").unwrap(), environment).unwrap()
}

fn filled(directory: &Path) -> SqliteStore {
    let store = init(directory, Arc::new(TestEnvironment::new(1)));
    fill(&store);
    store
}

fn raw(directory: &Path) -> Connection {
    Connection::open(directory.join("feedsync.db")).unwrap()
}

#[test]
fn any_updates_of_views_leave_a_consistent_file() {
    for_any_updates_of_views(40, sqlite, |store: &SqliteStore| {
        assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
    });
}

#[test]
fn inconsistent_rows_of_views_are_found() {
    for (sql, faults) in INCONSISTENT {
        let directory = TempDir::new().unwrap();
        let store = filled(directory.path());
        assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
        assert!(raw(directory.path()).execute(sql, []).unwrap() > 0, "{sql}");
        let mut found = wait(store.check()).unwrap();
        let mut faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        found.sort();
        faults.sort();
        assert_eq!(found, faults, "{sql}");
    }
}

#[test]
fn rows_of_dropped_views_are_removed() {
    let directory = TempDir::new().unwrap();
    let store = filled(directory.path());
    let counts = || {
        ["view_sets", "stored_views", "view_rows", "view_nodes"].map(|table| {
            let sql = format!("SELECT count(*) FROM {table}");
            raw(directory.path()).query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
        })
    };
    let sweep = || while wait(store.sweep_databases()).unwrap() {};
    sweep();
    assert_eq!(counts(), [1, 1, 5, 1]);
    wait(store.drop_views(&notes(), &[])).unwrap();
    assert_eq!(views(&store).rows, [0]);
    assert_eq!(counts(), [2, 2, 5, 1]);
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
    sweep();
    assert_eq!(counts(), [1, 1, 0, 0]);
    let database = wait(store.database(&notes())).unwrap().unwrap();
    wait(store.drop_database(&notes(), database.epoch)).unwrap();
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
    sweep();
    assert_eq!(counts(), [0; 4]);
}
