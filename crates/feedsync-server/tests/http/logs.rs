//! Logs: creation, appending, reading, compaction, snapshots and events (REST-logging).

mod access;
mod appending;
mod compacting;
mod following;
mod hostile;
mod other_origins;
mod reading;
mod snapshots;

use axum::body::Body;
use http::{Method, Response, StatusCode};

use crate::hub::{TestHub, bytes, request, text};

pub(crate) const LOG: &str = "/logs/notes";

pub(crate) const RECORDS: &str = "application/x-ndjson";

/// Sends a request with records.
pub(crate) async fn send(
    hub: &TestHub,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Response<Body> {
    let typed = headers.iter().any(|(name, _)| *name == "content-type");
    let kind = [("content-type", RECORDS)];
    let headers = [headers, if typed { &[] } else { &kind[..] }].concat();
    hub.send(request(method, path, &headers, body.into())).await
}

/// Appends records to the log of `notes`.
pub(crate) async fn post(
    hub: &TestHub,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Response<Body> {
    send(hub, Method::POST, LOG, headers, body).await
}

/// Begins the log of `notes`; returns its tag.
pub(crate) async fn begun(hub: &TestHub, body: &'static str) -> String {
    let begun = post(hub, &[("if-none-match", "*")], body).await;
    assert_eq!(begun.status(), StatusCode::CREATED);
    text(&begun, "etag").to_owned()
}

/// Appends under the current tag; returns the new one.
pub(crate) async fn grown(hub: &TestHub, tag: &str, body: &'static str) -> String {
    let appended = post(hub, &[("if-match", tag)], body).await;
    assert_eq!(appended.status(), StatusCode::NO_CONTENT);
    text(&appended, "etag").to_owned()
}

/// Content of the log of `notes`.
pub(crate) async fn held(hub: &TestHub) -> String {
    let response = hub.get(LOG).await;
    assert_eq!(response.status(), StatusCode::OK);
    String::from_utf8(bytes(response).await.to_vec()).unwrap()
}

/// Generation in a tag.
pub(crate) fn generation(tag: &str) -> &str {
    tag.trim_matches('"').split_once('-').unwrap().0
}

/// Length of a log in its tag.
pub(crate) fn length(tag: &str) -> u64 {
    tag.trim_matches('"').split_once('-').unwrap().1.parse().unwrap()
}
