//! Databases: what the hub does for those that speak CouchDB's replication protocol, against `pouchdb-server`.
//!
//! The hub has its documents in a store on the disk, and answers when they are there; `pouchdb-server` has them in
//! memory. Both are processes of their own, and are asked in turn over connections that stay open.

mod crowds;
mod link;
mod modules;
mod replicas;
mod requests;
mod selectors;
mod server;

use crate::sample;
use server::Server;

/// Documents of one request.
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
