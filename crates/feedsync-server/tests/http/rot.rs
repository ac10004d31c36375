//! Bytes that were corrupted on the disk are never sent.

use feedsync_store::Digest;
use futures_util::StreamExt as _;
use http::{Method, Response, StatusCode};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::hub::{TestHub, hub_in, json, request, text};
use crate::media::{Created, PICTURE, created};
use crate::members::set;

/// Flips a bit in the middle of every stored body.
fn flip(directory: &TempDir, table: &str) {
    let raw = Connection::open(directory.path().join("feedsync.db")).unwrap();
    let read = format!("SELECT rowid, content FROM {table}");
    let mut statement = raw.prepare(&read).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let rows: Vec<(i64, Vec<u8>)> = rows.collect::<Result<_, _>>().unwrap();
    assert!(!rows.is_empty());
    for (row, mut content) in rows {
        let middle = content.len() / 2;
        content[middle] ^= 0x10;
        let write = format!("UPDATE {table} SET content = ?2 WHERE rowid = ?1");
        raw.execute(&write, rusqlite::params![row, content]).unwrap();
    }
}

async fn refused(response: Response<axum::body::Body>, kind: &str) -> String {
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(text(&response, "content-type"), kind);
    json(response).await.to_string()
}

async fn send(hub: &TestHub, method: Method, path: &str, kind: &str, body: &[u8]) -> StatusCode {
    let headers = [("content-type", kind)];
    hub.send(request(method, path, &headers, body.to_vec().into())).await.status()
}

#[tokio::test]
async fn damaged_media_and_files_are_errors_until_they_are_stored_again() {
    let directory = TempDir::new().unwrap();
    let hub = hub_in(directory.path()).await;
    set(&hub, r#"{"accept": ["*/*"]}"#).await;
    let Created { media, .. } = created(&hub, "image/png", PICTURE).await;
    let blob = format!("/blobs/{}?collection=notes", Digest::of(PICTURE));
    flip(&directory, "blobs");
    for path in [&media, &blob] {
        let told = refused(hub.get(path).await, "application/problem+json").await;
        assert!(told.contains("do not match their digest"), "{told}");
        let range = hub.call(Method::GET, path, &[("range", "bytes=0-1")]).await;
        refused(range, "application/problem+json").await;
    }
    assert!(send(&hub, Method::PUT, &blob, "image/png", PICTURE).await.is_success());
    assert_eq!(hub.get(&media).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_damaged_attachment_is_an_error_until_it_is_stored_again() {
    let directory = TempDir::new().unwrap();
    let hub = hub_in(directory.path()).await;
    send(&hub, Method::PUT, "/couch/db", "application/json", b"").await;
    let document = br#"{"_attachments":{"a":{"content_type":"text/plain","data":"aGVsbG8="}}}"#;
    assert!(
        send(&hub, Method::PUT, "/couch/db/x", "application/json", document).await.is_success()
    );
    flip(&directory, "attachments");
    let told = refused(hub.get("/couch/db/x/a").await, "application/json").await;
    assert!(told.contains("do not match their digest"), "{told}");
    // A response that has begun is aborted.
    let whole = hub.get("/couch/db/x?attachments=true").await;
    let pieces: Vec<_> = whole.into_body().into_data_stream().collect().await;
    assert!(pieces.iter().any(Result::is_err), "{pieces:?}");
    assert!(
        send(&hub, Method::PUT, "/couch/db/y", "application/json", document).await.is_success()
    );
    assert_eq!(hub.get("/couch/db/x/a").await.status(), StatusCode::OK);
}
