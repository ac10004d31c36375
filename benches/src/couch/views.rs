//! Views: how fast documents are mapped, and how fast rows and reductions are read.

use std::time::{Duration, Instant};

use super::indexes::write;
use super::server::{Server, count, expect};
use super::{BATCH, indexes};
use crate::measure::{ROUNDS, Times, ratio};
use crate::sample::{self, Random};

/// Number of documents in the large database.
const DOCUMENTS: usize = 800_000;

/// Number of reads of the same kind.
const READS: usize = 100;

const DESIGN: &str = "{\"views\":{\"n\":{\
    \"map\":\"function (doc) { if (doc.type === 'note') emit(doc.number, 1); }\",\"reduce\":\"_sum\"}}}";

/// First read of a view, which maps all documents.
const ROWS: &str = "_design/d/_view/n?reduce=false&limit=1";

/// Reduction of all rows.
const REDUCTION: &str = "_design/d/_view/n";

/// A large database.
pub(super) async fn run(hub: Server) {
    let many = DOCUMENTS.min(sample::max_items());
    let mut random = Random(37);
    println!("### Views of a database\n");
    println!("| | |\n|---|---|");
    fill(&hub, "viewed", many, &mut random).await;
    let mapped = read(&hub, "viewed", ROWS).await;
    let rate = many as f64 / mapped.as_secs_f64();
    println!(
        "| {many} documents are mapped, and their rows stored | {mapped:.2?}, {rate:.0} documents a second |"
    );
    let first = read(&hub, "viewed", REDUCTION).await;
    println!("| their rows are reduced for the first time | {first:.2?} |");
    let mut times = Vec::new();
    for _ in 0..READS {
        times.push(read(&hub, "viewed", REDUCTION).await);
    }
    println!("| the reduction is read again | {} |", Times::new(times));
    let mut times = Vec::new();
    for number in 0..READS {
        let document = format!("{{\"type\":\"note\",\"number\":{}}}", random.below(many));
        hub.ask("PUT", &format!("viewed/new-{number}"), &document, 201).await;
        times.push(read(&hub, "viewed", REDUCTION).await);
    }
    println!("| the reduction is read after a write | {} |", Times::new(times));
    let mut times = Vec::new();
    for _ in 0..READS {
        let first = random.below(many - indexes::RANGE);
        let path =
            format!("_design/d/_view/n?reduce=false&startkey={first}&limit={}", indexes::RANGE);
        times.push(read(&hub, "viewed", &path).await);
    }
    println!("| {} rows are read by a range of keys | {} |", indexes::RANGE, Times::new(times));
    println!();
}

/// The same on both servers with a small database, in turn.
pub(super) async fn compare(servers: [&Server; 2]) {
    let mut random = Random(41);
    let mut times: [[Vec<Duration>; 2]; 2] = Default::default();
    for round in 0..=ROUNDS {
        let database = format!("viewed-{round}");
        for (place, server) in servers.iter().enumerate() {
            fill(server, &database, indexes::SMALL, &mut random).await;
            for (what, path) in [ROWS, REDUCTION].into_iter().enumerate() {
                let took = read(server, &database, path).await;
                if round > 0 {
                    times[what][place].push(took);
                }
            }
        }
    }
    println!("### Views of {} documents\n", indexes::SMALL);
    println!("| | hub | {} | |\n|---|---|---|---|", servers[1].name);
    for (what, [hub, peer]) in
        ["documents are mapped", "their rows are reduced"].into_iter().zip(times)
    {
        let (hub, peer) = (Times::new(hub), Times::new(peer));
        println!("| {what} | {hub} | {peer} | {:.1} times as fast |", ratio(&peer, &hub));
    }
    println!();
}

/// Creates a database with documents and a view.
async fn fill(server: &Server, database: &str, many: usize, random: &mut Random) {
    server.ask("PUT", database, "", 201).await;
    for batch in 0..many / BATCH {
        write(server, database, (batch, many / BATCH), random).await;
    }
    server.ask("PUT", &format!("{database}/_design/d"), DESIGN, 201).await;
}

/// Reads a path of a database; returns the time of the request.
async fn read(server: &Server, database: &str, path: &str) -> Duration {
    let mut connection = server.connect().await;
    let request = server.request("GET", &format!("{database}/{path}"), "");
    let began = Instant::now();
    let answer = expect(&mut connection, &request, 200).await;
    let took = began.elapsed();
    assert!(count(&answer, "\"key\":") > 0);
    took
}
