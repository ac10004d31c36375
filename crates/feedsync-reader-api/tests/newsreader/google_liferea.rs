//! Tests of Liferea, which deviates from the dialect of Google Reader.

use crate::support::*;
use feedsync_reader_api::google::{self, Call, Request};
use feedsync_reader_api::{FeedName, FeedNumber, Marking, Selection, Stream};
use serde_json::json;

fn call(line: &str, body: &str) -> Call {
    google::read(&asked(line, Some(FORM), body.as_bytes())).unwrap()
}

#[test]
fn liferea_asks_for_ids_and_then_for_items() {
    let ids =
        "GET /reader/api/0/stream/items/ids?s=feed%2F1&client=liferea&n=50&output=json&merge=true";
    let stream = Stream::Feed(FeedName::Number(FeedNumber::new(1)));
    assert_eq!(call(ids, "").request, Request::Ids(Selection::newest(stream, 50)));
    let body = "output=json&mediaRss=true&T=secret%2F1&i=101&i=102";
    let Call { request, token } = call("POST /reader/api/0/stream/items/contents", body);
    assert_eq!(request, Request::Items { articles: articles(&[101, 102]), by_liferea: true });
    assert_eq!(token.as_ref().map(|token| token.as_str()), Some("secret/1"));
    let body = "i=tag:google.com,2005:reader/item/0000000000000065&s=feed%2Fhttps%3A%2F%2Fa.example%2F\
                &a=user/-/state/com.google/read&ac=edit-tags&T=t&async=true";
    let marked = call("POST /reader/api/0/edit-tag?client=liferea", body);
    assert_eq!(marked.request, Request::Mark(Marking::read(articles(&[101]), true)));
    assert_eq!(marked.token.unwrap().as_str(), "t");
}

/// Liferea treats an article as read if its first category, after JSON decoding, contains this text, and as
/// starred if it is `marked`. It resets states that a response omits.
#[test]
fn liferea_learns_what_is_read_and_starred() {
    let is_read = |item: &serde_json::Value| {
        item["categories"][0].as_str().unwrap().contains("state\\/com.google\\/read")
    };
    let found = json(&google::items(&shown(), &feeds(), true));
    let told = ["items", "id", "title"].map(|member| &found[member]);
    assert_eq!(told[1..], [&json!("user/-/state/com.google/reading-list"), &json!("Articles")]);
    let items = told[0].as_array().unwrap();
    assert_eq!(items.iter().map(is_read).collect::<Vec<_>>(), [true, false]);
    assert_eq!(items.iter().map(|item| &item["marked"]).collect::<Vec<_>>(), [true, false]);

    let others = json(&google::items(&shown(), &feeds(), false));
    let listed = json(&google::contents("feed/1", "A", &shown(), &feeds(), None));
    assert_eq!(others["items"], listed["items"]);
    assert!(!listed["items"].as_array().unwrap().iter().any(is_read));
    // The first category is added to those for other clients.
    let (first, rest) = items[0]["categories"].as_array().unwrap().split_first().unwrap();
    assert_eq!(first, "user/-/state\\/com.google\\/read");
    assert_eq!(json!(rest), listed["items"][0]["categories"]);
    assert_eq!(items[1], listed["items"][1]);
}
