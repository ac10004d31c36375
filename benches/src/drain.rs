//! Rate at which the gateway delivers edits that were queued offline, compared to one client that sends the same
//! edits to the same hub.
//!
//! Edits of one collection are delivered in order of their arrival, sequentially over one connection; the client
//! sends them in the same way. Edits of several collections are delivered concurrently. Hub, gateway and clients
//! share the processors and the disk. In both cases, an edit is on the disk when it is acknowledged.

use std::time::{Duration, Instant};

use feedsync_core::Format;
use feedsync_store::{CollectionName, NewCollection};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::gateways::Gateway;
use crate::keepalive::Connection;
use crate::measure::{ROUNDS, Times, ratio};
use crate::memory::first_line;
use crate::process::child;
use crate::sample::{self, Random, payload};

/// Number of queued edits.
const EDITS: usize = 10_000;

/// Number of applications that write offline.
const WRITERS: usize = 16;

/// Numbers of collections that they write to.
const COLLECTIONS: [usize; 2] = [1, 4];

/// Interval of polling for the delivered edits.
const PAUSE: Duration = Duration::from_millis(20);

/// Names of the compared ways to the hub.
const ROUTES: [&str; 2] = ["sent", "queued"];

pub(crate) fn run() {
    let count = sample::max_items().min(EDITS);
    let runtime = sample::runtime();
    let [hub, kept] = [(); 2].map(|()| TempDir::new().expect("a directory"));
    let authorization = runtime.block_on(set_up(&hub));
    let mut serving =
        child(&["hub", hub.path().to_str().expect("UTF-8")]).spawn().expect("a child");
    let address = first_line(&mut serving);
    let gateway = Gateway::start(kept.path(), &address);
    let drain = Drain { count, address, authorization, gateway };
    let mut times = vec![[Vec::new(), Vec::new()]; COLLECTIONS.len()];
    for round in 0..=ROUNDS {
        for (collections, times) in COLLECTIONS.into_iter().zip(&mut times) {
            let took = runtime.block_on(async {
                let names = |way| names(round, collections, way);
                [drain.sent(&names(ROUTES[0])).await, drain.queued(&names(ROUTES[1])).await]
            });
            if round > 0 {
                took.into_iter().zip(times).for_each(|(took, times)| times.push(took));
            }
        }
    }
    drain.gateway.end();
    drop(serving.stdin.take());
    serving.wait().expect("a hub that ends");
    println!("## {count} edits that waited in the gateway, against as many sent to the hub\n");
    println!("| | all of them | a second | rate against the client |\n|---|---|---|---|");
    for (collections, times) in COLLECTIONS.into_iter().zip(times) {
        let [sent, queued] = times.map(Times::new);
        let plural = if collections == 1 { "" } else { "s" };
        for (how, times) in [("sent by one client", &sent), ("queued, then sent", &queued)] {
            println!(
                "| {collections} collection{plural}, {how} | {times} | {:.0} | {:.2} |",
                times.rate(count),
                ratio(&sent, times)
            );
        }
    }
    println!();
}

/// A hub and a gateway in front of it.
struct Drain {
    count: usize,
    address: String,
    authorization: String,
    gateway: Gateway,
}

impl Drain {
    /// Returns the requests that post the edits of one collection.
    fn edits(&self, host: &str, path: &str, seed: u64, count: usize) -> Vec<Vec<u8>> {
        let mut random = Random(seed);
        let edit = |_| {
            let body = payload(&mut random).shared_text();
            let head = format!(
                "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {}\r\n\
                 Content-Type: application/atom+xml;type=entry\r\nContent-Length: {}\r\n\r\n",
                self.authorization,
                body.len()
            );
            [head.as_bytes(), body.as_bytes()].concat()
        };
        (0..count).map(edit).collect()
    }

    /// Sends all edits with one client, over one connection for each collection.
    async fn sent(&self, names: &[CollectionName]) -> Duration {
        let mut clients = JoinSet::new();
        let mut all = Vec::new();
        for (number, name) in names.iter().enumerate() {
            let path = format!("/collections/{}", name.as_str());
            let count = self.count / names.len();
            all.push((
                Connection::open(&self.address).await,
                self.edits(&self.address, &path, number as u64, count),
            ));
        }
        let began = Instant::now();
        for (connection, edits) in all {
            clients.spawn(send(connection, edits));
        }
        clients.join_all().await;
        began.elapsed()
    }

    /// Queues all edits in the gateway; returns the time until all are delivered.
    async fn queued(&self, names: &[CollectionName]) -> Duration {
        for name in names {
            let feed = format!("http://{}/collections/{}", self.address, name.as_str());
            self.gateway.subscribe(&feed, Some(&self.authorization)).await;
        }
        self.gateway.ask("PUT", "/network", "{\"policy\":\"offline\"}").await;
        let mut writers = JoinSet::new();
        for (number, name) in names.iter().enumerate() {
            let path = format!("/http/{}/collections/{}", self.address, name.as_str());
            let count = self.count / names.len();
            let edits = self.edits(&self.gateway.proxy, &path, number as u64, count);
            for some in edits.chunks(count.div_ceil(WRITERS / names.len())) {
                let connection = Connection::open(&self.gateway.proxy).await;
                writers.spawn(send(connection, some.to_vec()));
            }
        }
        writers.join_all().await;
        let began = Instant::now();
        self.gateway.ask("PUT", "/network", "{\"policy\":\"online\"}").await;
        while self.arrived(names).await < self.count {
            tokio::time::sleep(PAUSE).await;
        }
        while self.gateway.ask("GET", "/outbox", "").await != "[]" {
            tokio::time::sleep(PAUSE).await;
        }
        let took = began.elapsed();
        self.gateway.settled().await;
        took
    }

    /// Number of items in the collections of the hub.
    async fn arrived(&self, names: &[CollectionName]) -> usize {
        let request = format!(
            "GET /collections HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\n\r\n",
            self.address, self.authorization
        );
        let answer = Connection::open(&self.address).await.exchange(request.as_bytes()).await;
        let text = String::from_utf8(answer.body).expect("JSON");
        let has = |name: &CollectionName| -> usize {
            // The members of an object are sorted by name.
            let rest = text.split("{").find(|one| one.contains(&format!("\"{}\"", name.as_str())));
            let rest = rest.and_then(|rest| rest.split_once("\"items\":")).expect("a collection").1;
            let end = rest.find([',', '}']).expect("an end");
            rest[..end].trim().parse().expect("a number")
        };
        names.iter().map(has).sum()
    }
}

/// Sends sequential requests, each of which creates something.
async fn send(mut connection: Connection, requests: Vec<Vec<u8>>) {
    for request in requests {
        let answer = connection.exchange(&request).await;
        assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
    }
}

/// Collections of a round and one way.
fn names(round: usize, collections: usize, way: &str) -> Vec<CollectionName> {
    let name = |number| CollectionName::new(&format!("{way}{round}-{collections}-{number}"));
    (0..collections).map(|number| name(number).expect("a valid name")).collect()
}

/// Creates a hub with a user and all collections; returns the user's `Authorization`.
async fn set_up(directory: &TempDir) -> String {
    let endpoint = sample::create(directory.path(), "hub").await;
    for round in 0..=ROUNDS {
        let all =
            COLLECTIONS.into_iter().flat_map(|count| ROUTES.map(|way| names(round, count, way)));
        for name in all.flatten() {
            let (title, format) = (name.to_string(), Format::Atom);
            let new = NewCollection { name, title, format, settings: Default::default() };
            endpoint.store().create_collection(new).await.expect("a new collection");
        }
    }
    format!("Bearer {}", sample::token(&endpoint).await)
}
