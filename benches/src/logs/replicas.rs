//! Costs of synchronisation, for a device that is up to date and for a new one (LR45).

use std::time::{Duration, Instant};

use feedsync_client::{compact, read_reader_log};
use feedsync_reading_state::Action;

use super::{Device, FEEDS, Hub, article, feeds, published, random};
use crate::measure::{Amounts, ROUNDS, Times};
use crate::relay::Relay;

/// Number of articles in each feed; a hundred thousand in all.
const ARTICLES: usize = 200;

/// Marks of a user on all articles.
struct Reading {
    name: &'static str,
    log: &'static str,
    /// Number of last articles of each feed that are marked one by one; earlier ones have one mark together.
    one_by_one: usize,
    /// Number of articles per starred article.
    starred: usize,
}

const READINGS: [Reading; 2] = [
    Reading { name: "as a whole, 1 in 100 starred", log: "whole", one_by_one: 2, starred: 100 },
    Reading {
        name: "1 in 10 one by one, 1 in 20 starred",
        log: "some",
        one_by_one: 20,
        starred: 20,
    },
];

pub(super) async fn run(hub: &Hub) {
    let relay = Relay::start(&hub.address, Duration::ZERO).await;
    print_records(hub).await;
    println!("## A new device, in step with {} articles read of {FEEDS} feeds\n", FEEDS * ARTICLES);
    println!(
        "| read | in step after | requests | bytes sent | bytes received |\n|---|---|---|---|---|"
    );
    let mut up_to_date = Vec::new();
    for reading in &READINGS {
        let device = reading.record(hub).await;
        up_to_date.push((reading.name, new_device(hub, &relay, reading, &device).await));
    }
    println!();
    println!("## A device that is up to date\n");
    println!("| | requests | bytes sent | bytes received | both |\n|---|---|---|---|---|");
    for (name, traffic) in up_to_date {
        let both = traffic.iter().map(|(_, there, back)| there + back).collect();
        let [requests, there, back] = traffic_amounts(&traffic);
        println!("| {name} | {requests} | {there} | {back} | {} |", Amounts::new(both));
    }
    println!();
}

/// Number of requests, and bytes in each direction.
type Traffic = (u64, u64, u64);

fn traffic_amounts(traffic: &[Traffic]) -> [Amounts; 3] {
    let pick = |pick: fn(&Traffic) -> u64| Amounts::new(traffic.iter().map(pick).collect());
    [pick(|traffic| traffic.0), pick(|traffic| traffic.1), pick(|traffic| traffic.2)]
}

/// Measures the synchronisation of a new device, and the amounts of another synchronisation when it is up to
/// date.
async fn new_device(hub: &Hub, relay: &Relay, reading: &Reading, known: &Device) -> Vec<Traffic> {
    let (mut times, mut first, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let mut device = Device::new(hub.log_access(&hub.address, reading.log));
        let began = Instant::now();
        device.synchronise().await;
        let took = began.elapsed();
        assert_eq!(device.reader.replica.state(), known.reader.replica.state());
        let mut device = Device::new(hub.log_access(&relay.address, reading.log));
        let [whole, nothing] =
            [traffic(relay, &mut device).await, traffic(relay, &mut device).await];
        if round > 0 {
            times.push(took);
            first.push(whole);
            again.push(nothing);
        }
    }
    let [requests, there, back] = traffic_amounts(&first);
    println!("| {} | {} | {requests} | {there} | {back} |", reading.name, Times::new(times));
    again
}

/// Amounts of one synchronisation over a relay.
async fn traffic(relay: &Relay, device: &mut Device) -> Traffic {
    let before = device.log_access.fetcher.traffic().requests();
    relay.passed();
    device.synchronise().await;
    let (there, back) = relay.passed();
    (device.log_access.fetcher.traffic().requests() - before, there, back)
}

impl Reading {
    /// Creates a device with these marks and a compacted log.
    async fn record(&self, hub: &Hub) -> Device {
        let feeds = feeds(FEEDS);
        let mut device = Device::new(hub.log_access(&hub.address, self.log));
        device.subscribe(&feeds);
        for (place, feed) in feeds.iter().enumerate() {
            for number in 0..ARTICLES {
                let (article, at) = (article(place, number), Some(published(number)));
                device.act(feed, &Action::Read { article: article.clone(), at });
                if (number + place) % self.starred == 0 {
                    device.act(feed, &Action::Star { article });
                }
            }
            if let Some(last) = (ARTICLES - self.one_by_one).checked_sub(1) {
                device.act(feed, &Action::ReadUpTo { at: published(last) });
            }
        }
        device.synchronise().await;
        let log = &device.log_access.log;
        let (mut replica, session) = read_reader_log(log, &random).await.expect("a log");
        let is_compacted = compact(log, &mut replica, &session, random()).await.expect("a hub");
        assert!(is_compacted, "the log of {} was not compacted", self.name);
        device.synchronise().await;
        device
    }
}

/// Measures the size of the records that mark everything as read.
async fn print_records(hub: &Hub) {
    println!("## Marking {} articles read\n", FEEDS * ARTICLES);
    println!("| | records | bytes |\n|---|---|---|");
    for count in [1, FEEDS] {
        let feeds = feeds(count);
        let mut device = Device::new(hub.log_access(&hub.address, &format!("all-of-{count}")));
        device.subscribe(&feeds);
        device.synchronise().await;
        let articles = FEEDS * ARTICLES / count;
        let last = published(articles - 1);
        for (place, feed) in feeds.iter().enumerate() {
            device.act(feed, &Action::ReadUpTo { at: last });
            let known = device.reader.replica.state().feed(feed.as_str()).expect("a feed");
            assert!((0..articles).all(|n| known.is_read(&article(place, n), Some(published(n)))));
        }
        let lines = device.reader.replica.waiting();
        assert_eq!(lines.len(), count, "one record a feed");
        let bytes: usize = lines.iter().map(|(_, line)| line.len()).sum();
        let plural = if count == 1 { "one feed" } else { "500 feeds" };
        println!("| all of {plural} | {} | {bytes} |", lines.len());
    }
    println!();
}
