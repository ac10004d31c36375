//! Details at the head of the feeds of a collection (FeedSync 2.1 rule 7).

use feedsync_core::Format;
use feedsync_formats::sse::Document;
use feedsync_formats::{FeedDetails, HeadMarkup, ReadOptions};
use http::StatusCode;
use serde_json::json;

use crate::hub::{add, bytes, hub, json, notes, reading, request, text};
use crate::members::set;

const PIECE: &str = "<m:x xmlns:m=\"urn:m\">\n\t&lt;script></m:x>";

fn details() -> FeedDetails {
    FeedDetails {
        subtitle: Some("<script>alert(1)</script> & more".to_owned()),
        rights: Some("R".to_owned()),
        author: Some("Ann".to_owned()),
        markup: Some(HeadMarkup::new(Format::Rss, [PIECE]).unwrap()),
        left_out: 0,
    }
}

/// Details that a feed of a format holds, with its markup as that of RSS.
fn found(mut details: FeedDetails) -> FeedDetails {
    if let Some(markup) = details.markup.take() {
        let pieces = markup.pieces().iter().map(String::as_str);
        details.markup = Some(HeadMarkup::new(Format::Rss, pieces).unwrap());
    }
    details
}

#[tokio::test]
async fn every_feed_of_a_collection_has_its_details_at_its_head() {
    let hub = hub().await;
    for id in ["a", "b", "c"] {
        add(&hub.endpoint, id).await;
    }
    assert!(hub.endpoint.adopt_details(&notes(), &details()).await.unwrap());
    for format in Format::ALL {
        let suffix = if format == Format::Pox { "xml" } else { format.name() };
        for path in ["", "/changes", "/complete"] {
            for query in ["", "?limit=2"] {
                let path = format!("/collections/notes{path}.{suffix}{query}");
                let response = hub.get(&path).await;
                assert_eq!(response.status(), StatusCode::OK, "{path}");
                let read = reading(&bytes(response).await);
                assert_eq!(read.format, format, "{path}");
                let expected = match format {
                    Format::Json => FeedDetails { markup: None, ..details() },
                    _ => details(),
                };
                assert_eq!(found(read.details), expected, "{path}");
            }
        }
    }
    for path in ["sse.rss", "sse.opml", "sse-complete.rss", "sse-complete.opml"] {
        let text = bytes(hub.get(&format!("/collections/notes/{path}")).await).await;
        let read = Document::read(&text, &ReadOptions::strict()).unwrap();
        assert_eq!(found(read.details().clone()), details(), "{path}");
    }
    let feed = json(hub.get("/collections/notes.feed.json").await).await;
    assert_eq!(feed["description"], json!(details().subtitle));
    assert_eq!(feed["authors"], json!([{ "name": "Ann" }]));
    let page =
        String::from_utf8(bytes(hub.get("/pages/collections/notes").await).await.to_vec()).unwrap();
    assert!(!page.contains("<script>alert") && !page.contains("urn:m"), "{page}");
}

#[tokio::test]
async fn a_change_of_details_changes_the_entity_tags_of_the_feeds() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    for path in ["notes.atom", "notes/changes.atom", "notes/complete.json", "notes/sse.rss"] {
        let path = format!("/collections/{path}");
        let mut tags = Vec::new();
        for settings in [r#"{"subtitle": "a"}"#, r#"{"subtitle": "b"}"#, "{}"] {
            set(&hub, settings).await;
            let response = hub.get(&path).await;
            tags.push(text(&response, "etag").to_owned());
        }
        tags.dedup();
        assert_eq!(tags.len(), 3, "{path}");
    }
}

#[tokio::test]
async fn details_are_set_over_http_and_those_that_cannot_be_are_refused() {
    let hub = hub().await;
    let put = async |body: serde_json::Value| {
        let headers = [("content-type", "application/json")];
        let body = body.to_string().into();
        hub.send(request(http::Method::PUT, "/collections/notes", &headers, body)).await
    };
    let markup = json!({ "format": "rss", "pieces": [PIECE] });
    let response = put(json!({ "author": " Ann ", "markup": markup })).await;
    assert_eq!(response.status(), StatusCode::OK);
    let described = json(response).await;
    assert_eq!((&described["author"], &described["markup"]), (&json!("Ann"), &markup));
    let again = put(described.clone()).await;
    assert_eq!(again.status(), StatusCode::OK, "what was read can be written back");
    assert_eq!(json(again).await, described);
    for (body, said) in [
        (json!({ "author": "" }), "for the setting author: "),
        (json!({ "rights": 3 }), "must be a string"),
        (json!({ "subtitle": "x".repeat(4_097) }), "has more than 4096 bytes"),
        (
            json!({ "markup": { "format": "rss", "pieces": ["</channel>"] } }),
            "piece 1 of the markup is not exactly one",
        ),
        (
            json!({ "markup": { "format": "rss", "pieces": ["<item/>"] } }),
            "\"item\", is not allowed",
        ),
        (json!({ "markup": "<x/>" }), "for the setting markup: "),
    ] {
        let response = put(body.clone()).await;
        assert!(response.status().is_client_error(), "{body}");
        let problem = json(response).await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(said) && detail.len() < 400, "{detail}");
    }
    let settings = json(hub.get("/collections/notes/settings").await).await;
    assert_eq!(settings, described);
}
