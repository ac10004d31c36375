//! Changes that a gateway accepts while the server is away.

use feedsync_bitsy::newsreader::{Full, Interface};
use serde_json::{Value, json};

use crate::desk::{Said, said};
use crate::said::ttrss;
use crate::stored::{Stored, stored};

/// A stored list of articles and their feeds. Articles 1 to 3 are of feed 1 in folder 5, article 4 is of feed
/// 2, and article 2 is read.
fn library(interface: Interface) -> Stored {
    let numbers = [(1, 1), (2, 1), (3, 1), (4, 2)];
    let is_read = |number: i64| number == 2;
    let list: Vec<Value> = numbers
        .iter()
        .map(|(number, feed)| match interface {
            Interface::Google => json!({
                "id": format!("tag:google.com,2005:reader/item/{number:016x}"),
                "categories": if is_read(*number) { vec!["user/-/state/com.google/read"] } else { vec![] },
                "origin": { "streamId": format!("feed/{feed}") },
            }),
            Interface::Miniflux => json!({
                "id": number, "feed_id": feed, "starred": false,
                "status": if is_read(*number) { "read" } else { "unread" },
            }),
            Interface::Nextcloud => {
                json!({ "id": number, "feedId": feed, "unread": !is_read(*number) })
            }
            Interface::TinyTinyRss => json!({
                "id": number, "feed_id": feed, "unread": !is_read(*number), "marked": false,
            }),
        })
        .collect();
    let news = |path: &str| said(&format!("GET index.php/apps/news/api/v1-2/{path}"), "");
    let ((list_at, list), (filed_at, filed)) = match interface {
        Interface::Google => (
            (said("GET reader/api/0/stream/contents/reading-list", ""), json!({ "items": list })),
            (
                said("GET reader/api/0/subscription/list", ""),
                json!({ "subscriptions": [
                    { "id": "feed/1", "categories": [{ "id": "user/-/label/News" }] },
                ] }),
            ),
        ),
        Interface::Miniflux => (
            (said("GET v1/entries", ""), json!({ "entries": list })),
            (said("GET v1/feeds", ""), json!([{ "id": 1, "category": { "id": 5 } }])),
        ),
        Interface::Nextcloud => (
            (news("items?type=3"), json!({ "items": list })),
            (news("feeds"), json!({ "feeds": [{ "id": 1, "folderId": 5 }] })),
        ),
        Interface::TinyTinyRss => (
            (
                ttrss("s1", r#""op":"getHeadlines","feed_id":-4"#),
                json!({ "status": 0, "content": list }),
            ),
            (
                ttrss("s1", r#""op":"getFeeds","cat_id":-3"#),
                json!({ "status": 0, "content": [{ "id": 1, "cat_id": 5 }] }),
            ),
        ),
    };
    let mut stored = stored(interface, &list_at, &list.to_string());
    stored.store(&filed_at, &filed.to_string());
    stored
}

/// The request that marks the folder as read.
fn folder_read(interface: Interface) -> Said {
    match interface {
        Interface::Google => {
            said("POST api/greader.php/reader/api/0/mark-all-as-read", "s=user/-/label/News&T=t")
        }
        Interface::Miniflux => said("PUT v1/categories/5/mark-all-as-read", ""),
        Interface::Nextcloud => {
            said("PUT index.php/apps/news/api/v1-2/folders/5/read", r#"{"newestItemId":99}"#)
        }
        Interface::TinyTinyRss => ttrss("s1", r#""op":"catchupFeed","feed_id":5,"is_cat":true"#),
    }
}

#[test]
fn marking_a_folder_read_names_its_unread_articles() {
    let body = "i=tag:google.com,2005:reader/item/0000000000000001&\
        i=tag:google.com,2005:reader/item/0000000000000003&a=user/-/state/com.google/read&\
        r=user/-/state/com.google/kept-unread&ac=edit";
    for (interface, line, body) in [
        (Interface::Google, "POST api/greader.php/reader/api/0/edit-tag", body),
        (Interface::Miniflux, "PUT v1/entries", r#"{"entry_ids":[1,3],"status":"read"}"#),
        (
            Interface::Nextcloud,
            "PUT index.php/apps/news/api/v1-2/items/read/multiple",
            r#"{"itemIds":[1,3],"items":[1,3]}"#,
        ),
        (
            Interface::TinyTinyRss,
            "POST api/",
            r#"{"article_ids":"1,3","field":2,"mode":0,"op":"updateArticle"}"#,
        ),
    ] {
        let mut stored = library(interface);
        assert_eq!(stored.take(&folder_read(interface)), Ok(1), "{interface:?}");
        let waiting = stored.waiting();
        let (request, marked) = &waiting[0];
        assert_eq!(marked, &[1, 3], "{interface:?}");
        assert_eq!(format!("{} {}", request.method, request.path), line);
        assert_eq!(request.body, body, "{interface:?}");
        assert!(request.content_type.is_some());
        // No articles are left to mark.
        assert_eq!(stored.take(&folder_read(interface)), Ok(0), "{interface:?}");
    }
}

#[test]
fn articles_above_the_named_newest_stay_unread() {
    let mut stored = library(Interface::Nextcloud);
    let read = |newest: i64| {
        let body = format!("{{\"newestItemId\":{newest}}}");
        said("PUT index.php/apps/news/api/v1-2/items/read", &body)
    };
    stored.take(&read(3)).unwrap();
    assert_eq!(stored.waiting()[0].1, [1, 3]);
    stored.take(&read(4)).unwrap();
    assert_eq!(stored.waiting()[1].1, [4]);
}

#[test]
fn marking_many_articles_sends_requests_of_two_hundred() {
    let list: Vec<Value> =
        (1..=450).map(|number| json!({ "id": number, "feed_id": 1, "status": "unread" })).collect();
    let at = said("GET v1/entries", "");
    let mut stored = stored(Interface::Miniflux, &at, &json!({ "entries": list }).to_string());
    stored.take(&said("PUT v1/feeds/1/mark-all-as-read", "")).unwrap();
    let counts: Vec<usize> = stored.waiting().iter().map(|(_, marked)| marked.len()).collect();
    assert_eq!(counts, [200, 200, 50]);
}

#[test]
fn toggle_is_sent_as_the_intended_state() {
    let mut stored = library(Interface::TinyTinyRss);
    let toggle = |article: i64, field: u8| {
        let rest =
            format!(r#""op":"updateArticle","article_ids":{article},"field":{field},"mode":2"#);
        ttrss("s1", &rest)
    };
    for (article, field, mode) in [(1, 2, 0), (2, 2, 1), (1, 0, 1), (1, 0, 0), (2, 2, 0)] {
        stored.take(&toggle(article, field)).unwrap();
        let waiting = stored.waiting();
        let expected = json!({
            "op": "updateArticle", "article_ids": article.to_string(), "field": field, "mode": mode,
        });
        let body: Value = serde_json::from_str(&waiting.last().unwrap().0.body).unwrap();
        assert_eq!(body, expected);
    }
    assert_eq!(stored.take(&toggle(99, 2)), Err(Full::Unknown));
    assert_eq!(
        Full::Unknown.to_string(),
        "the server cannot be reached, and this change is not possible offline"
    );
}

#[test]
fn edits_of_subscriptions_wait_and_mark_nothing() {
    let mut stored = library(Interface::Miniflux);
    let unsubscribe = said("DELETE v1/feeds/1", "");
    assert!(stored.is_edit(&unsubscribe));
    assert_eq!(stored.take(&unsubscribe), Ok(1));
    assert_eq!(stored.waiting()[0].1, [0_i64; 0]);
}

#[test]
fn waiting_changes_of_an_account_are_limited() {
    let interface = Interface::TinyTinyRss;
    let list: Vec<Value> = (1..=10_000)
        .map(|number| json!({ "id": number, "feed_id": 1, "unread": true, "marked": false }))
        .collect();
    let at = ttrss("s1", r#""op":"getHeadlines","feed_id":-4"#);
    let body = json!({ "status": 0, "content": list }).to_string();
    let mut stored = stored(interface, &at, &body);
    let numbers: Vec<String> = (1..=10_000).map(|number: i64| number.to_string()).collect();
    let toggle = |numbers: &str| {
        let rest = format!(r#""op":"updateArticle","article_ids":"{numbers}","field":2,"mode":2"#);
        ttrss("s1", &rest)
    };
    let all = toggle(&numbers.join(","));
    assert_eq!(stored.take(&all), Ok(10_000));
    assert_eq!(stored.take(&all), Ok(10_000), "as many as there may be");
    assert_eq!(stored.take(&toggle("1")), Err(Full::Full));
    assert_eq!(stored.waiting().len(), 20_000);
    assert_eq!(
        Full::Full.to_string(),
        "too many changes are waiting until the server can be reached again: try again later"
    );
}
