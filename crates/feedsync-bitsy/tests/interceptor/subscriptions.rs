//! Subscriptions: sharing, the time of the next round, and the end (BITSY 2.1).

use std::collections::BTreeMap;
use std::time::Duration;

use feedsync_bitsy::subscription::builder::{SubscriptionBuilder, SubscriptionRequest};
use feedsync_bitsy::subscription::round::{FetchResult, Part};
use feedsync_bitsy::subscription::state::State;
use feedsync_bitsy::subscription::{ClosedError, End, Holder, Subscription};
use feedsync_bitsy::time::Time;

use crate::desk::{FEED, at};

const NOW: Time = Time::from_millis(1_000_000_000);
const ANNA: Holder = Holder(1);
const BERT: Holder = Holder(2);
const PROXY: &str = "http://www.example.com/proxy.xml";

fn wanted(proxy: Option<&str>, header: Option<&str>) -> SubscriptionRequest {
    let mut builder = SubscriptionBuilder::new(None);
    builder.set_feed(FEED).unwrap().set_interval(10);
    if let Some(proxy) = proxy {
        builder.set_proxy(proxy).unwrap();
    }
    if let Some(value) = header {
        builder.set_request_header("Authorization", value).unwrap();
    }
    builder.build().unwrap()
}

fn subscription() -> Subscription {
    Subscription::new(wanted(None, None), ANNA)
}

fn later(seconds: u64) -> Time {
    NOW.after(Duration::from_secs(seconds))
}

fn good(not_before: Option<Time>) -> End {
    End::Fetched { not_before, later: BTreeMap::new() }
}

#[test]
fn subscription_serves_matching_requests_until_closed() {
    let mut subscription = subscription();
    assert!(subscription.serves(&wanted(None, None)));
    assert!(!subscription.serves(&wanted(None, Some("Basic YTpi"))));
    subscription.pause();
    assert!(subscription.serves(&wanted(None, None)));
    assert_eq!(subscription.close(), Some(State::Closed));
    assert!(!subscription.serves(&wanted(None, None)));
    assert_eq!(subscription.close(), None, "once");
    for refused in [
        subscription.set_interval(ANNA, 5),
        subscription.set_proxy(None),
        subscription.add_follow(ANNA, "related".parse().unwrap()),
        subscription.remove_follow(ANNA, &"related".parse().unwrap()),
    ] {
        assert_eq!(refused, Err(ClosedError));
    }
    assert_eq!(ClosedError.to_string(), "the subscription is closed");
    assert_eq!(
        (subscription.pause(), subscription.resume(), subscription.refresh()),
        (None, None, None)
    );
    assert_eq!(subscription.begin(NOW), None);
}

#[test]
fn application_without_a_share_changes_nothing() {
    let mut subscription = subscription();
    assert_eq!(subscription.set_interval(BERT, 5), Err(ClosedError));
    assert_eq!(subscription.unsubscribe(BERT), None);
    assert_eq!(subscription.interval(), 10);
    assert_eq!(subscription.set_interval(ANNA, 5), Ok(()));
    assert_eq!(subscription.interval(), 5);
    subscription.set_interval(ANNA, 0).unwrap();
    assert_eq!(subscription.interval(), 30, "it is left to the gateway");
}

#[test]
fn first_proxy_that_is_named_stays() {
    let mut subscription = subscription();
    assert_eq!(subscription.proxy(), None);
    subscription.join(&wanted(Some(PROXY), None), BERT);
    assert_eq!(subscription.proxy(), Some(&at(PROXY)));
    subscription.join(&wanted(Some("http://www.example.com/other.xml"), None), Holder(3));
    assert_eq!(subscription.proxy(), Some(&at(PROXY)));
    let mut round = subscription.begin(NOW).unwrap();
    assert_eq!(round.take_next().map(|fetch| fetch.part), Some(Part::Proxy));
    subscription.set_proxy(None).unwrap();
    assert_eq!(subscription.proxy(), None);
}

#[test]
fn refresh_begins_a_round_or_another_one_after_it() {
    let mut subscription = subscription();
    assert_eq!(subscription.refresh(), None, "it is about to begin");
    subscription.begin(NOW).unwrap();
    assert_eq!(subscription.refresh(), None);
    let ended = later(5);
    assert_eq!(subscription.end(good(None), ended), Some(State::Waiting));
    assert_eq!(subscription.due(), Some(ended), "once more at once");
    assert_eq!(subscription.elapse(ended), Some(State::Ready));
    subscription.begin(ended).unwrap();
    assert_eq!(subscription.end(good(None), ended), Some(State::Waiting));
    assert_eq!(subscription.due(), Some(ended.after(Duration::from_secs(600))), "and no more");
    assert_eq!(subscription.refresh(), Some(State::Ready));
    assert!(subscription.begin(ended).is_some());
    // The earliest time that a server named is respected.
    subscription.refresh();
    subscription.end(good(Some(later(60))), later(10));
    assert_eq!(subscription.due(), Some(later(60)));
    subscription.pause();
    assert_eq!((subscription.refresh(), subscription.state()), (None, State::Paused));
}

#[test]
fn interrupted_round_begins_again_with_the_feed() {
    let mut subscription = subscription();
    subscription.begin(NOW).unwrap();
    assert!(!subscription.is_ready());
    subscription.interrupted();
    assert!(subscription.is_ready());
    let mut round = subscription.begin(NOW).unwrap();
    assert_eq!(round.take_next().map(|fetch| fetch.part), Some(Part::Feed));
    subscription.end(good(None), NOW);
    subscription.interrupted();
    assert_eq!((subscription.state(), subscription.due()), (State::Waiting, Some(later(600))));
}

#[test]
fn linked_resources_have_separate_retry_times() {
    let mut subscription = subscription();
    subscription.begin(NOW).unwrap();
    let links = ["http://www.example.com/1", "http://www.example.com/2"].map(at);
    let times = [later(60), later(120)];
    let retries: BTreeMap<_, _> = links.iter().cloned().zip(times).collect();
    let end = End::Fetched { not_before: None, later: retries };
    assert_eq!(subscription.end(end, NOW), Some(State::Waiting));
    assert_eq!(subscription.due(), Some(times[0]));
    assert_eq!(subscription.elapse(later(59)), None);
    assert_eq!(subscription.elapse(times[0]), Some(State::Ready));
    let mut round = subscription.begin(times[0]).unwrap();
    let fetch = round.take_next().unwrap();
    assert_eq!((&fetch.location, round.take_next()), (&links[0], None));
    round.settle(fetch, FetchResult::Fetched(Vec::new()));
    subscription.end(round.end().unwrap(), times[0]);
    assert_eq!(subscription.due(), Some(times[1]), "the other one");
    assert_eq!(subscription.elapse(times[1]), Some(State::Ready));
    subscription.begin(times[1]).unwrap();
    subscription.end(good(None), times[1]);
    assert_eq!(subscription.due(), Some(later(600)), "the feed has its own time");
}
