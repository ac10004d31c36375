//! Subscribing on the pages: what an address leads to is looked at first.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use feedsync_aggregator::{FeedFinder, FeedKind, FindError, FoundFeed, NamedFeed};
use feedsync_reading_state::FeedAddress;
use http::StatusCode;

use crate::newsroom::{ARRIVAL_TIME, Newsroom, PASSWORD, article};
use crate::pages_reading::{HOME, done, seen};
use crate::visitor::{Visitor, html};

/// Finder whose addresses say what is found there.
struct Web;

fn named(address: &str, title: Option<&str>, article_count: Option<usize>) -> NamedFeed {
    let (address, title) = (address.parse().unwrap(), title.map(str::to_owned));
    NamedFeed { address, title, kind: FeedKind::Atom, article_count }
}

#[async_trait]
impl FeedFinder for Web {
    async fn all(&self, address: &FeedAddress) -> Result<Vec<NamedFeed>, FindError> {
        match address.as_str().rsplit('/').next().unwrap_or_default() {
            "dead" => Err(FindError::Fetch("the server answered 404 <b>".to_owned())),
            "slow" => Err(FindError::Timeout),
            "held" => Err(FindError::Held(Duration::from_secs(60))),
            "page" => Err(FindError::NoFeed),
            "text" => Err(FindError::Unreadable("no feed begins like this".to_owned())),
            "one" => Ok(vec![named("https://web.example/feed", Some("Its feed"), None)]),
            "several" => Ok(vec![
                named("https://web.example/feed", Some("Posts <i>"), None),
                named("https://web.example/comments", None, None),
                named("https://elsewhere.example/all", Some("All"), None),
            ]),
            _ => Ok(vec![named(address.as_str(), Some("A feed"), Some(2))]),
        }
    }

    async fn first(&self, address: &FeedAddress) -> Result<FoundFeed, FindError> {
        let address = self.all(address).await?.remove(0).address;
        Ok(FoundFeed { address, title: None })
    }
}

async fn visited() -> (Newsroom, Visitor) {
    let endpoint = Newsroom::endpoint_of(&["anna"]).await;
    let room = Newsroom::finding(endpoint, |_| Arc::new(Web));
    let anna = Visitor::signed_in(&room.router, "anna", PASSWORD).await;
    (room, anna)
}

/// The page that follows on the attempt to subscribe, and its status.
async fn tried(anna: &Visitor, action: &str, address: &str) -> (StatusCode, String) {
    let answer = anna.post(HOME, &[("action", action), ("address", address)]).await;
    (answer.status(), html(answer).await)
}

async fn addresses(room: &Newsroom) -> Vec<String> {
    let feeds = room.told("anna", "miniflux/v1/feeds").await;
    let feeds = feeds.as_array().unwrap().iter();
    feeds.map(|feed| feed["feed_url"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn subscribing_tells_what_was_found() {
    let (room, anna) = visited().await;
    let feed = "https://a.example/feed";
    let next = done(&anna, HOME, &[("action", "subscribe"), ("address", feed)]).await;
    assert_eq!(next, "/pages/reading?said=subscribed&feed=1&articles=2");
    let page = seen(&anna, &next).await;
    assert!(page.contains("which has 2 articles. They appear in a moment."), "{page}");
    room.publish(feed, vec![article("n", "Title", "", 0)], ARRIVAL_TIME).await;
    // A link chooses neither the title nor the words.
    for (link, message) in [
        ("feed=1&articles=1", "which has 1 article. It appears in a moment."),
        ("feed=1&articles=0", "which has no articles yet."),
        ("feed=1&articles=evil", "The articles appear as soon as the feed has been fetched."),
        ("feed=99", "Subscribed. The articles appear"),
        ("feed=evil", "Subscribed. The articles appear"),
    ] {
        let page = seen(&anna, &format!("{HOME}?said=subscribed&{link}")).await;
        assert!(page.contains(message) && !page.contains("evil"), "{link}: {page}");
    }
    // The one feed of a page is subscribed to without a question.
    let fields = [("action", "subscribe"), ("address", "https://web.example/one")];
    assert!(done(&anna, HOME, &fields).await.ends_with("said=subscribed&feed=2"));
    assert_eq!(addresses(&room).await, [feed, "https://web.example/feed"]);
}

#[tokio::test]
async fn address_without_a_feed_is_not_subscribed_to_unless_the_person_insists() {
    let (room, anna) = visited().await;
    for (path, reason, may_insist) in [
        ("dead", "the server answered 404 &#60;b&#62;", true),
        ("slow", "no response within", true),
        ("held", "asked not to be contacted for 60 s", true),
        ("page", "a web page that does not link to a feed", false),
        ("text", "no feed begins like this", false),
    ] {
        let address = format!("https://web.example/{path}");
        let (status, page) = tried(&anna, "subscribe", &address).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{path}");
        assert!(page.contains("No feed found: ") && page.contains(reason), "{path}: {page}");
        assert!(page.contains("aria-invalid") && page.contains(&address), "{path}: {page}");
        assert_eq!(page.contains("Subscribe anyway"), may_insist, "{path}: {page}");
    }
    assert!(addresses(&room).await.is_empty());

    let dead = [("action", "subscribe-unchecked"), ("address", "https://web.example/dead")];
    assert!(done(&anna, HOME, &dead).await.ends_with("said=subscribed&feed=1"));
    assert_eq!(addresses(&room).await, ["https://web.example/dead"]);
    for (address, reason) in [("nowhere", "must begin with http"), (dead[1].1, "already")] {
        let (status, page) = tried(&anna, "subscribe-unchecked", address).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{address}");
        assert!(page.contains(reason), "{address}: {page}");
    }
}

#[tokio::test]
async fn person_chooses_among_the_feeds_of_a_page() {
    let (room, anna) = visited().await;
    let several = "https://web.example/several";
    let fields = [("action", "subscribe"), ("address", several), ("folder", "News")];
    let answer = anna.post(HOME, &fields).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let page = html(answer).await;
    assert!(page.contains("This web page has 3 feeds. Choose one:"), "{page}");
    assert!(page.contains("Posts &#60;i&#62;") && page.contains("Without a title"), "{page}");
    assert!(page.contains("value=\"https://elsewhere.example/all\" required>"), "{page}");
    assert!(page.contains("value=\"https://web.example/feed\" required checked>"), "{page}");
    assert!(page.contains("<input type=\"hidden\" name=\"folder\" value=\"News\">"), "{page}");
    assert!(addresses(&room).await.is_empty());

    let chosen = [("action", "subscribe"), ("address", "https://web.example/feed")];
    done(&anna, HOME, &chosen).await;
    let (status, page) = tried(&anna, "subscribe", several).await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("value=\"https://web.example/feed\" required disabled>"), "{page}");
    assert!(page.contains("value=\"https://web.example/comments\" required checked>"), "{page}");
    assert_eq!(addresses(&room).await, ["https://web.example/feed"]);
}

#[tokio::test]
async fn feed_is_not_subscribed_to_twice() {
    let (room, anna) = visited().await;
    let feed = "https://web.example/feed";
    done(&anna, HOME, &[("action", "subscribe"), ("address", feed), ("folder", "News")]).await;
    for address in [feed, "https://web.example/one"] {
        let (status, page) = tried(&anna, "subscribe", address).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{address}");
        let known = format!("You are already subscribed to this feed: {feed}.");
        assert!(page.contains(&known), "{address}: {page}");
    }
    assert_eq!(addresses(&room).await, [feed]);
    let feeds = room.told("anna", "miniflux/v1/feeds").await;
    assert_eq!(feeds[0]["category"]["title"], "News", "the folder stays");
}
