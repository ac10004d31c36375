//! Control of subscriptions, errors and the network by applications and the operator of the gateway (BITSY
//! 2).

use std::time::Duration;

use feedsync_bitsy::event::ErrorId;
use feedsync_bitsy::interceptor::{ControlError, Policy, Step, SubscriptionId};
use feedsync_bitsy::subscription::Holder;
use feedsync_bitsy::subscription::state::State;

use crate::desk::{Desk, EDITABLE, FEED, answer, at, entry, feed};

const MEMBER: &str = "http://www.example.com/feed/entry";
const MEMBERS: &str = "http://www.example.com/members";
const ONE: &str = "http://www.example.com/1";
const PROXY: &str = "http://www.example.com/proxy.xml";
const ATOM: [(&str, &str); 1] = [("content-type", "application/atom+xml;type=entry")];

/// Makes an edit without a network that its server refuses. Returns its error.
fn refused(method: &str, url: &str) -> (Desk, ErrorId) {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    let body = if method == "DELETE" { String::new() } else { entry("mine") };
    assert!(desk.ask(method, url, &ATOM, &body).status < 300);
    desk.is_online = true;
    desk.serve(method, url, answer(409, &[], "no"));
    desk.after(10);
    assert_eq!(desk.errors(), [format!("409 {method} {url}")]);
    let id = desk.gateway.state.errors().all().next().unwrap().id;
    desk.lines();
    (desk, id)
}

fn retry(desk: &mut Desk, id: ErrorId) -> Result<Step, ControlError> {
    let of = &mut desk.gateway;
    let Ok(tried) = of.retry(id, 7, desk.now);
    tried
}

#[test]
fn two_applications_share_a_subscription_until_the_last_one_leaves() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    let (id, first) = desk.subscribe(&[], &[]);
    let (same, second) = desk.subscribe(&[], &[]);
    assert_eq!(id, same);
    assert_ne!(first, second);
    desk.run();
    assert_eq!(desk.lines(), [format!("GET {FEED}")]);
    desk.restart();
    let (_, third) = desk.subscribe(&[], &[]);
    assert!(third != first && third != second, "also after a restart");
    for holder in [first, third] {
        let step = desk.gateway.state.unsubscribe(id, holder, desk.now).unwrap();
        desk.take(&step);
        assert_eq!(desk.state(), State::Waiting);
    }
    let step = desk.gateway.state.unsubscribe(id, second, desk.now).unwrap();
    desk.take(&step);
    assert_eq!(desk.gateway.state.stored_subscriptions().count(), 0);
    // A closed subscription is not reused.
    let (other, _) = desk.subscribe(&[], &[]);
    assert_ne!(other, id);
}

#[test]
fn relation_of_another_application_begins_a_round_at_once() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed("<link rel='related' href='/1'/>"));
    desk.serve("GET", ONE, answer(200, &[], "one"));
    desk.subscribe(&[], &[]);
    desk.run();
    desk.told.clear();
    desk.subscribe(&["related"], &[]);
    assert_eq!(desk.told, [format!("READY {FEED}")]);
    desk.told.clear();
    desk.subscribe(&["related"], &[]);
    assert!(desk.told.is_empty(), "nothing is new");
    desk.run();
    assert_eq!(desk.lines().last().unwrap(), &format!("GET {ONE}"));
}

#[test]
fn operations_on_an_unknown_subscription_fail() {
    let mut desk = Desk::new();
    let (id, holder, now) = (SubscriptionId(99), Holder(99), desk.now);
    let of = &mut desk.gateway.state;
    let related = || "related".parse().unwrap();
    let all = [
        of.unsubscribe(id, holder, now),
        of.close(id, now),
        of.pause(id, now),
        of.resume(id, now),
        of.add_follow(id, holder, related(), now),
        of.remove_follow(id, holder, &related(), now),
        of.set_interval(id, holder, 1, now),
        of.set_proxy(id, None, now),
    ];
    for refused in all {
        assert_eq!(refused, Err(ControlError::NoSubscription));
    }
}

#[test]
fn closed_subscription_does_not_change() {
    let (mut desk, _) = refused("PUT", MEMBER);
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("later")).status, 200);
    let stored_subscription = desk.gateway.state.stored_subscriptions().next().unwrap().id;
    let step = desk.gateway.state.close(stored_subscription, desk.now).unwrap();
    desk.take(&step);
    assert_eq!(desk.state(), State::Closed, "an edit is on its way");
    let (holder, now) = (Holder(0), desk.now);
    let of = &mut desk.gateway.state;
    let related = "related".parse().unwrap();
    for refused in [
        of.add_follow(stored_subscription, holder, related, now),
        of.set_interval(stored_subscription, holder, 1, now),
        of.set_proxy(stored_subscription, None, now),
    ] {
        assert!(matches!(refused, Err(ControlError::Closed(_))), "{refused:?}");
    }
}

#[test]
fn refused_edits_of_each_method_can_be_retried() {
    for (method, url) in [("POST", MEMBERS), ("PUT", MEMBER), ("DELETE", MEMBER)] {
        let (mut desk, id) = refused(method, url);
        desk.serve(method, url, answer(204, &[], ""));
        let step = retry(&mut desk, id).unwrap();
        assert!(step.is_durable);
        desk.take(&step);
        assert!(desk.errors().is_empty(), "{method}");
        desk.run();
        assert!(desk.lines().contains(&format!("{method} {url}")), "{method}");
        let arrived = desk.arrived.iter().rfind(|it| it.line.starts_with(method));
        assert!(arrived.is_none_or(|it| !it.headers.contains_key("if-match")));
        desk.restart();
        assert!(desk.errors().is_empty(), "it is stored");
        assert_eq!(retry(&mut desk, id), Err(ControlError::NoError));
    }
}

#[test]
fn error_that_is_not_about_an_edit_cannot_be_retried() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, answer(404, &[], ""));
    desk.subscribe(&[], &[]);
    desk.run();
    let id = desk.gateway.state.errors().all().next().unwrap().id;
    assert_eq!(retry(&mut desk, id), Err(ControlError::NoEdit));
    assert_eq!(desk.errors().len(), 1);
}

#[test]
fn edit_of_an_unsubscribed_feed_cannot_be_retried() {
    let (mut desk, id) = refused("PUT", MEMBER);
    let stored_subscription = desk.gateway.state.stored_subscriptions().next().unwrap().id;
    let step = desk.gateway.state.close(stored_subscription, desk.now).unwrap();
    desk.take(&step);
    assert_eq!(retry(&mut desk, id), Err(ControlError::NoSubscription));
    assert_eq!(desk.errors().len(), 1);
}

#[test]
fn error_is_cleared_once() {
    let (mut desk, id) = refused("PUT", MEMBER);
    let step = desk.gateway.state.clear(id).unwrap();
    assert!(step.is_durable);
    desk.take(&step);
    assert!(desk.errors().is_empty());
    assert_eq!(desk.gateway.state.clear(id), Err(ControlError::NoError));
    desk.restart();
    assert!(desk.errors().is_empty());
}

#[test]
fn interval_is_the_minimum_time_to_the_next_round() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    let (id, holder) = desk.subscribe(&[], &[]);
    let step = desk.gateway.state.set_interval(id, holder, 5, desk.now).unwrap();
    desk.take(&step);
    desk.restart();
    desk.run();
    let due = desk.now.after(Duration::from_secs(5 * 60));
    assert_eq!(desk.gateway.state.next_wake(desk.now), Some(due));
    desk.lines();
    desk.after(299);
    assert!(desk.lines().is_empty());
    desk.after(1);
    assert_eq!(desk.lines(), [format!("GET {FEED}")]);
}

#[test]
fn new_proxy_replaces_the_old_one_with_the_next_round() {
    let configuration = |at: &str| {
        let text = format!(
            "<proxy xmlns='http://purl.org/BITSY'><namespace urlPrefix='{at}'>\
             <xd xmlns='http://purl.org/BITSY/xdp'/></namespace></proxy>"
        );
        answer(200, &[("content-type", "application/x-bitsy-proxy-config+xml")], &text)
    };
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.serve("GET", PROXY, configuration("http://www.example.com/xd/"));
    let (id, _) = desk.subscribe(&[], &[]);
    let below = at("http://www.example.com/xd/1");
    let has_style = |desk: &Desk| desk.gateway.state.style_of(&below).is_some();
    let step = desk.gateway.state.set_proxy(id, Some(at(PROXY)), desk.now).unwrap();
    desk.take(&step);
    assert!(!has_style(&desk));
    desk.run();
    assert!(has_style(&desk));
    let step = desk.gateway.state.set_proxy(id, None, desk.now).unwrap();
    desk.take(&step);
    assert!(!has_style(&desk));
    let step = desk.gateway.state.set_proxy(id, Some(at(PROXY)), desk.now).unwrap();
    desk.take(&step);
    desk.after(3_600);
    assert!(has_style(&desk));
    let step = desk.gateway.state.close(id, desk.now).unwrap();
    desk.take(&step);
    assert!(!has_style(&desk), "it ends with its subscription");
}

#[test]
fn server_is_online_when_reached_and_the_network_is_permitted() {
    let mut desk = Desk::with_member();
    let is_online = |desk: &Desk| desk.gateway.state.is_online(&at(FEED));
    assert!(is_online(&desk));
    desk.gateway.state.reached(&at(FEED), false, desk.now, 0);
    assert!(!is_online(&desk));
    desk.gateway.state.retry_all();
    assert!(is_online(&desk));
    desk.go_offline();
    assert!(!is_online(&desk));
    assert_eq!(desk.gateway.state.policy(), Policy::Offline);
    assert_eq!(desk.gateway.state.next_wake(desk.now), None);
    assert!(desk.gateway.state.set_policy(Policy::Auto).is_durable);
    assert_eq!(desk.gateway.state.policy(), Policy::Auto);
}

/// Time until the next work after the server of the feed was not reached.
fn next_wake(desk: &mut Desk) -> Option<Duration> {
    desk.gateway.state.retry_all();
    desk.gateway.state.reached(&at(FEED), false, desk.now, 0);
    desk.gateway.state.next_wake(desk.now).map(|time| time.since(desk.now))
}

#[test]
fn server_that_was_not_reached_is_retried_while_there_is_work() {
    let soon = Some(Duration::from_secs(1));
    let mut desk = Desk::new();
    assert_eq!(next_wake(&mut desk), None, "nothing is to be done");
    // A subscription that is about to begin.
    desk.serve("GET", FEED, feed("<link rel='related' href='/1'/>"));
    desk.serve("GET", ONE, answer(503, &[], ""));
    desk.is_online = false;
    desk.subscribe(&["related"], &[]);
    assert_eq!(next_wake(&mut desk), soon);
    // A round in progress.
    desk.gateway.state.retry_all();
    desk.run();
    assert_eq!(desk.state(), State::Fetching);
    assert_eq!(next_wake(&mut desk), soon);
    // A waiting edit, and nothing else.
    let mut desk = Desk::with_member();
    assert!(next_wake(&mut desk) > soon, "the next round");
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("mine")).status, 200);
    assert_eq!(next_wake(&mut desk), soon);
}

#[test]
fn temporary_address_is_removed_with_its_subscription() {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    let made = desk.ask("POST", MEMBERS, &ATOM, &entry("new"));
    let pending = made.headers["location"].to_str().unwrap().to_owned();
    desk.is_online = true;
    let there = [("location", "/feed/new"), ("content-location", "/feed/new"), ATOM[0]];
    desk.serve("POST", MEMBERS, answer(201, &there, &entry("new")));
    desk.after(10);
    assert_eq!(desk.get(&pending).status, 308);
    let stored_subscription = desk.gateway.state.stored_subscriptions().next().unwrap().id;
    let step = desk.gateway.state.close(stored_subscription, desk.now).unwrap();
    desk.take(&step);
    desk.subscribe(&[], &[]);
    assert_eq!(desk.get(&pending).status, 410);
    desk.restart();
    assert_eq!(desk.get(&pending).status, 410, "also on the disk");
}

#[test]
fn refusals_say_what_to_do() {
    for (error, text) in [
        (ControlError::NoSubscription, "there is no such subscription"),
        (ControlError::NoError, "there is no such error; it may have been cleared"),
        (
            ControlError::NoEdit,
            "the error does not belong to an edit: resume the subscription instead",
        ),
        (
            ControlError::Waits,
            "another edit of the same resource is waiting: discard it first, or clear the error",
        ),
    ] {
        assert_eq!(error.to_string(), text);
    }
}
