//! Simulation of one item that is both an item and a document. Endpoints edit it as an item, and replicas as
//! a document. They exchange changes by feeds, by replication, and by an endpoint's bridge between its item
//! and its document, in any order.
//!
//! The result is compared with the true history of edits. No edit is lost, no conflict arises that two users
//! did not cause, and parties that received the same edits have the same state (`docs/mapping.md`,
//! Documents).

#[path = "doors/world.rs"]
mod world;

use world::{Shape, World};

/// Number of simulations of each shape.
fn worlds() -> u64 {
    if std::env::var_os("FEEDSYNC_LONG").is_some() { 20_000 } else { 500 }
}

fn run(shape: Shape) {
    for seed in 0..worlds() {
        let mut world = World::new(seed, shape);
        world.run();
        world.settle();
        if let Err(fault) = world.check() {
            panic!("seed {seed} of {shape:?}: {fault}\n{}", world.told());
        }
    }
}

#[test]
fn one_endpoint_and_its_replicas() {
    run(Shape { hubs: 1, replicas: 2, steps: 20, revisions_kept: 1_000 });
}

#[test]
fn endpoints_that_exchange_feeds() {
    run(Shape { hubs: 3, replicas: 0, steps: 30, revisions_kept: 1_000 });
}

#[test]
fn endpoints_and_replicas() {
    run(Shape { hubs: 3, replicas: 3, steps: 40, revisions_kept: 1_000 });
}

#[test]
fn short_paths_lose_no_edit() {
    for revisions_kept in 1..4 {
        run(Shape { hubs: 2, replicas: 2, steps: 30, revisions_kept });
    }
}
