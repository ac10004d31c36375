//! Durable edits of one collection over HTTP: one writer compared to many concurrent ones, on each backend.
//!
//! An edit is a `PUT` of a complete entry, which is acknowledged when it is on the disk. Concurrent writers share
//! commits, which raises their combined rate. Hub, database and writers use the same processors.

use std::sync::Arc;
use std::time::{Duration, Instant};

use feedsync_core::ItemId;
use tokio::task::JoinSet;

use crate::backend::Backend;
use crate::keepalive::Connection;
use crate::measure::{ROUNDS, Times, ratio};
use crate::sample::{self, Random, change};

const ITEMS: usize = 1_000;
const WRITERS: usize = 64;

/// Numbers of edits in one round: by one writer, and by all concurrent writers together.
const SINGLE_EDITS: usize = 200;
const CONCURRENT_EDITS: usize = 25 * WRITERS;

struct Candidate {
    backend: Backend,
    address: String,
    ids: Arc<Vec<ItemId>>,
    /// Duration of an edit by one writer, and by concurrent writers.
    times: [Vec<Duration>; 2],
}

pub(crate) fn run() {
    let runtime = sample::runtime();
    let mut hubs = Vec::new();
    let mut candidates: Vec<Candidate> = Backend::each()
        .into_iter()
        .map(|backend| {
            let ids = Arc::new(runtime.block_on(backend.fill(ITEMS)));
            let (hub, address) = backend.serve();
            hubs.push(hub);
            Candidate { backend, address, ids, times: [Vec::new(), Vec::new()] }
        })
        .collect();
    for round in 0..=ROUNDS {
        for candidate in &mut candidates {
            for (kind, (writers, edits)) in
                [(1, SINGLE_EDITS), (WRITERS, CONCURRENT_EDITS)].into_iter().enumerate()
            {
                let took = runtime.block_on(candidate.edit(writers, edits, round));
                if round > 0 {
                    candidate.times[kind].push(took / edits as u32);
                }
            }
        }
    }
    for mut hub in hubs {
        drop(hub.stdin.take());
        hub.wait().expect("a hub that ends");
    }
    println!("## Durable edits of one collection\n");
    println!("| | an edit, elapsed | edits a second | against one writer |\n|---|---|---|---|");
    for candidate in candidates {
        let [alone, together] = candidate.times.map(Times::new);
        for (writers, times) in [(1, &alone), (WRITERS, &together)] {
            let name = candidate.backend.name();
            let plural = if writers == 1 { "" } else { "s" };
            println!(
                "| {name}, {writers} writer{plural} | {times} | {:.0} | {:.1} |",
                times.rate(1),
                ratio(&alone, times)
            );
        }
    }
    println!();
}

impl Candidate {
    /// Makes edits with several writers, each over its own connection; returns the total time.
    async fn edit(&self, writers: usize, edits: usize, round: usize) -> Duration {
        let mut connections = Vec::new();
        for _ in 0..writers {
            connections.push(Connection::open(&self.address).await);
        }
        let began = Instant::now();
        let mut working = JoinSet::new();
        for (number, mut connection) in connections.into_iter().enumerate() {
            let (address, ids) = (self.address.clone(), Arc::clone(&self.ids));
            working.spawn(async move {
                let mut random = Random((round * WRITERS + number) as u64);
                for _ in 0..edits / writers {
                    let id = &ids[random.below(ids.len())];
                    let body = change(&mut random);
                    let request = format!(
                        "PUT /collections/notes/items/{} HTTP/1.1\r\nHost: {address}\r\n\
                         Content-Type: application/atom+xml;type=entry\r\n\
                         Content-Length: {}\r\n\r\n{body}",
                        id.as_str(),
                        body.len()
                    );
                    let answer = connection.exchange(request.as_bytes()).await;
                    let said = String::from_utf8_lossy(&answer.body);
                    assert_eq!(answer.status, 200, "{said}");
                }
            });
        }
        working.join_all().await;
        began.elapsed()
    }
}
