//! Tests of hostile feeds: the cost of each poll is bounded, the reason of a failure is reported, and other feeds
//! are not affected.

use std::io::Write as _;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use feedsync_aggregator::{MAX_DOCUMENT_ARTICLES, StoredFeed};
use feedsync_fetch::{Policy, Private};
use feedsync_reading_state::{ImportPolicy, ListedFeed, SubscriptionList};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream;

use crate::scene::{BEGIN, Scene};

const AT: u64 = BEGIN / 1_000 - 86_400;

/// Starts a server of hostile feeds; returns its base address.
async fn attacker() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new()
        .route("/packed", get(|| async { ([(header::CONTENT_ENCODING, "gzip")], bomb()) }))
        .route("/endless", get(|| async { Body::from_stream(stream::repeat_with(spaces)) }))
        .route("/silent", get(std::future::pending::<()>))
        .route("/slow", get(|| async { Body::from_stream(drops()) }))
        .route("/loop", get(|| async { Redirect::permanent("/loop") }))
        .route("/on/{number}", get(on))
        .route("/file", get(|| async { moved("file:///etc/passwd") }))
        .route("/other", get(|| async { moved("gopher://127.0.0.1/") }))
        .route("/laughs", get(|| async { laughs() }))
        .route("/deep", get(|| async { format!("<rss><channel>{}", "<a>".repeat(1_000_000)) }))
        .route("/json", get(|| async { "[".repeat(4_000_000) }))
        .route("/zeros", get(|| async { vec![0_u8; 1 << 20] }))
        .route("/many", get(|| async { many(30_000) }))
        .route("/long", get(|| async { long() }));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    base
}

fn moved(to: &'static str) -> Response {
    (StatusCode::MOVED_PERMANENTLY, [(header::LOCATION, to)]).into_response()
}

/// 32 MiB of spaces, compressed to little data.
fn bomb() -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..32 {
        packed.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    packed.finish().unwrap()
}

fn spaces() -> Result<Vec<u8>, std::io::Error> {
    Ok(vec![b' '; 1 << 16])
}

/// Sends a byte now and then, so that the server is never silent for long.
fn drops() -> impl futures_util::Stream<Item = Result<Vec<u8>, std::io::Error>> {
    stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Some((Ok(b" ".to_vec()), ()))
    })
}

/// Redirects to another address each time.
async fn on(Path(number): Path<u64>) -> Redirect {
    Redirect::permanent(&format!("/on/{}", number + 1))
}

/// Ten entities, each of which expands to ten times the previous one.
fn laughs() -> String {
    let entity = |number: u32| {
        format!("<!ENTITY e{} \"{}\">", number + 1, format!("&e{number};").repeat(10))
    };
    let entities: String = (0..10).map(entity).collect();
    format!(
        "<!DOCTYPE rss [<!ENTITY e0 \"ha\">{entities}]><rss version=\"2.0\"><channel><title>&e10;\
         </title><item><guid>x</guid><title>&e10;</title></item></channel></rss>"
    )
}

fn many(count: usize) -> String {
    let item =
        |number: usize| format!("<item><guid>n{number}</guid><title>n{number}</title></item>");
    let items: String = (0..count).map(item).collect();
    format!("<rss version=\"2.0\"><channel><title>Many</title>{items}</channel></rss>")
}

/// One article with parts of megabytes.
fn long() -> String {
    let text = "word ".repeat(400_000);
    format!(
        "<rss version=\"2.0\"><channel><title>{text}</title><item><guid>x</guid><title>{text}</title>\
         <link>http://a.example/{}</link><description>{text}</description></item></channel></rss>",
        "x".repeat(1 << 20)
    )
}

/// Subscribes to feeds with short timeouts and polls all of them; returns the feeds in the order of the paths.
async fn asked(paths: &[&str]) -> Vec<StoredFeed> {
    let policy = Policy {
        idle: Duration::from_millis(500),
        overall: Duration::from_secs(2),
        ..Policy::new(Private::Allowed)
    };
    let scene = Scene::with(policy).await;
    let base = attacker().await;
    let person = scene.somebody().await;
    scene.web.feed("/good", &[("a", AT), ("b", AT + 1)]);
    let good = scene.web.url("/good");
    let addresses = paths.iter().map(|path| format!("{base}{path}")).chain([good.clone()]);
    let feeds = addresses.map(|address| ListedFeed {
        address: address.parse().unwrap(),
        title: None,
        folder: Default::default(),
    });
    let list = SubscriptionList { feeds: feeds.collect(), ..SubscriptionList::default() };
    person.subscribe(&list, ImportPolicy::KeepExisting).await.unwrap();
    person.subscription_view().await.unwrap();
    assert_eq!(scene.poll().await, paths.len() + 1);
    let subscription_view = person.subscription_view().await.unwrap();
    let kept =
        |address: &str| subscription_view.feed_at(&address.parse().unwrap()).unwrap().kept.clone();
    assert_eq!(kept(&good).articles, 2, "the others are read");
    paths.iter().map(|path| kept(&format!("{base}{path}"))).collect()
}

#[tokio::test]
async fn oversized_feeds_are_reported_and_not_stored() {
    let reasons = [
        ("/packed", "bytes"),
        ("/endless", "bytes"),
        ("/silent", "in time"),
        ("/slow", "in time"),
        ("/loop", "redirect"),
        ("/on/1", "redirect"),
        ("/file", "redirect"),
        ("/other", "redirect"),
        ("/deep", "1:"),
        ("/json", "1:"),
        ("/zeros", "an empty document"),
    ];
    let feeds = asked(&reasons.map(|(path, _)| path)).await;
    for ((path, reason), feed) in reasons.into_iter().zip(feeds) {
        let fault = feed.state.fault.unwrap_or_default();
        assert!(fault.contains(reason), "{path}: {fault}");
        assert!(fault.len() <= 1_000, "{path}: {fault}");
        assert_eq!((feed.articles, feed.state.failures), (0, 1), "{path}");
    }
}

#[tokio::test]
async fn long_contents_are_truncated() {
    let feeds = asked(&["/many", "/long", "/laughs"]).await;
    let [many, long, laughs] = &*feeds else { panic!("three feeds") };
    assert_eq!((many.articles, many.state.failures), (MAX_DOCUMENT_ARTICLES as u64, 0));
    assert!(
        many.state.fault.as_ref().unwrap().contains("articles were skipped: "),
        "{:?}",
        many.state.fault
    );
    assert_eq!((long.articles, &long.state.fault), (1, &None));
    assert!(long.head.title.as_ref().unwrap().len() < 1 << 20);
    // Entities that a document declares are not expanded.
    assert_eq!((laughs.articles, &laughs.state.fault), (1, &None));
    assert!(laughs.head.title.as_ref().is_none_or(|title| title.len() < 10));
}
