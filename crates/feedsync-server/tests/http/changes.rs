//! The FeedSync feed: its windows, its order and its pages.

use std::collections::HashSet;

use feedsync_endpoint::Retention;
use feedsync_formats::CHANGES_RELATION;
use feedsync_store::{CollectionChange, Moment};
use http::{Method, StatusCode};

use crate::hub::{
    TestHub, add, bytes, create, delete, edit, hub, ids, json, link, notes, path, reading, request,
    text, until, window,
};

const CHANGES: &str = "/collections/notes/changes";

async fn since(hub: &TestHub, text: &str) -> (Vec<String>, (String, String)) {
    let reading = hub.feed(&format!("{CHANGES}?since={text}")).await;
    (ids(&reading).into_iter().map(str::to_owned).collect(), window(&reading))
}

#[tokio::test]
async fn changes_come_oldest_first_with_tombstones_under_a_window() {
    let hub = hub().await;
    let first = until(&hub.endpoint).await;
    for id in ["a", "b", "c"] {
        add(&hub.endpoint, id).await;
    }
    edit(&hub.endpoint, "a", "again").await;
    delete(&hub.endpoint, "b").await;
    let reading = hub.feed(CHANGES).await;
    assert_eq!(ids(&reading), ["c", "a", "b"]);
    assert!(reading.feed.items[2].winner.deleted);
    assert_eq!(window(&reading), (first, until(&hub.endpoint).await));
    let complete = reading.feed.sharing.as_ref().unwrap().complete().unwrap();
    assert_eq!(complete, "http://localhost:4287/collections/notes/complete");
}

/// A peer that supports one format only finds the complete feed in that format.
#[tokio::test]
async fn feeds_of_a_suffix_lead_to_feeds_of_the_same_suffix() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    for suffix in [".atom", ".rss", ".opml", ".json", ".xml"] {
        let reading = hub.feed(&format!("{CHANGES}{suffix}")).await;
        let named = reading.feed.sharing.as_ref().unwrap().complete().unwrap().to_owned();
        assert_eq!(named, format!("http://localhost:4287/collections/notes/complete{suffix}"));
        let complete = hub.feed(path(&named)).await;
        assert_eq!((complete.format, ids(&complete)), (reading.format, vec!["a"]));
        let listing = hub.get(&format!("/collections/notes{suffix}")).await;
        let changes = format!("http://localhost:4287{CHANGES}{suffix}");
        assert_eq!(link(&listing, CHANGES_RELATION), Some(changes));
    }
    let listing = hub.get("/collections/notes.feed.json").await;
    assert_eq!(link(&listing, CHANGES_RELATION), Some(format!("http://localhost:4287{CHANGES}")));
}

#[tokio::test]
async fn since_gives_exactly_what_changed_after_it() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let seen = until(&hub.endpoint).await;
    assert_eq!(since(&hub, &seen).await, (vec![], (seen.clone(), seen.clone())));
    add(&hub.endpoint, "b").await;
    delete(&hub.endpoint, "a").await;
    let now = until(&hub.endpoint).await;
    assert!(seen < now);
    assert_eq!(since(&hub, &seen).await, (vec!["b".into(), "a".into()], (seen, now)));
}

#[tokio::test]
async fn a_since_below_the_horizon_is_told_by_a_greater_since() {
    let hub = hub().await;
    let first = until(&hub.endpoint).await;
    add(&hub.endpoint, "a").await;
    delete(&hub.endpoint, "a").await;
    let gone = until(&hub.endpoint).await;
    add(&hub.endpoint, "b").await;
    hub.feed(CHANGES).await; // only changes that were shown are purged
    let retention = Retention { changed_before: Moment::MAX, live: false };
    assert_eq!(hub.endpoint.purge(&notes(), retention).await.unwrap(), 1);
    let (ids, (told, until)) = since(&hub, &first).await;
    assert_eq!(ids, ["b"]);
    assert!(told > first);
    assert_eq!(told, gone);
    assert!(told <= until);
    let complete = window(&hub.feed("/collections/notes/complete").await);
    assert_eq!(complete, (told, until));
}

#[tokio::test]
async fn a_since_of_a_lower_epoch_is_told_and_one_ahead_gets_nothing() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let old = until(&hub.endpoint).await;
    hub.endpoint.store().drop_collection(&notes()).await.unwrap();
    create(&hub.endpoint, "notes", feedsync_core::Format::Atom).await;
    add(&hub.endpoint, "b").await;
    let (ids, (told, now)) = since(&hub, &old).await;
    assert_eq!(ids, ["b"]);
    assert!(told > old);
    let ahead = now.replace('-', "-9").replace("-90", "-9");
    assert!(ahead > now);
    assert_eq!(since(&hub, &ahead).await, (vec![], (now.clone(), now.clone())));
}

#[tokio::test]
async fn a_since_that_is_nobodys_is_no_error_and_one_that_is_no_text_is() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let now = until(&hub.endpoint).await;
    let odd = format!("{}x", &now[..30]);
    for text in ["0", "2005-05-21T11:43:33Z", "", &odd] {
        for limit in ["", "&limit=1"] {
            let reading = hub.feed(&format!("{CHANGES}?since={text}{limit}")).await;
            let (since, until) = window(&reading);
            assert!(since <= until, "{text}: {since} {until}");
            let ahead = text > now.as_str();
            assert_eq!(ids(&reading).is_empty(), ahead, "{text}");
        }
    }
    for query in ["since=%FF", "since=%C3", "since=%", "limit=0", "limit=many", "since=1&since=2"] {
        let response = hub.get(&format!("{CHANGES}?{query}")).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{query}");
        let parameter = json(response).await["parameter"].clone();
        assert_eq!(parameter, query.split_once('=').unwrap().0, "{query}");
    }
    let long = format!("{CHANGES}?since={}", "0".repeat(1_025));
    assert_eq!(hub.get(&long).await.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_limited_answer_ends_at_its_own_until_and_the_walk_holds_everything_once() {
    walk(hub().await).await;
}

pub(crate) async fn walk(hub: TestHub) {
    for number in 0..10 {
        add(&hub.endpoint, &format!("item{number}")).await;
    }
    let whole = hub.feed(CHANGES).await;
    for suffix in ["", ".json"] {
        let mut seen = Vec::new();
        let mut last = window(&whole).0;
        let mut next = format!("{CHANGES}{suffix}?limit=3");
        loop {
            let response = hub.get(&next).await;
            assert_eq!(
                link(&response, CHANGES_RELATION).unwrap(),
                format!("http://localhost:4287{CHANGES}{suffix}")
            );
            let following = link(&response, "next");
            let body = bytes(response).await;
            if let Some(address) = &following
                && suffix.is_empty()
            {
                let markup = format!("href=\"{}\"", address.replace('&', "&amp;"));
                assert!(String::from_utf8_lossy(&body).contains(&markup), "{markup}");
            }
            let page = reading(&body);
            let (since, until) = window(&page);
            assert_eq!(since, last);
            seen.extend(ids(&page).into_iter().map(str::to_owned));
            last = until;
            match following {
                Some(address) => next = path(&address).to_owned(),
                None => break,
            }
            assert_eq!(page.feed.items.len(), 3);
        }
        assert_eq!(seen, ids(&whole));
        assert_eq!(last, window(&whole).1);
    }
}

/// AD1: the pages link to the next and the previous one, to the first and to the last, whatever `since` they
/// began with.
#[tokio::test]
async fn pages_of_changes_lead_to_each_other_both_ways() {
    let hub = hub().await;
    let mut untils = Vec::new();
    for number in 0..8 {
        add(&hub.endpoint, &format!("item{number}")).await;
        untils.push(until(&hub.endpoint).await);
    }
    edit(&hub.endpoint, "item5", "again").await;
    let numbers = |page: &feedsync_formats::Reading| -> String {
        ids(page).iter().map(|id| id.trim_start_matches("item")).collect()
    };
    for (since, forward, backward) in [
        (String::new(), vec!["012", "346", "75"], vec!["75", "467", "1234", "012"]),
        (format!("since={}&", untils[1]), vec!["234", "675"], vec!["675", "234"]),
    ] {
        let start = format!("http://localhost:4287{CHANGES}?{since}limit=3");
        let mut seen = Vec::new();
        let mut address = Some(start.clone());
        let mut last = None;
        while let Some(here) = address {
            let response = hub.get(path(&here)).await;
            assert_eq!(link(&response, "first").unwrap(), start);
            last = link(&response, "last");
            address = link(&response, "next");
            seen.push(numbers(&reading(&bytes(response).await)));
        }
        assert_eq!(seen, forward, "{since}");
        let mut back: HashSet<char> = HashSet::new();
        let mut address = last;
        while let Some(here) = address {
            let response = hub.get(path(&here)).await;
            address = link(&response, "previous");
            assert!(back.is_empty() || here != start || address.is_none(), "{here}");
            back.extend(numbers(&reading(&bytes(response).await)).chars());
        }
        assert_eq!(back, backward.concat().chars().collect(), "{since}");
    }
    let one = hub.get(&format!("{CHANGES}?since={}&limit=3", untils[6])).await;
    for relation in ["first", "previous", "next", "last"] {
        assert_eq!(link(&one, relation), None, "{relation}: all is on one page");
    }
}

#[tokio::test]
async fn a_walk_cut_off_resumes_and_misses_nothing_that_changed_meanwhile() {
    let hub = hub().await;
    for number in 0..6 {
        add(&hub.endpoint, &format!("item{number}")).await;
    }
    let first = hub.feed(&format!("{CHANGES}?limit=2")).await;
    assert_eq!(ids(&first), ["item0", "item1"]);
    edit(&hub.endpoint, "item0", "changed behind the reader").await;
    edit(&hub.endpoint, "item5", "changed before the reader").await;
    let (rest, _) = since(&hub, &window(&first).1).await;
    assert_eq!(rest, ["item2", "item3", "item4", "item0", "item5"]);
}

#[tokio::test]
async fn the_servers_own_bound_applies_to_a_greater_limit() {
    let hub = hub().await;
    for number in 0..1_001 {
        add(&hub.endpoint, &format!("item{number}")).await;
    }
    let response = hub.get(&format!("{CHANGES}?limit=100000000000000000000")).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    let response = hub.get(&format!("{CHANGES}?limit=5000")).await;
    assert!(link(&response, "next").is_some());
    assert_eq!(reading(&bytes(response).await).feed.items.len(), 1_000);
    assert_eq!(hub.feed(CHANGES).await.feed.items.len(), 1_001);
}

#[tokio::test]
async fn sent_feed_parses_back_to_the_stored_items() {
    let hub = hub().await;
    let item = add(&hub.endpoint, "a").await;
    for feed in ["changes", "complete"] {
        for suffix in ["", ".rss", ".json", ".opml", ".xml"] {
            let reading = hub.feed(&format!("/collections/notes/{feed}{suffix}")).await;
            assert_eq!(reading.feed.items, std::slice::from_ref(&item), "{feed}{suffix}");
        }
    }
}

#[tokio::test]
async fn only_completely_sent_feeds_are_recorded_as_shown() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let sent = || async { hub.endpoint.collection(&notes()).await.unwrap().sent.get() };
    drop(hub.get(CHANGES).await);
    hub.call(Method::HEAD, CHANGES, &[]).await;
    assert_eq!(sent().await, 0);
    hub.feed(CHANGES).await;
    assert_eq!(sent().await, 1);
    add(&hub.endpoint, "b").await;
    add(&hub.endpoint, "c").await;
    let now = until(&hub.endpoint).await;
    let behind_a_gap = format!("{}2", &now[..now.len() - 1]);
    since(&hub, &behind_a_gap).await;
    assert_eq!(sent().await, 1, "nobody has been shown the second change");
    hub.feed(&format!("{CHANGES}?limit=2")).await;
    assert_eq!(sent().await, 2);
    hub.feed("/collections/notes/complete").await;
    assert_eq!(sent().await, 3);
}

#[tokio::test]
async fn the_complete_feed_holds_all_items_by_id_once() {
    complete(hub().await).await;
}

pub(crate) async fn complete(hub: TestHub) {
    for number in (0..1_200).rev() {
        add(&hub.endpoint, &format!("item{number:04}")).await;
    }
    delete(&hub.endpoint, "item0007").await;
    let reading = hub.feed("/collections/notes/complete").await;
    let expected: Vec<_> = (0..1_200).map(|number| format!("item{number:04}")).collect();
    assert_eq!(ids(&reading), expected);
    assert!(reading.feed.items[7].winner.deleted);
    let collection = hub.endpoint.collection(&notes()).await.unwrap();
    let since = collection.until(collection.horizon).to_string();
    assert_eq!(window(&reading), (since, until(&hub.endpoint).await));
}

#[tokio::test]
async fn a_renamed_collection_is_the_same_feed_at_another_address() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let before = String::from_utf8(bytes(hub.get(CHANGES).await).await.to_vec()).unwrap();
    let name = Some(feedsync_store::CollectionName::new("diary").unwrap());
    let change = CollectionChange { name, ..Default::default() };
    hub.endpoint.store().change_collection(&notes(), change).await.unwrap();
    assert_eq!(hub.get(CHANGES).await.status(), StatusCode::NOT_FOUND);
    let after = bytes(hub.get("/collections/diary/changes").await).await;
    assert_eq!(before.replace("/notes/", "/diary/"), String::from_utf8(after.to_vec()).unwrap());
    // A client that follows a redirect would repeat a write as a GET.
    for (method, path, kind) in [
        (Method::POST, "/collections/notes", "application/atom+xml;type=entry"),
        (Method::POST, CHANGES, "application/atom+xml"),
        (Method::PUT, "/collections/notes/items/a", "application/atom+xml;type=entry"),
        (Method::DELETE, "/collections/notes/items/a", ""),
        (Method::DELETE, "/collections/notes", ""),
    ] {
        let headers = [("content-type", kind)];
        let gone = hub.send(request(method.clone(), path, &headers, "<entry/>".into())).await;
        assert_eq!(gone.status(), StatusCode::NOT_FOUND, "{method} {path}");
        assert_eq!(text(&gone, "location"), "", "{method} {path}");
    }
}

#[tokio::test]
async fn feed_without_since_begins_where_the_settings_say() {
    let hub = hub().await;
    let mut untils = vec![until(&hub.endpoint).await];
    for id in ["a", "b", "c", "d"] {
        add(&hub.endpoint, id).await;
        untils.push(until(&hub.endpoint).await);
    }
    let before = text(&hub.get(CHANGES).await, "etag").to_owned();
    crate::service::set(&hub, "notes", &[("partial", r#"{"count":2}"#)]).await;
    let partial = hub.feed(CHANGES).await;
    assert_eq!(ids(&partial), ["c", "d"]);
    assert_eq!(window(&partial), (untils[2].clone(), untils[4].clone()));
    assert!(partial.feed.sharing.as_ref().unwrap().complete().is_some());
    assert_ne!(text(&hub.get(CHANGES).await, "etag"), before);
    // A larger request gets more changes, and the complete feed has all.
    assert_eq!(since(&hub, &untils[1]).await.0, ["b", "c", "d"]);
    assert_eq!(since(&hub, "").await.0, ["a", "b", "c", "d"]);
    let complete = hub.feed("/collections/notes/complete").await;
    assert_eq!(
        (ids(&complete), window(&complete).0),
        (vec!["a", "b", "c", "d"], untils[0].clone())
    );
    // Pages link through the same feed, in both directions.
    let first = hub.get(&format!("{CHANGES}?limit=1")).await;
    let next = link(&first, "next").unwrap();
    assert_eq!(ids(&reading(&bytes(first).await)), ["c"]);
    let second = hub.get(path(&next)).await;
    assert_eq!(link(&second, "next"), None);
    for relation in ["first", "previous"] {
        let page = hub.get(path(&link(&second, relation).unwrap())).await;
        assert_eq!(link(&page, "previous"), None, "{relation}");
        assert_eq!(ids(&reading(&bytes(page).await)), ["c"], "{relation}");
    }
    // An edit changes the window.
    edit(&hub.endpoint, "a", "again").await;
    let moved = hub.feed(CHANGES).await;
    assert_eq!((ids(&moved), window(&moved).0), (vec!["d", "a"], untils[3].clone()));
    crate::service::set(&hub, "notes", &[("partial", r#"{"age":"36500d"}"#)]).await;
    assert_eq!(ids(&hub.feed(CHANGES).await), ["b", "c", "d", "a"]);
}

#[tokio::test]
async fn a_feed_tells_when_to_ask_again_if_its_collection_is_set_to() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let expires = async |path: &str| hub.feed(path).await.feed.sharing.unwrap().expires;
    let feeds = ["/collections/notes/changes", "/collections/notes/complete"];
    for feed in feeds {
        assert_eq!(expires(feed).await, None);
    }
    crate::service::set(&hub, "notes", &[("expires", "\"1d\"")]).await;
    for feed in feeds {
        let now = hub.endpoint.environment().now().timestamp().unwrap().unix_seconds();
        let told = expires(feed).await.unwrap().unix_seconds();
        assert!((86_400..86_400 + 2 * 5_400).contains(&(told - now)), "{feed} {told} {now}");
        let [one, other] = [hub.get(feed).await, hub.get(feed).await];
        assert_eq!(text(&one, "etag"), text(&other, "etag"));
        assert_eq!(bytes(one).await, bytes(other).await);
    }
    assert_eq!(expires("/collections/notes").await, None);
    crate::service::set(&hub, "notes", &[("expires", "\"1s\"")]).await;
    let [one, other] = [hub.get(feeds[0]).await, hub.get(feeds[0]).await];
    assert_ne!(text(&one, "etag"), text(&other, "etag"), "another time is another answer");
}
