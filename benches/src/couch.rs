//! Databases: the hub as a server of CouchDB's replication protocol, compared to `pouchdb-server`.
//!
//! The hub stores its documents on the disk before it responds; `pouchdb-server` stores them in memory. Both are
//! separate processes, and get requests in turn over persistent connections.

mod crowds;
mod indexes;
mod link;
mod modules;
mod replicas;
mod requests;
mod selectors;
mod server;
mod views;

use crate::sample;
use server::Server;
use tokio::runtime::Runtime;

/// Number of documents in one request.
const BATCH: usize = 1_000;

pub(crate) fn run() {
    println!("## Databases\n");
    let runtime = sample::runtime();
    match Server::peer() {
        Some(peer) => {
            let hub = Server::hub(&runtime);
            runtime.block_on(requests::run([&hub, &peer]));
            replicas::run([&hub, &peer]);
        }
        None => println!("Not measured against pouchdb-server: it cannot be had here.\n"),
    }
    runtime.block_on(link::run(Server::hub(&runtime)));
    runtime.block_on(selectors::run(Server::hub(&runtime)));
    runtime.block_on(crowds::run(Server::hub(&runtime)));
}

/// Indexes of databases, compared to `pouchdb-server` and to databases without indexes.
pub(crate) fn run_indexes() {
    println!("## Indexes of databases\n");
    let runtime = sample::runtime();
    compared(&runtime, async |servers| indexes::compare(servers).await);
    runtime.block_on(indexes::run(Server::hub(&runtime)));
}

/// Views of databases, compared to `pouchdb-server`.
pub(crate) fn run_views() {
    println!("## Views of databases\n");
    let runtime = sample::runtime();
    compared(&runtime, async |servers| views::compare(servers).await);
    runtime.block_on(views::run(Server::hub(&runtime)));
}

/// Measures a hub and `pouchdb-server` in one run, if the latter is available.
fn compared(runtime: &Runtime, compare: impl AsyncFnOnce([&Server; 2])) {
    match Server::peer() {
        Some(peer) => runtime.block_on(compare([&Server::hub(runtime), &peer])),
        None => println!("Not measured against pouchdb-server: it cannot be had here.\n"),
    }
}
