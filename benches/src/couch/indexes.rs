//! Indexes of documents: what they cost a writer, how fast they are built, and how fast a range is read.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::BATCH;
use super::server::{Server, count, expect};
use crate::keepalive::Connection;
use crate::measure::{ROUNDS, Times, ratio};
use crate::sample::{self, Random};

/// Number of documents in the large database.
const DOCUMENTS: usize = 1_000_000;

/// Number of documents in a database that is built on both servers.
pub(super) const SMALL: usize = 10_000;

/// Number of batches that each round writes.
const BATCHES: usize = 20;

/// Number of documents in the range that is read.
pub(super) const RANGE: usize = 50;

/// Number of ranges that are read.
const RANGES: usize = 200;

const INDEX: &str = "{\"index\":{\"fields\":[\"number\"]},\"ddoc\":\"by-number\",\"name\":\"n\"}";

/// Cost of an index to a writer, and a large database.
pub(super) async fn run(hub: Server) {
    let many = DOCUMENTS.min(sample::max_items());
    println!("### Indexes of a database\n");
    println!("| | |\n|---|---|");
    let mut random = Random(29);
    let (without, with) = written(&hub, &mut random).await;
    let cost = ratio(&with, &without);
    println!("| {} documents are written, {BATCH} in a request | {without} |", BATCHES * BATCH);
    println!("| the same with an index | {with}, {cost:.2} times |");
    hub.ask("PUT", "large", "", 201).await;
    for batch in 0..many / BATCH {
        write(&hub, "large", (batch, many / BATCH), &mut random).await;
    }
    let began = Instant::now();
    build(&hub, "large").await;
    let took = began.elapsed();
    let rate = many as f64 / took.as_secs_f64();
    println!(
        "| an index of {many} documents is built | {took:.2?}, {rate:.0} documents a second |"
    );
    let mut connection = hub.connect().await;
    let mut times = Vec::new();
    for _ in 0..RANGES {
        let request = range(&hub, "large", random.below(many - RANGE));
        let began = Instant::now();
        let answer = expect(&mut connection, &request, 200).await;
        times.push(began.elapsed());
        assert_eq!(count(&answer, "\"_id\":"), RANGE);
    }
    println!("| {RANGE} of them are found by a range of the index | {} |", Times::new(times));
    println!();
}

/// The same on both servers with a small database, in turn.
pub(super) async fn compare(servers: [&Server; 2]) {
    let mut random = Random(31);
    let mut built: [Vec<Duration>; 2] = Default::default();
    let mut found: [Vec<Duration>; 2] = Default::default();
    for round in 0..=ROUNDS {
        let database = format!("indexed-{round}");
        for (server, (built, found)) in servers.iter().zip(built.iter_mut().zip(&mut found)) {
            server.ask("PUT", &database, "", 201).await;
            for batch in 0..SMALL / BATCH {
                write(server, &database, (batch, SMALL / BATCH), &mut random).await;
            }
            let began = Instant::now();
            build(server, &database).await;
            let took = began.elapsed();
            let request = range(server, &database, random.below(SMALL - RANGE));
            let mut connection = server.connect().await;
            let began = Instant::now();
            let answer = expect(&mut connection, &request, 200).await;
            assert_eq!(count(&answer, "\"_id\":"), RANGE);
            if round > 0 {
                built.push(took);
                found.push(began.elapsed());
            }
        }
    }
    println!("### Indexes of {SMALL} documents\n");
    println!("| | hub | {} | |\n|---|---|---|---|", servers[1].name);
    for (what, [hub, peer]) in [("an index is built", built), ("a range of it is read", found)] {
        let (hub, peer) = (Times::new(hub), Times::new(peer));
        println!("| {what} | {hub} | {peer} | {:.1} times as fast |", ratio(&peer, &hub));
    }
    println!();
}

/// Writes the same batches into a database without an index and into one with an index, in turn.
async fn written(hub: &Server, random: &mut Random) -> (Times, Times) {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        for (is_indexed, times) in [(false, &mut without), (true, &mut with)] {
            let database = format!("written-{is_indexed}-{round}");
            hub.ask("PUT", &database, "", 201).await;
            if is_indexed {
                build(hub, &database).await;
            }
            let mut took = Duration::ZERO;
            for batch in 0..BATCHES {
                took += write(hub, &database, (batch, BATCHES), random).await;
            }
            if round > 0 {
                times.push(took);
            }
        }
    }
    (Times::new(without), Times::new(with))
}

/// Writes a batch of documents, whose numbers are in no order; returns the time of the request.
pub(super) async fn write(
    server: &Server,
    database: &str,
    (batch, batches): (usize, usize),
    random: &mut Random,
) -> Duration {
    let mut body = String::from("{\"docs\":[");
    for at in 0..BATCH {
        // Each number occurs once, and the next one is in another batch.
        let number = at * batches + batch;
        let between = if at > 0 { "," } else { "" };
        let _ = write!(
            body,
            "{between}{{\"_id\":\"{:016x}{batch:08}{at:04}\",\"type\":\"note\",\"number\":{number},\
             \"text\":\"Nothing of note happened. More about it tomorrow.\"}}",
            random.next(),
        );
    }
    body.push_str("]}");
    let mut connection: Connection = server.connect().await;
    let request = server.request("POST", &format!("{database}/_bulk_docs"), &body);
    let began = Instant::now();
    let answer = expect(&mut connection, &request, 201).await;
    let took = began.elapsed();
    assert_eq!(count(&answer, "\"ok\":true"), BATCH);
    took
}

/// Creates an index and waits until it answers.
async fn build(server: &Server, database: &str) {
    server.ask("POST", &format!("{database}/_index"), INDEX, 200).await;
    let first = "{\"selector\":{\"number\":{\"$gt\":null}},\"limit\":1}";
    server.ask("POST", &format!("{database}/_find"), first, 200).await;
}

fn range(server: &Server, database: &str, first: usize) -> Vec<u8> {
    let body = format!(
        "{{\"selector\":{{\"number\":{{\"$gte\":{first},\"$lt\":{}}}}},\"limit\":{RANGE}}}",
        first + RANGE
    );
    server.request("POST", &format!("{database}/_find"), &body)
}
