//! One round of polling 10,000 feeds on 500 hosts, with new articles in all feeds and in none.
//!
//! One process serves the feeds, and another one polls them; the processor time and memory of the latter are
//! measured. The lower bound is the same HTTP client with the same requests that discards the responses.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use feedsync_aggregator::FeedView;
use feedsync_fetch::{Fetched, Fetcher, Policy, Private, Request, Validators, address};
use feedsync_log::Millis;
use feedsync_store::{Environment as _, SystemEnvironment};
use tokio::task::JoinSet;

use super::Hub;
use crate::backend::{Backend, StoreLocation};
use crate::measure::{Amounts, Times, ratio};
use crate::memory::first_line;
use crate::process::{child, numbers, peak_memory, processor_time};
use crate::sample;

const FEEDS: usize = 10_000;
const HOSTS: usize = 500;
/// Number of articles in a feed.
const ARTICLES: usize = 20;
/// Number of rounds without new articles.
const ROUNDS: usize = 5;
const TAG: &str = "\"1\"";

pub(super) fn run(backend: &Backend) {
    let mut origin = child(&["feeds"]).spawn().expect("a child");
    let address = first_line(&mut origin);
    let port = address.rsplit_once(':').expect("a port").1;
    let numbers = match backend.location() {
        StoreLocation::Directory(path) => numbers(&["poll", path.to_str().expect("UTF-8"), port]),
        StoreLocation::Database(url) => numbers(&["poll-postgres", url, port]),
    };
    drop(origin.stdin.take());
    origin.wait().expect("a server that ends");
    let (memory, rounds) = numbers.split_first().expect("numbers");
    // Elapsed time and processor time of each round, in microseconds.
    let rounds: Vec<_> = rounds
        .chunks(2)
        .map(|both| (Duration::from_micros(both[0]), Duration::from_micros(both[1])))
        .collect();
    let (first, rest) = rounds.split_first().expect("a first round");
    let kept = rest.iter().copied().step_by(2).collect::<Vec<_>>();
    let bare = rest.iter().copied().skip(1).step_by(2).collect::<Vec<_>>();
    let each = |rounds: &[(Duration, Duration)]| {
        let elapsed = rounds.iter().map(|round| round.0).collect();
        let processor = rounds.iter().map(|round| round.1 / FEEDS as u32).collect();
        (Times::new(elapsed), Times::new(processor))
    };
    let (kept, bare) = (each(&kept), each(&bare));
    let name = backend.name();
    println!("## Newsreading\n\n### Polling {FEEDS} feeds of {HOSTS} hosts in one round, {name}\n");
    println!(
        "| | round, elapsed | processor time a feed | against the client alone |\n|---|---|---|---|"
    );
    println!(
        "| each has {ARTICLES} articles that are new | {:.2?} | {:.2?} | |",
        first.0,
        first.1 / FEEDS as u32
    );
    println!("| none has news (304) | {} | {} | {:.2} |", kept.0, kept.1, ratio(&kept.1, &bare.1));
    println!("| the client alone (304) | {} | {} | 1.00 |\n", bare.0, bare.1);
    let memory = Amounts::new(vec![memory / 1_024]).median();
    println!("The most memory that the process which polls ever held: {memory} MiB.\n");
}

/// Serves feeds on all addresses of this machine in 127.0.0.0/8 until the standard input ends; prints the
/// address.
pub(crate) fn serve_feeds() {
    sample::runtime().block_on(async {
        let any = (Ipv4Addr::UNSPECIFIED, 0);
        let listener = tokio::net::TcpListener::bind(any).await.expect("a port");
        println!("{}", listener.local_addr().expect("an address"));
        let serving = axum::serve(listener, Router::new().fallback(answer));
        let stop = tokio::task::spawn_blocking(|| {
            std::io::Read::read_to_end(&mut std::io::stdin(), &mut Vec::new())
        });
        tokio::select! {
            _ = serving => {}
            _ = stop => {}
        }
    });
}

async fn answer(uri: Uri, headers: HeaderMap) -> Response {
    if headers.get("if-none-match").is_some_and(|tag| tag == TAG) {
        return (StatusCode::NOT_MODIFIED, [("etag", TAG)]).into_response();
    }
    let items: String = (0..ARTICLES)
        .map(|number| {
            format!(
                "<item><guid isPermaLink=\"false\">urn:example:{}:{number}</guid><title>The news of \
                 the day, part {number}</title><link>https://news.example/{number}</link>\
                 <pubDate>Sat, 21 Nov 2026 10:{number:02}:00 GMT</pubDate><description>{}\
                 </description></item>",
                uri.path(),
                "Nothing of note happened. More about it tomorrow. ".repeat(8)
            )
        })
        .collect();
    let feed = format!("<rss version=\"2.0\"><channel><title>News</title>{items}</channel></rss>");
    ([("etag", TAG), ("content-type", "application/rss+xml")], feed).into_response()
}

/// Address of a feed; all hosts are addresses of this machine.
fn feed(number: usize, port: &str) -> String {
    let host = number % HOSTS;
    format!("http://127.0.{}.{}:{port}/{number}", host / 250, host % 250 + 1)
}

/// Polls the feeds; prints the peak memory in KiB, and the elapsed and processor time of each round.
pub(crate) fn poll(place: StoreLocation<'_>, port: &str) {
    let addresses: Arc<[String]> = (0..FEEDS).map(|number| feed(number, port)).collect();
    let (memory, times) = sample::runtime().block_on(async {
        let hub = Hub::create(place).await;
        let feeds = hub.subscribe(&addresses).await;
        let polling = tokio::spawn(hub.newsreading.schedule.clone().run());
        let mut times = vec![timed(settled(&hub, Millis::new(1))).await];
        let memory = peak_memory(std::process::id());
        for _ in 0..ROUNDS {
            let since = now();
            let round = async {
                hub.newsreading.schedule.make_due(&feeds).await.expect("hastened");
                settled(&hub, since).await;
            };
            times.push(timed(round).await);
            times.push(timed(alone(&addresses)).await);
        }
        polling.abort();
        (memory, times)
    });
    println!("{memory}");
    for (elapsed, processor) in times {
        println!("{} {}", elapsed.as_micros(), processor.as_micros());
    }
}

async fn timed(round: impl Future<Output = ()>) -> (Duration, Duration) {
    let (began, before) = (Instant::now(), processor_time());
    round.await;
    (began.elapsed(), processor_time() - before)
}

/// Waits until each feed was polled and has its articles.
async fn settled(hub: &Hub, since: Millis) {
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        // Feeds are only checked individually once none waits to be claimed.
        let due = hub.library.next_due().await.expect("a library");
        if due.is_some_and(|due| due <= now()) {
            continue;
        }
        let subscription_view = hub.somebody().await.subscription_view().await.expect("a shelf");
        let was_asked = |feed: &FeedView| feed.kept.state.checked >= Some(since);
        if subscription_view.feeds().iter().all(was_asked) {
            let is_whole = |feed: &FeedView| feed.kept.articles == ARTICLES as u64;
            assert!(subscription_view.feeds().iter().all(is_whole), "each feed has its articles");
            return;
        }
    }
}

fn now() -> Millis {
    Millis::new(SystemEnvironment.now().micros() / 1_000)
}

/// Sends the same requests with the same client and concurrency.
async fn alone(addresses: &Arc<[String]>) {
    let next = Arc::new(AtomicUsize::new(0));
    let fetcher = Fetcher::new(Policy::new(Private::Allowed)).expect("a client");
    let mut clients = JoinSet::new();
    for _ in 0..16 {
        let (addresses, next, fetcher) =
            (Arc::clone(addresses), Arc::clone(&next), fetcher.clone());
        clients.spawn(async move {
            while let Some(text) = addresses.get(next.fetch_add(1, Ordering::Relaxed)) {
                let url = address(text).expect("an address");
                let known = Validators { etag: Some(TAG.to_owned()), last_modified: None };
                let answer = fetcher.fetch(Request::read(url).unless(&known)).await;
                assert!(matches!(answer, Ok(Fetched::NotModified)), "{answer:?}");
            }
        });
    }
    clients.join_all().await;
}
