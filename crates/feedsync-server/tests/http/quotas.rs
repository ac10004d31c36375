//! Quotas of one user: requests above them are refused, and a refusal leaves nothing.

use std::collections::BTreeSet;
use std::path::Path;

use axum::body::{Body, Bytes};
use feedsync_endpoint::{NewToken, NewUser};
use feedsync_server::{Config, Limits, router};
use feedsync_store::{AuditSelection, Digest, GrantFilter, Scope, TokenKind, UserName};
use futures_util::stream;
use http::{Method, Response, StatusCode};

use crate::hub::{TestHub, bytes, hub_in, json, request, text};
use crate::members::set;

/// A hub over a database with an administrator, `root`, and two other users; the credentials of
/// each.
pub(crate) async fn people(
    directory: &Path,
    limits: Limits,
) -> (TestHub, impl Fn(&str) -> String + use<>) {
    let mut hub = hub_in(directory).await;
    let mut secrets = Vec::new();
    for name in ["root", "anna", "otto"] {
        let user = UserName::new(name).unwrap();
        let administrator = name == "root";
        let new =
            NewUser { name: user.clone(), password: None, administrator, databases_only: false };
        hub.endpoint.add_user(new).await.unwrap();
        let (kind, scope, label) = (TokenKind::Access, Scope::default(), String::new());
        let new = NewToken { user, kind, label, scope, expires: None };
        let (secret, _) = hub.endpoint.issue_token(new).await.unwrap();
        secrets.push((name, format!("Bearer {}", secret.as_str())));
    }
    hub.router = router(hub.endpoint.clone(), Config { limits, ..Config::default() });
    let bearer = move |who: &str| {
        let found = secrets.iter().find(|(name, _)| *name == who);
        found.map(|(_, secret)| secret.clone()).unwrap()
    };
    (hub, bearer)
}

async fn make(hub: &TestHub, authorization: &str, name: &str) -> Response<Body> {
    let headers = [("authorization", authorization), ("content-type", "application/json")];
    let path = format!("/collections/{name}");
    hub.send(request(Method::PUT, &path, &headers, Body::from("{}"))).await
}

/// Total size of all files of a directory.
fn size(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[tokio::test]
async fn a_million_collections_of_one_user_end_at_the_quota_and_refusals_leave_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits { owned_collections: 20, ..Limits::default() };
    let (hub, bearer) = people(directory.path(), limits).await;
    let anna = bearer("anna");
    // A refusal writes nothing, so that a million refusals leave no more than these.
    let mut made = 0;
    let mut after_the_first = None;
    for number in 0..3_000 {
        let answer = make(&hub, &anna, &format!("c{number}")).await;
        if answer.status() == StatusCode::CREATED {
            made += 1;
            continue;
        }
        assert_eq!(answer.status(), StatusCode::INSUFFICIENT_STORAGE);
        assert_eq!(text(&answer, "content-type"), "application/problem+json");
        let problem = json(answer).await;
        assert_eq!(problem["type"], "urn:feedsync:1:problem:quota");
        assert_eq!(problem["limit"], "owned_collections");
        after_the_first.get_or_insert_with(|| size(directory.path()));
    }
    assert_eq!(made, 20);
    assert_eq!(after_the_first, Some(size(directory.path())), "refusals write nothing");
    let user = UserName::new("anna").unwrap();
    let store = hub.endpoint.store();
    assert_eq!(store.grants(GrantFilter::User(&user)).await.unwrap().len(), 20);
    assert_eq!(store.collections().await.unwrap().len(), 21, "with notes");
    let acts = AuditSelection { user: Some(&user), limit: 100, ..Default::default() };
    assert_eq!(store.acts(acts).await.unwrap().len(), 20);

    // Existing collections can be changed as before; a removed one frees its slot; other users have
    // quotas of their own.
    assert_eq!(make(&hub, &anna, "c7").await.status(), StatusCode::OK);
    let gone = hub.call(Method::DELETE, "/collections/c7", &[("authorization", &anna)]).await;
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    assert_eq!(make(&hub, &anna, "again").await.status(), StatusCode::CREATED);
    assert_eq!(make(&hub, &anna, "more").await.status(), StatusCode::INSUFFICIENT_STORAGE);
    assert_eq!(make(&hub, &bearer("otto"), "more").await.status(), StatusCode::CREATED);
    for number in 0..30 {
        let made = make(&hub, &bearer("root"), &format!("r{number}")).await;
        assert_eq!(made.status(), StatusCode::CREATED, "who administers is not bounded");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_creations_stay_within_the_collection_quota() {
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits { owned_collections: 5, ..Limits::default() };
    let (hub, bearer) = people(directory.path(), limits).await;
    let requests = (0..40).map(|number| {
        let (hub, anna) = (&hub, bearer("anna"));
        async move { make(hub, &anna, &format!("c{number}")).await.status() }
    });
    let statuses = futures_util::future::join_all(requests).await;
    let made = statuses.iter().filter(|status| **status == StatusCode::CREATED).count();
    let user = UserName::new("anna").unwrap();
    let owned = hub.endpoint.store().grants(GrantFilter::User(&user)).await.unwrap();
    assert_eq!((made, owned.len()), (5, 5), "{statuses:?}");
}

#[tokio::test]
async fn one_person_sends_so_many_bytes_of_media_in_a_day() {
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits { person_upload_bytes: 1_000, ..Limits::default() };
    let (hub, bearer) = people(directory.path(), limits).await;
    for name in ["anna", "otto"] {
        let answer = make(&hub, &bearer(name), name).await;
        assert_eq!(answer.status(), StatusCode::CREATED);
        let headers = [("authorization", &*bearer(name)), ("content-type", "application/json")];
        let path = format!("/collections/{name}");
        let accept = Body::from(r#"{"accept": ["image/*"]}"#);
        hub.send(request(Method::PUT, &path, &headers, accept)).await;
    }
    let post = async |who: &str, body: Vec<u8>, declared: bool| {
        let length = body.len().to_string();
        let bearer = bearer(who);
        let mut headers = vec![("authorization", &*bearer), ("content-type", "image/png")];
        if declared {
            headers.push(("content-length", &length));
        }
        let path = format!("/collections/{who}");
        hub.send(request(Method::POST, &path, &headers, body.into())).await
    };
    assert_eq!(post("anna", vec![1; 600], true).await.status(), StatusCode::CREATED);
    let (first, second) = (vec![2; 600], vec![3; 600]);
    for (body, declared) in [(&first, true), (&second, false)] {
        let refused = post("anna", body.clone(), declared).await;
        assert_eq!(refused.status(), StatusCode::INSUFFICIENT_STORAGE, "{declared}");
        let wait: u64 = text(&refused, "retry-after").parse().unwrap();
        assert!((1..=17_300).contains(&wait), "{wait}");
        assert_eq!(json(refused).await["limit"], "person_upload_bytes");
    }
    let digests = [Digest::of(&first), Digest::of(&second)];
    let missing = hub.endpoint.store().missing_blobs(&digests).await.unwrap();
    assert_eq!(missing.len(), 2, "nothing was stored");
    // A blob counts too, and another user has their own quota.
    let blob = format!("/blobs/{}?collection=anna", Digest::of(&first));
    let anna = bearer("anna");
    let headers = [("authorization", &*anna)];
    let blob = hub.send(request(Method::PUT, &blob, &headers, first.clone().into())).await;
    assert_eq!(blob.status(), StatusCode::INSUFFICIENT_STORAGE);
    assert_eq!(post("otto", first, true).await.status(), StatusCode::CREATED);
    assert_eq!(post("anna", vec![4; 300], true).await.status(), StatusCode::CREATED);
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_no_file_and_no_blob() {
    let directory = tempfile::tempdir().unwrap();
    let hub = hub_in(directory.path()).await;
    set(&hub, r#"{"accept": ["image/*"]}"#).await;
    let files = || -> BTreeSet<_> {
        let files = std::fs::read_dir(directory.path()).unwrap();
        files.map(|file| file.unwrap().file_name()).collect()
    };
    let (before, held) = (files(), size(directory.path()));
    let part = Bytes::from(vec![7; 1 << 20]);
    let parts = || {
        let parts = (0..3).map({
            let part = part.clone();
            move |_| Ok(part.clone())
        });
        let end = [Err(std::io::Error::other("cut"))];
        Body::from_stream(stream::iter(parts.chain(end)))
    };
    let whole = Digest::of(&vec![7; 3 << 20]);
    let blob = format!("/blobs/{whole}?collection=notes");
    for (method, path) in [(Method::POST, "/collections/notes"), (Method::PUT, &*blob)] {
        let headers = [("content-type", "image/png")];
        let cut = hub.send(request(method, path, &headers, parts())).await;
        assert_eq!(cut.status(), StatusCode::BAD_REQUEST, "{path}");
        let problem = String::from_utf8(bytes(cut).await.to_vec()).unwrap();
        assert!(problem.contains("declared length"), "{problem}");
    }
    assert_eq!(files(), before);
    assert_eq!(size(directory.path()), held);
    assert_eq!(hub.endpoint.store().missing_blobs(&[whole]).await.unwrap(), [whole]);
}

#[tokio::test]
async fn databases_documents_attachments_and_logs_of_a_person_end_at_their_quotas() {
    let directory = tempfile::tempdir().unwrap();
    let limits =
        Limits { owned_databases: 2, owned_documents: 3, owned_bytes: 4_000, ..Limits::default() };
    let (hub, bearer) = people(directory.path(), limits).await;
    let ask = async |who: &str, method: Method, path: &str, body: String| {
        let bearer = bearer(who);
        let kind =
            if path.starts_with("/logs") { "application/x-ndjson" } else { "application/json" };
        let mut headers = vec![("authorization", &*bearer), ("content-type", kind)];
        let (path, condition) = path.split_once('#').unwrap_or((path, ""));
        match condition {
            "begin" => headers.push(("if-none-match", "*")),
            "append" => headers.push(("if-match", "*")),
            _ => {}
        }
        let answer = hub.send(request(method, path, &headers, body.into())).await;
        let status = answer.status().as_u16();
        (status, String::from_utf8(bytes(answer).await.to_vec()).unwrap())
    };
    let put = async |path: &str, body: &str| ask("anna", Method::PUT, path, body.to_owned()).await;
    let refused = |(status, text): (u16, String), why: &str| {
        assert_eq!(status, 507, "{text}");
        let told: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(told["error"], "insufficient_storage");
        assert!(told["reason"].as_str().unwrap().contains(why), "{text}");
    };
    for (name, status) in [("a", 201), ("b", 201)] {
        assert_eq!(put(&format!("/couch/{name}"), "").await.0, status);
    }
    refused(put("/couch/c", "").await, "2 databases");
    assert_eq!(put("/couch/a", "").await.0, 412, "what is there is said before");
    assert_eq!(ask("root", Method::PUT, "/couch/c", String::new()).await.0, 201);
    assert_eq!(ask("otto", Method::PUT, "/couch/d", String::new()).await.0, 201);

    assert_eq!(put("/couch/a/1", "{}").await.0, 201);
    let two = r#"{"docs":[{"_id":"2"},{"_id":"3"}]}"#.to_owned();
    assert_eq!(ask("anna", Method::POST, "/couch/a/_bulk_docs", two).await.0, 201);
    refused(put("/couch/b/4", "{}").await, "3 documents");
    let more = r#"{"docs":[{"_id":"4"}]}"#.to_owned();
    refused(ask("anna", Method::POST, "/couch/a/_bulk_docs", more).await, "3 documents");
    // The database is charged to anna, whichever user writes.
    refused(ask("root", Method::PUT, "/couch/a/5", "{}".to_owned()).await, "3 documents");
    let found = ask("anna", Method::GET, "/couch/a/1", String::new()).await.1;
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let revision = found["_rev"].as_str().unwrap().to_owned();
    let edit = format!("{{\"_rev\":\"{revision}\",\"x\":1}}");
    let (status, text) = put("/couch/a/1", &edit).await;
    assert_eq!(status, 201, "an edit adds no document: {text}");
    let edited: serde_json::Value = serde_json::from_str(&text).unwrap();
    let revision = edited["rev"].as_str().unwrap().to_owned();

    let large = "x".repeat(4_100);
    refused(put(&format!("/couch/a/1/n?rev={revision}"), &large).await, "bytes");
    let inline = format!("{{\"_rev\":\"{revision}\",\"x\":\"{large}\"}}");
    refused(put("/couch/a/1", &inline).await, "bytes");
    let lines = format!("{}\n", "x".repeat(2_000));
    assert_eq!(ask("anna", Method::POST, "/logs/mine#begin", lines.clone()).await.0, 201);
    let (status, text) = ask("anna", Method::POST, "/logs/mine#append", lines.clone()).await;
    assert_eq!(status, 507, "{text}");
    assert!(text.contains("\"limit\":\"owned_bytes\""), "{text}");
    let large = format!("{{\"_rev\":\"{revision}\",\"x\":\"{}\"}}", "x".repeat(2_000));
    refused(put("/couch/a/1", &large).await, "bytes");
    // Deletions are always possible, and free quota.
    let path = format!("/couch/a/1?rev={revision}");
    assert_eq!(ask("anna", Method::DELETE, &path, String::new()).await.0, 200);
    assert_eq!(ask("anna", Method::DELETE, "/couch/a", String::new()).await.0, 200);
    assert_eq!(put("/couch/e", "").await.0, 201);
    assert_eq!(put("/couch/e/1", "{}").await.0, 201);
    assert_eq!(ask("otto", Method::POST, "/logs/his#begin", lines).await.0, 201);
}

#[tokio::test]
async fn quotas_are_shown_among_the_limits() {
    let directory = tempfile::tempdir().unwrap();
    let hub = hub_in(directory.path()).await;
    let shown = json(hub.get("/limits").await).await;
    for (name, value) in [("owned_collections", 1_000), ("client_uploads", 8)] {
        assert_eq!(shown[name]["value"], value, "{name}");
    }
    assert_eq!(shown["person_upload_bytes"]["value"], "4 GiB");
}
