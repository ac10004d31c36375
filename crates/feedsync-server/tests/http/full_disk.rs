//! A hub whose disk is full: writes are refused with 507, deletions succeed, and the hub reports its
//! state.

use std::time::Duration;

use axum::body::Body;
use feedsync_test::small_disk::SmallDisk;
use http::{Method, Response, StatusCode};

use crate::hub::{TestHub, add, hub_in, json, request, text};

const ATOM: (&str, &str) = ("content-type", "application/atom+xml;type=entry");
const JSON: (&str, &str) = ("content-type", "application/json");
const RECORDS: (&str, &str) = ("content-type", "application/x-ndjson");

/// A request that writes: method, path, headers and body.
type Write<'a> = (Method, &'a str, &'a [(&'a str, &'a str)], &'a str);

async fn send(
    hub: &TestHub,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response<Body> {
    hub.send(request(method, path, headers, Body::from(body.to_owned()))).await
}

fn entry(title: &str) -> String {
    format!(
        "<entry xmlns='http://www.w3.org/2005/Atom'><id>urn:x:{title}</id><title>{title}</title>\
         <updated>2026-11-20T10:00:00Z</updated><author><name>a</name></author>\
         <content>{}</content></entry>",
        "x".repeat(20_000)
    )
}

#[tokio::test]
async fn every_route_that_writes_answers_507_on_a_full_disk_and_deletions_are_done() {
    let Some(disk) = SmallDisk::mount(48) else { return };
    let hub = hub_in(disk.path()).await;
    for id in ["a", "b", "c"] {
        add(&hub.endpoint, id).await;
    }
    let begun =
        send(&hub, Method::POST, "/logs/notes", &[RECORDS, ("if-none-match", "*")], "{}\n").await;
    assert_eq!(begun.status(), StatusCode::CREATED);
    assert!(send(&hub, Method::PUT, "/couch/db", &[], "").await.status().is_success());
    let kept = send(&hub, Method::PUT, "/couch/db/kept", &[JSON], "{}").await;
    let kept = json(kept).await["rev"].as_str().unwrap().to_owned();
    assert_eq!(hub.get("/healthz").await.status(), StatusCode::OK);
    disk.fill();
    for number in 0.. {
        let title = format!("note-{number}");
        let answer = send(&hub, Method::POST, "/collections/notes", &[ATOM], &entry(&title)).await;
        if answer.status() != StatusCode::CREATED {
            assert_eq!(answer.status(), StatusCode::INSUFFICIENT_STORAGE);
            break;
        }
        disk.fill();
    }
    let health = hub.get("/healthz").await;
    assert_eq!(health.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(json(health).await["detail"].as_str().unwrap().contains("the disk of the hub is full"));

    let offered = crate::hub::feed(feedsync_core::Format::Atom, &[add_elsewhere().await]);
    let blob = format!("/blobs/{}?collection=notes", feedsync_store::Digest::of(b"test"));
    let (atom_feed, png) =
        ([("content-type", "application/atom+xml")], [("content-type", "image/png")]);
    let all = entry("another");
    let edited = all.replace("<id>urn:x:another</id>", "");
    let writes: [Write<'_>; 9] = [
        (Method::POST, "/collections/notes", &[ATOM], &all),
        (Method::PUT, "/collections/notes/items/a", &[ATOM], &edited),
        (Method::POST, "/collections/notes/changes", &atom_feed, &offered),
        (Method::PUT, "/collections/books", &[JSON], "{\"title\":\"Books\",\"format\":\"atom\"}"),
        (Method::PUT, &blob, &png, "test"),
        (Method::POST, "/logs/notes", &[RECORDS, ("if-match", "*")], "{\"a\":1}\n"),
        (Method::PUT, "/couch/other", &[], ""),
        (Method::PUT, "/couch/db/new", &[JSON], "{\"a\":1}"),
        (Method::POST, "/couch/db/_bulk_docs", &[JSON], "{\"docs\":[{\"_id\":\"x\"}]}"),
    ];
    for (method, path, headers, body) in writes {
        let answer = send(&hub, method.clone(), path, headers, body).await;
        assert_eq!(answer.status(), StatusCode::INSUFFICIENT_STORAGE, "{method} {path}");
        let is_couch = path.starts_with("/couch");
        let kind = if is_couch { "application/json" } else { "application/problem+json" };
        assert_eq!(text(&answer, "content-type"), kind, "{method} {path}");
        let said = json(answer).await;
        let detail = if is_couch { &said["reason"] } else { &said["detail"] };
        assert!(detail.as_str().unwrap().contains("the disk of the hub is full"), "{path}: {said}");
    }
    // Reads and deletions succeed.
    for path in
        ["/collections/notes", "/collections/notes/changes", "/logs/notes", "/couch/db/kept"]
    {
        assert_eq!(hub.get(path).await.status(), StatusCode::OK, "{path}");
    }
    for path in ["/collections/notes/items/a", &format!("/couch/db/kept?rev={kept}"), "/couch/db"] {
        let gone = send(&hub, Method::DELETE, path, &[], "").await;
        assert!(gone.status().is_success(), "{path}: {}", gone.status());
    }
    let gone = send(&hub, Method::DELETE, "/logs/notes", &[("if-match", "*")], "").await;
    assert!(gone.status().is_success(), "{}", gone.status());
    let gone = send(&hub, Method::DELETE, "/collections/notes", &[], "").await;
    assert!(gone.status().is_success(), "{}", gone.status());

    disk.empty();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(hub.get("/healthz").await.status(), StatusCode::OK);
    let made = send(
        &hub,
        Method::PUT,
        "/collections/books",
        &[JSON],
        "{\"title\":\"Books\",\"format\":\"atom\"}",
    )
    .await;
    assert_eq!(made.status(), StatusCode::CREATED);
}

/// An item of another endpoint.
async fn add_elsewhere() -> feedsync_core::Item<feedsync_core::Payload> {
    let other = crate::hub::endpoint("other");
    crate::hub::create(&other, "notes", feedsync_core::Format::Atom).await;
    add(&other, "theirs").await
}
