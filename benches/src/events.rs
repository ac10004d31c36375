//! Many idle followers of one collection over loopback sockets: the memory of the hub for each, and the latency
//! of a change.
//!
//! The hub is a separate process. A change is one new item, offered over HTTP. Its latency is measured from
//! before the request to the complete event at each follower. All followers are in this process, on the same
//! processors as the hub.

use std::time::{Duration, Instant};

use feedsync_core::Format;
use feedsync_formats::{FeedHead, FeedWriter};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::keepalive::Connection;
use crate::measure::ROUNDS;
use crate::memory::first_line;
use crate::process::{child, current_memory};
use crate::sample::{self, Random, item};

const FOLLOWERS: usize = 2_000;

/// Timeout of every wait.
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn run() {
    let directory = TempDir::new().expect("a directory");
    let runtime = sample::runtime();
    let endpoint = runtime.block_on(sample::create(directory.path(), "hub"));
    let mut serving =
        child(&["hub", directory.path().to_str().expect("UTF-8")]).spawn().expect("a child");
    let address = first_line(&mut serving);
    let hub = serving.id();
    runtime.block_on(async {
        let mut random = Random(11);
        let mut offer = || {
            let id = endpoint.new_id();
            document(&item(id, &mut random))
        };
        // Initial allocations of the hub happen before the measurement.
        send(&address, offer()).await;
        let before = current_memory(hub);
        let (arrived, mut arrivals) = mpsc::unbounded_channel();
        for number in 0..FOLLOWERS {
            let stream = follow(&address, "/collections/notes/events", None).await;
            tokio::spawn(listen(stream, arrived.clone()));
            if number % 500 == 0 {
                tokio::task::yield_now().await;
            }
        }
        let idle = current_memory(hub);
        let mut latencies = Vec::new();
        for _ in 0..ROUNDS {
            let began = Instant::now();
            send(&address, offer()).await;
            let all = async {
                for _ in 0..FOLLOWERS {
                    let at: Instant = arrivals.recv().await.expect("followers");
                    latencies.push(at - began);
                }
            };
            tokio::time::timeout(TIMEOUT, all).await.expect("a change that reaches everybody");
        }
        let after = current_memory(hub);
        print(before, idle, after, latencies);
    });
    drop(serving.stdin.take());
    serving.wait().expect("a hub that ends");
}

fn print(before: u64, idle: u64, after: u64, mut latencies: Vec<Duration>) {
    let megabytes = |kibibytes: u64| kibibytes as f64 * 1_024.0 / 1e6;
    let each =
        |kibibytes: u64| kibibytes.saturating_sub(before) as f64 * 1_024.0 / FOLLOWERS as f64 / 1e3;
    println!("## {FOLLOWERS} followers of one collection\n");
    println!("| the hub | memory held | a follower |\n|---|---|---|");
    println!("| before anybody followed | {:.1} MB | |", megabytes(before));
    println!("| with all of them, idle | {:.1} MB | {:.1} kB |", megabytes(idle), each(idle));
    println!(
        "| after {ROUNDS} changes reached them | {:.1} MB | {:.1} kB |\n",
        megabytes(after),
        each(after)
    );
    latencies.sort_unstable();
    let at = |part: usize| latencies[(latencies.len() * part / 100).min(latencies.len() - 1)];
    println!("| a change reached | after |\n|---|---|");
    for part in [50, 90, 99] {
        println!("| {part} % of them | {:.1?} |", at(part));
    }
    println!("| all of them | {:.1?} |\n", at(100));
}

/// Opens an event stream; completes once its first lines have arrived.
pub(crate) async fn follow(address: &str, path: &str, authorization: Option<&str>) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a hub");
    let signed = authorization.map(|value| format!("Authorization: {value}\r\n"));
    let signed = signed.unwrap_or_default();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{signed}\r\n");
    stream.write_all(request.as_bytes()).await.expect("a hub that listens");
    let (mut head, mut byte) = (Vec::new(), [0; 512]);
    while !contains(&head, b"\nid: ") || !head.ends_with(b"\n\n\r\n") {
        let count = stream.read(&mut byte).await.expect("an answer");
        assert!(count > 0, "no stream: {}", String::from_utf8_lossy(&head));
        head.extend_from_slice(&byte[..count]);
    }
    assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
    stream
}

/// Reports the arrival time of each event.
pub(crate) async fn listen(mut stream: TcpStream, arrived: mpsc::UnboundedSender<Instant>) {
    let (mut held, mut part) = (Vec::new(), [0; 512]);
    while let Ok(count @ 1..) = stream.read(&mut part).await {
        held.extend_from_slice(&part[..count]);
        while let Some(end) = held.windows(2).position(|two| two == b"\n\n") {
            let block: Vec<u8> = held.drain(..end + 2).collect();
            if contains(&block, b"data: ") && arrived.send(Instant::now()).is_err() {
                return;
            }
        }
    }
}

/// Offers a document to the hub.
async fn send(address: &str, body: String) {
    let request = format!(
        "POST /collections/notes/changes HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n\
         Content-Type: application/atom+xml\r\n\r\n{body}",
        body.len()
    );
    let answer = Connection::open(address).await.exchange(request.as_bytes()).await;
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
}

/// A feed with one item.
fn document(item: &feedsync_core::Item<feedsync_core::Payload>) -> String {
    let mut writer = FeedWriter::new(Format::Atom);
    let mut out = String::new();
    let head = FeedHead {
        id: "urn:example:feed",
        title: "",
        updated: "2026-11-20T10:00:00Z".parse().expect("a date"),
        author: "phone",
        details: None,
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing: None,
    };
    writer.begin(&mut out, &head);
    writer.item(&mut out, item);
    writer.end(&mut out);
    out
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
