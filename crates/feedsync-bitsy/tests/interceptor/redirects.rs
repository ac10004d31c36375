//! Redirections of edits, and responses that put an edit in doubt (BITSY 3.5, R-B33, R-B43).

use std::time::Duration;

use feedsync_bitsy::profile::Profile;
use feedsync_bitsy::subscription::outcome::MAX_HOPS;

use crate::desk::{Desk, EDITABLE, FEED, answer, entry, feed};
use crate::looks::{count, waiting};

const MEMBER: &str = "http://www.example.com/feed/entry";
const MEMBERS: &str = "http://www.example.com/members";
const THERE: &str = "http://www.example.com/there";
const PORTAL: &str = "http://portal.example/login";
const ATOM: (&str, &str) = ("content-type", "application/atom+xml;type=entry");
const SERVED: (&str, &str) = ("content-type", "application/atom+xml");

/// A desk with a waiting edit that was made without a network, and with a paused subscription.
fn edited(profile: Profile, method: &str, url: &str) -> Desk {
    let mut desk = Desk::of(profile);
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e1\"")], &entry("a")));
    desk.subscribe(&["edit"], &[]);
    desk.run();
    desk.is_online = false;
    let body = if method == "DELETE" { String::new() } else { entry("new") };
    assert!(desk.ask(method, url, &[ATOM], &body).status < 300);
    desk.is_online = true;
    let stored_subscription = desk.gateway.state.stored_subscriptions().next().unwrap().id;
    let step = desk.gateway.state.pause(stored_subscription, desk.now).unwrap();
    desk.take(&step);
    desk.now = desk.now.after(Duration::from_secs(10));
    desk.lines();
    desk
}

fn put() -> Desk {
    edited(Profile::Resilient, "PUT", MEMBER)
}

fn post() -> Desk {
    edited(Profile::Resilient, "POST", MEMBERS)
}

/// Edits that arrived since the last call, without the checks after them.
fn sent(desk: &mut Desk) -> Vec<String> {
    desk.lines().into_iter().filter(|line| !line.starts_with("GET")).collect()
}

#[test]
fn edit_follows_ten_redirections() {
    let step = |number: usize| format!("http://www.example.com/hop{number}");
    for hops in [MAX_HOPS, MAX_HOPS + 1] {
        let mut desk = put();
        let mut from = MEMBER.to_owned();
        for number in 0..hops {
            desk.serve("PUT", &from, answer(307, &[("location", &step(number))], ""));
            from = step(number);
        }
        desk.serve("PUT", &from, answer(204, &[], ""));
        desk.run();
        let is_done = hops == MAX_HOPS;
        assert_eq!(sent(&mut desk).len(), MAX_HOPS + 1);
        assert_eq!(waiting(&desk), 0);
        let errors = if is_done { vec![] } else { vec![format!("307 PUT {MEMBER}")] };
        assert_eq!(desk.errors(), errors);
    }
}

#[test]
fn third_redirection_to_another_origin_is_final() {
    let mut desk = put();
    desk.serve("PUT", MEMBER, answer(307, &[("location", PORTAL)], ""));
    desk.serve("PUT", PORTAL, answer(204, &[], ""));
    for sent in 1..3 {
        desk.after(600);
        assert_eq!(count(&mut desk, &format!("PUT {MEMBER}")), 1, "{sent}");
        assert_eq!((waiting(&desk), desk.errors()), (1, vec![]), "{sent}");
    }
    desk.after(600);
    assert_eq!((waiting(&desk), desk.errors()), (0, vec![format!("307 PUT {MEMBER}")]));
    assert!(!desk.arrived.iter().any(|arrived| arrived.line.contains("portal")));
    // In the strict profile the edit is sent there.
    let mut desk = edited(Profile::Strict, "PUT", MEMBER);
    desk.serve("PUT", MEMBER, answer(307, &[("location", PORTAL)], ""));
    desk.serve("PUT", PORTAL, answer(204, &[], ""));
    desk.run();
    assert_eq!(sent(&mut desk), [format!("PUT {MEMBER}"), format!("PUT {PORTAL}")]);
    assert_eq!(waiting(&desk), 0);
}

#[test]
fn post_is_repeated_after_307_and_308_only() {
    for (status, is_repeated) in
        [(301, false), (302, false), (303, false), (307, true), (308, true)]
    {
        let mut desk = post();
        desk.serve("POST", MEMBERS, answer(status, &[("location", "/there")], ""));
        desk.serve("POST", THERE, answer(201, &[("location", "/feed/9")], ""));
        desk.serve("GET", THERE, answer(200, &[SERVED], &entry("new")));
        desk.run();
        let lines = desk.lines();
        assert_eq!(lines.contains(&format!("POST {THERE}")), is_repeated, "{status}");
        assert_eq!(lines.contains(&format!("GET {THERE}")), !is_repeated, "{status}");
        assert_eq!((waiting(&desk), desk.errors()), (0, vec![]), "{status}");
    }
}

#[test]
fn put_and_deletion_are_repeated_except_after_a_303() {
    for method in ["PUT", "DELETE"] {
        for (status, is_repeated) in
            [(301, true), (302, true), (303, false), (307, true), (308, true)]
        {
            let mut desk = edited(Profile::Resilient, method, MEMBER);
            desk.serve(method, MEMBER, answer(status, &[("location", "/there")], ""));
            desk.serve(method, THERE, answer(204, &[], ""));
            desk.serve("GET", THERE, answer(200, &[], ""));
            desk.run();
            let lines = desk.lines();
            assert_eq!(lines.contains(&format!("{method} {THERE}")), is_repeated, "{status}");
            assert_eq!((waiting(&desk), desk.errors()), (0, vec![]), "{method} {status}");
        }
    }
}

#[test]
fn response_at_the_redirection_target_is_the_result_of_a_post() {
    let listed =
        format!("{EDITABLE}<entry><id>urn:new</id><link rel='edit' href='/feed/9'/></entry>");
    // An entry is the member. Any other response only confirms that there is one.
    for (kind, body, member) in [
        ("application/atom+xml", entry("new"), THERE),
        ("text/plain", "done".to_owned(), "http://www.example.com/feed/9"),
    ] {
        let mut desk = post();
        let pending = desk.gateway.state.edits().next().unwrap().requested.resource.clone();
        desk.serve("POST", MEMBERS, answer(303, &[("location", "/there")], ""));
        desk.serve("GET", THERE, answer(200, &[("content-type", kind)], &body));
        desk.run();
        assert_eq!((waiting(&desk), desk.errors()), (0, vec![]));
        desk.serve("GET", FEED, feed(&listed));
        let stored_subscription = desk.gateway.state.stored_subscriptions().next().unwrap().id;
        let step = desk.gateway.state.resume(stored_subscription, desk.now).unwrap();
        desk.take(&step);
        desk.run();
        assert_eq!(desk.get(pending.as_str()).headers["location"], member, "{kind}");
    }
}

#[test]
fn result_request_follows_limited_redirections_and_then_checks_the_feed() {
    let mut desk = post();
    desk.serve("POST", MEMBERS, answer(303, &[("location", "/there")], ""));
    desk.serve("GET", THERE, answer(302, &[("location", "/there")], ""));
    desk.serve("GET", FEED, feed(EDITABLE));
    let begun = desk.begin();
    desk.carry_out(begun);
    for _ in 0..MAX_HOPS {
        let begun = desk.begin();
        assert_eq!(begun.0[0].location.as_str(), THERE);
        desk.carry_out(begun);
    }
    let begun = desk.begin();
    assert_eq!(begun.0[0].location.as_str(), FEED);
    // A redirection without an address leads to a check of the feed at once.
    let mut desk = post();
    desk.serve("POST", MEMBERS, answer(303, &[("location", "/there")], ""));
    desk.serve("GET", THERE, answer(302, &[], ""));
    for _ in 0..2 {
        let begun = desk.begin();
        desk.carry_out(begun);
    }
    let begun = desk.begin();
    assert_eq!(begun.0[0].location.as_str(), FEED);
}

#[test]
fn failed_result_request_counts_as_confirmation_of_the_edit() {
    let mut desk = post();
    desk.serve("POST", MEMBERS, answer(303, &[("location", "/there")], ""));
    desk.serve("GET", THERE, answer(404, &[], ""));
    desk.run();
    // The edit was not found and was confirmed again, so the server has made something of it.
    assert_eq!(count(&mut desk, &format!("POST {MEMBERS}")), 2);
    assert_eq!((waiting(&desk), desk.errors()), (0, vec![]));
}

#[test]
fn gateway_errors_put_an_edit_in_doubt() {
    for status in [408, 502, 504] {
        // A new member is checked after 30 s, because the server itself may still be processing it.
        let mut desk = post();
        desk.serve("POST", MEMBERS, answer(status, &[], ""));
        desk.run();
        desk.lines();
        desk.after(29);
        assert!(desk.lines().is_empty(), "{status}");
        desk.after(1);
        assert_eq!(desk.lines()[0], format!("GET {FEED}"), "{status}");
        let mut desk = put();
        desk.serve("PUT", MEMBER, answer(status, &[], ""));
        desk.run();
        desk.lines();
        desk.after(10);
        assert_eq!(desk.lines()[0], format!("GET {MEMBER}"), "{status}");
    }
    // A 503 means that the server itself did nothing.
    let mut desk = post();
    desk.serve("POST", MEMBERS, answer(503, &[], ""));
    desk.run();
    desk.lines();
    desk.after(60);
    assert_eq!(desk.lines()[0], format!("POST {MEMBERS}"));
}

#[test]
fn post_has_the_same_idempotency_key_in_each_attempt() {
    let mut desk = post();
    desk.serve("POST", MEMBERS, answer(503, &[], ""));
    desk.after(60);
    desk.after(60);
    let keys: Vec<_> = desk
        .arrived
        .iter()
        .filter(|arrived| arrived.line.starts_with("POST"))
        .map(|arrived| arrived.headers["idempotency-key"].to_str().unwrap())
        .collect();
    assert!(keys.len() > 1 && keys.iter().all(|key| *key == keys[0]));
    assert!(keys[0].starts_with('"') && keys[0].ends_with('"'));
    let mut desk = put();
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    desk.run();
    assert!(!desk.arrived.iter().any(|it| it.headers.contains_key("idempotency-key")));
}

#[test]
fn check_requests_an_uncached_response() {
    let mut desk = post();
    desk.serve("POST", MEMBERS, answer(504, &[], ""));
    desk.run();
    desk.after(60);
    let look = desk.arrived.iter().find(|arrived| arrived.line == format!("GET {FEED}")).unwrap();
    assert_eq!(look.headers["cache-control"], "no-cache");
    assert_eq!(look.headers["accept"], "application/atom+xml, */*;q=0.5");
    assert_eq!(look.headers["accept-encoding"], "identity");
}
