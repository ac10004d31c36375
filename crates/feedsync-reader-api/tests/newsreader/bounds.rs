//! Tests of limits, and of unusual notations.

use crate::support::*;
use feedsync_reader_api::google::{self, MAX_FEEDS, Request};
use feedsync_reader_api::{
    MAX_BODY_BYTES, MAX_STREAMS, MAX_TEXT_BYTES, Stream, miniflux, nextcloud, ttrss,
};

fn google(line: &str, body: &str) -> Result<Request, String> {
    let call = google::read(&asked(line, Some(FORM), body.as_bytes()));
    call.map(|call| call.request).map_err(|fault| fault.to_string())
}

#[test]
fn a_request_names_only_so_many_streams_and_feeds() {
    let ids = |count: usize| {
        let line =
            format!("GET /reader/api/0/stream/items/ids?s=feed/1{}", "&xt=feed/2".repeat(count));
        google(&line, "")
    };
    assert!(ids(MAX_STREAMS).is_ok());
    assert_eq!(
        ids(MAX_STREAMS + 1),
        Err("xt: the parameter can occur at most 100 times".to_owned())
    );
    let mark = |count: usize| {
        let body = format!("i=1{}", "&a=user/-/label/x".repeat(count));
        google("POST /reader/api/0/edit-tag", &body)
    };
    assert!(mark(MAX_STREAMS).is_ok() && mark(MAX_STREAMS + 1).is_err());
    let subscribe = |count: usize| {
        let body = format!("ac=subscribe{}", "&s=feed/1".repeat(count));
        google("POST /reader/api/0/subscription/edit", &body)
    };
    assert!(subscribe(MAX_FEEDS).is_ok() && subscribe(MAX_FEEDS + 1).is_err());
    let tags = format!("GET /v1/entries?{}", "tags=a&".repeat(MAX_STREAMS + 1));
    assert_eq!(miniflux::read(&asked(&tags, None, b"")).unwrap_err().status(), 400);
}

#[test]
fn text_of_a_member_has_only_so_many_bytes() {
    let label = |length: usize| {
        let body = format!(r#"{{"url":"https://a.example/{}"}}"#, "x".repeat(length - 18));
        let json = Some("application/json");
        nextcloud::read(&asked("POST /feeds", json, body.as_bytes())).err().map(|it| it.to_string())
    };
    let too_long = "url: a string can have at most 1048576 bytes";
    assert_ne!(label(MAX_TEXT_BYTES).as_deref(), Some(too_long));
    for length in [MAX_TEXT_BYTES + 1, MAX_TEXT_BYTES + 2] {
        assert_eq!(label(length).as_deref(), Some(too_long), "{length}");
    }
}

#[test]
fn a_body_has_only_so_many_bytes() {
    let body = "x".repeat(MAX_BODY_BYTES + 1).into_bytes();
    let faults = [
        google::read(&asked("POST /reader/api/0/edit-tag", None, &body)).err(),
        miniflux::read(&asked("PUT /v1/entries", None, &body)).err(),
        nextcloud::read(&asked("PUT /items/read/multiple", None, &body)).err(),
        ttrss::read(&asked("POST /api/", None, &body)).err(),
    ];
    for fault in faults {
        let fault = fault.unwrap();
        assert_eq!(fault.status(), 413);
        assert_eq!(fault.to_string(), "the body has more than 2097152 bytes");
    }
}

#[test]
fn slashes_at_the_end_belong_to_addresses_alone() {
    let stream = |line: &str| match google(line, "").unwrap() {
        Request::Contents(listing) | Request::Atom(listing) => listing.selection.stream,
        other => panic!("{other:?}"),
    };
    for start in ["GET /reader/api/0/stream/contents/", "GET //reader/atom/"] {
        for address in ["feed/https://a.example/feed/", "feed/https://a.example/feed"] {
            let found = stream(&format!("{start}{address}"));
            assert_eq!(Ok(found), google::parse_stream(address));
        }
        assert_eq!(stream(&format!("{start}user/-/state/com.google/reading-list/")), Stream::All);
    }
    assert_eq!(google("GET /reader/api/0/token/", ""), Ok(Request::Token));
    let import = google("POST /reader/api/0/subscription/import/", "<opml><body/></opml>");
    assert!(matches!(import, Ok(Request::Import(_))));
    assert_eq!(miniflux::read(&asked("GET /v1/me/", None, b"")), Ok(miniflux::Request::Me));
    let feeds = nextcloud::read(&asked("GET /v1-2/feeds/", None, b""));
    assert_eq!(feeds, Ok(nextcloud::Request::Feeds));
}

#[test]
fn empty_body_accepts_any_media_type() {
    let asked = asked(
        "POST /reader/api/0/subscription/quickadd?quickadd=https://a.example/",
        Some("application/json"),
        b"",
    );
    assert!(google::read(&asked).is_ok());
}
