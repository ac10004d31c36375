//! The complete feed in parts.

use feedsync_endpoint::Retention;
use feedsync_store::Moment;
use http::StatusCode;

use crate::hub::{
    TestHub, add, bytes, create, delete, edit, hub, ids, json, link, notes, path, reading, until,
    window,
};

const COMPLETE: &str = "/collections/notes/complete";

/// Reads the parts from an address on, with an action after the first. Returns the ids of each, and their
/// windows.
async fn walk(
    hub: &TestHub,
    start: &str,
    after_the_first: impl AsyncFnOnce(),
) -> (Vec<Vec<String>>, Vec<(String, String)>) {
    let (mut parts, mut windows) = (Vec::new(), Vec::new());
    let mut next = Some(start.to_owned());
    let mut between = Some(after_the_first);
    while let Some(address) = next {
        let response = hub.get(&address).await;
        assert_eq!(response.status(), StatusCode::OK, "{address}");
        next = link(&response, "next").map(|address| path(&address).to_owned());
        let part = reading(&bytes(response).await);
        parts.push(ids(&part).into_iter().map(str::to_owned).collect());
        windows.push(window(&part));
        if let Some(between) = between.take() {
            between().await;
        }
    }
    (parts, windows)
}

#[tokio::test]
async fn the_parts_hold_everything_once_by_id_each_under_the_whole_window() {
    parts(hub().await).await;
}

pub(crate) async fn parts(hub: TestHub) {
    // Every character that the grammar allows and an address does not.
    let names = ["a", "a%20b", "a&limit=1", "a+b", "a,b", "a/b?c#d", "a;b", "b", "c"];
    let names = names.into_iter().filter(|name| feedsync_core::ItemId::new(name).is_ok());
    let mut expected: Vec<String> = names.map(str::to_owned).collect();
    expected.push("z".repeat(1_024));
    expected.sort();
    for id in expected.iter().rev() {
        add(&hub.endpoint, id).await;
    }
    delete(&hub.endpoint, "b").await;
    let whole = window(&hub.feed(COMPLETE).await);
    for (suffix, limit) in [("", 1), (".json", 2), (".rss", 4), ("", expected.len())] {
        let start = format!("{COMPLETE}{suffix}?limit={limit}");
        let (parts, windows) = walk(&hub, &start, async || {}).await;
        assert_eq!(parts.concat(), expected, "{start}");
        assert_eq!(parts.len(), expected.len().div_ceil(limit), "{start}");
        assert!(parts[..parts.len() - 1].iter().all(|part| part.len() == limit), "{start}");
        assert!(windows.iter().all(|window| *window == whole), "{start}");
    }
}

/// AD1: the parts link to the next and the previous one, to the first and to the last; only the whole feed
/// declares that it is complete.
#[tokio::test]
async fn parts_lead_to_each_other_both_ways_with_a_first_and_a_last() {
    let hub = hub().await;
    for number in 0..7 {
        add(&hub.endpoint, &format!("item{number}")).await;
    }
    let whole = hub.get(COMPLETE).await;
    for relation in ["first", "previous", "next", "last"] {
        assert_eq!(link(&whole, relation), None, "{relation}: all is in one document");
    }
    let document = |body: axum::body::Bytes| String::from_utf8(body.to_vec()).unwrap();
    assert_eq!(document(bytes(whole).await).matches("<fh:complete ").count(), 1);
    for suffix in ["", ".rss"] {
        let base = format!("http://localhost:4287{COMPLETE}{suffix}?limit=3");
        let walk = async |from: String, relation: &str| {
            let (mut seen, mut address) = (Vec::new(), Some(from));
            while let Some(here) = address {
                let response = hub.get(path(&here)).await;
                assert_eq!(link(&response, "first").unwrap(), base);
                let last = link(&response, "last").unwrap();
                assert!(!last.contains("until"), "who jumps there was not shown the rest: {last}");
                address = link(&response, relation);
                let body = bytes(response).await;
                seen.push(ids(&reading(&body)).join(" "));
                let body = document(body);
                assert!(!body.contains("fh:complete"), "{body}");
                for relation in ["first", "last"] {
                    assert!(body.contains(&format!("rel=\"{relation}\"")), "{body}");
                }
            }
            seen
        };
        let forward = ["item0 item1 item2", "item3 item4 item5", "item6"];
        assert_eq!(walk(base.clone(), "next").await, forward);
        let last = link(&hub.get(path(&base)).await, "last").unwrap();
        let backward = ["item4 item5 item6", "item1 item2 item3", "item0 item1 item2"];
        assert_eq!(walk(last.clone(), "previous").await, backward);
        assert_eq!(walk(last, "next").await, ["item4 item5 item6"]);
    }
    let one = hub.get(&format!("{COMPLETE}?limit=7")).await;
    assert_eq!(link(&one, "last"), None);
    assert!(document(bytes(one).await).contains("<fh:complete "));
}

#[tokio::test]
async fn a_part_names_the_next_in_a_header_and_in_the_document() {
    let hub = hub().await;
    for id in ["a%20b", "c"] {
        add(&hub.endpoint, id).await;
    }
    let until = until(&hub.endpoint).await;
    let query = format!("?limit=1&after=a%2520b&until={until}");
    for suffix in ["", ".rss"] {
        let response = hub.get(&format!("{COMPLETE}{suffix}?limit=1")).await;
        let next = link(&response, "next").unwrap();
        assert_eq!(next, format!("http://localhost:4287{COMPLETE}{suffix}{query}"));
        let body = String::from_utf8(bytes(response).await.to_vec()).unwrap();
        let markup = format!("href=\"{}\"", next.replace('&', "&amp;"));
        assert!(body.contains(&markup), "{body}");
        let last = hub.get(path(&next)).await;
        assert_eq!(link(&last, "next"), None);
        assert_eq!(ids(&reading(&bytes(last).await)), ["c"]);
    }
}

#[tokio::test]
async fn changes_during_a_walk_are_in_a_later_part_or_after_the_first_until() {
    let hub = hub().await;
    for id in ["b", "d", "f", "h"] {
        add(&hub.endpoint, id).await;
    }
    let (parts, windows) = walk(&hub, &format!("{COMPLETE}?limit=2"), async || {
        edit(&hub.endpoint, "b", "changed behind the reader").await;
        edit(&hub.endpoint, "h", "changed before the reader").await;
        delete(&hub.endpoint, "f").await;
        add(&hub.endpoint, "a").await;
        add(&hub.endpoint, "g").await;
    })
    .await;
    assert_eq!(parts.concat(), ["b", "d", "f", "g", "h"]);
    assert!(windows[0].1 < windows[1].1);
    let rest = hub.feed(&format!("/collections/notes/changes?since={}", windows[0].1)).await;
    assert_eq!(ids(&rest), ["b", "h", "f", "a", "g"]);
}

#[tokio::test]
async fn purges_during_a_walk_show_in_the_changes_after_it() {
    let hub = hub().await;
    for id in ["a", "b", "c"] {
        add(&hub.endpoint, id).await;
    }
    let (parts, windows) = walk(&hub, &format!("{COMPLETE}?limit=2"), async || {
        delete(&hub.endpoint, "a").await;
        hub.feed("/collections/notes/changes").await; // only changes that were shown are purged
        let retention = Retention { changed_before: Moment::MAX, live: false };
        assert_eq!(hub.endpoint.purge(&notes(), retention).await.unwrap(), 1);
    })
    .await;
    assert_eq!(parts.concat(), ["a", "b", "c"]);
    let until = &windows[0].1;
    let rest = hub.feed(&format!("/collections/notes/changes?since={until}")).await;
    assert!(window(&rest).0 > *until);
}

#[tokio::test]
async fn a_walk_ends_when_the_collection_begins_anew() {
    let hub = hub().await;
    for id in ["a", "b"] {
        add(&hub.endpoint, id).await;
    }
    let response = hub.get(&format!("{COMPLETE}?limit=1")).await;
    let next = link(&response, "next").unwrap();
    hub.endpoint.store().drop_collection(&notes()).await.unwrap();
    create(&hub.endpoint, "notes", feedsync_core::Format::Atom).await;
    let response = hub.get(path(&next)).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert_eq!(json(response).await["parameter"], "until");
}

#[tokio::test]
async fn a_walk_is_recorded_as_shown_once_its_last_part_was_sent() {
    let hub = hub().await;
    for id in ["a", "b", "c"] {
        add(&hub.endpoint, id).await;
    }
    let sent = async || hub.endpoint.collection(&notes()).await.unwrap().sent.get();
    hub.feed(&format!("{COMPLETE}?limit=2&after=a")).await;
    assert_eq!(sent().await, 0, "nobody has been shown the first item");
    walk(&hub, &format!("{COMPLETE}?limit=2"), async || {
        assert_eq!(sent().await, 0);
        add(&hub.endpoint, "0").await;
    })
    .await;
    assert_eq!(sent().await, 3, "what came behind the reader was not shown");
}

#[tokio::test]
async fn the_servers_own_bounds_apply_to_a_part_and_not_to_the_whole() {
    let hub = hub().await;
    for number in 0..1_001 {
        add(&hub.endpoint, &format!("item{number:04}")).await;
    }
    let (parts, _) = walk(&hub, &format!("{COMPLETE}?limit=5000"), async || {}).await;
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [1_000, 1]);
    assert_eq!(hub.feed(COMPLETE).await.feed.items.len(), 1_001);
    let large = "x".repeat(3 << 20);
    for id in ["item0000", "item0001", "item0002"] {
        edit(&hub.endpoint, id, &large).await;
    }
    let part = hub.get(&format!("{COMPLETE}?limit=1000")).await;
    let next = link(&part, "next").unwrap();
    assert!(next.contains("&after=item0000&"), "each is 6 MiB, with its title and its content");
}

#[tokio::test]
async fn a_malformed_place_or_limit_is_named() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let long = format!("after={}", "x".repeat(1_025));
    for query in [
        "limit=0",
        "limit=",
        "limit=many",
        "limit=1&limit=1",
        "after=",
        "after=a%20b",
        "after=%FF",
        "after=a&after=b",
        &long,
        "until=0",
    ] {
        for start in ["", "limit=5&"] {
            if start.starts_with("limit") && query.starts_with("limit") {
                continue;
            }
            let response = hub.get(&format!("{COMPLETE}?{start}{query}")).await;
            assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{query}");
            let parameter = json(response).await["parameter"].clone();
            assert_eq!(parameter, query.split_once('=').unwrap().0, "{query}");
        }
    }
    for query in ["after=zzz&limit=1", "after=nobodys", "after=a&limit=1"] {
        let reading = hub.feed(&format!("{COMPLETE}?{query}")).await;
        assert_eq!(ids(&reading), Vec::<&str>::new(), "{query}");
    }
}
