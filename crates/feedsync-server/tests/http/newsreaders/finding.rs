//! Subscribing in each dialect: the address is fetched first, and the response has the status codes of the
//! original.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;

use axum::Router;
use feedsync_aggregator::{FeedFinder, FindError, FoundFeed, MAX_FINDS, NamedFeed, WebFinder};
use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_reading_state::FeedAddress;
use futures_util::future::join_all;
use http::{Method, StatusCode, Uri};
use serde_json::{Value, json};

use super::{Hub, PASSWORD};
use crate::access::world::basic;
use crate::newsroom::Newsroom;

const FEED: &str = "<rss version='2.0'><channel><title>News</title><item><title>One</title></item></channel></rss>";
const PAGE: &str = "<html><head><link rel=alternate type=application/rss+xml href=/missing title=Gone>\
    <link rel=alternate type=application/rss+xml href=/feed title=Posts>";

/// Starts a web server; returns its base address.
async fn web() -> String {
    let pages: BTreeMap<&str, &str> = BTreeMap::from([
        ("/feed", FEED),
        ("/other", FEED),
        ("/third", FEED),
        ("/page", PAGE),
        ("/empty", "<!DOCTYPE html><html><title>Nothing</title>"),
        ("/text", "just words"),
    ]);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(move |uri: Uri| {
        let page = pages.get(uri.path()).copied();
        async move { page.ok_or(StatusCode::NOT_FOUND) }
    });
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    base
}

/// A hub of the user anna, which may fetch from this machine.
async fn hub() -> Hub {
    let endpoint = Newsroom::endpoint_of(&["anna"]).await;
    let of_endpoint = endpoint.clone();
    let newsroom = Newsroom::finding(endpoint, move |library| {
        let fetcher = Fetcher::new(Policy::new(Private::Refused)).unwrap();
        let fetcher = fetcher.with_networks(&["127.0.0.1/32".parse().unwrap()]).unwrap();
        Arc::new(WebFinder::new(library, of_endpoint, fetcher))
    });
    Hub::from(newsroom)
}

impl Hub {
    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let (status, text) =
            self.ask(Method::POST, path, &basic("anna", PASSWORD), body.to_string()).await;
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    /// Addresses of all subscriptions of anna.
    async fn subscribed(&self) -> Vec<String> {
        let feeds = self.get("miniflux/v1/feeds", &basic("anna", PASSWORD)).await;
        let feeds = feeds.as_array().unwrap().iter();
        feeds.map(|feed| feed["feed_url"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn miniflux_discovers_and_creates_feeds_with_its_own_codes() {
    let (hub, web) = (hub().await, web().await);
    let discover = "miniflux/v1/discover";
    let found = hub.post(discover, json!({"url": format!("{web}/page")})).await;
    let named = |title: &str, path: &str| json!({"title": title, "url": format!("{web}{path}"), "type": "rss"});
    assert_eq!(found, (200, json!([named("Gone", "/missing"), named("Posts", "/feed")])));
    let found = hub.post(discover, json!({"url": format!("{web}/feed")})).await;
    assert_eq!(found, (200, json!([named("News", "/feed")])));
    for (path, status) in [("/empty", 404), ("/missing", 500), ("/text", 500)] {
        let found = hub.post(discover, json!({"url": format!("{web}{path}")})).await;
        assert_eq!(found.0, status, "{path}: {}", found.1);
        assert!(!found.1["error_message"].as_str().unwrap().is_empty());
    }
    assert_eq!(hub.post(discover, json!({"url": "x"})).await.0, 400);
    assert_eq!(hub.subscribed().await, [""; 0]);

    let create = async |path: &str, category: i64| {
        let feed = json!({"feed_url": format!("{web}{path}"), "category_id": category});
        hub.post("miniflux/v1/feeds", feed).await
    };
    for (path, status) in [("/empty", 500), ("/missing", 500), ("/text", 500)] {
        assert_eq!(create(path, 1).await.0, status, "{path}");
    }
    let none = "This category does not exist or does not belong to this user.";
    assert_eq!(create("/feed", 77).await, (400, json!({ "error_message": none })));
    assert_eq!(create("/page", 1).await, (201, json!({ "feed_id": 1 })));
    for path in ["/page", "/feed"] {
        let exists = json!({ "error_message": "This feed already exists." });
        assert_eq!(create(path, 1).await, (400, exists), "{path}");
    }
    assert_eq!(hub.subscribed().await, [format!("{web}/feed")]);
}

#[tokio::test]
async fn nextcloud_creates_feeds_with_its_own_codes() {
    let (hub, web) = (hub().await, web().await);
    let create = async |path: &str| {
        let feed = json!({"url": format!("{web}{path}"), "folderId": 0});
        hub.post("nextcloud/index.php/apps/news/api/v1-2/feeds", feed).await
    };
    for path in ["/empty", "/missing", "/text"] {
        assert_eq!(create(path).await.0, 422, "{path}");
    }
    let (status, made) = create("/page").await;
    assert_eq!((status, &made["feeds"][0]["title"]), (200, &json!("News")));
    for path in ["/page", "/feed"] {
        assert_eq!(create(path).await.0, 409, "{path}");
    }
    assert_eq!(hub.subscribed().await, [format!("{web}/feed")]);
}

#[tokio::test]
async fn google_reader_and_ttrss_say_why_they_do_not_subscribe() {
    let (hub, web) = (hub().await, web().await);
    let anna = hub.google("anna").await;
    let add = async |path: &str| {
        let body = format!("quickadd={web}{path}");
        let path = "google/reader/api/0/subscription/quickadd";
        let (status, text) = hub.ask(Method::POST, path, &anna, body).await;
        assert_eq!(status, 200, "{text}");
        serde_json::from_str::<Value>(&text).unwrap()
    };
    for path in ["/empty", "/missing", "/text"] {
        let added = add(path).await;
        assert_eq!(added["numResults"], 0, "{path}");
        assert!(!added["error"].as_str().unwrap().is_empty(), "{path}");
    }
    // A discovered feed is shown with its title before it is polled.
    let feed = format!("{web}/feed");
    for (path, name) in [("/page", "News"), ("/feed", &*feed), ("/page", &*feed)] {
        let added = add(path).await;
        let shown = ["numResults", "streamId", "streamName"].map(|name| &added[name]);
        assert_eq!(shown, [&json!(1), &json!("feed/1"), &json!(name)], "{path}");
    }
    let edit = async |rest: &str| {
        let path = "google/reader/api/0/subscription/edit";
        hub.ask(Method::POST, path, &anna, format!("ac=subscribe&{rest}")).await
    };
    let (status, text) = edit(&format!("s=feed/{web}/missing&s=feed/{web}/other")).await;
    assert_eq!(status, 400);
    assert!(text.contains("/missing") && text.contains("404"), "{text}");
    let filed = edit(&format!("s=feed/{web}/feed&a=user/-/label/News&t=Mine")).await;
    assert_eq!(filed, (200, "OK".to_owned()));

    let sid = anna.rsplit_once('=').unwrap().1;
    let subscribe = async |path: &str| {
        let op = json!({"op": "subscribeToFeed", "sid": sid, "feed_url": format!("{web}{path}")});
        let (_, text) = hub.ask(Method::POST, "ttrss/api/", "", op.to_string()).await;
        serde_json::from_str::<Value>(&text).unwrap()["content"]["status"]["code"].clone()
    };
    for (path, code) in
        [("/feed", 0), ("/page", 0), ("/empty", 3), ("/missing", 5), ("/text", 6), ("/third", 1)]
    {
        assert_eq!(subscribe(path).await, code, "{path}");
    }
    let mut subscribed = hub.subscribed().await;
    subscribed.sort();
    assert_eq!(subscribed, ["/feed", "/other", "/third"].map(|path| format!("{web}{path}")));
    let list = hub.get("google/reader/api/0/subscription/list?output=json", &anna).await;
    let shown = list["subscriptions"].as_array().unwrap().iter();
    let titles: Vec<_> = shown.map(|feed| feed["title"].as_str().unwrap()).collect();
    assert!(titles.contains(&"Mine"), "{titles:?}");
}

/// A long list is handled like an OPML import.
#[tokio::test]
async fn many_feeds_at_once_are_subscribed_to_without_fetching() {
    let (hub, web) = (hub().await, web().await);
    let anna = hub.google("anna").await;
    let feeds: String = (0..11).map(|number| format!("&s=feed/{web}/missing/{number}")).collect();
    let path = "google/reader/api/0/subscription/edit";
    let done = hub.ask(Method::POST, path, &anna, format!("ac=subscribe{feeds}")).await;
    assert_eq!(done, (200, "OK".to_owned()));
    assert_eq!(hub.subscribed().await.len(), 11);
}

#[tokio::test]
async fn nextcloud_folders_answer_409_422_and_404() {
    let hub = hub().await;
    let folders = "nextcloud/index.php/apps/news/api/v1-2/folders";
    let (status, made) = hub.post(folders, json!({"name": "News"})).await;
    let number = made["folders"][0]["id"].as_i64().unwrap();
    assert_eq!((status, &made["folders"][0]["name"]), (200, &json!("News")));
    assert_eq!(hub.post(folders, json!({"name": "Other"})).await.0, 200);
    assert_eq!(hub.post(folders, json!({"name": "News"})).await.0, 409);
    for name in ["", " ", "a\u{7}"] {
        assert_eq!(hub.post(folders, json!({ "name": name })).await.0, 422, "{name:?}");
    }
    let basic = basic("anna", PASSWORD);
    let put = async |number: i64, rest: &str, body: Value| {
        let path = format!("{folders}/{number}{rest}");
        hub.ask(Method::PUT, &path, &basic, body.to_string()).await.0
    };
    for (name, status) in [("Other", 409), ("", 422), ("News", 200), ("Mine", 200)] {
        assert_eq!(put(number, "", json!({ "name": name })).await, status, "{name}");
    }
    assert_eq!(put(987, "", json!({"name": "New"})).await, 404);
    assert_eq!(put(987, "", json!({"name": "Mine"})).await, 404);
    assert_eq!(put(987, "/read", json!({"newestItemId": 1})).await, 404);
    let feed = "nextcloud/index.php/apps/news/api/v1-2/feeds/987/read";
    let read = hub.ask(Method::PUT, feed, &basic, json!({"newestItemId": 1}).to_string()).await;
    assert_eq!(read.0, 404);
    let gone = hub.ask(Method::DELETE, &format!("{folders}/987"), &basic, "").await;
    assert_eq!(gone.0, 404);
}

/// A finder that takes a while for each address.
#[derive(Default)]
struct SlowFinder {
    now: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait]
impl FeedFinder for SlowFinder {
    async fn all(&self, address: &FeedAddress) -> Result<Vec<NamedFeed>, FindError> {
        self.first(address).await.map(|_| Vec::new())
    }

    async fn first(&self, address: &FeedAddress) -> Result<FoundFeed, FindError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        Ok(FoundFeed { address: address.clone(), title: None })
    }
}

#[tokio::test]
async fn one_person_finds_few_feeds_at_once() {
    let endpoint = Newsroom::endpoint_of(&["anna"]).await;
    let finder = Arc::new(SlowFinder::default());
    let given = Arc::clone(&finder);
    let hub = Hub::from(Newsroom::finding(endpoint, move |_| given));
    let hub = &hub;
    let asked = (0..8).map(|number| async move {
        let url = format!("https://slow.example/{number}");
        match number % 2 {
            0 => hub.post("miniflux/v1/discover", json!({ "url": url })).await.0,
            _ => {
                let feed = json!({ "feed_url": url, "category_id": 1 });
                hub.post("miniflux/v1/feeds", feed).await.0
            }
        }
    });
    let answered = join_all(asked).await;
    assert!(answered.iter().all(|status| [201, 404].contains(status)), "{answered:?}");
    assert_eq!(finder.most.load(Ordering::SeqCst), MAX_FINDS);
}
