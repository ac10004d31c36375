//! The number of large responses in memory is limited, and they do not delay small ones.

use axum::body::{Body, Bytes};
use feedsync_server::{Config, Limits};
use futures_util::StreamExt as _;
use http::{Method, Response, StatusCode};

use crate::hub::{TestHub, add, bytes, edit, hub_with, json, text, until};

const COMPLETE: &str = "/collections/notes/complete";

/// A hub with slots for two large responses, with a collection and a blob that produce large
/// responses.
async fn narrow() -> (TestHub, String) {
    let limits = Limits { answers: 2, ..Limits::default() };
    let hub = hub_with(Config { limits, ..Config::default() }).await;
    for number in 0..20 {
        let id = format!("item{number}");
        add(&hub.endpoint, &id).await;
        edit(&hub.endpoint, &id, &"long ".repeat(10_000)).await;
    }
    let digest = hub.endpoint.store().put_blob(vec![7; 100_000]).await.unwrap();
    (hub, format!("/blobs/{digest}"))
}

async fn refused(response: Response<Body>) {
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(text(&response, "retry-after"), "5");
    assert_eq!(json(response).await["type"], "urn:feedsync:1:problem:unavailable");
}

#[tokio::test]
async fn one_large_answer_too_many_is_refused_until_another_was_read_or_given_up() {
    let (hub, blob) = narrow().await;
    let large = [
        COMPLETE,
        "/collections/notes/complete.opml",
        "/collections/notes/complete?limit=20",
        "/collections/notes/changes",
        "/collections/notes/changes?limit=20",
        "/collections/notes",
        &blob,
    ];
    for first in large {
        let (one, other) = (hub.get(first).await, hub.get(COMPLETE).await);
        assert_eq!((one.status(), other.status()), (StatusCode::OK, StatusCode::OK), "{first}");
        for third in large {
            refused(hub.get(third).await).await;
        }
        assert!(bytes(one).await.len() >= 100_000, "{first}");
        let next = hub.get(first).await;
        assert_eq!(next.status(), StatusCode::OK, "{first}");
        refused(hub.get(first).await).await;
        drop(other);
        assert_eq!(hub.get(first).await.status(), StatusCode::OK, "{first}");
    }
}

#[tokio::test]
async fn a_part_that_waits_to_be_sent_keeps_its_place() {
    let (hub, blob) = narrow().await;
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(bytes_kept(hub.get(&blob).await).await);
    }
    refused(hub.get(&blob).await).await;
    held.pop();
    assert_eq!(hub.get(&blob).await.status(), StatusCode::OK);
}

/// The only part of a response whose body has ended.
async fn bytes_kept(response: Response<Body>) -> Bytes {
    let mut parts = response.into_body().into_data_stream();
    let part = parts.next().await.unwrap().unwrap();
    assert!(parts.next().await.is_none());
    part
}

#[tokio::test]
async fn small_answers_are_not_held_up_by_those_who_read_large_ones() {
    let (hub, _) = narrow().await;
    let _large = [hub.get(COMPLETE).await, hub.get(COMPLETE).await];
    let poll = format!("/collections/notes/changes?since={}", until(&hub.endpoint).await);
    let mut small = Vec::new();
    for path in [&poll, &poll.replace("changes", "changes.opml"), "/collections", "/healthz"] {
        for method in [Method::GET, Method::HEAD] {
            let response = hub.call(method, path, &[]).await;
            assert_eq!(response.status(), StatusCode::OK, "{path}");
            small.push(response);
        }
    }
    let held = hub.get(&poll).await;
    let tag = [("if-none-match", text(&held, "etag"))];
    assert_eq!(hub.call(Method::GET, &poll, &tag).await.status(), StatusCode::NOT_MODIFIED);
}
