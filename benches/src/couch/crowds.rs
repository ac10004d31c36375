//! Many databases in one hub: the time to create them, their memory, and the time to a first response. The latter
//! is of a database that was not accessed since the hub started.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::server::{Server, count, expect};
use crate::measure::{SHORT_ROUNDS, Times};
use crate::process::{current_memory, peak_memory};
use crate::sample::{self, Random};

const DATABASES: usize = 100_000;

/// Number of concurrent clients.
const CLIENTS: usize = 64;

/// Number of documents in each accessed database.
const DOCUMENTS: usize = 10;

pub(super) async fn run(mut hub: Server) {
    let databases = DATABASES.min(sample::max_items());
    let mut random = Random(23);
    let asked: Vec<usize> = (0..SHORT_ROUNDS).map(|_| random.below(databases)).collect();
    // Initial allocations of the hub happen before the measurement.
    each(&hub, CLIENTS, |number| ("PUT", format!("before-{number}")), 201).await;
    let before = current_memory(hub.process());
    let making = each(&hub, databases, |number| ("PUT", name(number)), 201).await;
    let made = current_memory(hub.process());
    for number in &asked {
        let rows = (0..DOCUMENTS).map(|at| format!("{{\"_id\":\"{at}\",\"type\":\"note\"}}"));
        let body = format!("{{\"docs\":[{}]}}", rows.collect::<Vec<_>>().join(","));
        hub.ask("POST", &format!("{}/_bulk_docs", name(*number)), &body, 201).await;
    }
    let began = Instant::now();
    hub.again();
    let starting = began.elapsed();
    let fresh = current_memory(hub.process());
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for number in &asked {
        let path = format!("{}/_changes?include_docs=true", name(*number));
        let request = hub.request("GET", &path, "");
        let mut connection = hub.connect().await;
        for times in [&mut cold, &mut warm] {
            let began = Instant::now();
            let answer = expect(&mut connection, &request, 200).await;
            times.push(began.elapsed());
            assert!(count(&answer, "\"seq\":") >= DOCUMENTS, "all that was written");
        }
    }
    let asking = each(&hub, databases, |number| ("GET", name(number)), 200).await;
    let (after, peak) = (current_memory(hub.process()), peak_memory(hub.process()));
    println!("### {databases} databases in one hub\n");
    println!("| memory of the hub | |\n|---|---|");
    for (what, kibibytes) in [
        ("before they were made", before),
        ("when all were made", made),
        ("started again", fresh),
        ("when each was asked about once", after),
        ("at most, since it was started again", peak),
    ] {
        println!("| {what} | {:.1} MB |", kibibytes as f64 * 1_024.0 / 1e6);
    }
    println!("\n| | |\n|---|---|");
    println!("| made by {CLIENTS} clients at once | {making:.1?} |");
    println!("| ended and started again | {starting:.1?} |");
    println!("| each asked about once, by as many clients | {asking:.1?} |");
    println!(
        "| first answer of one, {DOCUMENTS} documents, to its last byte | {} |",
        Times::new(cold)
    );
    println!("| the same again | {} |\n", Times::new(warm));
}

fn name(number: usize) -> String {
    format!("database-{number:06}")
}

/// Sends a request for each number with concurrent clients; returns the total time.
async fn each(
    hub: &Server,
    count: usize,
    asks: impl Fn(usize) -> (&'static str, String),
    status: u16,
) -> Duration {
    let requests = (0..count).map(|number| {
        let (method, path) = asks(number);
        hub.request(method, &path, "")
    });
    let requests: Arc<[Vec<u8>]> = requests.collect();
    let mut connections = Vec::with_capacity(CLIENTS);
    for _ in 0..CLIENTS {
        connections.push(hub.connect().await);
    }
    let began = Instant::now();
    let mut clients = JoinSet::new();
    for (client, mut connection) in connections.into_iter().enumerate() {
        let requests = Arc::clone(&requests);
        clients.spawn(async move {
            for request in requests.iter().skip(client).step_by(CLIENTS) {
                expect(&mut connection, request, status).await;
            }
        });
    }
    clients.join_all().await;
    began.elapsed()
}
