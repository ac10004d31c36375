//! Peak memory of the hub and of a subscriber while a large collection is transferred.
//!
//! Each is a separate process; another process fills the hub's store. The peak hardly varies, so it is measured
//! once.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::time::Instant;

use feedsync_client::{Direction, NoProgress, Session};
use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_server::functions::HostedFunctions;
use feedsync_server::{Config, Limits};
use feedsync_store::NewRemote;
use tempfile::TempDir;

use crate::backend::{StoreLocation, open};
use crate::process::{self, child, numbers, peak_memory};
use crate::sample::{self, name};

pub(crate) fn run() {
    let count = sample::max_items();
    let [hub, subscriber] = [(); 2].map(|()| TempDir::new().expect("a directory"));
    let [hub, subscriber] =
        [&hub, &subscriber].map(|directory| directory.path().to_str().expect("UTF-8"));
    let began = Instant::now();
    numbers(&["fill", hub, &count.to_string()]);
    let filled = began.elapsed();
    let mut serving = child(&["hub", hub]).spawn().expect("a child");
    let address = first_line(&mut serving);
    let idle = peak_memory(serving.id());
    let began = Instant::now();
    let pulled = numbers(&["pull", subscriber, &format!("http://{address}/collections/notes")]);
    let pulling = began.elapsed();
    let paged = peak_memory(serving.id());
    let began = Instant::now();
    let streamed_bytes = read_whole(&address);
    let streaming = began.elapsed();
    let streamed = peak_memory(serving.id());
    // The hub stops at the end of its standard input.
    drop(serving.stdin.take());
    serving.wait().expect("a hub that ends");
    assert_eq!(pulled[0], count as u64);
    println!("## Memory while {count} items are served and pulled\n");
    println!("| process | most memory held | time |\n|---|---|---|");
    println!("| filling the hub's store, transactions of 5,000 | not measured | {filled:.1?} |");
    println!("| hub, before it was asked | {:.1} MB | |", megabytes(idle));
    println!("| hub, after it was pulled from | {:.1} MB | |", megabytes(paged));
    println!("| subscriber, first pull | {:.1} MB | {pulling:.1?} |", megabytes(pulled[1]));
    println!(
        "| hub, after it also sent all in one document of {:.0} MB | {:.1} MB | {streaming:.1?} |",
        streamed_bytes as f64 / 1e6,
        megabytes(streamed)
    );
    println!();
}

fn megabytes(kibibytes: u64) -> f64 {
    kibibytes as f64 * 1_024.0 / 1e6
}

pub(crate) fn first_line(child: &mut Child) -> String {
    let output = child.stdout.take().expect("a pipe");
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).expect("a line");
    line.trim().to_owned()
}

/// Requests all changes in one document and discards them; returns the number of bytes.
fn read_whole(address: &str) -> u64 {
    let mut stream = TcpStream::connect(address).expect("a hub");
    let request = format!(
        "GET /collections/notes/changes.atom HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("a hub that listens");
    let (mut bytes, mut end, mut part) = (0, Vec::new(), vec![0; 64 << 10]);
    loop {
        let count = stream.read(&mut part).expect("an answer");
        if count == 0 {
            break;
        }
        bytes += count as u64;
        end.extend_from_slice(&part[..count]);
        end.drain(..end.len().saturating_sub(64));
    }
    assert!(String::from_utf8_lossy(&end).contains("</feed>"), "the answer broke off");
    bytes
}

/// Creates and fills a store.
pub(crate) fn fill(directory: &Path, count: usize) {
    sample::runtime().block_on(async {
        let endpoint = sample::create(directory, "hub").await;
        let mut ids = sample::ids(&endpoint, count);
        ids.sort_unstable();
        sample::fill(&endpoint, &ids).await;
    });
}

/// Serves a store until the standard input ends; prints the address.
pub(crate) fn serve(place: StoreLocation<'_>) {
    sample::runtime().block_on(async {
        let config = Config { listen: vec![([127, 0, 0, 1], 0).into()], ..Config::default() };
        let stop = async {
            let end = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
            // An error also means that the parent process is gone.
            let _ = end.await;
        };
        let functions = HostedFunctions::new(process::functions());
        let endpoint = open(place).await.with_functions(functions);
        let limits = Limits {
            followers: 4_096,
            connections: 8_192,
            // Users have no rate limit, just like requests without a user.
            client_requests: 0,
            ..config.limits
        };
        let config = Config { limits, ..config };
        let serving = feedsync_server::serve(endpoint, config, stop).await.expect("a port");
        println!("{}", serving.address());
        serving.finished().await.expect("a hub that ends in order");
    });
}

/// Pulls a collection for the first time; prints the number of items, and the peak memory.
pub(crate) fn pull(directory: &Path, url: &str) {
    let pulled = sample::runtime().block_on(async {
        let session = subscriber(directory).await;
        let pulled = pull_once(&session, url).await;
        drop(session);
        pulled
    });
    println!("{pulled} {}", peak_memory(std::process::id()));
}

/// Creates an endpoint that can read from a hub.
pub(crate) async fn subscriber(directory: &Path) -> Session {
    let endpoint = sample::create(directory, "desk").await;
    Session::new(endpoint, Fetcher::new(Policy::new(Private::Allowed)).expect("a client"))
}

/// Pulls a collection for the first time; returns the number of items.
pub(crate) async fn pull_once(session: &Session, url: &str) -> u64 {
    let store = Arc::clone(session.endpoint().store());
    let new = NewRemote { collection: name(), name: None, url: url.to_owned(), subscription: None };
    let remote = store.add_remote(new).await.expect("a remote");
    let direction = Direction { pull: true, push: false };
    let report = session.sync(&remote, direction, &NoProgress, false).await.expect("a pull");
    report.pulled.added
}
