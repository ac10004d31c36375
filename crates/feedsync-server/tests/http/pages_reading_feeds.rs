//! Feeds by folder, on the page of subscriptions and beside lists and articles.

use axum::body::Body;
use feedsync_aggregator::{Icon, Origin};
use feedsync_log::Millis;
use http::{Method, StatusCode};

use crate::hub::bytes;
use crate::newsroom::{ARRIVAL_TIME, Newsroom, PASSWORD, article};
use crate::pages_reading::{HOME, LIST, done, reading, seen};
use crate::visitor::Visitor;

/// Subscribes to a feed with some articles.
async fn fed(room: &Newsroom, anna: &Visitor, name: &str, folder: &str, count: u64) {
    let address = format!("https://{name}.example/feed");
    let fields = [("action", "subscribe"), ("address", &*address), ("folder", folder)];
    done(anna, HOME, &fields).await;
    let articles = (0..count).map(|at| article(&format!("{name}{at}"), name, "", at)).collect();
    room.publish(&address, articles, ARRIVAL_TIME).await;
}

/// The feeds beside a page.
fn beside(page: &str) -> &str {
    let (_, nav) = page.split_once("<nav class=\"beside\"").expect("feeds beside the page");
    nav.split("</nav>").next().unwrap()
}

#[tokio::test]
async fn feeds_with_unread_articles_are_beside_lists_and_articles() {
    let (room, anna) = reading(2).await;
    fed(&room, &anna, "busy", "News", 3).await;
    fed(&room, &anna, "silent", "News", 0).await;
    fed(&room, &anna, "empty", "Nothing", 0).await;
    for page in [LIST.to_owned(), format!("{LIST}/1")] {
        let page = seen(&anna, &page).await;
        let feeds = beside(&page);
        assert!(feeds.contains("https://busy.example/feed"), "{feeds}");
        assert!(!feeds.contains("silent") && !feeds.contains("Nothing"), "{feeds}");
        assert!(feeds.contains("All of <bdi>News</bdi>"), "{feeds}");
        assert_eq!(feeds.matches("aria-current=\"page\"").count(), 1, "{feeds}");
        assert!(feeds.contains("aria-current=\"page\"><span class=\"name\">All articles"));
        assert!(feeds.contains(">5<span class=\"hidden\"> unread</span>"), "{feeds}");
    }
    // A list is marked among the feeds, also if it has no unread articles.
    for (list, name) in [("feed=3", "https://silent.example/feed"), ("feed=2", "busy")] {
        let page = seen(&anna, &format!("{LIST}?{list}")).await;
        let (_, current) = beside(&page).split_once("aria-current=\"page\"").unwrap();
        assert!(current.split("</a>").next().unwrap().contains(name), "{list}: {current}");
    }
}

#[tokio::test]
async fn feeds_without_unread_articles_are_left_out_on_request() {
    let (room, anna) = reading(2).await;
    fed(&room, &anna, "silent", "News", 0).await;
    let all = seen(&anna, HOME).await;
    assert!(all.contains("silent") && all.contains("?show=unread\">Only feeds"), "{all}");
    let unread = seen(&anna, &format!("{HOME}?show=unread")).await;
    assert!(!unread.contains("silent.example"), "{unread}");
    assert_eq!(unread.matches("<section class=\"folder\"").count(), 1, "{unread}");
    assert!(unread.contains("Show all feeds"), "{unread}");
    let last = crate::visitor::hidden(&seen(&anna, LIST).await, "last").unwrap();
    done(&anna, LIST, &[("all", "1"), ("last", &last)]).await;
    let none = seen(&anna, &format!("{HOME}?show=unread")).await;
    assert!(none.contains("No feed has unread articles."), "{none}");
}

#[tokio::test]
async fn feeds_with_faults_are_listed_with_what_to_do() {
    let (room, anna) = reading(1).await;
    let faults = format!("{HOME}?show=faults");
    assert!(!seen(&anna, HOME).await.contains("could not be read</a>"));
    assert!(seen(&anna, &faults).await.contains("All feeds could be read."));
    for (name, failures) in [("part", 0), ("new", 2), ("old", 30)] {
        fed(&room, &anna, name, "", 1).await;
        room.fail(&format!("https://{name}.example/feed"), "the server is down", failures).await;
    }
    let all = seen(&anna, HOME).await;
    assert!(all.contains("?show=faults\">3 feeds could not be read</a>"), "{all}");
    let page = seen(&anna, &faults).await;
    assert!(!page.contains("news.example"), "{page}");
    for advice in ["The site has to correct", "There is nothing to do yet", "It has failed often"] {
        assert_eq!(page.matches(advice).count(), 1, "{advice}: {page}");
    }
    let (_, form) = page.split_once("action=\"/pages/reading/feeds/4\"").unwrap();
    assert!(
        form.contains("Check now<span class=\"hidden\">: <bdi>https://old.example/feed"),
        "{form}"
    );
    done(&anna, &format!("{HOME}/feeds/4"), &[("action", "unsubscribe")]).await;
    assert!(!seen(&anna, &faults).await.contains("old.example"));
}

/// Beside a page are at most 300 feeds, and the number of further ones.
#[tokio::test]
async fn number_of_feeds_beside_a_page_is_bounded() {
    let (room, anna) = reading(1).await;
    for number in 0..320 {
        fed(&room, &anna, &format!("f{number}"), &format!("Folder {}", number % 7), 1).await;
    }
    let page = seen(&anna, &format!("{LIST}/1")).await;
    let feeds = beside(&page);
    assert_eq!(feeds.matches(".example/feed").count(), 300, "{feeds}");
    assert!(feeds.contains("21 further feeds have unread articles."), "{feeds}");
}

#[tokio::test]
async fn icons_of_subscribed_feeds_are_pictures_in_a_sandbox() {
    let (room, anna) = reading(1).await;
    fed(&room, &anna, "plain", "", 1).await;
    fed(&room, &anna, "evil", "", 1).await;
    let site = |address: &str| address.parse::<Origin>().unwrap();
    let now = Millis::new(ARRIVAL_TIME);
    // The bytes decide, not the stored type.
    let [picture, script] = [b"\x89PNG".as_slice(), b"<svg onload='alert(1)'/>"];
    for (origin, media_type, bytes) in [
        ("https://news.example", "text/html", picture),
        ("https://evil.example", "image/png", script),
    ] {
        let icon = Icon { media_type: media_type.to_owned(), bytes: bytes.to_vec() };
        room.library.set_icon(&site(origin), Some(icon), now).await.unwrap();
    }
    let page = seen(&anna, HOME).await;
    for (number, media_type) in [(1, "image/png"), (2, "image/svg+xml"), (3, "image/svg+xml")] {
        let address = format!("{HOME}/icons/{number}");
        assert!(page.contains(&format!("src=\"{address}\"")), "{page}");
        let answer = anna.get(&address).await;
        assert_eq!(answer.status(), StatusCode::OK, "{address}");
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), media_type, "{address}");
        assert_eq!(header("cache-control"), "private, max-age=86400");
        assert_eq!(header("content-security-policy"), "default-src 'none'; sandbox");
        assert_eq!(header("x-content-type-options"), "nosniff");
        let tag = header("etag");
        let body = bytes(answer).await;
        assert!(!body.windows(5).any(|part| part == b"alert"), "{address}");
        let again =
            anna.ask(Method::GET, &address, &[("if-none-match", &tag)], Body::empty()).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{address}");
    }
    for unknown in ["4", "x", "-1"] {
        let answer = anna.get(&format!("{HOME}/icons/{unknown}")).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{unknown}");
    }
    let bob = Visitor::signed_in(&room.router, "bob", PASSWORD).await;
    assert_eq!(bob.get(&format!("{HOME}/icons/1")).await.status(), StatusCode::NOT_FOUND);
}
