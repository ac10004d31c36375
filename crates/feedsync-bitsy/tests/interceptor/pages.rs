//! Paged feeds, and members that appear and disappear with their pages (BITSY 2.1.1, 2.1.3, R-B12, R-B21).

use std::time::Duration;

use feedsync_bitsy::interceptor::Outcome;
use feedsync_bitsy::subscription::state::State;

use crate::desk::{Answer, Desk, FEED, answer, at, entry, feed};

const SECOND: &str = "http://www.example.com/feed/2";
const ON_SECOND: &str = "http://www.example.com/on-second";
const MEMBERS: &str = "http://www.example.com/members";
const ATOM: [(&str, &str); 1] = [("content-type", "application/atom+xml;type=entry")];

fn first() -> Answer {
    feed(
        "<app:collection href='/members'/><link rel='next' href='/feed/2'/>\
         <entry><id>urn:a</id><title>a</title><link rel='edit' href='/a'/></entry>",
    )
}

fn second(tag: &str, title: &str) -> Answer {
    let mut page = feed(&format!(
        "<entry><id>urn:b</id><title>{title}</title><link rel='edit' href='/b'/>\
         <link rel='related' href='/on-second'/></entry>"
    ));
    page.headers.insert("etag", tag.parse().unwrap());
    page
}

fn desk() -> Desk {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, first());
    desk.serve("GET", SECOND, second("\"s1\"", "b"));
    desk.serve("GET", ON_SECOND, answer(200, &[], "linked"));
    desk.subscribe(&["next", "related"], &[]);
    desk.run();
    assert_eq!(desk.state(), State::Waiting);
    desk
}

#[test]
fn page_is_processed_like_the_feed() {
    let mut desk = desk();
    assert_eq!(
        desk.lines(),
        [format!("GET {FEED}"), format!("GET {SECOND}"), format!("GET {ON_SECOND}")]
    );
    desk.go_offline();
    assert_eq!(desk.get(ON_SECOND).body, "linked");
    // Members on the second page can be edited, and new ones show on the first page only.
    let b = "http://www.example.com/b";
    assert_eq!(desk.ask("PUT", b, &ATOM, &entry("mine")).status, 200);
    assert_eq!(desk.ask("POST", MEMBERS, &ATOM, &entry("new")).status, 201);
    let (one, two) = (desk.get(FEED).body, desk.get(SECOND).body);
    assert!(one.contains("urn:new") && !one.contains("urn:mine"));
    assert!(two.contains("urn:mine") && !two.contains("urn:new"));
}

#[test]
fn page_that_cannot_be_fetched_keeps_its_resources() {
    for refused in [answer(404, &[], ""), answer(503, &[("retry-after", "60")], "")] {
        let mut desk = desk();
        let mut changed = first();
        changed.headers.insert("etag", "\"f2\"".parse().unwrap());
        desk.serve("GET", FEED, changed);
        desk.serve("GET", SECOND, refused);
        desk.after(3_600);
        desk.go_offline();
        assert_eq!(desk.get(ON_SECOND).body, "linked");
        assert_eq!(desk.ask("PUT", "http://www.example.com/b", &ATOM, &entry("x")).status, 200);
    }
}

#[test]
fn link_that_no_page_has_any_more_is_removed() {
    let mut desk = desk();
    let mut changed = second("\"s2\"", "b");
    changed.body = changed.body.replace("<link rel='related' href='/on-second'/>", "");
    desk.serve("GET", SECOND, changed);
    desk.after(3_600);
    desk.go_offline();
    assert_eq!(desk.get(ON_SECOND).status, 504);
    assert_eq!(desk.get(SECOND).status, 200);
}

#[test]
fn page_on_an_unreachable_other_server_fails_the_round() {
    let elsewhere = "http://other.example/2";
    let mut desk = Desk::new();
    let body = first().body.replace("/feed/2", elsewhere);
    desk.serve("GET", FEED, Answer { body, ..first() });
    desk.subscribe(&["next"], &[]);
    let begun = desk.begin();
    desk.carry_out(begun);
    let (tasks, step) = desk.begin();
    desk.take(&step);
    assert_eq!(tasks[0].location.as_str(), elsewhere);
    let lost = Outcome::Lost { perhaps_arrived: false };
    let of = &mut desk.gateway;
    let Ok(step) = of.finished(tasks[0].id, lost, desk.now, 0);
    desk.take(&step);
    assert_eq!(desk.state(), State::Paused);
    assert!(desk.gateway.state.is_reached(&at(FEED)));
}

#[test]
fn new_collection_replaces_the_old_one() {
    let mut desk = desk();
    let other = "http://www.example.com/others";
    let body = first().body.replace("/members", "/others");
    let mut changed = Answer { body, ..first() };
    changed.headers.insert("etag", "\"f2\"".parse().unwrap());
    desk.serve("GET", FEED, changed);
    desk.after(3_600);
    desk.go_offline();
    assert_eq!(desk.ask("POST", other, &ATOM, &entry("new")).status, 201);
    assert_eq!(desk.ask("POST", MEMBERS, &ATOM, &entry("new")).status, 504);
    desk.restart();
    assert_eq!(desk.ask("POST", other, &ATOM, &entry("newer")).status, 201);
    assert_eq!(desk.ask("POST", MEMBERS, &ATOM, &entry("new")).status, 504);
}

#[test]
fn round_interrupted_by_a_pause_stores_nothing() {
    let mut desk = desk();
    let id = desk.gateway.state.stored_subscriptions().next().unwrap().id;
    desk.serve("GET", SECOND, second("\"s2\"", "changed"));
    desk.now = desk.now.after(Duration::from_secs(3_600));
    let begun = desk.begin();
    desk.carry_out(begun);
    let begun = desk.begin();
    let step = desk.gateway.state.pause(id, desk.now).unwrap();
    desk.take(&step);
    desk.carry_out(begun);
    assert_eq!(desk.state(), State::Paused);
    desk.go_offline();
    assert!(desk.get(SECOND).body.contains("<title>b</title>"));
}

#[test]
fn responses_of_an_earlier_round_are_ignored() {
    let mut desk = desk();
    let id = desk.gateway.state.stored_subscriptions().next().unwrap().id;
    desk.now = desk.now.after(Duration::from_secs(3_600));
    let begun = desk.begin();
    let step = desk.gateway.state.pause(id, desk.now).unwrap();
    desk.take(&step);
    let step = desk.gateway.state.resume(id, desk.now).unwrap();
    desk.take(&step);
    let again = desk.begin();
    assert_eq!(again.0.len(), 1);
    desk.carry_out(begun);
    assert_eq!(desk.begin().0.len(), 0, "the feed of this round is under way");
    desk.carry_out(again);
    assert_eq!(desk.begin().0.len(), 1);
}

#[test]
fn link_on_an_unreachable_other_server_is_requested_after_five_minutes() {
    let elsewhere = "http://other.example/1";
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(&format!("<link rel='related' href='{elsewhere}'/>")));
    desk.serve("GET", elsewhere, answer(200, &[], "one"));
    desk.subscribe(&["related"], &[]);
    let begun = desk.begin();
    desk.carry_out(begun);
    let (tasks, step) = desk.begin();
    desk.take(&step);
    let lost = Outcome::Lost { perhaps_arrived: false };
    let of = &mut desk.gateway;
    let Ok(step) = of.finished(tasks[0].id, lost, desk.now, 0);
    desk.take(&step);
    assert_eq!(desk.state(), State::Waiting);
    let due = desk.now.after(Duration::from_secs(5 * 60));
    assert_eq!(
        desk.gateway.state.stored_subscriptions().next().unwrap().subscription.due(),
        Some(due)
    );
    desk.lines();
    desk.after(299);
    assert!(desk.lines().is_empty());
    desk.after(1);
    assert_eq!(desk.lines(), [format!("GET {elsewhere}")]);
}

#[test]
fn link_waits_for_the_network_when_the_feeds_server_is_unreachable_too() {
    let elsewhere = "http://other.example/1";
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(&format!("<link rel='related' href='{elsewhere}'/>")));
    desk.subscribe(&["related"], &[]);
    let begun = desk.begin();
    desk.carry_out(begun);
    let (tasks, step) = desk.begin();
    desk.take(&step);
    desk.gateway.state.reached(&at(FEED), false, desk.now, 0);
    let lost = Outcome::Lost { perhaps_arrived: false };
    let of = &mut desk.gateway;
    let Ok(step) = of.finished(tasks[0].id, lost, desk.now, 0);
    desk.take(&step);
    assert_eq!(desk.state(), State::Fetching);
}
