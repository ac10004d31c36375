//! One item behind both doors: endpoints edit it as an item, replicas as a document, and each hears of the others by
//! feeds, by replication, or by what an endpoint carries from one door to the other, in any order.
//!
//! Against the truth of who followed whom: no edit is lost, no conflict arises that no two people caused, and all that
//! have heard of the same hold the same (`docs/mapping.md`, Documents).

#[path = "doors/world.rs"]
mod world;

use world::{Shape, World};

/// Worlds of each shape.
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
fn where_paths_are_kept_short_no_edit_is_lost() {
    for revisions_kept in 1..4 {
        run(Shape { hubs: 2, replicas: 2, steps: 30, revisions_kept });
    }
}
