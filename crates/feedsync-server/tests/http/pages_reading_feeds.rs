//! Feeds by folder, on the page of subscriptions and beside lists and articles.

use crate::newsroom::{ARRIVAL_TIME, Newsroom, article};
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
