//! Responses that a server has validated (RFC 9111 3.2, 4.2.3, 4.3.3, 4.3.4).

use http::HeaderName;

use crate::desk::{Desk, EDITABLE, FEED, answer, feed};

const LINK: &str = "http://www.example.com/one";
const PARTS: &str =
    "<entry><id>urn:a</id><title>a</title><link rel='related' href='/one'/></entry>";

/// One hour, in seconds. No subscription of these tests waits longer.
const ROUND: u64 = 3_600;

/// A gateway that has stored a response with these headers for a linked resource.
fn with_link(headers: &[(&str, &str)]) -> Desk {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(PARTS));
    desk.serve("GET", LINK, answer(200, headers, "one"));
    desk.subscribe(&["related"], &[]);
    desk.run();
    desk.serve("GET", FEED, answer(304, &[], ""));
    desk.lines();
    desk
}

fn value(desk: &mut Desk, url: &str, name: &str) -> Option<String> {
    let got = desk.get(url);
    let name: HeaderName = name.parse().unwrap();
    got.headers.get(name).map(|value| value.to_str().unwrap().to_owned())
}

#[test]
fn response_304_renews_the_stored_headers_of_feeds_and_links() {
    for url in [FEED, LINK] {
        let stored = [("etag", "\"1\""), ("cache-control", "max-age=5"), ("x-kept", "1")];
        let mut desk = with_link(&stored);
        let tag = if url == FEED { "\"f1\"" } else { "\"1\"" };
        let kind = value(&mut desk, url, "content-type");
        let body = desk.get(url).body;
        let date = "Wed, 21 May 2008 01:00:00 GMT";
        let told = [
            ("etag", tag),
            ("date", date),
            ("cache-control", "max-age=60"),
            ("expires", "Thu, 22 May 2008 01:00:00 GMT"),
            ("content-type", "text/html"),
            ("connection", "x-hop"),
            ("x-hop", "1"),
        ];
        desk.serve("GET", url, answer(304, &told, ""));
        desk.after(ROUND);
        desk.restart();
        assert_eq!(value(&mut desk, url, "cache-control").as_deref(), Some("max-age=60"));
        assert_eq!(value(&mut desk, url, "date").as_deref(), Some(date));
        assert!(value(&mut desk, url, "expires").is_some());
        assert_eq!(value(&mut desk, url, "etag").as_deref(), Some(tag));
        assert_eq!(value(&mut desk, url, "content-type"), kind, "the bytes are as they were");
        assert_eq!(value(&mut desk, url, "x-hop"), None);
        assert_eq!(desk.get(url).body, body);
        assert!(desk.errors().is_empty());
    }
}

#[test]
fn response_304_with_another_strong_tag_causes_a_full_fetch() {
    let mut desk = with_link(&[("etag", "\"1\"")]);
    desk.serve("GET", LINK, answer(304, &[("etag", "\"2\""), ("x-new", "1")], ""));
    desk.after(ROUND);
    let requested: Vec<_> = desk.arrived.iter().filter(|it| it.line.ends_with("/one")).collect();
    let conditions: Vec<_> =
        requested.iter().map(|requested| requested.headers.contains_key("if-none-match")).collect();
    assert_eq!(conditions, [true, false], "without a condition, and no third time");
    assert_eq!(desk.errors(), [format!("304 GET {LINK}")], "nobody asked whether it changed");
    assert_eq!(value(&mut desk, LINK, "etag").as_deref(), Some("\"1\""), "it is not renewed");
    assert_eq!(value(&mut desk, LINK, "x-new"), None);
    assert_eq!(desk.get(LINK).body, "one");
}

#[test]
fn age_adds_up_and_restarts_with_a_304() {
    let mut desk = with_link(&[("etag", "\"1\""), ("age", "100")]);
    assert_eq!(value(&mut desk, LINK, "age").as_deref(), Some("100"));
    desk.now = desk.now.after(std::time::Duration::from_secs(50));
    assert_eq!(value(&mut desk, LINK, "age").as_deref(), Some("150"));
    desk.restart();
    assert_eq!(value(&mut desk, LINK, "age").as_deref(), Some("150"));
    for (told, age) in [(&[("age", "7")][..], "7"), (&[], "0")] {
        desk.serve("GET", LINK, answer(304, told, ""));
        desk.after(ROUND);
        let got = desk.get(LINK);
        let ages: Vec<_> = got.headers.get_all("age").iter().collect();
        assert_eq!(ages, [age]);
    }
}

#[test]
fn time_in_transit_is_part_of_the_age() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.subscribe(&[], &[]);
    let begun = desk.begin();
    desk.now = desk.now.after(std::time::Duration::from_secs(9));
    desk.carry_out(begun);
    desk.run();
    assert_eq!(value(&mut desk, FEED, "age").as_deref(), Some("9"));
}

#[test]
fn coding_that_the_gateway_cannot_make_is_forwarded_or_refused() {
    let mut desk = with_link(&[("etag", "\"1\"")]);
    let ask = |desk: &mut Desk, accepted: &str| {
        let got = desk.ask("GET", LINK, &[("accept-encoding", accepted)], "");
        let vary = got.headers.get("vary").cloned();
        (got.status, vary.map(|vary| vary.to_str().unwrap().to_owned()), desk.lines().len())
    };
    let vary = || Some("Accept-Encoding".to_owned());
    desk.serve("GET", LINK, answer(200, &[("content-encoding", "br")], "packed"));
    assert_eq!(ask(&mut desk, "br, identity;q=0"), (200, None, 1));
    desk.go_offline();
    for (accepted, status) in
        [("gzip;q=0", 200), ("identity;q=0, gzip", 200), ("", 200), ("br, identity;q=0", 406)]
    {
        assert_eq!(ask(&mut desk, accepted), (status, vary(), 0), "{accepted:?}");
    }
}
