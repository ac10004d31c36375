//! The SQLite store keeps the contract.

use std::sync::Arc;

use feedsync_store::conformance::Fixture;
use feedsync_store::{EndpointName, Environment, SqliteStore};

fn sqlite(environment: Arc<dyn Environment>) -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let name = EndpointName::new("tester").unwrap();
    let store = SqliteStore::init(directory.path(), &name, environment).unwrap();
    Fixture { store: Arc::new(store), kept: Box::new(directory) }
}

feedsync_store::store_tests!(sqlite);
