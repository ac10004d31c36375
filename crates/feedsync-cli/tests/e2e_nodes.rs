//! Hubs of real processes: one node on a data directory, and three nodes on one PostgreSQL database behind a
//! balancer. The nodes are killed and the database is restarted. No acknowledged write is lost, no follower
//! misses a change or sees one twice, and all nodes return the same state.
//!
//! `FEEDSYNC_SEED` repeats the operations and the kills; their exact interleaving depends on the machine.

mod support;

#[path = "support/nodes/mod.rs"]
mod nodes;

#[cfg(unix)]
#[path = "e2e_nodes/reading.rs"]
mod reading;

use std::sync::Arc;
use std::time::{Duration, Instant};

use feedsync_store::conformance::wait;
use feedsync_store::{PostgresStore, SqliteStore, SystemEnvironment, Transfer};
use feedsync_test::postgres::Cluster;
use rand::Rng as _;

use nodes::fleet::Fleet;
use nodes::http::ask;
use nodes::world;
use support::database::database;

fn make_notes(fleet: &Fleet) {
    let headers = [("Content-Type", "application/json")];
    let address = fleet.balancer.address;
    let made = ask(address, "PUT", "/collections/notes", &headers, b"{\"title\": \"Notes\"}");
    assert_eq!(made.unwrap().status, 201);
}

#[test]
fn three_nodes_on_one_database_lose_nothing_while_they_are_killed() {
    let seed = world::seed();
    let cluster = Cluster::start();
    let url = database(&cluster);
    let fleet = Fleet::start(&url, 3);
    make_notes(&fleet);
    let store = wait(PostgresStore::open(&url, Arc::new(SystemEnvironment))).unwrap();
    let restart = |random: &mut rand::rngs::SmallRng| {
        let mode = if random.random() { "fast" } else { "immediate" };
        cluster.control(&["-m", mode, "stop"]);
        cluster.control(&["-l", "server.log", "start"]);
    };
    let outcome = world::run(&fleet, seed, Arc::new(store), Some(&restart));
    outcome.judge(&fleet);
}

#[test]
fn one_node_on_a_file_loses_nothing_while_it_is_killed() {
    let seed = world::seed();
    let directory = tempfile::tempdir().unwrap();
    let fleet = Fleet::start(&format!("sqlite:{}", directory.path().display()), 1);
    make_notes(&fleet);
    let store: Arc<dyn Transfer> =
        Arc::new(SqliteStore::open(directory.path(), Arc::new(SystemEnvironment)).unwrap());
    let outcome = world::run(&fleet, seed, store, None);
    outcome.judge(&fleet);
}

/// A hub that loses its database reports this in its health check and in its responses. It recovers by itself
/// when the database is available again.
#[test]
fn a_hub_outlives_its_database() {
    let cluster = Cluster::start();
    let fleet = Fleet::start(&database(&cluster), 1);
    make_notes(&fleet);
    let node = fleet.balancer.nodes()[0];
    let entry = nodes::entry::document("Milk");
    let kind = [("Content-Type", "application/atom+xml;type=entry")];
    let create = || ask(node, "POST", "/collections/notes", &kind, entry.as_bytes()).unwrap();
    assert_eq!(ask(node, "GET", "/healthz", &[], b"").unwrap().status, 200);
    for mode in ["fast", "immediate"] {
        cluster.control(&["-m", mode, "stop"]);
        for path in ["/healthz", "/collections/notes", "/collections/notes/changes"] {
            let begin = Instant::now();
            let answer = ask(node, "GET", path, &[], b"").unwrap();
            assert_eq!(answer.status, 503, "{path}");
            assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{path}");
            assert_eq!(answer.header("retry-after"), Some("5"), "{path}");
            assert!(begin.elapsed() < Duration::from_secs(5), "{path}: {:?}", begin.elapsed());
        }
        let refused = create();
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("5")));
        cluster.control(&["-l", "server.log", "start"]);
        let begin = Instant::now();
        while ask(node, "GET", "/healthz", &[], b"").unwrap().status != 200 {
            assert!(begin.elapsed() < Duration::from_secs(20), "the hub comes back");
        }
        assert_eq!(create().status, 201);
    }
    let collections = ask(node, "GET", "/collections", &[], b"").unwrap();
    let told: serde_json::Value = serde_json::from_slice(&collections.body).unwrap();
    assert!(told.to_string().contains("\"items\":2"), "{told}");
}
