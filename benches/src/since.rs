//! Reading ten changes from a small and from a large collection of a hub with `?since=`, on each backend. The
//! cost depends on the changes, not on the collection.

use std::process::Child;
use std::time::{Duration, Instant};

use feedsync_core::ItemId;

use crate::backend::Backend;
use crate::keepalive::{Answer, Connection};
use crate::measure::{ROUNDS, Times, ratio};
use crate::sample::{self, Random, change};

const SMALL: usize = 1_000;
const CHANGES: usize = 10;

/// Number of requests in one round after a warm-up request, of which the median is taken.
const REQUESTS: usize = 51;

struct Candidate {
    backend: Backend,
    hub: Child,
    connection: Connection,
    address: String,
    ids: Vec<ItemId>,
    random: Random,
    times: Vec<Duration>,
}

pub(crate) fn run() {
    let runtime = sample::runtime();
    let mut candidates = Vec::new();
    for count in [SMALL, sample::max_items()] {
        for backend in Backend::each() {
            candidates.push(runtime.block_on(Candidate::new(backend, count)));
        }
    }
    for round in 0..=ROUNDS {
        for candidate in &mut candidates {
            let took = runtime.block_on(candidate.round());
            if round > 0 {
                candidate.times.push(took);
            }
        }
    }
    let (small, large) = candidates.split_at(2);
    let [few, many] = [small, large].map(|candidates| candidates[0].ids.len());
    println!("## {CHANGES} changes by `?since=`, out of {few} items and out of {many}\n");
    println!("| | out of {few} | out of {many} | ratio |\n|---|---|---|---|");
    for (small, large) in small.iter().zip(large) {
        let [few, many] = [small, large].map(|candidate| Times::new(candidate.times.clone()));
        let name = small.backend.name();
        println!("| {name} | {few} | {many} | {:.2} |", ratio(&many, &few));
    }
    println!();
    for mut candidate in candidates {
        drop(candidate.hub.stdin.take());
        candidate.hub.wait().expect("a hub that ends");
    }
}

impl Candidate {
    async fn new(backend: Backend, count: usize) -> Self {
        let ids = backend.fill(count).await;
        let (hub, address) = backend.serve();
        let connection = Connection::open(&address).await;
        let random = Random(count as u64);
        Self { backend, hub, connection, address, ids, random, times: Vec::new() }
    }

    /// Edits ten items, then requests the changes since; returns the response time.
    async fn round(&mut self) -> Duration {
        let since = self.until().await;
        for place in 0..CHANGES {
            let other = place + self.random.below(self.ids.len() - place);
            self.ids.swap(place, other);
            let body = change(&mut self.random);
            let request = format!(
                "PUT /collections/notes/items/{} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\
                 Content-Type: application/atom+xml;type=entry\r\n\r\n{body}",
                self.ids[place].as_str(),
                self.address,
                body.len()
            );
            let answer = self.connection.exchange(request.as_bytes()).await;
            assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        }
        let path = format!("/collections/notes/changes.atom?since={since}");
        let mut times = Vec::new();
        for request in 0..=REQUESTS {
            let began = Instant::now();
            let answer = self.get(&path).await;
            if request > 0 {
                times.push(began.elapsed());
            }
            let text = String::from_utf8(answer.body).expect("UTF-8");
            assert_eq!(text.matches("<entry").count(), CHANGES, "{text}");
        }
        Times::new(times).median()
    }

    /// Cursor of the last change of the collection.
    async fn until(&mut self) -> String {
        // A cursor that is ahead of all changes is answered with the last one.
        let ahead = "z";
        let path = format!("/collections/notes/changes.atom?since={ahead}");
        let text = String::from_utf8(self.get(&path).await.body).expect("UTF-8");
        let until = text.split_once("until=\"").expect("a window").1;
        until.split_once('"').expect("a value").0.to_owned()
    }

    async fn get(&mut self, path: &str) -> Answer {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        let answer = self.connection.exchange(request.as_bytes()).await;
        assert_eq!(answer.status, 200, "{path}");
        answer
    }
}
