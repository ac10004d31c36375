//! Unmodified PouchDB, which pushes documents to a server and pulls them again.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::modules;
use super::server::Server;
use crate::measure::{ROUNDS, Times, ratio};

const DOCUMENTS: usize = 5_000;

pub(super) fn run(servers: [&Server; 2]) {
    println!("### PouchDB replicates {DOCUMENTS} documents, 1,000 at a time\n");
    let places = servers.map(|server| server.place.clone());
    let Some(times) = times::<2, 4>(DOCUMENTS, ROUNDS, places) else {
        println!("Not measured: PouchDB cannot be had here.\n");
        return;
    };
    println!("| | elapsed | rate against {} |\n|---|---|---|", servers[1].name);
    for (what, times) in ["pushed to", "pulled from"].into_iter().zip(times.chunks(2)) {
        for (server, time) in servers.iter().zip(times) {
            println!("| {what} {} | {time} | {:.2} |", server.name, ratio(&times[1], time));
        }
    }
    println!();
}

/// Returns the times to push documents to each address, and then to pull them from each. Returns `None` if
/// PouchDB is not available.
pub(super) fn times<const SERVERS: usize, const TIMES: usize>(
    documents: usize,
    rounds: usize,
    places: [String; SERVERS],
) -> Option<[Times; TIMES]> {
    let modules = modules::installed("client")?;
    let output = Command::new("node")
        .arg(modules::described("client").join("replicate.mjs"))
        .args([documents.to_string(), rounds.to_string()])
        .args(places.map(|place| format!("http://{place}")))
        .env("POUCHDB_MODULES", modules)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .expect("node");
    assert!(output.status.success(), "replication: {}", output.status);
    let text = String::from_utf8(output.stdout).expect("numbers");
    let mut times: [Vec<Duration>; TIMES] = std::array::from_fn(|_| Vec::new());
    for line in text.lines() {
        for (number, times) in line.split_whitespace().zip(&mut times) {
            times.push(Duration::from_micros(number.parse().expect("a number")));
        }
    }
    Some(times.map(Times::new))
}
