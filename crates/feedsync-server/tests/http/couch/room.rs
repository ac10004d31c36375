//! What databases may hold in memory, and who waits for whom.

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

/// Tables pack well: how well is no reason to refuse them.
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

/// What is small waits for nothing that is large, however it is sent.
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

/// Large bodies come at once as far as they fit together.
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
        // Each goes on only when the other has come, too.
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

/// A body has its time for each so many bytes of it, and no more for who sends less.
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

/// Answers that may be large are in memory one after the other, and hold up nothing that is small.
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
    // Who waits for a place keeps nobody from sending.
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
    // A feed beats while it waits.
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

/// What does not fit into one answer is refused as JSON, and comes part by part to who takes parts.
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

/// So many keys at most, of so many bytes; those that `skip` and `limit` leave out do not count.
#[tokio::test]
async fn keys_are_bounded() {
    let couch = Couch::new().await;
    let many = vec!["\"x\""; 100_001].join(",");
    let long = format!("\"{}\"", "x".repeat(32 << 20));
    for (query, keys, status) in [
        ("", &many, 400),
        ("?limit=100000", &many, 200),
        ("?skip=1", &many, 200),
        ("", &long, 400),
        ("?limit=0", &long, 200),
    ] {
        let path = format!("/db/_all_docs{query}");
        let (found, told) = couch.post(&path, &format!("{{\"keys\":[{keys}]}}")).await;
        assert_eq!(found, status, "{query} {}", keys.len());
        let reason = told["reason"].as_str().unwrap_or_default();
        assert_eq!(reason.contains("at most 100000 keys"), status == 400, "{reason}");
    }
}
