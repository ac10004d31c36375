//! `feedsync database replicate` over a slow link in both directions, and PouchDB over the same link.

use std::sync::Arc;
use std::time::{Duration, Instant};

use feedsync_client::replicate::{
    RemoteDatabase, Replica, Replication, ReplicationProgress, RetryPolicy, StoredDatabase,
};
use feedsync_couch::replication::RejectedDocument;
use feedsync_endpoint::Endpoint;
use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_store::{EndpointName, SqliteStore, SystemEnvironment};
use tempfile::TempDir;

use super::replicas;
use super::server::Server;
use crate::measure::{ROUNDS, Times};
use crate::relay::Relay;

const DOCUMENTS: usize = 10_000;

/// Delay between an endpoint and the hub in one direction: half of a round trip of 50 ms.
const ONE_WAY_DELAY: Duration = Duration::from_millis(25);

/// Number of rounds of PouchDB, which is slow.
const POUCHDB_ROUNDS: usize = 3;

pub(super) async fn run(hub: Server) {
    let address = hub.place.trim_end_matches("/couch");
    let relay = Relay::start(address, ONE_WAY_DELAY).await;
    let far = format!("{}/couch", relay.address);
    let directory = TempDir::new().expect("a directory");
    let name = EndpointName::new("desk").expect("a name");
    let environment = Arc::new(SystemEnvironment);
    let store = SqliteStore::init(directory.path(), &name, environment.clone()).expect("a store");
    let endpoint = Endpoint::new(Arc::new(store), environment);
    fill(&hub).await;
    let fetcher = Fetcher::new(Policy::new(Private::Allowed)).expect("a fetcher");
    let there = |name: String| -> Arc<dyn Replica> {
        let url = format!("http://{far}/{name}");
        let patience = RetryPolicy::BOUNDED;
        Arc::new(RemoteDatabase::new(fetcher.clone(), &url, patience).expect("an address"))
    };
    let here = |name: String| -> Arc<dyn Replica> {
        let name = name.parse().expect("a name");
        Arc::new(StoredDatabase::new(endpoint.clone(), name))
    };
    let (mut pulls, mut pushes) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let local = format!("pulled-{round}");
        let pull = replicated(there("filled".to_owned()), here(local.clone())).await;
        let push = replicated(here(local), there(format!("pushed-{round}"))).await;
        if round > 0 {
            pulls.push(pull);
            pushes.push(push);
        }
    }
    println!("### {DOCUMENTS} documents over a link of {:?}\n", ONE_WAY_DELAY * 2);
    println!("| | elapsed |\n|---|---|");
    println!("| `feedsync database replicate`, from the hub | {} |", Times::new(pulls));
    println!("| `feedsync database replicate`, to the hub | {} |", Times::new(pushes));
    if let Some([pushes, pulls]) = replicas::times::<1, 2>(DOCUMENTS, POUCHDB_ROUNDS, [far]) {
        println!("| PouchDB, from the hub, 1,000 at a time | {pulls} |");
        println!("| PouchDB, to the hub, 1,000 at a time | {pushes} |");
    }
    println!();
}

/// Creates a database with documents, without the delay.
async fn fill(hub: &Server) {
    hub.ask("PUT", "filled", "", 201).await;
    for batch in 0..DOCUMENTS / super::BATCH {
        let text = "Nothing of note happened. More about it tomorrow. ".repeat(3);
        let document = |at: usize| {
            let number = batch * super::BATCH + at;
            format!(
                "{{\"_id\":\"document-{number:06}\",\"_rev\":\"1-{number:032x}\",\"type\":\"note\",\"text\":\"{text}\"}}"
            )
        };
        let documents: Vec<String> = (0..super::BATCH).map(document).collect();
        let body = format!("{{\"new_edits\":false,\"docs\":[{}]}}", documents.join(","));
        hub.ask("POST", "filled/_bulk_docs", &body, 201).await;
    }
}

async fn replicated(source: Arc<dyn Replica>, target: Arc<dyn Replica>) -> Duration {
    let all = Replication { creates_target: true, ..Replication::default() };
    let began = Instant::now();
    let done =
        all.run(source, target, Arc::new(SystemEnvironment), &Silent, std::future::pending()).await;
    let took = began.elapsed();
    let stats = done.expect("a replication").stats;
    assert_eq!((stats.written, stats.refused), (DOCUMENTS as u64, 0));
    took
}

struct Silent;

impl ReplicationProgress for Silent {
    fn begins(&self, _is_resumed: bool) {}
    fn examined(&self, _documents: u64, _pending: Option<u64>) {}
    fn refused(&self, _refused: &RejectedDocument) {}
    fn replicated(&self, _documents: u64) {}
}
