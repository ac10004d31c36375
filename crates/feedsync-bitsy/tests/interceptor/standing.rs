//! The reason why an edit has not reached its server (BITSY 3.5).

use std::time::Duration;

use feedsync_bitsy::interceptor::{EditStatus, Policy, WaitReason};
use feedsync_bitsy::outbox::EditId;
use http::StatusCode;

use crate::desk::{Desk, EDITABLE, FEED, answer, at, entry, feed};

const MEMBER: &str = "http://www.example.com/feed/entry";
const MEMBERS: &str = "http://www.example.com/members";
const ATOM: [(&str, &str); 1] = [("content-type", "application/atom+xml;type=entry")];

/// A desk where a member was edited without a network, which is back now.
fn edited() -> Desk {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    let tagged = [ATOM[0], ("etag", "\"1\"")];
    desk.serve("GET", MEMBER, answer(200, &tagged, &entry("a")));
    desk.subscribe(&["edit"], &[]);
    desk.run();
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("mine")).status, 200);
    desk.is_online = true;
    desk.now = desk.now.after(Duration::from_secs(10));
    desk.gateway.state.retry_all();
    desk
}

/// The state of the last edit.
fn edit_status(desk: &Desk) -> EditStatus {
    let edit = desk.gateway.state.edits().next_back().unwrap();
    desk.gateway.state.edit_status(edit)
}

fn why(desk: &Desk) -> (WaitReason, Option<u64>) {
    let edit_status = edit_status(desk);
    (edit_status.why, edit_status.until.map(|until| until.since(desk.now).as_secs()))
}

#[test]
fn edit_waits_for_capacity_the_network_or_its_server() {
    let mut desk = edited();
    assert_eq!(
        edit_status(&desk),
        EditStatus { why: WaitReason::Capacity, since: None, until: None, error: None }
    );
    desk.gateway.state.reached(&at(MEMBER), false, desk.now, u64::MAX);
    assert_eq!(why(&desk), (WaitReason::Unreachable, Some(2)));
    desk.go_offline();
    assert_eq!(why(&desk), (WaitReason::Offline, None));
    let step = desk.gateway.state.set_policy(Policy::Auto);
    desk.take(&step);
    assert_eq!(why(&desk), (WaitReason::Capacity, None));
    let (_, step) = desk.begin();
    desk.take(&step);
    assert_eq!(why(&desk), (WaitReason::Sending, None));
    desk.go_offline();
    assert_eq!(why(&desk), (WaitReason::Sending, None), "its answer is waited for");
    desk.restart();
    assert_eq!(why(&desk), (WaitReason::Offline, None));
    let step = desk.gateway.state.set_policy(Policy::Auto);
    desk.take(&step);
    assert_eq!(why(&desk), (WaitReason::Doubt, None));
}

#[test]
fn doubtful_edit_reports_the_time_of_its_check() {
    let mut desk = edited();
    desk.serve("PUT", MEMBER, answer(504, &[], ""));
    desk.serve("GET", MEMBER, answer(503, &[], ""));
    let begun = desk.begin();
    desk.carry_out(begun);
    let (why, until) = why(&desk);
    assert_eq!(why, WaitReason::Doubt);
    assert!(until.is_some());
    assert_eq!(edit_status(&desk).since, Some(desk.now));
}

#[test]
fn accepted_edit_reports_the_time_of_its_check() {
    let mut desk = edited();
    desk.serve("PUT", MEMBER, answer(202, &[], ""));
    let begun = desk.begin();
    desk.carry_out(begun);
    assert_eq!(why(&desk), (WaitReason::Accepted, Some(30)));
    desk.go_offline();
    assert_eq!(why(&desk).0, WaitReason::Accepted);
}

#[test]
fn edit_that_is_put_off_or_held_reports_the_status() {
    let mut desk = edited();
    desk.serve("PUT", MEMBER, answer(429, &[("retry-after", "60")], ""));
    let begun = desk.begin();
    desk.carry_out(begun);
    assert_eq!(why(&desk), (WaitReason::PutOff(StatusCode::TOO_MANY_REQUESTS), Some(60)));
    // A later edit of the same member waits for it.
    assert_eq!(desk.ask("DELETE", MEMBER, &[], "").status, 204);
    assert_eq!(why(&desk), (WaitReason::Behind(EditId(1)), None));
    desk.go_offline();
    assert_eq!(why(&desk), (WaitReason::Behind(EditId(1)), None));
    let mut desk = edited();
    desk.serve("PUT", MEMBER, answer(407, &[], ""));
    let begun = desk.begin();
    desk.carry_out(begun);
    let proxy = StatusCode::PROXY_AUTHENTICATION_REQUIRED;
    assert_eq!(why(&desk), (WaitReason::Credentials(proxy), None));
    let error = desk.gateway.state.errors().all().next().unwrap().id;
    assert_eq!(edit_status(&desk).error, Some(error));
}

#[test]
fn server_that_puts_edits_off_is_paced() {
    let mut desk = edited();
    let members: Vec<String> =
        (0..3).map(|number| format!("http://www.example.com/feed/{number}")).collect();
    let listed: String = (0..3)
        .map(|n| format!("<entry><id>urn:{n}</id><link rel='edit' href='/feed/{n}'/></entry>"))
        .collect();
    let mut changed = feed(&format!("{EDITABLE}{listed}"));
    changed.headers.insert("etag", "\"f2\"".parse().unwrap());
    desk.serve("GET", FEED, changed);
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    desk.after(3_600);
    desk.is_online = false;
    for member in &members {
        assert_eq!(desk.ask("PUT", member, &ATOM, &entry("mine")).status, 200);
        desk.serve("PUT", member, answer(429, &[("retry-after", "9999")], ""));
    }
    desk.is_online = true;
    desk.now = desk.now.after(Duration::from_secs(10));
    desk.gateway.state.retry_all();
    assert_eq!(why(&desk), (WaitReason::Capacity, None));
    for _ in 0..2 {
        let begun = desk.begin();
        assert_eq!(begun.0.len(), 1, "one at a time");
        desk.carry_out(begun);
    }
    assert_eq!(why(&desk), (WaitReason::Paced, Some(2)));
    assert_eq!(desk.gateway.state.next_wake(desk.now).unwrap().since(desk.now).as_secs(), 2);
    assert!(desk.begin().0.is_empty());
    let third = EditId(desk.gateway.state.edits().next_back().unwrap().id.0);
    // A request to hurry removes the pause.
    let step = desk.gateway.state.delivery().retry_now(third);
    desk.take(&step);
    assert_eq!(why(&desk), (WaitReason::Capacity, None));
}

#[test]
fn edit_of_a_member_without_an_address_waits_for_it() {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    let made = desk.ask("POST", MEMBERS, &ATOM, &entry("new"));
    let pending = made.headers["location"].to_str().unwrap().to_owned();
    desk.is_online = true;
    desk.now = desk.now.after(Duration::from_secs(10));
    desk.serve("POST", MEMBERS, answer(201, &[], ""));
    desk.serve("GET", FEED, answer(503, &[], ""));
    let begun = desk.begin();
    desk.take(&begun.1);
    assert_eq!(desk.ask("PUT", &pending, &ATOM, &entry("newer")).status, 200);
    assert_eq!(why(&desk), (WaitReason::Behind(EditId(1)), None));
    desk.carry_out(begun);
    assert_eq!(why(&desk), (WaitReason::Unnamed, None));
}
