//! Broken connections while an edit is sent, and the order in which edits are sent (BITSY 3.5).

use std::time::Duration;

use feedsync_bitsy::interceptor::{Outcome, Task};
use feedsync_bitsy::profile::Profile;

use crate::desk::{Desk, FEED, answer, entry, feed};

const MEMBERS: &str = "http://www.example.com/members";
const ATOM: [(&str, &str); 1] = [("content-type", "application/atom+xml;type=entry")];
const HAS_TWO: &str = "<app:collection href='/members'/>\
    <entry><id>urn:a</id><title>a</title><link rel='edit' href='/feed/a'/></entry>\
    <entry><id>urn:b</id><title>b</title><link rel='edit' href='/feed/b'/></entry>";

fn member(name: &str) -> String {
    format!("http://www.example.com/feed/{name}")
}

/// A desk where two members were edited without a network.
fn edited(profile: Profile) -> Desk {
    let mut desk = Desk::of(profile);
    desk.serve("GET", FEED, feed(HAS_TWO));
    for name in ["a", "b"] {
        let tagged = [ATOM[0], ("etag", "\"1\"")];
        desk.serve("GET", &member(name), answer(200, &tagged, &entry(name)));
        desk.serve("PUT", &member(name), answer(204, &[], ""));
    }
    desk.subscribe(&["edit"], &[]);
    desk.run();
    desk.is_online = false;
    for name in ["a", "b"] {
        assert_eq!(desk.ask("PUT", &member(name), &ATOM, &entry("mine")).status, 200);
    }
    desk.is_online = true;
    desk.now = desk.now.after(Duration::from_secs(10));
    desk.gateway.state.retry_all();
    desk.lines();
    desk
}

/// The first request that the gateway begins now, as `METHOD URL`. It is lost.
fn lost(desk: &mut Desk, perhaps_arrived: bool) -> String {
    desk.gateway.state.retry_all();
    let (tasks, step) = desk.begin();
    desk.take(&step);
    let line = |task: &Task| format!("{} {}", task.method, task.location);
    let first = line(&tasks[0]);
    let of = &mut desk.gateway;
    let outcome = Outcome::Lost { perhaps_arrived };
    let Ok(step) = of.finished(tasks[0].id, outcome, desk.now, u64::MAX);
    desk.take(&step);
    first
}

#[test]
fn edit_with_one_broken_connection_is_checked_and_sent_before_others() {
    let mut desk = edited(Profile::Resilient);
    assert_eq!(lost(&mut desk, true), format!("PUT {}", member("a")));
    assert_eq!(lost(&mut desk, false), format!("GET {}", member("a")));
    desk.gateway.state.retry_all();
    let begun = desk.begin();
    assert_eq!(begun.0[0].location.as_str(), member("a"));
    desk.carry_out(begun);
    assert_eq!(lost(&mut desk, true), format!("PUT {}", member("a")));
    // The second time other edits are sent first, because the edit may be at fault.
    assert_eq!(lost(&mut desk, false), format!("PUT {}", member("b")));
}

#[test]
fn edit_that_did_not_arrive_is_sent_again_at_once() {
    let mut desk = edited(Profile::Resilient);
    for _ in 0..2 {
        assert_eq!(lost(&mut desk, false), format!("PUT {}", member("a")));
    }
    // An earlier attempt may have been put off, so the server may know the edit.
    assert_eq!(lost(&mut desk, false), format!("GET {}", member("a")));
}

#[test]
fn strict_profile_sends_edits_in_their_order() {
    let mut desk = edited(Profile::Strict);
    assert_eq!(lost(&mut desk, true), format!("PUT {}", member("a")));
    desk.gateway.state.retry_all();
    let begun = desk.begin();
    assert_eq!(begun.0[0].method.as_str(), "GET");
    desk.carry_out(begun);
    assert_eq!(lost(&mut desk, true), format!("PUT {}", member("a")));
    desk.gateway.state.retry_all();
    assert!(desk.begin().0.is_empty(), "the other one waits for it");
    desk.now = desk.now.after(Duration::from_secs(60));
    desk.run();
    let puts: Vec<String> =
        desk.lines().into_iter().filter(|line| line.starts_with("PUT")).collect();
    assert_eq!(puts, [format!("PUT {}", member("a")), format!("PUT {}", member("b"))]);
}

#[test]
fn unreachable_server_delays_only_its_own_edits() {
    let mut desk = Desk::new();
    let elsewhere = "http://other.example/entry";
    let listed = format!(
        "{HAS_TWO}<entry><id>urn:c</id><title>c</title><link rel='edit' href='{elsewhere}'/></entry>"
    );
    desk.serve("GET", FEED, feed(&listed));
    desk.serve("PUT", elsewhere, answer(204, &[], ""));
    desk.subscribe(&[], &[]);
    desk.run();
    desk.is_online = false;
    for url in [elsewhere.to_owned(), member("a")] {
        assert_eq!(desk.ask("PUT", &url, &ATOM, &entry("mine")).status, 200);
    }
    desk.is_online = true;
    desk.now = desk.now.after(Duration::from_secs(10));
    desk.gateway.state.retry_all();
    desk.gateway.state.reached(&elsewhere.parse().unwrap(), false, desk.now, 0);
    let (tasks, step) = desk.begin();
    assert_eq!(tasks[0].location.as_str(), member("a"));
    desk.carry_out((tasks, step));
    desk.run();
    assert_eq!(desk.gateway.state.edits().count(), 1);
    desk.now = desk.now.after(Duration::from_secs(10));
    desk.run();
    assert_eq!(desk.gateway.state.edits().count(), 0);
}

#[test]
fn new_member_similar_to_no_doubtful_one_is_sent() {
    for (title, waits) in [("twin", true), ("other", false)] {
        let mut desk = Desk::with_member();
        desk.is_online = false;
        for title in ["twin", title] {
            assert_eq!(desk.ask("POST", MEMBERS, &ATOM, &entry(title)).status, 201);
        }
        desk.is_online = true;
        desk.now = desk.now.after(Duration::from_secs(10));
        desk.serve("POST", MEMBERS, answer(504, &[], ""));
        desk.lines();
        desk.run();
        let posts = desk.lines().iter().filter(|line| line.starts_with("POST")).count();
        assert_eq!(posts, if waits { 1 } else { 2 }, "{title}");
    }
}

#[test]
fn equal_bytes_are_similar_even_if_they_are_not_entries() {
    for (body, waits) in [("picture", true), ("another", false)] {
        let mut desk = Desk::with_member();
        desk.is_online = false;
        for body in ["picture", body] {
            let kind = [("content-type", "image/png")];
            assert_eq!(desk.ask("POST", MEMBERS, &kind, body).status, 201);
        }
        desk.is_online = true;
        desk.now = desk.now.after(Duration::from_secs(10));
        desk.serve("POST", MEMBERS, answer(504, &[], ""));
        desk.lines();
        desk.run();
        let posts = desk.lines().iter().filter(|line| line.starts_with("POST")).count();
        assert_eq!(posts, if waits { 1 } else { 2 }, "{body}");
    }
}
