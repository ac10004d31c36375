//! Stored responses are invalidated when an application changes the resource past the outbox (RFC 9111 4.4).

use http::Method;

use crate::desk::{Answer, Desk, EDITABLE, FEED, answer, at, entry, feed};

const LINKED: &str = "http://www.example.com/linked?page=1";
const OTHER: &str = "http://www.example.com/linked?page=2";
const MEMBER: &str = "http://www.example.com/feed/entry";
const MEDIA: &str = "http://www.example.com/photo.png";
const TEXT: [(&str, &str); 2] = [("content-type", "text/plain"), ("vary", "accept-language")];

fn text(body: &str) -> Answer {
    answer(200, &TEXT, body)
}

/// A desk with a feed, a member, its media and two linked pages, all of them stored.
fn desk() -> Desk {
    let mut desk = Desk::new();
    let links = "<link rel='related' href='/linked?page=1'/><link rel='related' href='/linked?page=2'/>\
         <link rel='enclosure' href='/photo.png'/>";
    desk.serve("GET", FEED, feed(&format!("{EDITABLE}{links}")));
    desk.serve(
        "GET",
        MEMBER,
        answer(200, &[("content-type", "application/atom+xml")], &entry("a")),
    );
    for at in [LINKED, OTHER, MEDIA] {
        desk.serve("GET", at, text("old"));
    }
    desk.subscribe(&["edit", "related", "enclosure"], &[]);
    desk.run();
    for at in [LINKED, OTHER, MEDIA] {
        assert_eq!(desk.get(at).body, "old");
    }
    desk.lines();
    desk
}

#[test]
fn successful_unsafe_request_invalidates_its_target_for_all_partitions() {
    for method in ["PUT", "POST", "PATCH", "DELETE", "X-PURGE"] {
        for status in [200, 201, 204, 302] {
            let mut desk = desk();
            desk.subscribe(&["related"], &[("Authorization", "Basic YTpi")]);
            desk.run();
            let theirs = [("authorization", "Basic YTpi")];
            assert_eq!(desk.ask("GET", LINKED, &theirs, "").body, "old");
            desk.serve(method, LINKED, answer(status, &[], ""));
            assert_eq!(desk.ask(method, LINKED, &[], "new").status, status);
            desk.serve("GET", LINKED, text("new"));
            assert_eq!(desk.get(LINKED).body, "new", "{method} {status}");
            assert_eq!(desk.ask("GET", LINKED, &theirs, "").body, "new");
            // The resource is fetched again, for times without a network.
            desk.run();
            desk.go_offline();
            assert_eq!(desk.get(LINKED).body, "new");
            assert_eq!(desk.ask("GET", LINKED, &theirs, "").body, "new");
            assert_eq!(desk.get(OTHER).body, "old", "another query");
        }
    }
}

#[test]
fn failed_writes_and_safe_methods_do_not_invalidate() {
    for (method, status) in [
        ("PUT", 404),
        ("PUT", 500),
        ("PATCH", 412),
        ("HEAD", 200),
        ("OPTIONS", 200),
        ("REPORT", 200),
    ] {
        let mut desk = desk();
        desk.serve(method, LINKED, answer(status, &[], ""));
        desk.ask(method, LINKED, &[], "");
        desk.serve("GET", LINKED, text("new"));
        assert_eq!(desk.get(LINKED).body, "old", "{method} {status}");
    }
}

#[test]
fn location_and_content_location_of_the_same_origin_are_invalidated() {
    for name in ["location", "content-location"] {
        for (at, is_own) in
            [("/linked?page=2", true), ("http://other.example/linked?page=2", false)]
        {
            let mut desk = desk();
            desk.serve("POST", LINKED, answer(201, &[(name, at)], ""));
            assert_eq!(desk.ask("POST", LINKED, &[], "new").status, 201);
            desk.serve("GET", OTHER, text("new"));
            assert_eq!(desk.get(OTHER).body, if is_own { "new" } else { "old" }, "{name}");
        }
    }
    // This applies also to an edit that is sent while its application waits, and to one from the outbox.
    for waits in [false, true] {
        let mut desk = desk();
        desk.serve("PUT", MEMBER, answer(204, &[("content-location", "/linked?page=2")], ""));
        desk.is_online = !waits;
        desk.ask("PUT", MEMBER, &[], &entry("mine"));
        desk.is_online = true;
        desk.serve("GET", OTHER, text("new"));
        // No round can find the change.
        desk.serve("GET", FEED, answer(503, &[("retry-after", "600")], ""));
        if waits {
            desk.after(5);
        }
        assert_eq!(desk.get(OTHER).body, "new", "waits: {waits}");
    }
}

#[test]
fn changed_feed_is_fetched_again_and_kept_for_offline_use() {
    let mut desk = desk();
    desk.serve("PATCH", FEED, answer(204, &[], ""));
    assert_eq!(desk.ask("PATCH", FEED, &[], "x").status, 204);
    let before = desk.get(FEED).body;
    let mut changed = feed("<entry><id>urn:new</id></entry>");
    changed.headers.insert("etag", "\"f2\"".parse().unwrap());
    desk.serve("GET", FEED, changed.clone());
    assert_eq!(desk.get(FEED).body, changed.body);
    desk.is_online = false;
    desk.go_offline();
    assert_eq!(desk.get(FEED).body, before, "what there is without a network");
    let step = desk.gateway.state.set_policy(feedsync_bitsy::interceptor::Policy::Auto);
    desk.take(&step);
    desk.is_online = true;
    desk.run();
    desk.go_offline();
    assert_eq!(desk.get(FEED).body, changed.body);
}

#[test]
fn response_to_a_request_from_before_a_change_is_not_stored() {
    for at in [LINKED, MEDIA] {
        let mut desk = desk();
        let id = desk.gateway.state.stored_subscriptions().next().unwrap().id;
        let step = desk.gateway.state.resume(id, desk.now).unwrap();
        desk.take(&step);
        // The round requests the feed, and then its links.
        let begun = desk.begin();
        desk.carry_out(begun);
        let begun = desk.begin();
        assert!(begun.0.iter().any(|task| task.location.as_str() == at));
        // The resource is changed meanwhile, so the responses are outdated.
        desk.serve("PUT", at, answer(204, &[], ""));
        assert_eq!(desk.ask("PUT", at, &[], "new").status, 204);
        desk.carry_out(begun);
        desk.serve("GET", at, text("new"));
        desk.run();
        desk.go_offline();
        assert_eq!(desk.get(at).body, "new", "{at}");
    }
}

#[test]
fn unsafe_request_without_response_invalidates_its_target() {
    let mut desk = desk();
    desk.serve("GET", LINKED, text("new"));
    for (method, expected) in [(Method::GET, "old"), (Method::PUT, "new")] {
        let Ok(step) = desk.gateway.may_have_changed((&method, &at(LINKED)), desk.now);
        desk.take(&step);
        assert_eq!(desk.get(LINKED).body, expected, "{method}");
    }
}
