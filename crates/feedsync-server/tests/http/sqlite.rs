//! The same tests over a database, where reads and writes run concurrently.

use tempfile::TempDir;

use crate::hub::hub_in;
use crate::{changes, complete, events};

#[tokio::test]
async fn pages_of_a_database_hold_everything_once() {
    let directory = TempDir::new().unwrap();
    changes::walk(hub_in(directory.path()).await).await;
}

#[tokio::test]
async fn the_complete_feed_of_a_database_streams_in_order() {
    let directory = TempDir::new().unwrap();
    changes::complete(hub_in(directory.path()).await).await;
}

#[tokio::test]
async fn the_parts_of_the_complete_feed_of_a_database_hold_everything_once() {
    let directory = TempDir::new().unwrap();
    complete::parts(hub_in(directory.path()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn followers_of_a_database_under_many_writers_miss_and_repeat_nothing() {
    let directory = TempDir::new().unwrap();
    events::writers_and_a_follower(hub_in(directory.path()).await).await;
}
