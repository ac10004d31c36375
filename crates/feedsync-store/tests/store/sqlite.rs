//! Conformance of the SQLite store.
//!
//! The files are in memory if the system has such a file system: the generated cases make tens of thousands
//! of commits, and a disk would take most of the time. `durability.rs` tests durability on a disk.

use std::path::Path;
use std::sync::Arc;

use feedsync_store::conformance::Fixture;
use feedsync_store::{EndpointName, Environment, SqliteStore};

fn sqlite(environment: Arc<dyn Environment>) -> Fixture {
    let memory = Path::new("/dev/shm");
    let directory = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
    let name = EndpointName::new("tester").unwrap();
    let store = SqliteStore::init(directory.path(), &name, environment).unwrap();
    Fixture { store: Arc::new(store), kept: Box::new(directory) }
}

feedsync_store::store_tests!(sqlite);
