//! Tests of the store as an HTTP cache, from the view of applications: renewed headers, ages, ranges and codings.

use std::io::Read as _;

use flate2::read::GzDecoder;
use http::Method;
use serde_json::json;

use crate::kept::{ATOM, Kept, Site};
use crate::support::{Answer, config};

const LINKED: &str = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:f</id><title>F</title>\
    <updated>2026-01-01T00:00:00Z</updated><link rel=\"related\" href=\"/text\"/></feed>";

const TEXT: &str = "0123456789";

/// A gateway that stores a text with these headers, which a feed links to.
async fn keeping(headers: &str) -> (Site, Kept) {
    let site = Site::start().await;
    site.answers("GET /feed", 200, ATOM, LINKED);
    site.answers("GET /text", 200, headers, TEXT);
    let kept = Kept::of(config(&[], &[&site.address.to_string()])).await;
    kept.subscribe(json!({ "feed": site.url("/feed"), "follows": ["related"] })).await;
    (site, kept)
}

/// Decodes the chunked body of a response.
fn dechunked(answer: &Answer) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), &answer.body[..]);
    loop {
        let end = rest.iter().position(|byte| *byte == b'\r').unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        rest = &rest[end + 2..];
        if length == 0 {
            return bytes;
        }
        bytes.extend_from_slice(&rest[..length]);
        rest = &rest[length + 2..];
    }
}

fn unpacked(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

#[tokio::test]
async fn a_304_renews_the_headers_that_applications_get() {
    let (site, kept) = keeping("ETag: \"1\"\r\nCache-Control: max-age=5\r\nAge: 1000\r\n").await;
    let url = site.url("/text");
    let age = |answer: &Answer| {
        let ages = answer.values("age");
        assert_eq!(ages.len(), 1, "{answer:?}");
        ages[0].parse::<u64>().unwrap()
    };
    let before = kept.ask("GET", &url, &[]).await;
    assert_eq!(before.values("cache-control"), ["max-age=5"]);
    assert!((1_000..1_100).contains(&age(&before)), "{before:?}");
    let renewed = "ETag: \"1\"\r\nCache-Control: max-age=60\r\nX-New: 1\r\nAge: 7\r\n";
    site.answers("GET /text", 304, renewed, "");
    kept.told(Method::POST, "/refresh", None).await;
    loop {
        let after = kept.ask("GET", &url, &[]).await;
        assert_eq!(after.text(), TEXT);
        if after.values("x-new") == ["1"] {
            assert_eq!(after.values("cache-control"), ["max-age=60"]);
            assert!((7..100).contains(&age(&after)), "{after:?}");
            break;
        }
        tokio::task::yield_now().await;
    }
    let asked = site.received("GET /text");
    assert!(asked.last().unwrap().to_lowercase().contains("if-none-match: \"1\""), "{asked:?}");
}

#[tokio::test]
async fn a_part_is_served_where_the_validator_is_the_stored_one() {
    let date = "Thu, 01 Jan 2026 00:00:00 GMT";
    let (site, kept) = keeping(&format!("ETag: \"1\"\r\nLast-Modified: {date}\r\n")).await;
    kept.network("offline").await;
    let url = site.url("/text");
    let date = format!("If-Range: {date}");
    for (held, status, text) in [
        (date.as_str(), 206, "234"),
        ("If-Range: \"1\"", 206, "234"),
        ("If-Range: W/\"1\"", 200, TEXT),
        ("If-Range: Thu, 01 Jan 2026 00:00:01 GMT", 200, TEXT),
    ] {
        let answer = kept.ask("GET", &url, &["Range: bytes=2-4", held]).await;
        assert_eq!((answer.status(), answer.text().as_str()), (status, text), "{held}");
    }
    let beyond = kept.ask("GET", &url, &["Range: bytes=10-"]).await;
    assert_eq!((beyond.status(), beyond.values("content-range")), (416, vec!["bytes */10"]));
    let suffix = kept.ask("GET", &url, &["Range: bytes=-3"]).await;
    assert_eq!((suffix.status(), suffix.text().as_str()), (206, "789"));
}

#[tokio::test]
async fn an_application_gets_a_coding_that_it_accepts() {
    let (site, kept) = keeping("ETag: \"1\"\r\nContent-Type: text/plain\r\n").await;
    kept.network("offline").await;
    let url = site.url("/text");
    for accepted in ["", "gzip", "br", "gzip;q=0", "*;q=0, identity"] {
        let answer = kept.ask("GET", &url, &[&format!("Accept-Encoding: {accepted}")]).await;
        assert_eq!((answer.status(), answer.text().as_str()), (200, TEXT), "{accepted:?}");
        assert_eq!(answer.values("vary"), ["Accept-Encoding"]);
        assert!(answer.values("content-encoding").is_empty());
    }
    let packed = ["Accept-Encoding: identity;q=0, x-gzip", "Range: bytes=0-1"];
    let answer = kept.ask("GET", &url, &packed).await;
    assert_eq!((answer.status(), answer.values("content-encoding")), (200, vec!["gzip"]));
    assert_eq!(answer.values("etag"), ["W/\"1\""]);
    assert_eq!(unpacked(&dechunked(&answer)), TEXT);
    let head = kept.ask("HEAD", &url, &packed[..1]).await;
    assert_eq!(head.values("content-encoding"), ["gzip"]);
    assert!(head.values("content-length").is_empty() && head.body.is_empty());
    let known = kept.ask("GET", &url, &[packed[0], "If-None-Match: W/\"1\""]).await;
    assert_eq!((known.status(), known.values("vary")), (304, vec!["Accept-Encoding"]));
    let refused = kept.ask("GET", &url, &["Accept-Encoding: br, identity;q=0"]).await;
    assert_eq!((refused.status(), refused.values("vary")), (406, vec!["Accept-Encoding"]));
    // Error responses of the gateway are recoded, too; a response that cannot be compressed is sent as it is.
    let elsewhere = site.url("/else");
    let missed = kept.ask("GET", &elsewhere, &packed[..1]).await;
    assert_eq!((missed.status(), missed.values("content-encoding")), (504, vec!["gzip"]));
    assert!(unpacked(&dechunked(&missed)).contains("\"status\":504"));
    let missed = kept.ask("GET", &elsewhere, &["Accept-Encoding: *;q=0"]).await;
    assert!(missed.status() == 504 && missed.text().contains("\"status\":504"));
}

#[tokio::test]
async fn a_server_whose_chunks_are_malformed_changes_nothing_that_is_stored() {
    let (site, kept) = keeping("ETag: \"1\"\r\n").await;
    let chunked = "Transfer-Encoding: chunked\r\n\r\n";
    site.answers_raw("GET /text", &format!("HTTP/1.1 200 OK\r\n{chunked}4\r\nhalf\r\nzz\r\n"));
    site.answers_raw("GET /else", &format!("HTTP/1.1 200 OK\r\n{chunked}zz\r\n"));
    let before = site.received("GET /text").len();
    kept.told(Method::POST, "/refresh", None).await;
    while site.received("GET /text").len() == before {
        tokio::task::yield_now().await;
    }
    let url = site.url("/text");
    assert_eq!(kept.ask("GET", &url, &[]).await.text(), TEXT);
    assert_eq!(kept.ask("GET", &site.url("/else"), &[]).await.status(), 502);
    kept.network("offline").await;
    assert_eq!(kept.ask("GET", &url, &[]).await.text(), TEXT);
}

#[tokio::test]
async fn an_edit_in_malformed_chunks_is_a_bad_request_and_is_not_taken() {
    let site = Site::start().await;
    site.answers("GET /feed", 200, ATOM, crate::kept::FEED);
    site.answers("GET /entry", 200, ATOM, &crate::kept::entry("E"));
    let kept = Kept::of(config(&[], &[&site.address.to_string()])).await;
    kept.subscribe(json!({ "feed": site.url("/feed"), "follows": ["edit"] })).await;
    for network in ["offline", "online"] {
        kept.network(network).await;
        for body in ["zz\r\n", "5\r\nhelloX\r\n0\r\n\r\n"] {
            let head = format!("PUT {} HTTP/1.1\r\nHost: {}\r\n", site.url("/entry"), site.address);
            let request = format!("{head}{ATOM}Transfer-Encoding: chunked\r\n\r\n{body}");
            let answer = crate::support::raw(kept.address, request).await;
            assert_eq!(answer.status(), 400, "{network}: {answer:?}");
        }
    }
    assert!(kept.told(Method::GET, "/outbox", None).await.as_array().unwrap().is_empty());
    assert!(site.received("PUT /entry").is_empty());
}
