//! Latency of marks between a device and another one that follows the log, both far from the hub (LR18, LR33).

use std::time::{Duration, Instant};

use feedsync_reading_state::{Action, FeedAddress};
use tokio::sync::mpsc;

use super::{Device, FEEDS, Hub, article, feeds, published};
use crate::events::{follow, listen};
use crate::measure::{ROUNDS, Times};
use crate::relay::Relay;

const MARKS: usize = 10_000;

/// Delay between a device and the hub in one direction: half of a round trip of 50 ms.
const ONE_WAY_DELAY: Duration = Duration::from_millis(25);

/// Measured events, timed from the first mark.
const MOMENTS: [&str; 3] = [
    "all marked and stored, where they were made",
    "all in the log, and that known there",
    "all known and stored at the device that follows",
];

pub(super) async fn run(hub: &Hub) {
    let relay = Relay::start(&hub.address, ONE_WAY_DELAY).await;
    let mut times: [Vec<Duration>; 3] = Default::default();
    let (mut bytes, mut requests) = (0, 0);
    for round in 0..=ROUNDS {
        let log = format!("marked-{round}");
        let feeds = feeds(FEEDS);
        let [mut one, mut other] =
            [(); 2].map(|()| Device::new(hub.log_access(&relay.address, &log)));
        one.subscribe(&feeds);
        one.synchronise().await;
        other.synchronise().await;
        let (arrived, arrivals) = mpsc::unbounded_channel();
        let path = format!("/logs/{log}/events");
        let stream = follow(&relay.address, &path, Some(&format!("Bearer {}", hub.token))).await;
        tokio::spawn(listen(stream, arrived));
        relay.passed();
        let before = other.log_access.fetcher.traffic().requests();
        let began = Instant::now();
        let (marked, known) =
            tokio::join!(tokio::spawn(mark(one, feeds)), tokio::spawn(keep_up(other, arrivals)),);
        let (marked, (known, asked)) = (marked.expect("marks"), known.expect("a follower"));
        if round > 0 {
            let moments = [marked[0], marked[1], known];
            moments.into_iter().zip(&mut times).for_each(|(at, times)| times.push(at - began));
            bytes = relay.passed().0;
            requests = asked - before;
        }
    }
    println!("## {MARKS} marks, to a device that follows over a link of {:?}\n", ONE_WAY_DELAY * 2);
    println!("| | after |\n|---|---|");
    for (what, times) in MOMENTS.into_iter().zip(times) {
        println!("| {what} | {} |", Times::new(times));
    }
    println!(
        "\nIn the last round {bytes} bytes went to the hub, and the device that follows asked {requests} times.\n"
    );
}

/// Marks articles of all feeds and synchronises the log; returns the times of both.
async fn mark(mut device: Device, feeds: Vec<FeedAddress>) -> [Instant; 2] {
    for number in 0..MARKS / feeds.len() {
        for (place, feed) in feeds.iter().enumerate() {
            let (article, at) = (article(place, number), Some(published(number)));
            device.act(feed, &Action::Read { article, at });
        }
    }
    device.reader.store().expect("a disk");
    let marked = Instant::now();
    device.synchronise().await;
    [marked, Instant::now()]
}

/// Synchronises on each notification until all marks are known; returns the time, and the total number of
/// requests.
async fn keep_up(
    mut device: Device,
    mut arrivals: mpsc::UnboundedReceiver<Instant>,
) -> (Instant, u64) {
    while device.marked() < MARKS {
        arrivals.recv().await.expect("a stream of events");
        while arrivals.try_recv().is_ok() {}
        device.synchronise().await;
    }
    (Instant::now(), device.log_access.fetcher.traffic().requests())
}
