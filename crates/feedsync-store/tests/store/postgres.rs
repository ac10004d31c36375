//! Conformance of the PostgreSQL store.

use std::sync::Arc;

use feedsync_store::conformance::{Fixture, wait};
use feedsync_store::{EndpointName, Environment, PostgresStore};
use feedsync_test::postgres::Cluster;

fn postgres(environment: Arc<dyn Environment>) -> Fixture {
    let url = Cluster::shared().database();
    let name = EndpointName::new("tester").unwrap();
    let store = wait(PostgresStore::init(&url, &name, environment)).unwrap();
    Fixture { store: Arc::new(store), kept: Box::new(()) }
}

feedsync_store::store_tests!(postgres);
