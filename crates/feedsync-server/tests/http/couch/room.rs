//! Memory limits of requests to databases, and waiting for memory.

use std::io::Write as _;
use std::time::Duration;

use axum::body::{Body, Bytes};
use feedsync_server::{Config, Limits};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::StreamExt as _;
use http::Method;
use serde_json::json;
use tokio::time::timeout;

use super::{Couch, JSON, said};

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const PACKED: [(&str, &str); 2] = [JSON, ("content-encoding", "gzip")];

fn config(limits: Limits) -> Config {
    Config { limits, ..Config::default() }
}

/// Tables compress well: a high ratio is no reason to refuse them.
#[tokio::test]
async fn a_body_may_be_packed_as_well_as_it_can_be() {
    let couch = Couch::new().await;
    let document = format!("{{\"zeros\":\"{}\"}}", "0".repeat(3 << 20));
    let body = packed(document.as_bytes());
    assert!(body.len() * 500 < document.len());
    let written = couch.send(Method::PUT, "/db/x", &PACKED, body).await;
    assert_eq!(said(written).await.0, 201);
    let bounds = Limits { database_body_bytes: 1 << 20, ..Limits::default() };
    let couch = Couch::with(config(bounds)).await;
    let refused = couch.send(Method::PUT, "/db/x", &PACKED, packed(document.as_bytes())).await;
    assert_eq!(said(refused).await.0, 413);
}

/// Small bodies never wait for large ones, however they are sent.
#[tokio::test]
async fn small_bodies_do_not_wait_for_large_ones() {
    let bounds = Limits { body_bytes: 64 << 10, database_body_bytes: 1 << 20, ..Limits::default() };
    let couch = Couch::with(config(bounds)).await;
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<Bytes>();
    let large = Body::from_stream(futures_util::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|bytes| (Ok::<_, std::io::Error>(bytes), receiver))
    }));
    let text = format!("{{\"a\":\"{}\"}}", "a".repeat(200_000));
    let (first, rest) = text.split_at(100_000);
    sender.send(Bytes::from(first.to_owned())).unwrap();
    let large = couch.send(Method::PUT, "/db/large", &[JSON], large);
    let meanwhile = async {
        tokio::task::yield_now().await;
        let chunks = Body::from_stream(futures_util::stream::iter([Ok::<_, std::io::Error>("{}")]));
        for (path, headers, body) in [
            ("/db/whole", &[JSON][..], Body::from("{}")),
            ("/db/chunks", &[JSON], chunks),
            ("/db/packed", &PACKED, Body::from(packed(b"{}"))),
        ] {
            let sent = couch.send(Method::PUT, path, headers, body);
            let answer = timeout(Duration::from_secs(5), sent).await.expect(path);
            assert_eq!(answer.status(), 201, "{path}");
        }
        sender.send(Bytes::from(rest.to_owned())).unwrap();
        drop(sender);
    };
    let (written, ()) = tokio::join!(large, meanwhile);
    assert_eq!(written.status(), 201);
}

/// Large bodies are received at once as long as they fit together.
#[tokio::test]
async fn large_bodies_share_their_room() {
    let bounds = Limits { body_bytes: 200_000, database_body_bytes: 3 << 20, ..Limits::default() };
    let couch = Couch::with(config(bounds)).await;
    let text = format!("{{\"a\":\"{}\"}}", "a".repeat(500_000));
    let length = text.len().to_string();
    let headers = [JSON, ("content-length", &*length)];
    let barrier = tokio::sync::Barrier::new(2);
    let send = async |path: &str| {
        let (barrier, text) = (&barrier, text.clone());
        // Each body continues only when the other one has begun.
        let body = futures_util::stream::once(async move { Ok::<_, std::io::Error>(text) });
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        let gate = futures_util::stream::once(async move {
            receiver.await.map_err(std::io::Error::other)?;
            Ok::<_, std::io::Error>(String::new())
        });
        let sent = couch.send(Method::PUT, path, &headers, Body::from_stream(gate.chain(body)));
        let meet = async {
            barrier.wait().await;
            sender.send(()).unwrap();
        };
        tokio::join!(sent, meet).0.status().as_u16()
    };
    let both = async { tokio::join!(send("/db/a"), send("/db/b")) };
    assert_eq!(timeout(Duration::from_secs(5), both).await.unwrap(), (201, 201));
}

/// The time limit of a body grows with the bytes that arrive, and not for a slower client.
#[tokio::test(start_paused = true)]
async fn a_large_body_has_time_as_long_as_it_comes() {
    let bounds = Limits {
        body_bytes: 1_000,
        body_pause: Duration::from_secs(15),
        body_time: Duration::from_secs(20),
        ..Limits::default()
    };
    for (each, status) in [(1_000, 201), (400, 408)] {
        let couch = Couch::with(config(bounds)).await;
        let text = format!("{{\"a\":\"{}\"}}", "a".repeat(9_992));
        assert_eq!(text.len(), 10_000);
        let parts: Vec<Bytes> = text.as_bytes().chunks(each).map(Bytes::copy_from_slice).collect();
        let slowly = futures_util::stream::iter(parts).then(|part| async {
            tokio::time::sleep(Duration::from_secs(14)).await;
            Ok::<_, std::io::Error>(part)
        });
        let sent = couch.send(Method::PUT, "/db/x", &[JSON], Body::from_stream(slowly)).await;
        assert_eq!(sent.status(), status, "{each}");
    }
}

/// Responses that may be large are in memory one after the other, and do not delay small ones.
#[tokio::test]
async fn large_answers_wait_for_their_place_and_small_ones_do_not() {
    let bounds = Limits { answers: 1, uploads: 1, ..Limits::default() };
    let couch = Couch::with(config(bounds)).await;
    let long = "x".repeat(200_000);
    couch
        .put(
            "/db/x",
            &format!(
                "{{\"long\":\"{long}\",\"_attachments\":{{\"a\":{{\"data\":\"aGVsbG8=\"}}}}}}"
            ),
        )
        .await;
    let asked = r#"{"docs":[{"id":"x"}]}"#;
    let held = couch.send(Method::POST, "/db/_bulk_get", &[JSON], asked).await;
    let asks = async |path: &str| {
        let sent = couch.send(Method::GET, path, &[JSON], "");
        timeout(Duration::from_millis(300), sent).await.ok()
    };
    for small in ["/db", "/db/x", "/db/_all_docs", "/db/_changes", "/_all_dbs", "/db/_local/x"] {
        assert!(asks(small).await.is_some(), "{small}");
    }
    let large = ["/db/_all_docs?include_docs=true", "/db/x/a", "/db/x?attachments=true"];
    for path in large {
        assert!(asks(path).await.is_none(), "{path}");
    }
    // Waiting for a slot must not hold the permit for bodies.
    let keys = r#"{"keys":["x"]}"#;
    for (path, body) in [("/db/_bulk_get", asked), ("/db/_all_docs?include_docs=true", keys)] {
        let waits = couch.send(Method::POST, path, &[JSON], body);
        let sends = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            couch.put("/db/_local/y", "{}").await.0
        };
        tokio::select! {
            _ = waits => panic!("{path} has no place"),
            status = sends => assert_eq!(status, 201, "{path}"),
        }
    }
    // A feed sends heartbeats while it waits.
    let path = "/db/_changes?feed=longpoll&include_docs=true&heartbeat=20";
    let feed = couch.send(Method::GET, path, &[], "").await;
    let mut pieces = feed.into_body().into_data_stream();
    let mut next =
        async || timeout(Duration::from_secs(5), pieces.next()).await.unwrap().unwrap().unwrap();
    assert_eq!(next().await, "{\"results\":[\n");
    for _ in 0..3 {
        assert_eq!(next().await, "\n");
    }
    drop(held);
    let mut row = next().await;
    while row == "\n" {
        row = next().await;
    }
    assert!(row.len() > 200_000);
    drop(row);
    for path in large {
        assert_eq!(asks(path).await.expect(path).status(), 200, "{path}");
    }
}

/// Attachments that do not fit into one response are refused as JSON, and sent part by part to a
/// client that accepts multipart.
#[tokio::test]
async fn attachments_that_do_not_fit_together_come_one_by_one() {
    let bounds = Limits { database_body_bytes: 1 << 20, ..Limits::default() };
    let couch = Couch::with(config(bounds)).await;
    let content = "a".repeat(700_000);
    let mut path = "/db/x/a".to_owned();
    for next in ["b", ""] {
        let kind = [("content-type", "text/plain")];
        let written =
            couch.send(Method::PUT, &path, &kind, content.replace('a', &path[6..7])).await;
        let (status, told) = said(written).await;
        assert_eq!(status, 201, "{told}");
        path = format!("/db/x/{next}?rev={}", told["rev"].as_str().unwrap());
    }
    let ask = async |accept: &str| {
        let headers = [("accept", accept)];
        couch.send(Method::GET, "/db/x?attachments=true", &headers, "").await
    };
    let (status, told) = said(ask("application/json").await).await;
    assert_eq!((status, &told["error"]), (413, &json!("too_large")));
    let answer = ask("multipart/related").await;
    assert_eq!(answer.status(), 200);
    let pieces: Vec<_> = answer.into_body().into_data_stream().collect().await;
    let lengths: Vec<usize> = pieces.into_iter().map(|it| it.unwrap().len()).collect();
    assert_eq!(lengths.iter().filter(|it| **it == 700_000).count(), 2, "{lengths:?}");
}

/// The number of names in a request is limited, however short they are; keys have a limit in bytes.
#[tokio::test]
async fn names_in_a_request_are_bounded() {
    let couch = Couch::new().await;
    let list = |one: &str, count: usize| vec![one; count].join(",");
    let long = format!("{{\"keys\":[\"{}\"]}}", "x".repeat(32 << 20));
    let keys = |count| format!("{{\"keys\":[{}]}}", list("\"x\"", count));
    let documents = format!("{{\"docs\":[{}]}}", list("{}", 100_001));
    let ids = format!("{{\"doc_ids\":[{}]}}", list("\"x\"", 100_001));
    let revisions = format!("{{\"x\":[{}]}}", list("\"1-a\"", 100_001));
    for (path, body, status) in [
        ("_all_docs", &keys(100_000), 200),
        ("_all_docs", &keys(100_001), 413),
        ("_all_docs?limit=0", &long, 200),
        ("_all_docs", &long, 413),
        ("_bulk_docs", &documents, 413),
        ("_bulk_get", &documents, 413),
        ("_changes?filter=_doc_ids", &ids, 413),
        ("_revs_diff", &revisions, 413),
        ("_missing_revs", &revisions, 413),
        ("_purge", &revisions, 413),
    ] {
        let (found, told) = couch.post(&format!("/db/{path}"), body).await;
        assert_eq!(found, status, "{path} {}", body.len());
        assert!(status == 200 || told["error"] == "too_large", "{path}: {told}");
    }
    let parts = format!(
        "--b\r\nContent-Type: application/json\r\n\r\n{{}}{}\r\n--b--",
        "\r\n--b\r\n\r\nx".repeat(1_001)
    );
    let kind = [("content-type", "multipart/related; boundary=b")];
    let (found, told) = said(couch.send(Method::PUT, "/db/x", &kind, parts).await).await;
    assert_eq!((found, &told["reason"]), (400, &json!("There are too many attachments")));
}

/// Leaves of a document that do not fit into one response are refused together, and are sent one by
/// one.
#[tokio::test]
async fn leaves_that_do_not_fit_together_come_one_by_one() {
    let bounds = Limits { database_body_bytes: 1 << 20, ..Limits::default() };
    let couch = Couch::with(config(bounds)).await;
    let leaf = |letter: &str| {
        let long = letter.repeat(600_000);
        format!("{{\"_id\":\"x\",\"_rev\":\"1-{letter}\",\"long\":\"{long}\"}}")
    };
    for letter in ["a", "b"] {
        couch.replicate(&leaf(letter)).await;
    }
    for accept in ["application/json", "multipart/mixed"] {
        let headers = [("accept", accept)];
        let all = couch.send(Method::GET, "/db/x?open_revs=all", &headers, "").await;
        assert_eq!(said(all).await.0, 413, "{accept}");
        let one = couch.send(Method::GET, "/db/x?open_revs=%5B%221-a%22%5D", &headers, "").await;
        assert_eq!(one.status(), 200, "{accept}");
        assert!(crate::hub::bytes(one).await.len() > 600_000);
    }
    let ask = async |asked: &str| {
        let (status, told) = couch.post("/db/_bulk_get", &format!("{{\"docs\":[{asked}]}}")).await;
        assert_eq!(status, 200);
        told["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["docs"][0].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(ask("{\"id\":\"x\"}").await[0]["error"]["error"], "too_large");
    let each = ask("{\"id\":\"x\",\"rev\":\"1-a\"},{\"id\":\"x\",\"rev\":\"1-b\"}").await;
    assert!(each.iter().all(|one| one["ok"]["long"].as_str().unwrap().len() == 600_000));
}

/// The bytes of revision trees are limited too: of many revisions of many documents only those of
/// the current piece are in memory.
#[tokio::test]
async fn trees_have_bytes_too() {
    let couch = Couch::new().await;
    let ids = |document: usize| -> String {
        let ids = (0..1_000).map(|number| format!("\"{document}.{number}\""));
        ids.collect::<Vec<_>>().join(",")
    };
    for documents in (0..150).collect::<Vec<_>>().chunks(50) {
        let documents = documents.iter().map(|it| {
            format!(
                "{{\"_id\":\"{it:03}\",\"_revisions\":{{\"start\":1000,\"ids\":[{}]}}}}",
                ids(*it)
            )
        });
        couch.replicate(&documents.collect::<Vec<_>>().join(",")).await;
    }
    let all: Vec<String> = (0..150).map(|it| format!("{it:03}")).collect();
    let rows = couch.get("/db/_changes").await.1;
    let told = rows["results"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap());
    assert_eq!(told.collect::<Vec<_>>(), all);
    let wanted = |revision: &str| {
        let all = all.iter().map(|id| format!("\"{id}\":[\"{revision}\"]"));
        format!("{{{}}}", all.collect::<Vec<_>>().join(","))
    };
    assert_eq!(
        couch.post("/db/_revs_diff", &wanted("900-x")).await.1.as_object().unwrap().len(),
        150
    );
    let here = couch.post("/db/_revs_diff", &wanted("1000-7.0")).await.1;
    assert_eq!(here.as_object().unwrap().len(), 149);
    assert_eq!(here.get("007"), None);
}

/// Repeated selectors over long documents do not block the thread for other requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_selector_that_takes_long_holds_up_nobody() {
    let couch = std::sync::Arc::new(Couch::new().await);
    let members: Vec<String> = (0..200_000).map(|number| format!("\"m{number}\":1")).collect();
    couch.put("/db/long", &format!("{{{}}}", members.join(","))).await;
    let conditions: Vec<String> =
        (0..100).map(|number| format!("{{\"none{number}\":1}}")).collect();
    let selector = format!("{{\"selector\":{{\"$or\":[{}]}}}}", conditions.join(","));
    for path in ["/db/_find", "/db/_changes?filter=_selector"] {
        let (long, body) = (std::sync::Arc::clone(&couch), selector.clone());
        let long = tokio::spawn(async move {
            let answer = long.send(Method::POST, path, &[JSON], body).await;
            crate::hub::bytes(answer).await
        });
        // It is running once it holds the only thread.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let short = std::sync::Arc::clone(&couch);
        let short = tokio::spawn(async move { short.get("/db/none").await.0 });
        assert_eq!(short.await.unwrap(), 404);
        assert!(!long.is_finished(), "{path} takes long enough to hold others up");
        assert!(long.await.unwrap().starts_with(b"{"));
    }
}
