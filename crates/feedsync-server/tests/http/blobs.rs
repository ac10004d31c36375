//! Blobs match the digest in their address.

use axum::body::Body;
use feedsync_core::{Creation, Format, ItemId, Payload};
use feedsync_store::{Digest, Moment};
use http::{Method, StatusCode};

use crate::hub::{TestHub, bytes, create, hub, json, notes, request, text};

async fn put(hub: &TestHub, path: &str, headers: &[(&str, &str)], body: &[u8]) -> StatusCode {
    hub.send(request(Method::PUT, path, headers, Body::from(body.to_vec()))).await.status()
}

#[tokio::test]
async fn a_blob_is_stored_once_and_comes_back_as_it_was() {
    let hub = hub().await;
    let blob: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let path = format!("/blobs/{}", Digest::of(&blob));
    assert_eq!(hub.get(&path).await.status(), StatusCode::NOT_FOUND);
    let upload = format!("{path}?collection=notes");
    assert_eq!(
        put(&hub, &upload, &[("content-type", "image/png")], &blob).await,
        StatusCode::CREATED
    );
    assert_eq!(put(&hub, &upload, &[], &blob).await, StatusCode::NO_CONTENT);
    for address in [&path, &upload] {
        let response = hub.call(Method::GET, address, &[("accept-encoding", "gzip")]).await;
        assert_eq!(text(&response, "content-type"), "application/octet-stream");
        assert_eq!(text(&response, "content-disposition"), "attachment");
        assert_eq!(text(&response, "x-content-type-options"), "nosniff");
        assert_eq!(text(&response, "content-security-policy"), "default-src 'none'; sandbox");
        assert_eq!(text(&response, "content-encoding"), "");
        let tag = text(&response, "etag").to_owned();
        assert_eq!(bytes(response).await, blob);
        let held = hub.call(Method::GET, address, &[("if-none-match", &tag)]).await;
        assert_eq!(held.status(), StatusCode::NOT_MODIFIED);
    }
}

#[tokio::test]
async fn a_blob_is_read_whoever_names_it_and_kept_as_long_as_an_item_does() {
    let hub = hub().await;
    create(&hub.endpoint, "other", Format::Atom).await;
    let (named, unnamed) = (Digest::of(b"named"), Digest::of(b"unnamed"));
    for (digest, body) in [(named, &b"named"[..]), (unnamed, b"unnamed")] {
        let upload = format!("/blobs/{digest}?collection=notes");
        assert_eq!(put(&hub, &upload, &[], body).await, StatusCode::CREATED);
    }
    let entry = format!(
        "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x:a</id><title>a</title>\
         <updated>2026-11-20T10:00:00Z</updated><fs:blob xmlns:fs=\"urn:feedsync:1\" name=\"n\" \
         type=\"image/png\" length=\"5\" sha-256=\"{named}\"/></entry>"
    );
    let (id, payload) = (ItemId::new("a").unwrap(), Payload::from_parsed(Format::Atom, entry));
    hub.endpoint.add(&notes(), id.clone(), Creation::default(), payload).await.unwrap();
    let store = hub.endpoint.store();
    assert_eq!(store.blob_named_by(named).await.unwrap(), [(notes(), id)]);
    assert_eq!(store.blob_named_by(unnamed).await.unwrap(), []);
    let status = async |digest, query| hub.get(&format!("/blobs/{digest}{query}")).await.status();
    for digest in [named, unnamed] {
        for query in ["", "?collection=notes", "?collection=other"] {
            assert_eq!(status(digest, query).await, StatusCode::OK, "{query}");
        }
        assert_eq!(status(digest, "?collection=none").await, StatusCode::NOT_FOUND);
    }
    assert_eq!(store.sweep_blobs(Moment::MAX).await.unwrap(), 1);
    assert_eq!(status(named, "?collection=notes").await, StatusCode::OK);
    assert_eq!(status(unnamed, "?collection=notes").await, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn head_reserves_a_blob_for_a_day_and_get_changes_nothing() {
    for (method, swept) in [(Method::GET, 1), (Method::HEAD, 0)] {
        let hub = hub().await;
        let digest = hub.endpoint.store().put_blob(b"picture".to_vec()).await.unwrap();
        let clock = hub.endpoint.environment();
        for _ in 0..4_000 {
            clock.now(); // advances the clock by a second
        }
        let now = clock.now();
        let response = hub.call(method.clone(), &format!("/blobs/{digest}"), &[]).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(text(&response, "content-length"), "7");
        assert_eq!(hub.endpoint.store().sweep_blobs(now).await.unwrap(), swept, "{method}");
    }
}

#[tokio::test]
async fn a_blob_that_is_not_what_its_address_says_is_not_stored() {
    let hub = hub().await;
    let digest = Digest::of(b"what was meant");
    let upload = format!("/blobs/{digest}?collection=notes");
    let request = request(Method::PUT, &upload, &[], Body::from("what came"));
    let response = hub.send(request).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    let found = Digest::of(b"what came");
    assert!(json(response).await["detail"].as_str().unwrap().contains(&found.to_string()));
    for digest in [digest, found] {
        assert_eq!(hub.get(&format!("/blobs/{digest}")).await.status(), StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn an_upload_names_a_collection_and_is_no_form_and_not_endless() {
    let hub = hub().await;
    let path = format!("/blobs/{}", Digest::of(b"x"));
    assert_eq!(put(&hub, &path, &[], b"x").await, StatusCode::BAD_REQUEST);
    let odd = format!("{path}?collection=No");
    assert_eq!(put(&hub, &odd, &[], b"x").await, StatusCode::BAD_REQUEST);
    let none = format!("{path}?collection=none");
    assert_eq!(put(&hub, &none, &[], b"x").await, StatusCode::NOT_FOUND);
    let upload = format!("{path}?collection=notes");
    for form in ["text/plain", "multipart/form-data; boundary=x"] {
        let status = put(&hub, &upload, &[("content-type", form)], b"x").await;
        assert_eq!(status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{form}");
    }
    let packed = put(&hub, &upload, &[("content-encoding", "gzip")], b"x").await;
    assert_eq!(packed, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let large = put(&hub, &upload, &[], &vec![0; (32 << 20) + 1]).await;
    assert_eq!(large, StatusCode::PAYLOAD_TOO_LARGE);
}
