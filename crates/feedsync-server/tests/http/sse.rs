//! A collection for peers that support only SSE 0.91: its documents are sent and received.

use feedsync_core::Format;
use feedsync_core::sse::{NAMESPACE, NAMESPACE_AS_PRINTED};
use feedsync_endpoint::Retention;
use feedsync_formats::ReadOptions;
use feedsync_formats::sse::Document;
use feedsync_store::Moment;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::hub::{
    TestHub, add, bytes, create, delete, edit, hub, json, notes, payload, request, text,
};

const RSS: &str = "application/rss+xml";

async fn document(hub: &TestHub, path: &str) -> Document {
    let response = hub.get(&format!("/collections/notes/{path}")).await;
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    let read = Document::read(&bytes(response).await, &ReadOptions::strict()).unwrap();
    assert!(read.refused().is_empty() && read.diagnostics().is_empty(), "{:?}", read.diagnostics());
    read
}

fn ids(document: &Document) -> Vec<&str> {
    document.items().map(|item| item.id.as_str()).collect()
}

async fn posted(hub: &TestHub, path: &str, kind: &str, body: String) -> Value {
    let path = format!("/collections/notes/{path}");
    let sent = hub.send(request(Method::POST, &path, &[("content-type", kind)], body.into())).await;
    assert_eq!(sent.status(), StatusCode::OK, "{path}");
    json(sent).await
}

/// One item as a peer writes it.
fn rss(namespace: &str, sync: &str, title: &str) -> String {
    format!(
        "<rss version='2.0' xmlns:sx='{namespace}'><channel><title>T</title><link>http://a/</link>\
         <description>D</description><sx:sharing version='0.91'/><item><title>{title}</title>\
         <sx:sync {sync}</sx:sync></item></channel></rss>"
    )
}

#[tokio::test]
async fn a_collection_is_read_in_both_formats_of_sse_with_its_bounds_and_what_is_related() {
    let hub = hub().await;
    for id in ["a", "b"] {
        add(&hub.endpoint, id).await;
    }
    edit(&hub.endpoint, "a", "again").await;
    delete(&hub.endpoint, "b").await;
    for (suffix, format, kind) in [("rss", Format::Rss, RSS), ("opml", Format::Opml, "text/x-opml")]
    {
        let response = hub.get(&format!("/collections/notes/sse.{suffix}")).await;
        assert!(text(&response, "content-type").starts_with(kind), "{suffix}");
        let partial = document(&hub, &format!("sse.{suffix}")).await;
        assert_eq!(partial.format(), format);
        let sharing = partial.sharing().unwrap();
        assert_eq!((sharing.version.as_str(), &sharing.since), ("0.91", &None));
        assert!(sharing.until.is_some(), "it is settled");
        let complete = format!("http://localhost:4287/collections/notes/sse-complete.{suffix}");
        assert_eq!(sharing.complete(), Some(&*complete));
        let whole = document(&hub, &format!("sse-complete.{suffix}")).await;
        assert_eq!(whole.sharing().unwrap().complete(), None);
        for read in [partial, whole] {
            let mut found = ids(&read);
            found.sort_unstable();
            assert_eq!(found, ["a", "b"], "{suffix}");
            let of = |id: &str| read.items().find(|item| item.id.as_str() == id).unwrap();
            assert_eq!((of("a").version.get(), of("a").deleted), (2, false));
            assert_eq!((of("b").version.get(), of("b").deleted), (2, true));
            assert_eq!(of("a").history.updates.len(), 1);
            assert!(of("a").payload.text().contains("again"));
        }
    }
}

#[tokio::test]
async fn a_document_that_did_not_change_is_not_sent_again_and_until_grows_with_each_change() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let path = "/collections/notes/sse.rss";
    let until = async || document(&hub, "sse.rss").await.sharing().unwrap().until.clone().unwrap();
    let first = until().await;
    let tag = text(&hub.get(path).await, "etag").to_owned();
    let again = hub.call(Method::GET, path, &[("if-none-match", &tag)]).await;
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    edit(&hub.endpoint, "a", "again").await;
    let changed = hub.call(Method::GET, path, &[("if-none-match", &tag)]).await;
    assert_eq!(changed.status(), StatusCode::OK);
    assert!(until().await.timestamp() > first.timestamp());
}

#[tokio::test]
async fn documents_of_sse_are_taken_in_both_spellings_and_at_every_address_of_feeds() {
    let hub = hub().await;
    let made = "id='i' version='1'><sx:history when='Sat, 21 May 2005 09:43:33 GMT' by='P'/>";
    let answer = posted(&hub, "sse.rss", RSS, rss(NAMESPACE, made, "Milk")).await;
    assert_eq!(answer["counts"]["added"], 1, "{answer}");
    let edited = "id='i' version='2'><sx:history when='Sun, 22 May 2005 09:43:33 GMT' by='P'>\
        <sx:update when='Sat, 21 May 2005 09:43:33 GMT' by='P'/></sx:history>";
    let answer = posted(&hub, "changes", RSS, rss(NAMESPACE_AS_PRINTED, edited, "Oat milk")).await;
    assert_eq!(answer["counts"]["updated"], 1, "{answer}");
    let answer = posted(&hub, "changes.rss", RSS, rss(NAMESPACE, edited, "Oat milk")).await;
    assert_eq!(answer["counts"]["unchanged"], 1, "{answer}");
    let read = document(&hub, "sse-complete.rss").await;
    let item = read.items().next().unwrap();
    assert_eq!((item.version.get(), item.history.updates.len(), item.conflict), (2, 1, false));
    assert!(item.payload.text().contains("Oat milk"));
    // Another endpoint had edited the first version.
    let beside = "id='i' version='2'><sx:history when='Mon, 23 May 2005 09:43:33 GMT' by='Q'>\
        <sx:update when='Sat, 21 May 2005 09:43:33 GMT' by='P'/></sx:history>";
    let answer = posted(&hub, "sse.opml", RSS, rss(NAMESPACE, beside, "Soy milk")).await;
    assert_eq!(answer["counts"]["conflict"], 1, "{answer}");
    let read = document(&hub, "sse.rss").await;
    let item = read.items().next().unwrap();
    assert!(item.conflict && item.payload.text().contains("Soy milk"));
    let kept = item.conflicts[0].payload.as_ref().unwrap();
    assert!(kept.text().contains("Oat milk"));
}

#[tokio::test]
async fn losses_are_told_and_a_faulty_item_is_refused_alone() {
    let hub = hub().await;
    let flagged =
        "id='i' version='1' conflict='true'><sx:history when='Sat, 21 May 2005 09:43:33 GMT'/>";
    let answer = posted(&hub, "sse.rss", RSS, rss(NAMESPACE, flagged, "Milk")).await;
    assert_eq!(answer["losses"][0]["id"], "i", "{answer}");
    assert!(answer["losses"][0]["lost"][0].as_str().unwrap().contains("flag"), "{answer}");
    let huge = "id='h' version='4294967296'><sx:history by='P'/>";
    let answer = posted(&hub, "sse.rss", RSS, rss(NAMESPACE, huge, "Milk")).await;
    assert_eq!((&answer["counts"]["refused"], &answer["items"][0]["id"]), (&json!(1), &json!("h")));
    let unsigned = "id='u' version='1'><sx:history/>";
    let answer = posted(&hub, "sse.rss", RSS, rss(NAMESPACE, unsigned, "Milk")).await;
    assert_eq!(answer["counts"]["refused"], 1, "{answer}");
    let read = document(&hub, "sse.rss").await;
    assert_eq!(ids(&read), ["i"]);
    let response = hub
        .send(request(
            Method::POST,
            "/collections/notes/sse.rss",
            &[("content-type", RSS)],
            "<rss".into(),
        ))
        .await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_bounded_feed_holds_whole_seconds_and_nothing_purged_is_promised() {
    let hub = hub().await;
    let settings = [("partial".to_owned(), "{\"count\":1}".to_owned())].into();
    let change =
        feedsync_store::CollectionChange { settings: Some(settings), ..Default::default() };
    hub.endpoint.store().change_collection(&notes(), change).await.unwrap();
    add(&hub.endpoint, "a").await;
    add(&hub.endpoint, "b").await;
    let read = document(&hub, "sse.rss").await;
    let sharing = read.sharing().unwrap();
    // The items that were left out changed in another second; all changes of one second are sent
    // together.
    assert_eq!(ids(&read).last(), Some(&"b"));
    let (since, until) = (sharing.since.clone().unwrap(), sharing.until.clone().unwrap());
    assert!(since.timestamp() <= until.timestamp());
    assert_eq!(ids(&document(&hub, "sse-complete.rss").await), ["a", "b"]);
    delete(&hub.endpoint, "b").await;
    let retention = Retention { changed_before: Moment::MAX, live: false };
    assert_eq!(hub.endpoint.purge(&notes(), retention).await.unwrap(), 0, "nobody knows of it");
    assert!(ids(&document(&hub, "sse.rss").await).contains(&"b"));
    assert_eq!(hub.endpoint.purge(&notes(), retention).await.unwrap(), 1);
    let read = document(&hub, "sse.rss").await;
    let purged = read.sharing().unwrap().since.clone().unwrap();
    assert!(purged.timestamp() > until.timestamp(), "who knows it up to then has to read it whole");
}

#[tokio::test]
async fn items_of_other_formats_come_back_from_peers_as_they_were() {
    let hub = hub().await;
    create(&hub.endpoint, "list", Format::Atom).await;
    let item = add(&hub.endpoint, "a").await;
    let sent = bytes(hub.get("/collections/notes/sse.rss").await).await;
    let answer = posted(&hub, "sse.rss", RSS, String::from_utf8(sent.to_vec()).unwrap()).await;
    assert_eq!(answer["counts"]["unchanged"], 1, "{answer}");
    let stored = hub.endpoint.store().item(&notes(), &item.id).await.unwrap().unwrap();
    assert_eq!(stored.item, item);
    assert_eq!(stored.item.winner.payload.format(), payload(Format::Atom, "a").format());
}
