//! Subscriptions, lists and articles as pages: they change the same reading state as newsreaders and logs,
//! and only that of their user.

use axum::body::Body;
use http::{Method, StatusCode};
use serde_json::Value;
use tower::ServiceExt as _;

use crate::access::world::basic;
use crate::browsing::faults;
use crate::hub::{bytes, request, text};
use crate::newsroom::{ARRIVAL_TIME, Newsroom, PASSWORD, article};
use crate::visitor::{Visitor, html};

pub(crate) const HOME: &str = "/pages/reading";
pub(crate) const LIST: &str = "/pages/reading/articles";
pub(crate) const FEED: &str = "https://news.example/feed";

/// A hub on which anna is subscribed to a feed with so many articles, numbered from 1 as in their titles.
pub(crate) async fn reading(count: u64) -> (Newsroom, Visitor) {
    let room = Newsroom::of(&["anna", "bob"]).await;
    let anna = Visitor::signed_in(&room.router, "anna", PASSWORD).await;
    done(&anna, HOME, &[("action", "subscribe"), ("address", FEED)]).await;
    for number in 1..=count {
        let (name, title) = (format!("n{number}"), format!("Title {number}."));
        let one = article(&name, &title, "<p>Some words</p>", number);
        room.publish(FEED, vec![one], ARRIVAL_TIME).await;
    }
    (room, anna)
}

/// Posts a form that is processed, and returns the address that it leads to.
pub(crate) async fn done(visitor: &Visitor, page: &str, fields: &[(&str, &str)]) -> String {
    let answer = visitor.post(page, fields).await;
    assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{page} {fields:?}");
    text(&answer, "location").to_owned()
}

/// A page with status 200.
pub(crate) async fn seen(visitor: &Visitor, page: &str) -> String {
    let shown = visitor.page(page).await;
    assert_eq!(faults(&shown), Vec::<String>::new(), "{page}: {shown}");
    shown
}

impl Newsroom {
    /// Response to a newsreader of a user.
    pub(crate) async fn told(&self, name: &str, path: &str) -> Value {
        let authorization = basic(name, PASSWORD);
        let headers = [("authorization", &*authorization)];
        let asked = request(Method::GET, &format!("/reader/{path}"), &headers, Body::empty());
        let answer = self.router.clone().oneshot(asked).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        serde_json::from_slice(&bytes(answer).await).unwrap()
    }

    /// Titles of a user's unread articles, as a newsreader shows them.
    pub(crate) async fn unread(&self, name: &str) -> Vec<String> {
        let told = self.told(name, "miniflux/v1/entries?status=unread&direction=asc").await;
        let titles = told["entries"].as_array().unwrap().iter();
        titles.map(|entry| entry["title"].as_str().unwrap().to_owned()).collect()
    }

    /// Log of a user's reading state.
    pub(crate) async fn log(&self, name: &str) -> String {
        let authorization = basic(name, PASSWORD);
        let headers = [("authorization", &*authorization)];
        let path = format!("/logs/reading-{name}");
        let asked = request(Method::GET, &path, &headers, Body::empty());
        let answer = self.router.clone().oneshot(asked).await.unwrap();
        String::from_utf8(bytes(answer).await.to_vec()).unwrap()
    }
}

#[tokio::test]
async fn starred_articles_stay_on_the_pages_after_unsubscribing() {
    let (_room, anna) = reading(3).await;
    done(&anna, &format!("{LIST}/2"), &[("action", "star")]).await;
    done(&anna, "/pages/reading/feeds/1", &[("action", "unsubscribe")]).await;
    let starred = format!("{LIST}?starred=1");
    let list = seen(&anna, &starred).await;
    assert!(list.contains("Title 2.") && !list.contains("Title 1."), "{list}");
    let article = seen(&anna, &format!("{LIST}/2?starred=1")).await;
    assert!(article.contains("Title 2.") && !article.contains("feed=1"), "{article}");
    assert_eq!(anna.get(&format!("{LIST}/1")).await.status(), StatusCode::NOT_FOUND);
    let page = done(&anna, &format!("{LIST}/2?starred=1"), &[("action", "unstar")]).await;
    assert_eq!(page, format!("{starred}&said=unstarred"));
    assert!(!seen(&anna, &starred).await.contains("Title 2."));
}

#[tokio::test]
async fn feeds_are_subscribed_to_named_filed_and_left() {
    let (room, anna) = reading(3).await;
    let home = seen(&anna, HOME).await;
    assert!(home.contains("3 unread articles") && home.contains("No folder"), "{home}");
    assert!(seen(&anna, "/").await.contains("href=\"/pages/reading\""));

    for (address, folder, said) in [
        ("nowhere", "", "must begin with http"),
        ("https://", "", "must have a host"),
        ("https://a b/", "", "must not have blanks"),
        (FEED, "\u{1}", "control characters"),
    ] {
        let fields = [("action", "subscribe"), ("address", address), ("folder", folder)];
        let answer = anna.post(HOME, &fields).await;
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY, "{address}");
        let page = html(answer).await;
        assert!(page.contains(said) && page.contains("aria-invalid"), "{said}: {page}");
        assert!(page.contains(&format!("value=\"{address}\"")), "what was typed is there");
    }
    let other = "https://other.example/feed";
    let filed = [("action", "subscribe"), ("address", other), ("folder", "News / Local")];
    done(&anna, HOME, &filed).await;
    room.fail(other, "status 500 <b>", 3).await;
    let home = seen(&anna, HOME).await;
    assert!(home.contains("News / Local") && home.contains("3 times in a row"), "{home}");
    assert!(home.contains("status 500 &#60;b&#62;"), "{home}");
    assert!(seen(&anna, "/pages/reading/feeds/2").await.contains("status 500"));

    let feed = "/pages/reading/feeds/1";
    let save = [("action", "save"), ("title", "My <news>"), ("folder", "News / Local")];
    assert!(done(&anna, feed, &save).await.ends_with("said=saved"));
    assert!(seen(&anna, HOME).await.contains("My &#60;news&#62;"));
    let feeds = room.told("anna", "miniflux/v1/feeds").await;
    assert_eq!(feeds[0]["title"], "My <news>");
    assert_eq!(feeds[0]["category"]["title"], "News / Local");
    let save = [("action", "save"), ("title", &"x".repeat(600)), ("folder", "")];
    assert_eq!(anna.post(feed, &save).await.status(), StatusCode::UNPROCESSABLE_ENTITY);
    done(&anna, feed, &[("action", "save"), ("title", ""), ("folder", "")]).await;
    assert!(!seen(&anna, HOME).await.contains("My &#60;news&#62;"));
    done(&anna, feed, &[("action", "refresh")]).await;
    done(&anna, HOME, &[("action", "refresh")]).await;

    assert_eq!(
        done(&anna, feed, &[("action", "unsubscribe")]).await,
        "/pages/reading?said=unsubscribed"
    );
    assert_eq!(anna.get(feed).await.status(), StatusCode::NOT_FOUND);
    assert!(room.log("anna").await.contains("\"unsubscribe\""));
    for action in ["", "none"] {
        let answer = anna.post(HOME, &[("action", action)]).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    }
}

#[tokio::test]
async fn an_article_is_read_when_a_form_says_so_and_never_by_being_asked_for() {
    let (room, anna) = reading(3).await;
    let page = format!("{LIST}/2");
    for _ in 0..2 {
        let shown = seen(&anna, &page).await;
        assert!(shown.contains("Title 2.") && shown.contains("data-opens"), "{shown}");
    }
    assert_eq!(room.unread("anna").await.len(), 3);
    assert_eq!(done(&anna, &page, &[("action", "read")]).await, format!("{page}?said=read"));
    assert_eq!(room.unread("anna").await, ["Title 1.", "Title 3."]);
    assert!(room.log("anna").await.contains(&format!("\"id\":\"{}\"", room.name(2).await)));
    assert!(!seen(&anna, &page).await.contains("data-opens"));
    // Opening an article that was just marked unread does not mark it as read.
    let again = done(&anna, &page, &[("action", "unread")]).await;
    assert!(!seen(&anna, &again).await.contains("data-opens"));
    assert_eq!(room.unread("anna").await.len(), 3);

    done(&anna, &page, &[("action", "star")]).await;
    let starred = seen(&anna, &format!("{LIST}?starred=1")).await;
    assert!(starred.contains("Title 2.") && !starred.contains("Title 1."));
    let told = room.told("anna", "miniflux/v1/entries?starred=1").await;
    assert_eq!(told["entries"][0]["title"], "Title 2.");
    done(&anna, &page, &[("action", "unstar")]).await;
    assert_eq!(room.told("anna", "miniflux/v1/entries?starred=1").await["total"], 0);

    done(&anna, &page, &[("action", "tag"), ("tag", " to <do>&x ")]).await;
    let home = seen(&anna, HOME).await;
    let tag = home.split("?tag=").nth(1).unwrap().split('"').next().unwrap();
    assert!(seen(&anna, &format!("{LIST}?tag={tag}")).await.contains("Title 2."));
    let answer = anna.post(&page, &[("action", "tag"), ("tag", " ")]).await;
    assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY);
    done(&anna, &page, &[("untag", "to <do>&x")]).await;
    assert!(!seen(&anna, HOME).await.contains("?tag="));
    assert_eq!(anna.post(&page, &[("action", "none")]).await.status(), StatusCode::BAD_REQUEST);
}

/// The next unread article, and the read ones on the way back.
#[tokio::test]
async fn one_goes_on_and_back_in_the_list_that_one_came_from() {
    let (room, anna) = reading(4).await;
    let next = done(&anna, &format!("{LIST}/4"), &[("action", "next")]).await;
    assert_eq!(next, format!("{LIST}/3"));
    let shown = seen(&anna, &next).await;
    assert!(shown.contains("rel=\"prev\" href=\"/pages/reading/articles/4\""), "{shown}");
    assert!(shown.contains("rel=\"next\" href=\"/pages/reading/articles/2\""), "{shown}");
    done(&anna, &format!("{LIST}/2"), &[("action", "read")]).await;
    let shown = seen(&anna, &next).await;
    assert!(shown.contains("rel=\"next\" href=\"/pages/reading/articles/1\""), "{shown}");
    let all = format!("{LIST}/3?show=all&order=oldest&feed=1");
    let shown = seen(&anna, &all).await;
    let beside = "/pages/reading/articles/2?feed=1&#38;show=all&#38;order=oldest";
    assert!(shown.contains(&format!("rel=\"prev\" href=\"{beside}\"")), "{shown}");
    // After the last article comes the list.
    let last = done(&anna, &format!("{LIST}/1?q=title"), &[("action", "next")]).await;
    assert_eq!(last, format!("{LIST}?q=title"));
    assert_eq!(room.unread("anna").await, ["Title 3."]);
}

/// Another user's articles and feeds are not found; an anonymous client is redirected to the sign-in page.
#[tokio::test]
async fn users_cannot_see_or_mark_articles_of_others() {
    let (room, anna) = reading(2).await;
    let bob = Visitor::signed_in(&room.router, "bob", PASSWORD).await;
    let nobody = Visitor::new(&room.router);
    assert!(seen(&bob, HOME).await.contains("You have no subscriptions yet."));
    assert!(!seen(&bob, &format!("{LIST}?show=all")).await.contains("Title"));
    for page in ["articles/1", "feeds/1", "articles?feed=1", "articles?folder=9", "articles/x"] {
        let page = format!("{HOME}/{page}");
        assert_eq!(bob.get(&page).await.status(), StatusCode::NOT_FOUND, "{page}");
        for fields in
            [[("action", "read"), ("read", "1")], [("action", "unsubscribe"), ("all", "1")]]
        {
            assert_eq!(bob.post(&page, &fields).await.status(), StatusCode::NOT_FOUND, "{page}");
        }
    }
    done(&bob, LIST, &[("read", "1")]).await;
    done(&bob, LIST, &[("star", "2")]).await;
    assert_eq!(room.unread("anna").await.len(), 2);
    for page in
        ["", "/articles", "/articles/1", "/feeds/1", "/transfer", "/export/everything.jsonl"]
    {
        let led = nobody.get(&format!("{HOME}{page}")).await;
        assert_eq!(led.status(), StatusCode::SEE_OTHER, "{page}");
        assert!(text(&led, "location").starts_with("/pages/login?to="), "{page}");
        let posted = nobody.send(&format!("{HOME}{page}"), &[("action", "read")]).await;
        let is_refused = [StatusCode::UNAUTHORIZED, StatusCode::METHOD_NOT_ALLOWED];
        assert!(is_refused.contains(&posted.status()), "{page}: {}", posted.status());
    }
    assert!(!seen(&nobody, "/").await.contains("/pages/reading"));
    drop(anna);
}

/// A form that was not issued to this browser changes nothing.
#[tokio::test]
async fn foreign_forms_are_refused() {
    let (room, anna) = reading(2).await;
    let before = room.log("anna").await;
    for (page, fields) in [
        (HOME, vec![("action", "subscribe"), ("address", "https://other.example/")]),
        (LIST, vec![("all", "1"), ("last", "9")]),
        ("/pages/reading/articles/1", vec![("action", "read")]),
        ("/pages/reading/feeds/1", vec![("action", "unsubscribe")]),
        ("/pages/reading/feeds/1", vec![("action", "save"), ("title", "Typed")]),
    ] {
        for form in ["", "0a"] {
            let fields = [&fields[..], &[("form", form)]].concat();
            let answer = anna.send(page, &fields).await;
            assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{page}");
        }
    }
    assert_eq!(room.log("anna").await, before);
    assert_eq!(room.unread("anna").await.len(), 2);
}
