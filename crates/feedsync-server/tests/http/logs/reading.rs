//! Reading: conditionally, in parts, from an offset on (LR3, LR20 to LR26, LR29, LR31).

use std::collections::BTreeSet;

use http::{HeaderName, Method, StatusCode};

use super::{LOG, begun, generation, grown, held, post};
use crate::hub::{bytes, hub, json, link, text};

#[tokio::test]
async fn a_log_is_a_file_that_anybody_with_ranges_can_read() {
    let hub = hub().await;
    let tag = begun(&hub, "{\"n\":1}\n").await;
    for method in [Method::GET, Method::HEAD] {
        let asked = [("accept-encoding", "gzip"), ("range", "lines=1-2")];
        let response = hub.call(method.clone(), LOG, &asked).await;
        assert_eq!(response.status(), StatusCode::OK);
        for (name, value) in [
            ("etag", &*tag),
            ("log-generation", generation(&tag)),
            ("content-type", "application/x-ndjson"),
            ("content-length", "8"),
            ("content-encoding", ""),
            ("accept-ranges", "bytes"),
            ("cache-control", "no-cache, no-transform, private"),
            ("content-security-policy", "default-src 'none'; sandbox"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(text(&response, name), value, "{method} {name}");
        }
        let events = link(&response, "urn:feedsync:1:events").unwrap();
        assert_eq!(events, "http://localhost:4287/logs/notes/events");
        assert_eq!(link(&response, "snapshot"), None);
        let body = bytes(response).await;
        assert_eq!(body.len(), if method == Method::GET { 8 } else { 0 });
    }
}

/// LR20, LR22, LR24: an unchanged log is a 304 whatever the range, and appended bytes are a 206.
#[tokio::test]
async fn range_from_the_last_offset_returns_only_appended_bytes() {
    let hub = hub().await;
    let one = begun(&hub, "first\n").await;
    let next = async |held: Option<&str>, from: u64| {
        let range = format!("bytes={from}-");
        let mut headers = vec![("range", &*range), ("accept-encoding", "identity")];
        headers.extend(held.map(|tag| ("if-none-match", tag)));
        hub.call(Method::GET, LOG, &headers).await
    };
    for weak in [one.clone(), format!("W/{one}")] {
        let unchanged = next(Some(&weak), 6).await;
        assert_eq!(unchanged.status(), StatusCode::NOT_MODIFIED);
        assert_eq!(text(&unchanged, "etag"), one);
        // This is the most frequent response to devices: it has only the necessary headers (RFC 9110
        // 15.4.5).
        let names: BTreeSet<&str> = unchanged.headers().keys().map(HeaderName::as_str).collect();
        assert_eq!(names, BTreeSet::from(["cache-control", "etag", "x-request-id"]));
        assert!(bytes(unchanged).await.is_empty());
    }
    // Without the tag a range at the end is not satisfiable.
    let nothing = next(None, 6).await;
    assert_eq!(nothing.status(), StatusCode::RANGE_NOT_SATISFIABLE);
    assert_eq!(text(&nothing, "content-range"), "bytes */6");
    assert_eq!(text(&nothing, "etag"), one);
    assert_eq!(json(nothing).await["length"], 6);

    let two = grown(&hub, &one, "second\n").await;
    let appended = next(Some(&one), 6).await;
    assert_eq!(appended.status(), StatusCode::PARTIAL_CONTENT);
    assert_eq!(text(&appended, "content-range"), "bytes 6-12/13");
    assert_eq!(text(&appended, "content-length"), "7");
    assert_eq!(text(&appended, "etag"), two);
    assert_eq!(bytes(appended).await, "second\n");
    let overlapping = next(Some(&one), 5).await;
    assert_eq!(bytes(overlapping).await, "\nsecond\n");
}

#[tokio::test]
async fn every_range_is_what_it_says() {
    let hub = hub().await;
    let tag = begun(&hub, "0123456\n").await;
    for (range, part, body) in [
        ("bytes=0-0", "bytes 0-0/8", "0"),
        ("bytes=2-3", "bytes 2-3/8", "23"),
        ("bytes=6-99999999999999999999999", "bytes 6-7/8", "6\n"),
        ("bytes=-3", "bytes 5-7/8", "56\n"),
        ("bytes=-99", "bytes 0-7/8", "0123456\n"),
    ] {
        let response = hub.call(Method::GET, LOG, &[("range", range)]).await;
        assert_eq!(response.status(), StatusCode::PARTIAL_CONTENT, "{range}");
        assert_eq!(text(&response, "content-range"), part);
        assert_eq!(bytes(response).await, body);
        let head = hub.call(Method::HEAD, LOG, &[("range", range)]).await;
        assert_eq!((head.status(), text(&head, "content-length")), (StatusCode::OK, "8"));
    }
    for range in ["bytes=8-", "bytes=-0", "bytes=4294967296-", "bytes=18446744073709551616-"] {
        let response = hub.call(Method::GET, LOG, &[("range", range)]).await;
        assert_eq!(response.status(), StatusCode::RANGE_NOT_SATISFIABLE, "{range}");
    }
    // LR21, LR27: a range without a unit is ignored, and a request for several gets everything.
    for range in ["6-", "bytes=0-1,3-4", "bytes=3-2", "bytes=x"] {
        let response = hub.call(Method::GET, LOG, &[("range", range)]).await;
        assert_eq!(response.status(), StatusCode::OK, "{range}");
        assert_eq!(bytes(response).await, "0123456\n");
    }
    // LR23: If-Range continues only the representation that it names.
    for (held, status) in [(tag.clone(), 206), (format!("W/{tag}"), 200), ("\"x\"".to_owned(), 200)]
    {
        let asked = [("range", "bytes=2-"), ("if-range", &*held)];
        let response = hub.call(Method::GET, LOG, &asked).await;
        assert_eq!(response.status().as_u16(), status, "{held}");
    }
    let other = hub.call(Method::GET, LOG, &[("if-match", "\"x\""), ("range", "bytes=0-1")]).await;
    assert_eq!(other.status(), StatusCode::PRECONDITION_FAILED);
}

/// A log longer than a piece is sent completely, also from the middle; it is never compressed (LR31).
#[tokio::test]
async fn a_long_log_is_sent_in_pieces_as_it_is() {
    let hub = hub().await;
    begun(&hub, "\n").await;
    let mut all = "\n".to_owned();
    for number in 0..4 {
        let record = format!("{number}").repeat(99_999) + "\n";
        let appended = post(&hub, &[("if-match", "*")], record.clone()).await;
        assert_eq!(appended.status(), StatusCode::NO_CONTENT);
        all += &record;
    }
    assert!(held(&hub).await == all);
    for (range, part) in [
        ("bytes=1-65536", &all[1..65_537]),
        ("bytes=1-65537", &all[1..65_538]),
        ("bytes=70000-", &all[70_000..]),
    ] {
        let asked = [("range", range), ("accept-encoding", "gzip")];
        let response = hub.call(Method::GET, LOG, &asked).await;
        assert_eq!(text(&response, "content-encoding"), "");
        assert_eq!(text(&response, "content-length"), part.len().to_string());
        assert!(bytes(response).await == part, "{range}");
    }
}

/// The response is truncated when the log is removed meanwhile, so that no client takes a part for the
/// whole.
#[tokio::test]
async fn a_log_that_is_removed_while_it_is_sent_is_cut_off() {
    use futures_util::StreamExt as _;
    let hub = hub().await;
    begun(&hub, "\n").await;
    post(&hub, &[("if-match", "*")], "1".repeat(199_999) + "\n").await;
    let response = hub.get(LOG).await;
    assert_eq!(text(&response, "content-length"), "200001");
    hub.call(Method::DELETE, LOG, &[("if-match", "*")]).await;
    let parts: Vec<_> = response.into_body().into_data_stream().collect().await;
    assert!(parts.last().unwrap().is_err());
    let sent = parts.iter().flatten().map(|part| part.len()).sum::<usize>();
    assert!(sent < 200_001);
}
