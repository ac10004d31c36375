//! Links that are followed for a time.

use feedsync_bitsy::interceptor::Outcome;
use feedsync_bitsy::subscription::state::State;
use http::StatusCode;

use crate::desk::{Desk, FEED, answer, feed, fields};

const ONE: &str = "http://www.example.com/1";

/// A feed with a link.
fn linked() -> crate::desk::Answer {
    feed("<entry><id>urn:1</id><title>1</title><link rel='related' href='/1'/></entry>")
}

#[test]
fn following_more_keeps_stored_resources_available() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, linked());
    desk.serve("GET", ONE, answer(200, &[], "one"));
    let (id, holder) = desk.subscribe(&[], &[]);
    desk.run();
    assert_eq!(desk.lines(), [format!("GET {FEED}")]);
    let related = "related".parse().unwrap();
    let step = desk.gateway.state.add_follow(id, holder, related, desk.now).unwrap();
    desk.take(&step);
    assert_eq!(desk.state(), State::Ready);
    // The feed has arrived, and its links were not fetched yet.
    let of = &mut desk.gateway;
    let (tasks, step) = of.begin(4, desk.now).unwrap();
    desk.take(&step);
    let headers = fields(&[("content-type", "application/atom+xml")]);
    let content = desk.gateway.disk.hold(linked().body.into());
    let outcome = Outcome::ServerResponse { status: StatusCode::OK, headers, content };
    let of = &mut desk.gateway;
    let step = of.finished(tasks[0].id, outcome, desk.now, 0).unwrap();
    desk.take(&step);
    assert_eq!(desk.state(), State::Fetching);
    assert!(desk.get(FEED).body.contains("urn:1"), "the entry stays");
    assert_eq!(desk.get(ONE).body, "one", "from its server");
    desk.run();
    assert_eq!(desk.state(), State::Waiting);
    desk.go_offline();
    assert_eq!(desk.get(ONE).body, "one");
}

#[test]
fn unfollowed_resources_stay_until_the_next_round() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, linked());
    desk.serve("GET", ONE, answer(200, &[], "one"));
    let (id, holder) = desk.subscribe(&["related"], &[]);
    desk.run();
    let related = "related".parse().unwrap();
    let step = desk.gateway.state.remove_follow(id, holder, &related, desk.now).unwrap();
    desk.take(&step);
    desk.run();
    desk.is_online = false;
    assert_eq!(desk.get(ONE).body, "one");
    desk.is_online = true;
    desk.lines();
    desk.after(3_600);
    assert_eq!(desk.lines(), [format!("GET {FEED}")]);
    desk.is_online = false;
    assert_eq!(desk.get(ONE).status, 504);
    assert!(desk.get(FEED).body.contains("urn:1"));
}
