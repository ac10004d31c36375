//! The listing, as feed readers see it.

use feedsync_core::Base;
use feedsync_formats::CHANGES_RELATION;
use http::StatusCode;

use crate::hub::{
    TestHub, add, bytes, delete, edit, hub, ids, link, notes, path, payload, reading, text,
};

const LISTING: &str = "/collections/notes";

#[tokio::test]
async fn a_listing_has_live_items_newest_change_first_without_conflicts() {
    let hub = hub().await;
    let first = add(&hub.endpoint, "a").await;
    add(&hub.endpoint, "b").await;
    add(&hub.endpoint, "c").await;
    edit(&hub.endpoint, "a", "one editor").await;
    let winner = &first.winner;
    let base = Base { updates: winner.updates, noconflicts: None, history: winner.history.clone() };
    let other = feedsync_core::Edit::from(payload(feedsync_core::Format::Atom, "another editor"));
    let item = hub.endpoint.edit(&notes(), &first.id, Some(base), other).await.unwrap().item;
    assert_eq!(item.conflicts.len(), 1);
    delete(&hub.endpoint, "b").await;
    let response = hub.get(LISTING).await;
    let changes = "http://localhost:4287/collections/notes/changes";
    assert_eq!(link(&response, CHANGES_RELATION).unwrap(), changes);
    let body = bytes(response).await;
    assert!(String::from_utf8_lossy(&body).contains(&format!("rel=\"{CHANGES_RELATION}\"")));
    let reading = reading(&body);
    assert_eq!(ids(&reading), ["a", "c"]);
    assert!(reading.feed.items.iter().all(|item| item.conflicts.is_empty()));
    let sharing = reading.feed.sharing.unwrap();
    assert_eq!(sharing.window, None);
    assert_eq!(sharing.complete().unwrap(), "http://localhost:4287/collections/notes/complete");
}

#[tokio::test]
async fn pages_of_a_listing_lose_and_double_nothing_that_did_not_change() {
    let hub = hub().await;
    for number in 0..7 {
        add(&hub.endpoint, &format!("item{number}")).await;
    }
    let response = hub.get(&format!("{LISTING}?limit=3")).await;
    let next = link(&response, "next").unwrap();
    assert_eq!(ids(&reading(&bytes(response).await)), ["item6", "item5", "item4"]);
    add(&hub.endpoint, "new").await;
    edit(&hub.endpoint, "item2", "moved to the front").await;
    let response = hub.get(path(&next)).await;
    assert_eq!(link(&response, "next"), None);
    assert_eq!(ids(&reading(&bytes(response).await)), ["item3", "item1", "item0"]);
}

#[tokio::test]
async fn the_last_page_of_a_listing_has_no_next() {
    let hub = hub().await;
    for number in 0..4 {
        add(&hub.endpoint, &format!("item{number}")).await;
    }
    let mut seen = Vec::new();
    let mut next = Some(format!("{LISTING}.json?limit=2"));
    while let Some(address) = next {
        let response = hub.get(&address).await;
        next = link(&response, "next").map(|address| path(&address).to_owned());
        if let Some(address) = &next {
            assert!(address.starts_with("/collections/notes.json?before="), "{address}");
        }
        seen.extend(ids(&reading(&bytes(response).await)).into_iter().map(str::to_owned));
    }
    assert_eq!(seen, ["item3", "item2", "item1", "item0"]);
}

/// The text of each element of a name, or the value of each attribute with this beginning.
fn each<'a>(document: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
    document.split(begin).skip(1).filter_map(|rest| rest.split(end).next()).collect()
}

async fn document(hub: &TestHub, path: &str) -> String {
    String::from_utf8(bytes(hub.get(path).await).await.to_vec()).unwrap()
}

#[tokio::test]
async fn a_listing_is_a_whole_atom_feed_and_names_the_collection_that_takes_entries() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    crate::service::set(&hub, "notes", &[("accept", r#"["image/*", "text/plain"]"#)]).await;
    let address = format!("{LISTING}?limit=10");
    let response = hub.get(&address).await;
    assert_eq!(text(&response, "content-type"), "application/atom+xml");
    assert_eq!(text(&response, "accept-post"), "image/*, text/plain");
    let own = format!("http://localhost:4287{address}");
    assert_eq!(link(&response, "self").unwrap(), own);
    assert_eq!(link(&response, "service").unwrap(), "http://localhost:4287/service");
    let collection = hub.endpoint.collection(&notes()).await.unwrap();
    let edited = collection.edited.timestamp().unwrap();
    assert_eq!(text(&response, "last-modified"), feedsync_formats::http_date(edited));
    let body = String::from_utf8(bytes(response).await.to_vec()).unwrap();
    let (head, _) = body.split_once("<entry").unwrap();
    for part in [
        format!("<id>{}</id>", collection.feed_id),
        "<title>The notes &amp; more</title>".to_owned(),
        format!("<updated>{edited}</updated>"),
        "<author fs:stand-in=\"true\"><name>hub</name></author>".to_owned(),
        format!("<link rel=\"self\" href=\"{own}\"/>"),
        "<link rel=\"service\" href=\"http://localhost:4287/service\" \
         type=\"application/atomsvc+xml\"/>"
            .to_owned(),
        "<collection xmlns=\"http://www.w3.org/2007/app\" \
         xmlns:atom=\"http://www.w3.org/2005/Atom\" \
         href=\"http://localhost:4287/collections/notes\">\n\
         <atom:title>The notes &amp; more</atom:title>\n\
         <accept>image/*</accept>\n<accept>text/plain</accept>\n</collection>"
            .to_owned(),
    ] {
        assert_eq!(head.matches(&part).count(), 1, "{part} in {head}");
    }
    assert!(collection.feed_id.starts_with("urn:uuid:"));
    assert_eq!(document(&hub, &address).await, body, "nothing of it is the time of the request");
}

#[tokio::test]
async fn every_relation_is_a_registered_one_or_a_uri() {
    let hub = hub().await;
    for id in ["a", "b", "c"] {
        add(&hub.endpoint, id).await;
    }
    let registered = [
        "self",
        "alternate",
        "edit",
        "edit-media",
        "first",
        "previous",
        "next",
        "last",
        "service",
        "collection",
        "enclosure",
        "related",
        "up",
        "via",
    ];
    let mut found = std::collections::BTreeSet::new();
    let listing = hub.get(&format!("{LISTING}?limit=1")).await;
    let older = path(&link(&listing, "next").unwrap()).to_owned();
    for address in [
        LISTING,
        &older,
        "/collections/notes/changes?limit=1",
        "/collections/notes/complete?limit=1",
        "/collections/notes/items/a",
    ] {
        let response = hub.get(address).await;
        assert_eq!(response.status(), StatusCode::OK, "{address}");
        let links = response.headers().get_all("link").iter();
        let mut text: String = links.map(|value| value.to_str().unwrap()).collect();
        text += str::from_utf8(&bytes(response).await).unwrap();
        for rest in text.split(" rel=\"").skip(1) {
            let relation = rest.split_once('"').unwrap().0;
            assert!(registered.contains(&relation) || relation.contains(':'), "{relation}");
            found.insert(relation.to_owned());
        }
    }
    for relation in ["self", "edit", "next", "previous", "service", CHANGES_RELATION] {
        assert!(found.contains(relation), "{relation} of {found:?}");
    }
}

#[tokio::test]
async fn every_member_of_a_listing_tells_where_it_is_edited_and_when_that_last_was() {
    let hub = hub().await;
    for id in ["a", "b+c", "d"] {
        add(&hub.endpoint, id).await;
    }
    edit(&hub.endpoint, "a", "an old one that was edited").await;
    delete(&hub.endpoint, "d").await;
    let body = document(&hub, LISTING).await;
    let members = "http://localhost:4287/collections/notes/items";
    let edits = each(&body, "<link rel=\"edit\" href=\"", "\"");
    assert_eq!(edits, [format!("{members}/a"), format!("{members}/b%2Bc")]);
    let edited = each(&body, "<app:edited xmlns:app=\"http://www.w3.org/2007/app\">", "<");
    assert_eq!(edited.len(), 2);
    assert!(edited.is_sorted_by(|newer, older| newer > older), "{edited:?}");
    assert!(edited.iter().all(|date| date.len() == 27 && date.ends_with('Z')), "{edited:?}");
    for other in [".rss", ".opml", ".json", ".xml"] {
        let body = document(&hub, &format!("{LISTING}{other}")).await;
        assert!(!body.contains("app:edited"), "{other}");
    }
}

#[tokio::test]
async fn pages_lead_to_each_other_both_ways_with_a_first_and_a_last() {
    let hub = hub().await;
    for number in 0..7 {
        add(&hub.endpoint, &format!("item{number}")).await;
    }
    delete(&hub.endpoint, "item3").await;
    let base = "http://localhost:4287/collections/notes";
    let whole = hub.get(LISTING).await;
    for relation in ["first", "previous", "next", "last"] {
        assert_eq!(link(&whole, relation), None, "all is on one page");
    }
    let walk = async |from: &str, relation: &str| {
        let (mut seen, mut address) = (Vec::new(), Some(from.to_owned()));
        let mut count = 0;
        while let Some(here) = address {
            let response = hub.get(path(&here)).await;
            assert_eq!(link(&response, "first").unwrap(), format!("{base}?limit=2"));
            assert_eq!(link(&response, "last").unwrap(), format!("{base}?after=0&limit=2"));
            address = link(&response, relation);
            let body = bytes(response).await;
            let own = format!("<link rel=\"self\" href=\"{}\"/>", here.replace('&', "&amp;"));
            assert!(String::from_utf8_lossy(&body).contains(&own), "{own}");
            seen.push(ids(&reading(&body)).join(" "));
            count += 1;
            assert!(count < 9, "{seen:?}");
        }
        seen
    };
    let first = format!("{base}?limit=2");
    assert_eq!(walk(&first, "next").await, ["item6 item5", "item4 item2", "item1 item0"]);
    assert_eq!(walk(&first, "previous").await, ["item6 item5"]);
    let last = format!("{base}?after=0&limit=2");
    assert_eq!(walk(&last, "next").await, ["item1 item0"]);
    assert_eq!(walk(&last, "previous").await, ["item1 item0", "item4 item2", "item6 item5"]);
    let middle = format!("{base}?before=5&limit=2");
    assert_eq!(walk(&middle, "previous").await, ["item2 item1", "item5 item4", "item6 item5"]);
    let above = format!("{base}?after=2&limit=2");
    assert_eq!(walk(&above, "next").await, ["item4 item2", "item1 item0"]);
    let both = hub.get(&format!("{LISTING}?after=0&before=9")).await;
    assert_eq!(both.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_page_from_the_oldest_on_looks_at_a_bounded_number_of_tombstones() {
    let hub = hub().await;
    for number in 0..1_003 {
        let id = format!("item{number}");
        add(&hub.endpoint, &id).await;
        if number < 1_001 {
            delete(&hub.endpoint, &id).await;
        }
    }
    let response = hub.get(&format!("{LISTING}?after=0&limit=1")).await;
    let (next, previous) = (link(&response, "next"), link(&response, "previous").unwrap());
    assert_eq!((next, ids(&reading(&bytes(response).await)).len()), (None, 0));
    let response = hub.get(path(&previous)).await;
    let previous = link(&response, "previous").unwrap();
    assert_eq!(ids(&reading(&bytes(response).await)), ["item1001"]);
    assert_eq!(ids(&hub.feed(path(&previous)).await), ["item1002"]);
}

#[tokio::test]
async fn a_page_holds_a_hundred_items_if_nothing_else_is_asked() {
    let hub = hub().await;
    for number in 0..101 {
        add(&hub.endpoint, &format!("item{number}")).await;
    }
    let response = hub.get(LISTING).await;
    let next = link(&response, "next").unwrap();
    assert_eq!(link(&response, "first").unwrap(), "http://localhost:4287/collections/notes");
    assert_eq!(ids(&reading(&bytes(response).await)).len(), 100);
    assert_eq!(ids(&hub.feed(path(&next)).await), ["item0"]);
}

#[tokio::test]
async fn a_listing_as_rss_names_itself_with_its_type_and_its_items_by_guid() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let body = document(&hub, &format!("{LISTING}.rss")).await;
    let (head, item) = body.split_once("<item").unwrap();
    for part in [
        "<title>The notes &#x26; more</title>",
        "<link>http://localhost:4287/pages/collections/notes</link>",
        "<description>The notes &#x26; more</description>",
        "<atom:link rel=\"self\" href=\"http://localhost:4287/collections/notes.rss\" \
         type=\"application/rss+xml\"/>",
    ] {
        assert_eq!(head.matches(part).count(), 1, "{part} in {head}");
    }
    assert!(item.contains("<guid isPermaLink=\"false\">urn:x:note-a</guid>"), "{item}");
    assert!(item.contains("<pubDate>Fri, 20 Nov 2026 10:00:00 GMT</pubDate>"), "{item}");
    assert!(!item.contains("<atom:id"), "{item}");
}
