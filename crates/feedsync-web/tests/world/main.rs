//! The seeded simulation of `feedsync-bitsy` over the store of the worker, with a simulated IndexedDB.

#[path = "../../../feedsync-bitsy/tests/interceptor/origin.rs"]
mod origin;
#[path = "../../../feedsync-bitsy/tests/interceptor/schedule/mod.rs"]
mod schedule;
#[path = "../../../feedsync-bitsy/tests/interceptor/truth.rs"]
mod truth;
#[path = "../../../feedsync-bitsy/tests/interceptor/world.rs"]
mod world;

mod database;
mod gateway;
