//! Response times of lists and marks for a user with a million articles.
//!
//! The hub is in this process, without a socket. A time is measured from a request to the last byte of its
//! response.

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use feedsync_server::{Config, HubParts, Limits, router};
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

use super::Hub;
use crate::backend::Backend;
use crate::measure::{Amounts, Times};
use crate::sample;

/// Number of large feeds; each round marks one of them as read.
const LARGE: usize = 9;
const LARGE_ARTICLES: usize = 100_000;
const SMALL: usize = 50;
/// Number of rounds of requests that change nothing.
const ROUNDS: usize = 21;

/// Name and path of a list, and its number of articles.
const LISTS: [(&str, &str, usize); 5] = [
    (
        "Google Reader, `stream/items/ids` of 200,000",
        "google/reader/api/0/stream/items/ids?s=user/-/state/com.google/reading-list&n=200000",
        200_000,
    ),
    (
        "Google Reader, `stream/contents` of the newest 50",
        "google/reader/api/0/stream/contents/user/-/state/com.google/reading-list?n=50",
        50,
    ),
    ("Miniflux, 50 `entries` that are unread", "miniflux/v1/entries?status=unread&limit=50", 50),
    (
        "Nextcloud News, the newest 50 `items`",
        "nextcloud/index.php/apps/news/api/v1-2/items?type=3&getRead=true&batchSize=50",
        50,
    ),
    ("Google Reader, `unread-count`", "google/reader/api/0/unread-count?output=json", 0),
];

pub(super) fn run(backend: &Backend) {
    // Scaled down if a smaller size is requested.
    let share = sample::max_items() as f64 / 1_000_000.0;
    let scaled = |count: usize| (count as f64 * share) as usize;
    sample::runtime().block_on(async {
        let hub = Hub::create(backend.location()).await;
        let addresses: Vec<_> =
            (0..LARGE + SMALL).map(|number| format!("https://news.example/{number}")).collect();
        let feeds = hub.subscribe(&addresses).await;
        let (large, small) = feeds.split_at(LARGE);
        let mut count = 0;
        for (feeds, articles) in [(large, LARGE_ARTICLES), (small, 2_000)] {
            for feed in feeds {
                hub.publish(*feed, scaled(articles)).await;
                count += scaled(articles);
            }
        }
        let limits = Limits { client_requests: 0, ..Limits::default() };
        let served = HubParts {
            newsreading: Some(hub.newsreading.clone()),
            ..HubParts::from(hub.endpoint.clone())
        };
        let router = router(served, Config { limits, ..Config::default() });
        let (name, all) = (backend.name(), feeds.len());
        println!("### Lists and marks, of {count} articles in {all} feeds, {name}\n");
        println!("| | after | bytes |\n|---|---|---|");
        let mut times = vec![Vec::new(); LISTS.len()];
        let mut bytes = [0; LISTS.len()];
        for round in 0..=ROUNDS {
            for (place, (_, path, articles)) in LISTS.iter().enumerate() {
                let (took, body) = ask(&router, Method::GET, path, String::new()).await;
                let shown = body.matches("\"id\":").count();
                assert!(shown >= (*articles).min(count), "{shown} articles: {path}");
                bytes[place] = body.len();
                if round > 0 {
                    times[place].push(took);
                }
            }
        }
        for ((name, _, _), (times, bytes)) in LISTS.iter().zip(times.into_iter().zip(bytes)) {
            println!("| {name} | {} | {bytes} |", Times::new(times));
        }
        let (mut times, mut records) = (Vec::new(), Vec::new());
        for feed in large {
            let before = log_length(&hub).await;
            let form = format!("s=feed/{}&T=x", feed.get());
            let path = "google/reader/api/0/mark-all-as-read";
            let (took, body) = ask(&router, Method::POST, path, form).await;
            assert_eq!(body, "OK");
            times.push(took);
            records.push(log_length(&hub).await - before);
        }
        println!(
            "| Google Reader, `mark-all-as-read` of a feed with {} | {} | {} in the log |",
            scaled(LARGE_ARTICLES),
            Times::new(times),
            Amounts::new(records)
        );
        let subscription_view = hub.somebody().await.subscription_view().await.expect("a shelf");
        let unread: u64 = subscription_view.feeds().iter().map(|feed| feed.unread).sum();
        assert_eq!(unread, (SMALL * scaled(2_000)) as u64, "the large feeds are read");
        println!();
    });
}

/// Sends a request; returns the response time and the body.
async fn ask(router: &Router, method: Method, path: &str, form: String) -> (Duration, String) {
    let request = Request::builder()
        .method(method)
        .uri(format!("/reader/{path}"))
        .header(header::HOST, "127.0.0.1")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(form))
        .expect("a request");
    let began = Instant::now();
    let response = router.clone().oneshot(request).await.expect("an answer");
    let status = response.status();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    let took = began.elapsed();
    let text = String::from_utf8(body.to_vec()).expect("text");
    assert_eq!(status, StatusCode::OK, "{path}: {text}");
    (took, text)
}

async fn log_length(hub: &Hub) -> u64 {
    let log = hub
        .endpoint
        .store()
        .log(&feedsync_endpoint::reading_collection(None))
        .await
        .expect("a store");
    log.map_or(0, |log| log.place.length)
}
