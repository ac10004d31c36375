//! Submitted feeds: accepted, refused and unchanged items.

use std::io::Write as _;

use axum::body::{Body, Bytes};
use feedsync_core::{Format, Item, Payload};
use feedsync_endpoint::Endpoint;
use feedsync_formats::media_type;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream;
use http::{Method, StatusCode};
use serde_json::json;

use crate::hub::{
    TestHub, add, create, delete, edit, feed, hub, json, notes, request, text, until,
};

const CHANGES: &str = "/collections/notes/changes";
const ATOM: &str = "application/atom+xml";

async fn client() -> Endpoint {
    let endpoint = crate::hub::endpoint("client");
    create(&endpoint, "notes", Format::Atom).await;
    endpoint
}

async fn items(client: &Endpoint, count: usize) -> Vec<Item<Payload>> {
    let mut items = Vec::new();
    for number in 0..count {
        items.push(add(client, &format!("item{number}")).await);
    }
    items
}

pub(crate) fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

async fn stored(hub: &TestHub) -> u64 {
    hub.endpoint.collection(&notes()).await.unwrap().live
}

#[tokio::test]
async fn an_offer_is_incorporated_and_reported_item_by_item() {
    let (hub, client) = (hub().await, client().await);
    let mut offered = items(&client, 2).await;
    let before = until(&hub.endpoint).await;
    let answer = json(hub.post(ATOM, feed(Format::Atom, &offered)).await).await;
    let after = until(&hub.endpoint).await;
    assert_eq!(
        answer,
        json!({
            "since": before,
            "until": after,
            "counts": {"added": 2, "unchanged": 0, "updated": 0, "conflict": 0, "refused": 0},
            "plain": 0,
            "items": [
                {"id": "item0", "outcome": "added"},
                {"id": "item1", "outcome": "added"},
            ],
        })
    );
    // Versions known to both sides are unchanged, a later version updates, a concurrent one becomes
    // a conflict.
    edit(&hub.endpoint, "item0", "edited at the hub").await;
    offered[0] = edit(&client, "item0", "edited at the client").await;
    offered.push(add(&client, "item2").await);
    let since = until(&hub.endpoint).await;
    let answer = json(hub.post(ATOM, feed(Format::Atom, &offered)).await).await;
    let outcomes: Vec<_> =
        answer["items"].as_array().unwrap().iter().map(|item| item["outcome"].clone()).collect();
    assert_eq!(outcomes, ["conflict", "unchanged", "added"]);
    assert_eq!(answer["since"], since);
    assert_eq!(answer["until"], until(&hub.endpoint).await);
    delete(&client, "item1").await;
    let gone = client.item(&notes(), &"item1".parse().unwrap()).await.unwrap().item;
    let answer = json(hub.post(ATOM, feed(Format::Atom, &[gone])).await).await;
    assert_eq!(answer["counts"]["updated"], 1);
}

#[tokio::test]
async fn offering_again_changes_nothing_and_takes_no_number() {
    let (hub, client) = (hub().await, client().await);
    let body = feed(Format::Atom, &items(&client, 3).await);
    hub.post(ATOM, body.clone()).await;
    let before = until(&hub.endpoint).await;
    let answer = json(hub.post(ATOM, body).await).await;
    assert_eq!(answer["counts"]["unchanged"], 3);
    assert_eq!((&answer["since"], &answer["until"]), (&json!(before), &json!(before)));
}

#[tokio::test]
async fn posted_items_count_as_shown_if_all_earlier_ones_were() {
    let (hub, client) = (hub().await, client().await);
    let sent = || async { hub.endpoint.collection(&notes()).await.unwrap().sent.get() };
    hub.post(ATOM, feed(Format::Atom, &items(&client, 2).await)).await;
    assert_eq!(sent().await, 2);
    add(&hub.endpoint, "unseen").await;
    hub.post(ATOM, feed(Format::Atom, &[add(&client, "more").await])).await;
    assert_eq!(sent().await, 2);
}

#[tokio::test]
async fn every_format_is_taken_and_stored_as_it_came() {
    let client = client().await;
    let offered = items(&client, 2).await;
    for format in Format::ALL {
        let hub = hub().await;
        let response = hub.post(media_type(format), feed(format, &offered)).await;
        assert_eq!(response.status(), StatusCode::OK, "{format}");
        assert_eq!(json(response).await["counts"]["added"], 2, "{format}");
        let feed = hub.feed("/collections/notes/complete").await.feed;
        assert_eq!(feed.items, offered, "{format}");
    }
}

#[tokio::test]
async fn a_feed_that_comes_as_plain_xml_is_what_it_is() {
    let (hub, client) = (hub().await, client().await);
    let offered = items(&client, 1).await;
    let response = hub.post("text/xml; charset=utf-8", feed(Format::Atom, &offered)).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(hub.feed("/collections/notes/complete").await.feed.items, offered);
}

#[tokio::test]
async fn a_faulty_item_is_refused_alone() {
    let (hub, client) = (hub().await, client().await);
    let offered = items(&client, 3).await;
    let body = feed(Format::Atom, &offered).replace("id=\"item1\"", "id=\"item 1\"");
    let answer = json(hub.post(ATOM, body).await).await;
    assert_eq!(
        answer["counts"],
        json!({"added": 2, "unchanged": 0, "updated": 0, "conflict": 0, "refused": 1})
    );
    let refused = &answer["items"][2];
    assert_eq!(refused["outcome"], "refused");
    assert_eq!(refused["id"], "item 1");
    assert!(refused["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
    assert!(refused["line"].as_u64().unwrap() > 1);
    assert_eq!(stored(&hub).await, 2);
}

#[tokio::test]
async fn an_item_whose_updates_are_too_high_is_refused_alone() {
    let (hub, client) = (hub().await, client().await);
    let offered = items(&client, 2).await;
    let body = feed(Format::Atom, &offered).replacen("updates=\"1\"", "updates=\"2000000000\"", 1);
    let answer = json(hub.post(ATOM, body).await).await;
    assert_eq!(answer["items"][0]["outcome"], "refused");
    assert!(answer["items"][0]["reason"].as_str().unwrap().contains("2000000000"));
    assert_eq!(answer["items"][1]["outcome"], "added");
    let last = answer["until"].as_str().unwrap();
    let first = answer["since"].as_str().unwrap();
    assert_eq!((&last[44..], &first[44..]), ("1", "0"));
}

#[tokio::test]
async fn an_ill_formed_document_stores_nothing_and_names_the_place() {
    let (hub, client) = (hub().await, client().await);
    let whole = feed(Format::Atom, &items(&client, 3).await);
    let lines = whole.lines().count() as u64;
    let broken = whole.replace("</feed>", "</fed>");
    let response = hub.post(ATOM, broken).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert_eq!(text(&response, "content-type"), "application/problem+json");
    let problem = json(response).await;
    assert_eq!(problem["type"], "urn:feedsync:1:problem:ill-formed");
    assert!((1..=lines).contains(&problem["line"].as_u64().unwrap()), "{problem}");
    assert!(problem["column"].as_u64().unwrap() >= 1);

    let truncated = &whole[..whole.len() - 20];
    let doctype = whole.replacen("?>", "?><!DOCTYPE feed [<!ENTITY a \"b\">]>", 1);
    let deep = format!("<feed xmlns=\"http://www.w3.org/2005/Atom\">{}", "<a>".repeat(10_000));
    for body in [truncated, "", "{", "not a feed", &doctype, &deep, "<a/>", "\u{0}"] {
        let response = hub.post(ATOM, body.to_owned()).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{:.40}", body);
    }
    let bytes = [whole.as_bytes(), &[0xff]].concat();
    assert_eq!(hub.post(ATOM, bytes).await.status(), StatusCode::BAD_REQUEST);
    for body in ["", "[]", "{\"items\":", "{\"items\":5}", "{\u{201c}items\u{201d}:[]}"] {
        let response = hub.post("application/json", body.to_owned()).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{body}");
    }
    assert_eq!(stored(&hub).await, 0);
}

#[tokio::test]
async fn another_type_than_a_documents_is_not_taken() {
    let (hub, client) = (hub().await, client().await);
    let body = feed(Format::Atom, &items(&client, 1).await);
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "a"] {
        let response = hub.post(kind, body.clone()).await;
        assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{kind}");
        assert!(text(&response, "accept").contains(ATOM));
    }
    let nameless = request(Method::POST, CHANGES, &[], body.clone().into());
    assert_eq!(hub.send(nameless).await.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let options = hub.call(Method::OPTIONS, CHANGES, &[]).await;
    assert!(text(&options, "accept-post").contains(ATOM));
    let response = hub.post("application/rss+xml", body).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST, "the type and the root differ");
    assert_eq!(stored(&hub).await, 0);
}

#[tokio::test]
async fn a_packed_offer_is_unpacked_and_another_coding_is_refused() {
    let (hub, client) = (hub().await, client().await);
    let body = feed(Format::Atom, &items(&client, 5).await);
    let headers = |coding| [("content-type", ATOM), ("content-encoding", coding)];
    let gzip = request(Method::POST, CHANGES, &headers("gzip"), packed(body.as_bytes()).into());
    assert_eq!(json(hub.send(gzip).await).await["counts"]["added"], 5);
    for coding in ["br", "deflate", "gzip, gzip", "aes128gcm"] {
        let other = request(Method::POST, CHANGES, &headers(coding), body.clone().into());
        let response = hub.send(other).await;
        assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{coding}");
        assert_eq!(text(&response, "accept-encoding"), "gzip");
    }
    let whole = packed(body.as_bytes());
    let cut = whole[..whole.len() / 2].to_vec();
    let cut = request(Method::POST, CHANGES, &headers("gzip"), cut.into());
    assert_eq!(hub.send(cut).await.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_decompression_bomb_is_refused() {
    let hub = hub().await;
    let headers = [("content-type", ATOM), ("content-encoding", "gzip")];
    for size in [4 << 20, 64 << 20] {
        let bomb = request(Method::POST, CHANGES, &headers, packed(&vec![b' '; size]).into());
        assert_eq!(hub.send(bomb).await.status(), StatusCode::PAYLOAD_TOO_LARGE);
    }
}

#[tokio::test]
async fn eight_mebibytes_are_taken_and_one_byte_more_is_not() {
    let (hub, client) = (hub().await, client().await);
    let mut body = feed(Format::Atom, &items(&client, 1).await);
    body.push_str(&" ".repeat((8 << 20) - body.len()));
    assert_eq!(body.len(), 8 << 20);
    assert_eq!(hub.post(ATOM, body.clone()).await.status(), StatusCode::OK);
    body.push(' ');
    let response = hub.post(ATOM, body.clone()).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    // Without a declared length the limit is found while reading.
    let parts: Vec<_> = body
        .as_bytes()
        .chunks(1 << 16)
        .map(|part| Ok::<_, std::io::Error>(Bytes::copy_from_slice(part)))
        .collect();
    let response = hub.post(ATOM, Body::from_stream(stream::iter(parts))).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn a_thousand_items_are_taken_and_one_more_is_not() {
    let (hub, client) = (hub().await, client().await);
    let mut offered = items(&client, 1_001).await;
    let response = hub.post(ATOM, feed(Format::Atom, &offered)).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(stored(&hub).await, 0);
    offered.pop();
    let response = hub.post(ATOM, feed(Format::Atom, &offered)).await;
    assert_eq!(json(response).await["counts"]["added"], 1_000);
}

#[tokio::test]
async fn items_without_sync_take_no_part() {
    let hub = hub().await;
    let plain = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x:f</id><title>t</title>\
                 <updated>2026-11-20T10:00:00Z</updated><entry><id>urn:x:1</id><title>p</title>\
                 <updated>2026-11-20T10:00:00Z</updated></entry></feed>";
    let answer = json(hub.post(ATOM, plain).await).await;
    assert_eq!((&answer["plain"], &answer["items"]), (&json!(1), &json!([])));
    assert_eq!(stored(&hub).await, 0);
}

#[tokio::test]
async fn a_body_that_breaks_off_stores_nothing() {
    let (hub, client) = (hub().await, client().await);
    let body = feed(Format::Atom, &items(&client, 1).await);
    let parts = [Ok(Bytes::from(body)), Err(std::io::Error::other("the connection broke"))];
    let response = hub.post(ATOM, Body::from_stream(stream::iter(parts))).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert_eq!(stored(&hub).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_in_time_is_given_up() {
    let hub = hub().await;
    let response =
        hub.post(ATOM, Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>())).await;
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
    // One byte at a time, with short pauses: the total time is limited too.
    let drip = stream::unfold((), |()| async {
        tokio::time::sleep(std::time::Duration::from_secs(10)).await;
        Some((Ok::<_, std::io::Error>(Bytes::from_static(b" ")), ()))
    });
    let response = hub.post(ATOM, Body::from_stream(drip)).await;
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
}
