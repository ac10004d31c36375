//! Newsreaders of several users over one library: sign-in, and separation of their marks.

mod attacks;
mod day;
mod fever;
mod finding;
mod former;
mod truth;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use feedsync_aggregator::{ArticleText, Library, NewArticle, Poll, PolledDocument};
use feedsync_endpoint::Endpoint;
use feedsync_log::Millis;
use feedsync_reading_state::FeedAddress;
use http::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

use crate::access::world::{basic, user};
use crate::hub::{bytes, request};
use crate::newsroom::{Newsroom, PASSWORD};

const FEED: &str = "https://news.example/feed";

struct Hub {
    endpoint: Endpoint,
    library: Arc<dyn Library>,
    router: Router,
    _directory: TempDir,
}

impl From<Newsroom> for Hub {
    fn from(Newsroom { endpoint, library, router, directory }: Newsroom) -> Self {
        Self { endpoint, library, router, _directory: directory }
    }
}

impl Hub {
    /// A hub with users.
    async fn of(names: &[&str]) -> Self {
        Self::from(Newsroom::of(names).await)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Response<Body> {
        let path = format!("/reader/{path}");
        self.router.clone().oneshot(request(method, &path, headers, body.into())).await.unwrap()
    }

    /// Text and status of a response.
    async fn ask(
        &self,
        method: Method,
        path: &str,
        authorization: &str,
        body: impl Into<Body>,
    ) -> (u16, String) {
        let body = body.into();
        let mut headers = vec![("content-type", "application/x-www-form-urlencoded")];
        if path.starts_with("miniflux")
            || path.starts_with("nextcloud")
            || path.starts_with("ttrss")
        {
            headers = vec![("content-type", "application/json")];
        }
        if !authorization.is_empty() {
            headers.push(("authorization", authorization));
        }
        let response = self.send(method, path, &headers, body).await;
        let status = response.status().as_u16();
        (status, String::from_utf8(bytes(response).await.to_vec()).unwrap())
    }

    async fn get(&self, path: &str, authorization: &str) -> Value {
        let (status, text) = self.ask(Method::GET, path, authorization, Body::empty()).await;
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Response to a name and a password.
    async fn sign_in(&self, name: &str, password: &str) -> (u16, String) {
        let form = format!("Email={name}&Passwd={}&service=reader", password.replace(' ', "+"));
        self.ask(Method::POST, "google/accounts/ClientLogin", "", form).await
    }

    /// `Authorization` of a user's newsreader.
    async fn google(&self, name: &str) -> String {
        let (status, text) = self.sign_in(name, PASSWORD).await;
        assert_eq!(status, 200, "{text}");
        let token = text.lines().find_map(|line| line.strip_prefix("Auth=")).unwrap();
        format!("GoogleLogin auth={token}")
    }

    async fn subscribe(&self, authorization: &str, feed: &str) {
        let body = format!("quickadd={feed}");
        let path = "google/reader/api/0/subscription/quickadd";
        let (status, text) = self.ask(Method::POST, path, authorization, body).await;
        assert!(status == 200 && text.contains("\"numResults\":1"), "{text}");
    }

    /// Current time of the hub.
    fn now(&self) -> Millis {
        Millis::new(self.endpoint.environment().now().micros() / 1_000)
    }

    /// Number of a subscribed feed.
    async fn number_of(&self, feed: &FeedAddress) -> i64 {
        self.library.feed_at(feed).await.unwrap().unwrap().number.get()
    }

    /// Publishes one article in a feed.
    async fn publish_one(&self, feed: &FeedAddress, name: &str, published: u64) {
        let article = NewArticle {
            name: name.parse().unwrap(),
            published: Some(Millis::new(published)),
            text: ArticleText::default(),
            plain: String::new(),
        };
        let feed = self.library.feed_at(feed).await.unwrap().unwrap();
        let document = Some(PolledDocument { articles: vec![article], ..Default::default() });
        let poll = Poll { document, ..Poll::default() };
        self.library.settle(feed.number, poll, self.now()).await.unwrap();
    }

    /// Publishes a number of articles in a feed.
    async fn publish(&self, feed: &str, count: u64) {
        let feed = self.library.feed_at(&feed.parse().unwrap()).await.unwrap().unwrap();
        let article = |number: u64| NewArticle {
            name: format!("n{number}").parse().unwrap(),
            published: Some(Millis::new(1_763_000_000_000 + number * 1_000)),
            text: ArticleText {
                title: Some(format!("<Title> {number}")),
                content: Some("<p onclick='x()'>Hi<script>y()</script>".to_owned()),
                content_type: feedsync_formats::ContentType::Html,
                link: Some(
                    if number == 1 { "javascript:z()" } else { "https://news.example/1" }
                        .to_owned(),
                ),
                ..ArticleText::default()
            },
            plain: "Hi".to_owned(),
        };
        let articles = (1..=count).map(article).collect();
        let document = Some(PolledDocument { articles, ..PolledDocument::default() });
        let poll = Poll { document, ..Poll::default() };
        self.library.settle(feed.number, poll, Millis::new(1_763_700_000_000)).await.unwrap();
    }

    /// Number of unread articles in each dialect.
    async fn unread(&self, name: &str, google: &str) -> [u64; 4] {
        let basic = basic(name, PASSWORD);
        let counts = self.get("google/reader/api/0/unread-count?output=json", google).await;
        let all = counts["unreadcounts"].as_array().unwrap().last().unwrap()["count"].clone();
        let miniflux = self.get("miniflux/v1/entries?status=unread", &basic).await;
        let path = "nextcloud/index.php/apps/news/api/v1-2/items?type=3&getRead=false&batchSize=-1";
        let nextcloud = self.get(path, &basic).await;
        let sid = google.rsplit_once('=').unwrap().1;
        let asked = json!({"op": "getUnread", "sid": sid, "seq": 3}).to_string();
        let (_, ttrss) = self.ask(Method::POST, "ttrss/api/", "", asked).await;
        let ttrss: Value = serde_json::from_str(&ttrss).unwrap();
        assert_eq!(ttrss["seq"], 3);
        [
            all.as_u64().unwrap(),
            miniflux["total"].as_u64().unwrap(),
            nextcloud["items"].as_array().unwrap().len() as u64,
            ttrss["content"]["unread"].as_str().unwrap().parse().unwrap(),
        ]
    }
}

#[tokio::test]
async fn sign_in_returns_a_token_for_the_users_reading_only() {
    let hub = Hub::of(&["anna", "bob"]).await;
    for (name, password) in [("anna", "wrong password"), ("nobody", PASSWORD), ("Anna!", PASSWORD)]
    {
        let (status, text) = hub.sign_in(name, password).await;
        assert_eq!((status, &*text), (403, "Error=BadAuthentication\n"), "{name}");
    }
    let mut tokens = BTreeSet::new();
    for _ in 0..12 {
        tokens.insert(hub.google("anna").await);
    }
    assert_eq!(tokens.len(), 12);
    let kept = hub.endpoint.store().tokens(&user("anna")).await.unwrap();
    assert_eq!(kept.len(), 10, "the oldest end");
    assert!(kept.iter().all(|token| token.label == "newsreader" && token.expires.is_some()));

    let token = hub.google("anna").await;
    let bearer = token.replace("GoogleLogin auth=", "Bearer ");
    for path in ["/pages/users", "/pages/account", "/metrics"] {
        let headers = [("authorization", &*bearer)];
        let asked = request(Method::GET, path, &headers, Body::empty());
        let status = hub.router.clone().oneshot(asked).await.unwrap().status();
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}");
    }
    // The token does not open another user's reading state either.
    let path = "google/reader/api/0/user-info";
    assert_eq!(hub.get(path, &token).await["userName"], "anna");
    // A token in place of a password is returned unchanged.
    let own = bearer.strip_prefix("Bearer ").unwrap();
    let (status, text) = hub.sign_in("anna", own).await;
    assert!(status == 200 && text.contains(own));
    assert_eq!(hub.sign_in("bob", own).await.0, 403);
    hub.endpoint.set_disabled(&user("anna"), true).await.unwrap_err();
}

#[tokio::test]
async fn anonymous_requests_are_refused() {
    let hub = Hub::of(&["anna"]).await;
    for path in [
        "google/reader/api/0/subscription/list",
        "google/reader/api/0/stream/items/ids?s=user/-/state/com.google/reading-list",
        "google/reader/atom/feed/1",
        "miniflux/v1/feeds",
        "nextcloud/index.php/apps/news/api/v1-2/feeds",
    ] {
        for authorization in ["", "GoogleLogin auth=open", "GoogleLogin auth=", "Basic x"] {
            let (status, _) = hub.ask(Method::GET, path, authorization, Body::empty()).await;
            assert_eq!(status, 401, "{path} {authorization}");
        }
    }
    let asked = json!({"op": "getFeeds", "sid": "x", "cat_id": -3}).to_string();
    let (status, text) = hub.ask(Method::POST, "ttrss/api/", "", asked).await;
    assert!(status == 200 && text.contains("NOT_LOGGED_IN"), "{text}");
    let wrong = json!({"op": "login", "user": "anna", "password": "no"}).to_string();
    assert!(hub.ask(Method::POST, "ttrss/api/", "", wrong).await.1.contains("LOGIN_ERROR"));
}

/// Liferea's request: the token in the body, and no credentials in the head.
#[tokio::test]
async fn a_token_in_the_body_says_who_asks() {
    let hub = Hub::of(&["anna"]).await;
    let anna = hub.google("anna").await;
    hub.subscribe(&anna, FEED).await;
    hub.publish(FEED, 2).await;
    let token = anna.rsplit_once('=').unwrap().1;
    let path = "google/reader/api/0/stream/items/contents";
    let body = |token: &str| format!("output=json&mediaRss=true&T={token}&i=1&i=2");
    let (status, text) = hub.ask(Method::POST, path, "", body(token)).await;
    assert!(status == 200 && text.contains("Title"), "{text}");
    assert_eq!(hub.ask(Method::POST, path, "", body("fsy_0")).await.0, 401);
}

#[tokio::test]
async fn marks_apply_to_all_dialects_of_one_user_only() {
    let hub = Hub::of(&["anna", "bob"]).await;
    let (anna, bob) = (hub.google("anna").await, hub.google("bob").await);
    hub.subscribe(&anna, FEED).await;
    hub.subscribe(&bob, FEED).await;
    hub.publish(FEED, 10).await;
    assert_eq!(hub.unread("anna", &anna).await, [10; 4]);
    let basic = basic("anna", PASSWORD);

    let edit = "i=tag:google.com,2005:reader/item/0000000000000001&a=user/-/state/com.google/read&ac=edit&T=x";
    let path = "google/reader/api/0/edit-tag";
    assert_eq!(hub.ask(Method::POST, path, &anna, edit).await, (200, "OK".to_owned()));
    assert_eq!(hub.unread("anna", &anna).await, [9; 4]);

    let put = json!({"entry_ids": [2, 3], "status": "read"}).to_string();
    let done = hub.ask(Method::PUT, "miniflux/v1/entries", &basic, put).await;
    assert_eq!(done, (204, String::new()));
    assert_eq!(hub.unread("anna", &anna).await, [7; 4]);

    let path = "nextcloud/index.php/apps/news/api/v1-2/items/4/read";
    assert_eq!(hub.ask(Method::PUT, path, &basic, "{}").await.0, 200);
    assert_eq!(hub.unread("anna", &anna).await, [6; 4]);

    let sid = anna.rsplit_once('=').unwrap().1;
    let toggle =
        json!({"op": "updateArticle", "sid": sid, "article_ids": "5,4", "mode": 2, "field": 2});
    let (_, text) = hub.ask(Method::POST, "ttrss/api/", "", toggle.to_string()).await;
    assert!(text.contains("\"status\":0"), "{text}");
    // The fifth article was read, and the fourth became unread.
    assert_eq!(hub.unread("anna", &anna).await, [6; 4]);

    let star = "nextcloud/index.php/apps/news/api/v1-2/items/1/n7/star";
    assert_eq!(hub.ask(Method::PUT, star, &basic, "{}").await.0, 200);
    let starred = "google/reader/api/0/stream/items/ids?s=user/-/state/com.google/starred&n=9";
    let found = hub.get(starred, &anna).await;
    assert_eq!(found["itemRefs"].as_array().unwrap().len(), 1);
    let article: i64 = found["itemRefs"][0]["id"].as_str().unwrap().parse().unwrap();
    let shown = hub.get(&format!("miniflux/v1/entries/{article}"), &basic).await;
    assert_eq!((&shown["title"], &shown["starred"]), (&json!("<Title> 7"), &json!(true)));

    assert_eq!(hub.unread("bob", &bob).await, [10; 4], "it is anna's");
    let all = "s=user/-/state/com.google/reading-list&T=x";
    let path = "google/reader/api/0/mark-all-as-read";
    assert_eq!(hub.ask(Method::POST, path, &anna, all).await.1, "OK");
    assert_eq!(hub.unread("anna", &anna).await, [0; 4]);
    assert_eq!(hub.unread("bob", &bob).await, [10; 4]);
    // After unsubscribing, the user sees and marks nothing there.
    let leave = "ac=unsubscribe&s=feed/1";
    let path = "google/reader/api/0/subscription/edit";
    assert_eq!(hub.ask(Method::POST, path, &bob, leave).await.1, "OK");
    let path = "google/reader/api/0/stream/items/contents?i=1&i=2";
    assert_eq!(hub.get(path, &bob).await["items"], json!([]));
    assert_eq!(hub.get(path, &anna).await["items"].as_array().unwrap().len(), 2);
}

/// No script of a feed runs in a newsreader.
#[tokio::test]
async fn shown_content_is_safe() {
    let hub = Hub::of(&["anna"]).await;
    let anna = hub.google("anna").await;
    hub.subscribe(&anna, FEED).await;
    hub.publish(FEED, 1).await;
    let basic = basic("anna", PASSWORD);
    let shown = hub.get("miniflux/v1/entries", &basic).await;
    let entry = &shown["entries"][0];
    assert_eq!(entry["content"], "<p>Hi</p>");
    assert!(!entry["url"].as_str().unwrap().contains("javascript"));
    for path in ["google/reader/atom/feed/1", "google/reader/api/0/stream/contents/feed/1"] {
        let (status, text) = hub.ask(Method::GET, path, &anna, Body::empty()).await;
        assert_eq!(status, 200);
        assert!(!text.contains("y()") && !text.contains("z()"), "{text}");
    }
}

/// A newsreader may request more than a hub holds in memory: it gets a part, and the position of its end.
#[tokio::test]
async fn an_answer_is_bounded_and_goes_on() {
    const ARTICLES: usize = 36;
    let hub = Hub::of(&["anna"]).await;
    let anna = hub.google("anna").await;
    hub.subscribe(&anna, FEED).await;
    for number in 0..ARTICLES {
        let text = ArticleText { content: Some("x".repeat(1_000_000)), ..ArticleText::default() };
        let name = format!("n{number}").parse().unwrap();
        let article = NewArticle { name, published: None, text, plain: String::new() };
        let document = Some(PolledDocument { articles: vec![article], ..Default::default() });
        let feed = hub.library.feed_at(&FEED.parse().unwrap()).await.unwrap().unwrap();
        let poll = Poll { document, ..Poll::default() };
        hub.library.settle(feed.number, poll, hub.now()).await.unwrap();
    }
    let path = "google/reader/api/0/stream/contents/feed/1?n=50";
    let first = hub.get(path, &anna).await;
    let part = first["items"].as_array().unwrap().len();
    assert_eq!(part, (32 << 20) / 1_000_000);
    let next = format!("{path}&c={}", first["continuation"].as_str().unwrap());
    let second = hub.get(&next, &anna).await;
    assert_eq!(second["continuation"], Value::Null);
    let told = [first, second];
    let ids: BTreeSet<&str> = told
        .iter()
        .flat_map(|told| told["items"].as_array().unwrap())
        .map(|item| item["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), ARTICLES);
}

/// Folders, tags, lists and names survive a round trip.
#[tokio::test]
async fn subscriptions_are_filed_in_one_dialect_and_stand_so_in_all() {
    let hub = Hub::of(&["anna"]).await;
    let anna = hub.google("anna").await;
    let basic = basic("anna", PASSWORD);
    let (_, made) = hub
        .ask(Method::POST, "miniflux/v1/categories", &basic, json!({"title": "Tech"}).to_string())
        .await;
    let category = serde_json::from_str::<Value>(&made).unwrap()["id"].clone();
    let feed = json!({"feed_url": FEED, "category_id": category}).to_string();
    let (status, text) = hub.ask(Method::POST, "miniflux/v1/feeds", &basic, feed).await;
    assert_eq!(status, 201, "{text}");
    hub.publish(FEED, 3).await;
    let list = hub.get("google/reader/api/0/subscription/list?output=json", &anna).await;
    assert_eq!(list["subscriptions"][0]["categories"][0]["label"], "Tech");
    let rename = "ac=edit&s=feed/1&t=Mine&r=user/-/label/Tech";
    let path = "google/reader/api/0/subscription/edit";
    assert_eq!(hub.ask(Method::POST, path, &anna, rename).await.1, "OK");
    let feeds = hub.get("nextcloud/index.php/apps/news/api/v1-2/feeds", &basic).await;
    assert_eq!(
        (&feeds["feeds"][0]["title"], &feeds["feeds"][0]["folderId"]),
        (&json!("Mine"), &json!(0))
    );
    let tag = "i=2&a=user/-/label/later&T=";
    assert_eq!(hub.ask(Method::POST, "google/reader/api/0/edit-tag", &anna, tag).await.1, "OK");
    let renamed = "s=user/-/label/later&dest=user/-/label/soon&T=";
    assert_eq!(
        hub.ask(Method::POST, "google/reader/api/0/rename-tag", &anna, renamed).await.1,
        "OK"
    );
    let ids = "google/reader/api/0/stream/items/ids?s=user/-/label/soon&n=9";
    assert_eq!(hub.get(ids, &anna).await["itemRefs"].as_array().unwrap().len(), 1);
    let (_, opml) = hub.ask(Method::GET, "miniflux/v1/export", &basic, Body::empty()).await;
    assert!(
        opml.contains("xmlUrl=\"https://news.example/feed\"") && opml.contains("Mine"),
        "{opml}"
    );
    let other = opml.replace("news.example", "other.example");
    let headers = [("authorization", &*basic), ("content-type", "application/xml")];
    let imported = hub.send(Method::POST, "miniflux/v1/import", &headers, other).await;
    assert_eq!(imported.status(), StatusCode::CREATED);
    let feeds = hub.get("miniflux/v1/feeds", &basic).await;
    assert_eq!(feeds.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_picture_of_a_site_is_given_out_to_its_readers() {
    let hub = Hub::of(&["anna", "bob"]).await;
    let anna = hub.google("anna").await;
    hub.subscribe(&anna, FEED).await;
    let icon = feedsync_aggregator::Icon {
        media_type: "image/png".to_owned(),
        bytes: b"\x89PNG".to_vec(),
    };
    let site = "https://news.example".parse().unwrap();
    hub.library.set_icon(&site, Some(icon), Millis::new(1)).await.unwrap();
    let shown = hub.get("miniflux/v1/feeds/1/icon", &basic("anna", PASSWORD)).await;
    assert_eq!(shown["data"], "image/png;base64,iVBORw==");
    let path = "miniflux/v1/feeds/1/icon";
    let (status, _) = hub.ask(Method::GET, path, &basic("bob", PASSWORD), Body::empty()).await;
    assert_eq!(status, 404, "he does not read it");
}
