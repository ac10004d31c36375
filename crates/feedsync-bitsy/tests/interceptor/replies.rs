//! Responses that the gateway creates itself, and conditions of requests.

use std::time::Duration;

use feedsync_bitsy::outbox::{EditId, Progress};
use feedsync_bitsy::profile::Profile;

use crate::desk::{Answer, Desk, EDITABLE, FEED, answer, entry, feed};

const MEMBER: &str = "http://www.example.com/feed/entry";
const MEMBERS: &str = "http://www.example.com/members";
const ATOM: (&str, &str) = ("content-type", "application/atom+xml;type=entry");
const SERVED: (&str, &str) = ("content-type", "application/atom+xml");

/// A desk without a network, with a feed and a member that has an entity tag.
fn offline(profile: Profile) -> Desk {
    let mut desk = Desk::of(profile);
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e1\"")], &entry("a")));
    desk.subscribe(&["edit"], &[]);
    desk.run();
    desk.go_offline();
    desk.lines();
    desk
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.get(name).map(|value| value.to_str().unwrap())
}

#[test]
fn missing_address_returns_504_as_a_problem_document() {
    let mut desk = offline(Profile::Resilient);
    let got = desk.get("http://www.example.com/else?secret=1");
    assert_eq!(got.status, 504);
    assert_eq!(header(&got, "content-type"), Some("application/problem+json"));
    assert_eq!(header(&got, "cache-control"), Some("no-store"));
    assert!(got.headers.contains_key("cache-status"));
    assert_eq!(
        got.body,
        "{\"type\":\"urn:feedsync:1:offline\",\"title\":\"Offline and not stored\",\
         \"status\":504,\"detail\":\"http://www.example.com cannot be reached, and the requested resource is not stored here\"}"
    );
}

#[test]
fn refusals_name_the_reason_and_are_not_stored() {
    let mut desk = offline(Profile::Resilient);
    let got = desk.ask("GET", FEED, &[("accept", "text/html")], "");
    assert_eq!((got.status, header(&got, "cache-control")), (406, Some("no-store")));
    assert_eq!(header(&got, "content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(
        got.body,
        "The stored response has a media type that the request does not accept.\n"
    );
    let got = desk.ask("PUT", MEMBER, &[ATOM, ("if-match", "\"e0\"")], &entry("x"));
    assert_eq!((got.status, header(&got, "cache-control")), (412, Some("no-store")));
    assert_eq!(header(&got, "etag"), Some("\"e1\""));
    assert_eq!(got.body, "The resource is not in the state that the request requires.\n");
    assert_eq!(desk.ask("DELETE", MEMBER, &[], "").status, 204);
    let got = desk.get(MEMBER);
    assert_eq!((got.status, got.body.as_str()), (410, ""));
    assert_eq!(header(&got, "cache-control"), Some("no-store"));
}

#[test]
fn options_name_the_methods_and_the_accepted_media_type() {
    let mut desk = offline(Profile::Resilient);
    for (url, takes) in
        [(FEED, None), (MEMBER, None), (MEMBERS, Some("application/atom+xml;type=entry"))]
    {
        let got = desk.ask("OPTIONS", url, &[], "");
        assert_eq!((got.status, header(&got, "accept-post")), (204, takes), "{url}");
        assert_eq!(header(&got, "warning"), Some("112 bitsy \"Disconnected operation\""));
    }
    assert_eq!(desk.ask("OPTIONS", "http://www.example.com/else", &[], "").status, 504);
}

#[test]
fn edit_is_acknowledged_with_its_content() {
    for (profile, has_location) in [(Profile::Resilient, true), (Profile::Strict, false)] {
        let mut desk = offline(profile);
        let made = desk.ask("POST", MEMBERS, &[ATOM, ("x-mine", "1")], &entry("new"));
        assert_eq!((made.status, &made.body), (201, &entry("new")));
        assert_eq!(header(&made, "location").is_some(), has_location);
        assert_eq!(header(&made, "content-type"), Some(ATOM.1));
        assert!(header(&made, "etag").unwrap().starts_with("\"local-"));
        for name in ["age", "x-mine"] {
            assert_eq!(header(&made, name), None);
        }
        let put = desk.ask("PUT", MEMBER, &[ATOM], &entry("mine"));
        assert_eq!((put.status, &put.body), (200, &entry("mine")));
        assert_eq!(header(&put, "location"), None);
        assert_ne!(header(&put, "etag"), header(&made, "etag"));
        assert_eq!(header(&put, "etag"), header(&desk.get(MEMBER), "etag"));
        let deleted = desk.ask("DELETE", MEMBER, &[], "");
        assert_eq!((deleted.status, deleted.body.as_str()), (204, ""));
        assert!(deleted.headers.is_empty());
    }
}

#[test]
fn put_is_accepted_if_its_conditions_are_met() {
    for (conditions, is_met) in [
        (vec![], true),
        (vec![("if-match", "\"e1\"")], true),
        (vec![("if-match", "*")], true),
        (vec![("if-match", "\"e0\", \"e1\"")], true),
        (vec![("if-match", "\"e0\""), ("if-match", "\"e1\"")], true),
        (vec![("if-match", "\"e0\"")], false),
        (vec![("if-match", "")], false),
        (vec![("if-none-match", "\"e0\"")], true),
        (vec![("if-none-match", "\"e1\"")], false),
        (vec![("if-none-match", "*")], false),
        (vec![("if-match", "\"e1\""), ("if-none-match", "\"e1\"")], false),
        (vec![("if-unmodified-since", "Thu, 01 Jan 1970 00:00:00 GMT")], true),
    ] {
        let mut desk = offline(Profile::Resilient);
        let headers: Vec<_> = [&[ATOM], &*conditions].concat();
        let status = desk.ask("PUT", MEMBER, &headers, &entry("x")).status;
        assert_eq!(status, if is_met { 200 } else { 412 }, "{conditions:?}");
    }
    // Conditions on an unknown representation.
    let mut desk = Desk::with_member();
    desk.go_offline();
    for (condition, status) in [("if-match", 412), ("if-none-match", 200)] {
        let headers = [ATOM, (condition, "*")];
        assert_eq!(desk.ask("PUT", MEMBER, &headers, &entry("x")).status, status);
    }
}

#[test]
fn only_headers_about_the_body_are_stored_with_an_edit() {
    let mut desk = offline(Profile::Resilient);
    let headers = [
        ATOM,
        ("content-language", "de"),
        ("x-mine", "1"),
        ("slug", "s"),
        ("sec-fetch-mode", "cors"),
        ("origin", "http://app.example"),
        ("if-none-match", "\"e0\""),
        ("range", "bytes=0-1"),
        ("te", "trailers"),
        ("host", "www.example.com"),
        ("expect", "100-continue"),
    ];
    assert_eq!(desk.ask("PUT", MEMBER, &headers, &entry("mine")).status, 200);
    let edit = desk.gateway.state.edits().next().unwrap();
    let body = edit.requested.body.as_ref().unwrap();
    let mut names: Vec<&str> = body.headers.keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["content-language", "content-type", "x-mine"]);
}

#[test]
fn discarded_edit_is_removed_with_those_that_build_on_it() {
    let mut desk = offline(Profile::Resilient);
    let made = desk.ask("POST", MEMBERS, &[ATOM], &entry("new"));
    let pending = made.headers["location"].to_str().unwrap().to_owned();
    assert_eq!(desk.ask("PUT", MEMBER, &[ATOM], &entry("mine")).status, 200);
    let step = desk.gateway.state.delivery().discard(EditId(1));
    assert!(step.is_durable);
    desk.take(&step);
    assert_eq!(desk.get(&pending).status, 410);
    assert_eq!(desk.gateway.state.edits().count(), 1);
    assert!(desk.gateway.disk.now.rows.attempts.is_empty(), "it was never sent");
    let step = desk.gateway.state.delivery().discard(EditId(2));
    desk.take(&step);
    assert_eq!(desk.get(MEMBER).body, entry("a"));
    desk.restart();
    assert_eq!(desk.gateway.state.edits().count(), 0);
    assert_eq!(desk.get(&pending).status, 410);
}

#[test]
fn edit_that_is_being_sent_is_not_discarded() {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", MEMBER, &[ATOM], &entry("mine")).status, 200);
    desk.is_online = true;
    desk.now = desk.now.after(Duration::from_secs(10));
    let (_, step) = desk.begin();
    desk.take(&step);
    assert!(desk.gateway.state.delivery().discard(EditId(1)).changes.is_empty());
    assert!(desk.gateway.state.delivery().retry_now(EditId(1)).changes.is_empty());
    desk.restart();
    // The edit is removed, and it may have arrived.
    let step = desk.gateway.state.delivery().discard(EditId(1));
    desk.take(&step);
    assert_eq!(desk.gateway.state.edits().count(), 0);
    assert_eq!(desk.gateway.disk.now.rows.attempts.len(), 1);
}

#[test]
fn put_off_edits_are_tried_at_once_on_request() {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", MEMBER, &[ATOM], &entry("mine")).status, 200);
    assert_eq!(desk.ask("POST", MEMBERS, &[ATOM], &entry("new")).status, 201);
    desk.is_online = true;
    for (method, url) in [("PUT", MEMBER), ("POST", MEMBERS)] {
        desk.serve(method, url, answer(429, &[("retry-after", "9999")], ""));
    }
    desk.after(10);
    desk.after(60);
    let is_put_off = |desk: &Desk| {
        let edits = desk.gateway.state.edits();
        edits.filter(|edit| matches!(edit.progress, Progress::Waiting { .. })).count()
    };
    assert_eq!(is_put_off(&desk), 2);
    let step = desk.gateway.state.delivery().retry_all_now([EditId(1), EditId(2), EditId(9)]);
    assert!(step.is_durable);
    desk.take(&step);
    assert_eq!(is_put_off(&desk), 0);
    for (method, url) in [("PUT", MEMBER), ("POST", MEMBERS)] {
        desk.serve(method, url, answer(204, &[], ""));
    }
    desk.lines();
    desk.run();
    let lines = desk.lines();
    assert!(lines.contains(&format!("PUT {MEMBER}")) && lines.contains(&format!("POST {MEMBERS}")));
}
