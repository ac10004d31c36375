//! JSON Feed: for listings only, which feed readers can read.

use feedsync_formats::JSON_FEED_TYPE;
use feedsync_test::json_feed::faults;
use http::{Method, StatusCode, header};
use serde_json::Value;

use crate::hub::{TestHub, add, bytes, delete, edit, hub, path, reading, text};
use crate::media::{Created, PICTURE, created, media_hub};
use crate::members::body;

const FEED: &str = "/collections/notes.feed.json";
const ORIGIN: &str = "http://localhost:4287";

async fn feed(hub: &TestHub, path: &str) -> Value {
    let response = hub.get(path).await;
    assert_eq!(
        (response.status(), text(&response, "content-type")),
        (StatusCode::OK, JSON_FEED_TYPE)
    );
    let document = String::from_utf8(bytes(response).await.to_vec()).unwrap();
    assert_eq!(faults(&document), Vec::<String>::new(), "{document}");
    serde_json::from_str(&document).unwrap()
}

#[tokio::test]
async fn a_listing_is_a_json_feed_by_its_suffix_and_by_accept() {
    let hub = hub().await;
    for id in ["a", "b", "c"] {
        add(&hub.endpoint, id).await;
    }
    edit(&hub.endpoint, "a", "newest <b>").await;
    delete(&hub.endpoint, "b").await;
    let found = feed(&hub, FEED).await;
    assert_eq!(found["title"], "The notes & more");
    assert_eq!(found["feed_url"], format!("{ORIGIN}{FEED}"));
    assert_eq!(found["home_page_url"], format!("{ORIGIN}/pages/collections/notes"));
    assert_eq!(found["authors"][0]["name"], "hub");
    assert_eq!(found["_feedsync"]["changes"], format!("{ORIGIN}/collections/notes/changes"));
    assert_eq!(found["_feedsync"]["complete"], format!("{ORIGIN}/collections/notes/complete"));
    let items = found["items"].as_array().unwrap();
    let ids: Vec<_> = items.iter().map(|item| item["_feedsync"]["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a", "c"], "live items, newest change first");
    assert_eq!(items[0]["title"], "newest <b>");
    assert_eq!(items[1]["id"], "urn:x:note-c");
    let page = items[1]["url"].as_str().unwrap();
    assert!(page.starts_with(&format!("{ORIGIN}/collections/notes/items/c/as/")), "{page}");
    assert_eq!(hub.get(path(page)).await.status(), StatusCode::SEE_OTHER);

    let accept = [("accept", "application/feed+json, application/json;q=0.9, */*;q=0.1")];
    let negotiated = hub.call(Method::GET, "/collections/notes", &accept).await;
    assert_eq!(text(&negotiated, "content-type"), JSON_FEED_TYPE);
    assert!(text(&negotiated, "vary").starts_with("Accept, "));
    assert_eq!(text(&negotiated, "content-location"), format!("{ORIGIN}{FEED}"));
    assert_eq!(body(negotiated).await, body(hub.get(FEED).await).await);
}

#[tokio::test]
async fn json_is_the_json_of_feedsync_and_feeds_that_keep_in_step_are_no_json_feeds() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    for (address, accept) in [
        ("/collections/notes.json", "*/*"),
        ("/collections/notes", "application/json"),
        ("/collections/notes/changes.json", "application/feed+json"),
    ] {
        let response = hub.call(Method::GET, address, &[("accept", accept)]).await;
        assert_eq!(text(&response, "content-type"), "application/json", "{address}");
        let reading = reading(&bytes(response).await);
        assert_eq!(reading.feed.items.len(), 1, "{address}");
    }
    for view in ["changes", "complete"] {
        let address = format!("/collections/notes/{view}");
        let accept = [("accept", JSON_FEED_TYPE)];
        let refused = hub.call(Method::GET, &address, &accept).await;
        assert_eq!(refused.status(), StatusCode::NOT_ACCEPTABLE);
        let missing = hub.get(&format!("{address}.feed.json")).await;
        assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    }
    let posted = [("content-type", JSON_FEED_TYPE)];
    let refused = hub.call(Method::POST, "/collections/notes/changes", &posted).await;
    assert_eq!(refused.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

#[tokio::test]
async fn pages_lead_on_and_belong_to_one_feed() {
    let hub = hub().await;
    for number in 0..5 {
        add(&hub.endpoint, &format!("item{number}")).await;
    }
    let (mut seen, mut next) = (Vec::new(), Some(format!("{ORIGIN}{FEED}?limit=2")));
    while let Some(address) = next {
        let page = feed(&hub, path(&address)).await;
        assert_eq!(page["feed_url"], format!("{ORIGIN}{FEED}"));
        let items = page["items"].as_array().unwrap().clone();
        seen.extend(items.into_iter().map(|item| item["_feedsync"]["id"].clone()));
        next = page["next_url"].as_str().map(str::to_owned);
        assert!(seen.len() <= 5);
    }
    assert_eq!(seen, ["item4", "item3", "item2", "item1", "item0"]);
}

#[tokio::test]
async fn one_state_is_one_text_and_is_not_sent_again() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let first = hub.get(FEED).await;
    let tag = text(&first, "etag").to_owned();
    let atom = hub.get("/collections/notes.atom").await;
    assert_ne!(text(&atom, "etag"), tag);
    assert_eq!(body(first).await, body(hub.get(FEED).await).await);
    let held = hub.call(Method::GET, FEED, &[("if-none-match", &tag)]).await;
    assert_eq!(held.status(), StatusCode::NOT_MODIFIED);
    edit(&hub.endpoint, "a", "other").await;
    let changed = hub.call(Method::GET, FEED, &[("if-none-match", &tag)]).await;
    assert_eq!(changed.status(), StatusCode::OK);
}

#[tokio::test]
async fn media_are_attached() {
    let hub = media_hub().await;
    let Created { entry, media, .. } = created(&hub, "image/png", PICTURE).await;
    let found = feed(&hub, FEED).await;
    let item = &found["items"][0];
    assert_eq!(item["content_text"], "My-Cat.png");
    assert_eq!(item["url"], format!("{ORIGIN}{entry}/as/My-Cat.png"));
    let attachment = &item["attachments"][0];
    assert_eq!(attachment["url"], format!("{ORIGIN}{media}"));
    assert_eq!(
        (&attachment["mime_type"], &attachment["title"]),
        (&"image/png".into(), &"My-Cat.png".into())
    );
    assert_eq!(attachment["size_in_bytes"], PICTURE.len());
}

#[tokio::test]
async fn a_listing_and_its_page_name_all_that_it_comes_in() {
    let hub = hub().await;
    let response = hub.get("/collections/notes.rss").await;
    let links = response.headers().get_all(header::LINK).iter();
    let links: Vec<_> = links.map(|value| value.to_str().unwrap().to_owned()).collect();
    for (suffix, kind) in [
        ("atom", "application/atom+xml"),
        ("opml", "text/x-opml"),
        ("json", "application/json"),
        ("xml", "application/xml"),
        ("feed.json", JSON_FEED_TYPE),
    ] {
        let link =
            format!("<{ORIGIN}/collections/notes.{suffix}>; rel=\"alternate\"; type=\"{kind}\"");
        assert_eq!(links.iter().filter(|other| **other == link).count(), 1, "{link} in {links:?}");
    }
    assert!(!links.iter().any(|link| link.contains("application/rss+xml")), "{links:?}");
    let atom = body(hub.get("/collections/notes").await).await;
    let page = format!("{ORIGIN}/pages/collections/notes");
    let link = format!("<link rel=\"alternate\" href=\"{page}\" type=\"text/html\"/>");
    assert_eq!(atom.matches(&link).count(), 1, "{atom}");
    let page = body(hub.get(path(&page)).await).await;
    for (kind, suffix) in [("atom+xml", "atom"), ("rss+xml", "rss"), ("feed+json", "feed.json")] {
        let start = format!("<link rel=\"alternate\" type=\"application/{kind}\"");
        let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("{start} in {page}"));
        let end = format!("href=\"/collections/notes.{suffix}\">");
        assert!(rest.split('\n').next().unwrap().ends_with(&end), "{rest}");
    }
}
