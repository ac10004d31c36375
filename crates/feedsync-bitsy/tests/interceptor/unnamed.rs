//! Members whose addresses their server has not named: their feed is requested even if no round fetches it
//! (BITSY 2.1.3, R-B32).

use std::time::Duration;

use feedsync_bitsy::interceptor::{Outcome, Task};
use http::{HeaderMap, StatusCode};

use crate::desk::{Desk, EDITABLE, FEED, answer, entry, feed};

const MEMBERS: &str = "http://www.example.com/members";
const MADE: &str = "http://www.example.com/feed/9";
const ATOM: [(&str, &str); 1] = [("content-type", "application/atom+xml;type=entry")];

/// A desk whose subscription is paused. An application edits a member while the server creates it without
/// naming its address. Returns the temporary address, too.
fn desk() -> (Desk, String) {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    let made = desk.ask("POST", MEMBERS, &ATOM, &entry("new"));
    let pending = made.headers["location"].to_str().unwrap().to_owned();
    let stored_subscription = desk.gateway.state.stored_subscriptions().next().unwrap().id;
    let step = desk.gateway.state.pause(stored_subscription, desk.now).unwrap();
    desk.take(&step);
    desk.is_online = true;
    desk.now = desk.now.after(Duration::from_secs(10));
    let (mut tasks, step) = desk.begin();
    desk.take(&step);
    assert_eq!(desk.ask("PUT", &pending, &ATOM, &entry("newer")).status, 200);
    answered(&mut desk, &tasks.remove(0), 201, "");
    desk.lines();
    (desk, pending)
}

fn answered(desk: &mut Desk, task: &Task, status: u16, body: &str) {
    let content = desk.gateway.disk.hold(body.as_bytes().to_vec());
    let (status, headers) = (StatusCode::from_u16(status).unwrap(), HeaderMap::new());
    finished(desk, task, Outcome::ServerResponse { status, headers, content });
}

fn finished(desk: &mut Desk, task: &Task, outcome: Outcome) {
    let of = &mut desk.gateway;
    let Ok(step) = of.finished(task.id, outcome, desk.now, 0);
    desk.take(&step);
}

/// The requests that the gateway begins now.
fn begin(desk: &mut Desk) -> Vec<Task> {
    let (tasks, step) = desk.begin();
    desk.take(&step);
    tasks
}

fn wait(desk: &mut Desk, seconds: u64) {
    desk.now = desk.now.after(Duration::from_secs(seconds));
}

fn listed() -> String {
    let made = "<entry><id>urn:new</id><title>new</title><link rel='edit' href='/feed/9'/></entry>";
    feed(&format!("{EDITABLE}{made}")).body
}

#[test]
fn feed_is_searched_by_one_request_at_a_time() {
    let (mut desk, pending) = desk();
    let asks = begin(&mut desk);
    assert_eq!((asks.len(), asks[0].location.as_str()), (1, FEED));
    assert!(begin(&mut desk).is_empty());
    wait(&mut desk, 60);
    assert!(begin(&mut desk).is_empty(), "it is under way");
    answered(&mut desk, &asks[0], 200, &listed());
    assert_eq!(desk.get(&pending).headers["location"], MADE);
    let puts = begin(&mut desk);
    assert_eq!((puts.len(), puts[0].location.as_str()), (1, MADE));
}

#[test]
fn feed_is_requested_again_after_at_least_five_seconds() {
    for outcome in [Outcome::OutOfSpace, Outcome::Lost { perhaps_arrived: false }] {
        let (mut desk, _) = desk();
        let asks = begin(&mut desk);
        finished(&mut desk, &asks[0], outcome);
        wait(&mut desk, 4);
        assert!(begin(&mut desk).is_empty());
        assert_eq!(
            desk.gateway.state.next_wake(desk.now),
            Some(desk.now.after(Duration::from_secs(1)))
        );
        wait(&mut desk, 1);
        assert_eq!(begin(&mut desk).len(), 1);
    }
}

#[test]
fn edits_of_a_member_missing_in_eight_responses_become_errors() {
    for (status, body) in [(200, feed(EDITABLE).body), (404, String::new()), (404, listed())] {
        let (mut desk, pending) = desk();
        for _ in 0..7 {
            wait(&mut desk, 24 * 60 * 60);
            let asks = begin(&mut desk);
            answered(&mut desk, &asks[0], status, &body);
            assert_eq!(desk.gateway.state.edits().count(), 1);
        }
        wait(&mut desk, 24 * 60 * 60);
        let asks = begin(&mut desk);
        answered(&mut desk, &asks[0], status, &body);
        assert_eq!(desk.gateway.state.edits().count(), 0);
        assert_eq!(desk.errors(), [format!("424 PUT {pending}")]);
        assert_eq!(desk.get(&pending).status, 410);
        wait(&mut desk, 24 * 60 * 60);
        assert!(begin(&mut desk).is_empty(), "nothing is looked for any more");
    }
}

#[test]
fn feed_is_not_searched_for_members_without_waiting_edits() {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    assert_eq!(desk.ask("POST", MEMBERS, &ATOM, &entry("new")).status, 201);
    let stored_subscription = desk.gateway.state.stored_subscriptions().next().unwrap().id;
    let step = desk.gateway.state.pause(stored_subscription, desk.now).unwrap();
    desk.take(&step);
    desk.is_online = true;
    desk.serve("POST", MEMBERS, answer(201, &[], ""));
    desk.lines();
    desk.after(10);
    assert_eq!(desk.lines(), [format!("POST {MEMBERS}")]);
    desk.after(600);
    assert!(desk.lines().is_empty());
}
