//! Background rounds (BITSY 2.1.3).

use feedsync_bitsy::interceptor::{Outcome, Policy};
use feedsync_bitsy::profile::Profile;
use feedsync_bitsy::subscription::builder::SubscriptionBuilder;
use feedsync_bitsy::subscription::state::State;

use crate::desk::{Desk, EDITABLE, FEED, answer, entry, feed};

const ONE: &str = "http://www.example.com/1";

#[test]
fn every_failure_pauses_and_records_its_request_and_response() {
    for status in [202, 204, 206, 401, 404, 410, 500, 503] {
        let mut desk = Desk::new();
        desk.serve("GET", FEED, answer(status, &[("x-why", "so")], "because"));
        desk.subscribe(&[], &[("Authorization", "Basic YTpi")]);
        desk.run();
        assert_eq!(desk.state(), State::Paused, "{status}");
        assert_eq!(desk.errors(), [format!("{status} GET {FEED}")]);
        let errors = desk.gateway.state.errors();
        let error = errors.all().next().unwrap();
        assert_eq!(error.interaction.response_headers["x-why"], "so");
        assert!(error.interaction.request_headers.contains_key("accept"));
        assert!(!error.interaction.request_headers.contains_key("authorization"), "a secret");
        assert_eq!(desk.told.last().unwrap(), &format!("PAUSED {FEED}"));
        assert_eq!(failure(&desk), Some(format!("{status} {FEED}")));
        desk.lines();
        desk.after(24 * 60 * 60);
        assert!(desk.lines().is_empty(), "what is paused asks for nothing");
    }
}

/// Reason why the only subscription is paused.
fn failure(desk: &Desk) -> Option<String> {
    let stored_subscription = desk.gateway.state.stored_subscriptions().last().unwrap();
    let failure = stored_subscription.subscription.failure()?;
    Some(format!("{} {}", failure.status.as_u16(), failure.location))
}

#[test]
fn page_of_an_unreachable_other_server_pauses_with_an_error() {
    let next = "http://elsewhere.example/page";
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(&format!("<link rel='next' href='{next}'/>")));
    let (id, _) = desk.subscribe(&["next"], &[]);
    let begun = desk.begin();
    desk.carry_out(begun);
    let (tasks, step) = desk.begin();
    desk.take(&step);
    assert_eq!(tasks[0].location.as_str(), next);
    let outcome = Outcome::Lost { perhaps_arrived: false };
    let of = &mut desk.gateway;
    let step = of.finished(tasks[0].id, outcome, desk.now, 0).unwrap();
    desk.take(&step);
    assert_eq!(desk.state(), State::Paused);
    assert_eq!(desk.errors(), [format!("504 GET {next}")]);
    let why = Some(format!("504 {next}"));
    assert_eq!(failure(&desk), why);
    desk.restart();
    assert_eq!(failure(&desk), why, "it is stored");
    // A pause by an application replaces the reason, and resuming begins a new round.
    let step = desk.gateway.state.pause(id, desk.now).unwrap();
    desk.take(&step);
    assert_eq!((desk.state(), failure(&desk)), (State::Paused, why));
    let step = desk.gateway.state.resume(id, desk.now).unwrap();
    desk.take(&step);
    assert_eq!(failure(&desk), None);
    let step = desk.gateway.state.pause(id, desk.now).unwrap();
    desk.take(&step);
    assert_eq!((desk.state(), failure(&desk)), (State::Paused, None));
}

#[test]
fn response_that_is_not_a_feed_is_an_error() {
    for (kind, body) in [
        ("application/atom+xml", "<feed xmlns='http://www.w3.org/2005/Atom'>"),
        ("application/atom+xml", "<entry xmlns='http://www.w3.org/2005/Atom'/>"),
        ("text/html", "<p>hello</p>"),
    ] {
        let mut desk = Desk::new();
        desk.serve("GET", FEED, answer(200, &[("content-type", kind)], body));
        desk.subscribe(&[], &[]);
        desk.run();
        assert_eq!(desk.state(), State::Paused, "{body}");
        assert_eq!(desk.errors(), [format!("200 GET {FEED}")]);
    }
}

#[test]
fn lost_network_suspends_the_round_without_an_event() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed("<link rel='related' href='/1'/>"));
    desk.serve("GET", ONE, answer(200, &[], "one"));
    desk.is_online = false;
    desk.subscribe(&["related"], &[]);
    desk.after(600);
    assert_eq!(desk.state(), State::Fetching);
    assert_eq!(desk.told, [format!("FETCHING {FEED}")]);
    assert!(desk.errors().is_empty());
    desk.is_online = true;
    desk.after(600);
    assert_eq!(desk.state(), State::Waiting);
    assert_eq!(desk.lines(), [format!("GET {FEED}"), format!("GET {ONE}")]);
}

#[test]
fn followed_resources_are_stored_before_the_feed_shows_them() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(""));
    desk.subscribe(&["related"], &[]);
    desk.run();
    assert!(!desk.get(FEED).body.contains("related"));
    let mut changed = feed("<link rel='related' href='/1'/>");
    changed.headers.insert("etag", "\"f2\"".parse().unwrap());
    desk.serve("GET", FEED, changed);
    desk.serve("GET", ONE, answer(200, &[], "one"));
    desk.now = desk.now.after(std::time::Duration::from_secs(3_600));
    let of = &mut desk.gateway;
    let (tasks, step) = of.begin(4, desk.now).unwrap();
    desk.take(&step);
    let outcome = Outcome::ServerResponse {
        status: http::StatusCode::OK,
        headers: crate::desk::fields(&[("content-type", "application/atom+xml")]),
        content: desk.gateway.disk.hold(feed("<link rel='related' href='/1'/>").body.into()),
    };
    let of = &mut desk.gateway;
    let step = of.finished(tasks[0].id, outcome, desk.now, 0).unwrap();
    desk.take(&step);
    assert_eq!(desk.state(), State::Fetching);
    assert!(!desk.get(FEED).body.contains("related"), "the feed before, whole");
    desk.run();
    assert!(desk.get(FEED).body.contains("related"));
    assert_eq!(desk.get(ONE).body, "one");
    assert!(!desk.lines().is_empty());
}

#[test]
fn link_that_cannot_be_fetched_does_not_stop_the_others() {
    let mut desk = Desk::new();
    let links = "<link rel='related' href='/gone'/><link rel='related' href='/1'/>";
    desk.serve("GET", FEED, feed(links));
    desk.serve("GET", ONE, answer(200, &[], "one"));
    desk.subscribe(&["related"], &[]);
    desk.run();
    assert_eq!(desk.state(), State::Paused);
    assert_eq!(desk.get(ONE).body, "one");
    assert!(desk.get(FEED).body.contains("/gone"));
    desk.go_offline();
    assert_eq!(desk.get("http://www.example.com/gone").status, 404, "what its server said");
}

#[test]
fn linked_resource_with_retry_after_is_fetched_then_and_alone() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed("<link rel='related' href='/1'/>"));
    desk.serve("GET", ONE, answer(503, &[("retry-after", "120")], ""));
    desk.subscribe(&["related"], &[]);
    desk.run();
    assert_eq!(desk.state(), State::Waiting);
    desk.lines();
    desk.after(60);
    assert!(desk.lines().is_empty());
    desk.serve("GET", ONE, answer(200, &[], "one"));
    desk.after(61);
    assert_eq!(desk.lines(), [format!("GET {ONE}")]);
    assert_eq!(desk.get(ONE).body, "one");
}

#[test]
fn unreachable_other_server_does_not_delay_the_feed() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed("<link rel='related' href='http://away.example/'/>"));
    desk.subscribe(&["related"], &[]);
    desk.now = desk.now.after(std::time::Duration::from_secs(1));
    for _ in 0..2 {
        let of = &mut desk.gateway;
        let (tasks, step) = of.begin(4, desk.now).unwrap();
        desk.take(&step);
        for task in tasks {
            use feedsync_bitsy::interceptor::Outcome;
            let is_feed = task.location.as_str() == FEED;
            let outcome = match is_feed {
                true => Outcome::ServerResponse {
                    status: http::StatusCode::OK,
                    headers: crate::desk::fields(&[]),
                    content: desk.gateway.disk.hold(
                        feed("<link rel='related' href='http://away.example/'/>").body.into(),
                    ),
                },
                false => Outcome::Lost { perhaps_arrived: false },
            };
            let of = &mut desk.gateway;
            let step = of.finished(task.id, outcome, desk.now, 0).unwrap();
            desk.take(&step);
        }
    }
    assert_eq!(desk.state(), State::Waiting);
    assert_eq!(desk.get(FEED).status, 200);
}

#[test]
fn redirections_are_followed_stored_and_limited() {
    let mut desk = Desk::new();
    let other = "http://www.example.com/other";
    desk.serve("GET", FEED, answer(301, &[("location", "/other")], ""));
    desk.serve("GET", other, feed("<entry><id>a</id></entry>"));
    desk.subscribe(&[], &[]);
    desk.run();
    assert_eq!(desk.state(), State::Waiting);
    assert_eq!(desk.lines(), [format!("GET {FEED}"), format!("GET {other}")]);
    assert_eq!(desk.get(FEED).status, 200, "under the name that it was subscribed to");
    desk.restart();
    desk.after(3_600);
    assert_eq!(desk.lines(), [format!("GET {other}")]);

    let mut desk = Desk::new();
    desk.serve("GET", FEED, answer(302, &[("location", "/feed")], ""));
    desk.subscribe(&[], &[]);
    desk.run();
    assert_eq!(desk.state(), State::Paused);
    assert_eq!(desk.errors(), [format!("508 GET {FEED}")]);
}

#[test]
fn unchanged_feed_is_validated_and_its_date_is_stored() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed("<entry><id>a</id></entry>"));
    desk.subscribe(&[], &[]);
    desk.run();
    let mut unchanged = answer(304, &[("date", "Wed, 21 May 2008 10:00:00 GMT")], "");
    desk.serve("GET", FEED, unchanged.clone());
    desk.after(3_600);
    let arrived = desk.arrived.last().unwrap();
    assert_eq!(arrived.headers["if-none-match"], "\"f1\"");
    assert_eq!(desk.state(), State::Waiting);
    assert!(desk.get(FEED).body.contains("<id>a</id>"));
    let updated =
        desk.gateway.state.stored_subscriptions().next().unwrap().subscription.last_updated();
    assert_eq!(updated.unwrap().date_time(), "2008-05-21T10:00:00Z", "by the server's clock");
    unchanged.headers.clear();
    desk.serve("GET", FEED, unchanged);
    desk.after(3_600);
    let updated =
        desk.gateway.state.stored_subscriptions().next().unwrap().subscription.last_updated();
    assert_eq!(updated, Some(desk.now), "by ours, where it tells none");
}

#[test]
fn page_of_a_captive_portal_is_not_taken_for_the_feed() {
    let mut desk = Desk::with_member();
    let portal = answer(200, &[("content-type", "text/html")], "<p>sign in</p>");
    desk.serve("GET", FEED, portal);
    desk.after(3_600);
    assert_eq!(desk.state(), State::Fetching, "as if there were no network");
    assert!(desk.errors().is_empty());
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.after(600);
    assert_eq!(desk.state(), State::Waiting);
}

#[test]
fn requests_are_not_sent_when_the_policy_is_offline() {
    let mut desk = Desk::with_member();
    desk.lines();
    let step = desk.gateway.state.set_policy(Policy::Offline);
    desk.take(&step);
    desk.restart();
    let url = "http://www.example.com/feed/entry";
    assert_eq!(desk.ask("PUT", url, &[], &entry("mine")).status, 200);
    assert_eq!(desk.ask("GET", "http://www.example.com/else", &[], "").status, 504);
    desk.after(7_200);
    assert!(desk.lines().is_empty());
    let step = desk.gateway.state.set_policy(Policy::Auto);
    desk.take(&step);
    desk.serve("PUT", url, answer(204, &[], ""));
    desk.run();
    assert_eq!(desk.lines()[0], format!("PUT {url}"));
}

#[test]
fn member_deleted_here_and_still_listed_does_not_fail_the_round() {
    let mut desk = Desk::new();
    let member = "http://www.example.com/feed/entry";
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.serve(
        "GET",
        member,
        answer(200, &[("content-type", "application/atom+xml")], &entry("a")),
    );
    desk.serve("DELETE", member, answer(204, &[], ""));
    desk.subscribe(&["edit"], &[]);
    desk.run();
    assert_eq!(desk.ask("DELETE", member, &[], "").status, 204);
    desk.serve("GET", member, answer(410, &[], ""));
    desk.run();
    assert!(desk.lines().contains(&format!("GET {member}")));
    assert_eq!((desk.state(), desk.errors()), (State::Waiting, Vec::new()));
    // A server that still lists the deleted member later is wrong.
    desk.after(24 * 60 * 60);
    assert_eq!((desk.state(), desk.errors()), (State::Paused, vec![format!("410 GET {member}")]));
}

#[test]
fn pausing_stops_the_round_and_resuming_begins_another() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(""));
    let (id, holder) = desk.subscribe(&[], &[]);
    let step = desk.gateway.state.pause(id, desk.now).unwrap();
    desk.take(&step);
    desk.run();
    assert!(desk.lines().is_empty());
    let step = desk.gateway.state.resume(id, desk.now).unwrap();
    desk.take(&step);
    desk.run();
    assert_eq!(desk.lines(), [format!("GET {FEED}")]);
    let step = desk.gateway.state.unsubscribe(id, holder, desk.now).unwrap();
    desk.take(&step);
    assert_eq!(desk.told.last().unwrap(), &format!("CLOSED {FEED}"));
    assert_eq!(desk.gateway.state.stored_subscriptions().count(), 0, "nothing is on its way");
    desk.is_online = false;
    assert_eq!(desk.get(FEED).status, 504);
}

#[test]
fn strict_profile_stores_error_responses() {
    for (profile, status, shown) in [
        (Profile::Strict, 404, 404),
        (Profile::Strict, 500, 200),
        (Profile::Resilient, 404, 200),
        (Profile::Resilient, 401, 401),
    ] {
        let mut desk = Desk::of(profile);
        desk.serve("GET", FEED, feed("<entry><id>a</id></entry>"));
        desk.subscribe(&[], &[("Authorization", "Basic YTpi")]);
        desk.run();
        let challenge = [("www-authenticate", "Basic realm=\"theirs\"")];
        desk.serve("GET", FEED, answer(status, &challenge, "no"));
        desk.after(3_600);
        desk.go_offline();
        let got = desk.ask("GET", FEED, &[("authorization", "Basic YTpi")], "");
        assert_eq!(got.status, shown, "{profile:?} {status}");
        if shown == 401 {
            assert_eq!(got.headers["www-authenticate"], "Basic realm=\"theirs\"");
            assert_eq!(got.body, "no", "as the server says it");
        }
    }
}

#[test]
fn rss_and_json_feed_are_read_and_cannot_be_edited() {
    let rss = "<rss version='2.0'><channel><title>t</title><item><title>one</title>\
        <enclosure url='/1' type='audio/mpeg' length='5'/></item></channel></rss>";
    let json = "{\"version\":\"https://jsonfeed.org/version/1.1\",\"title\":\"t\",\"items\":[{\
        \"id\":\"1\",\"title\":\"one\",\"url\":\"http://www.example.com/1\"}]}";
    for (kind, body) in [("application/rss+xml", rss), ("application/feed+json", json)] {
        let mut desk = Desk::new();
        desk.serve("GET", FEED, answer(200, &[("content-type", kind)], body));
        desk.serve("GET", ONE, answer(200, &[], "sound"));
        desk.subscribe(&["enclosure", "alternate"], &[]);
        desk.run();
        assert_eq!(desk.state(), State::Waiting, "{kind}");
        desk.go_offline();
        assert_eq!(desk.get(FEED).body, body);
        assert_eq!(desk.get(ONE).body, "sound", "{kind}");
        assert_eq!(desk.ask("POST", FEED, &[], "x").status, 504, "nothing is edited");
    }
    let mut desk = Desk::new();
    desk.serve("GET", FEED, answer(200, &[("content-type", "application/json")], "{\"items\":[]}"));
    desk.subscribe(&[], &[]);
    desk.run();
    assert_eq!(desk.state(), State::Paused);
}

/// Subscribes through a proxy with this configuration.
fn with_proxy(kind: &str, configuration: &str) -> Desk {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(""));
    desk.serve("GET", PROXY, answer(200, &[("content-type", kind)], configuration));
    let mut builder = SubscriptionBuilder::new(None);
    builder.set_feed(FEED).unwrap().set_proxy(PROXY).unwrap();
    let wanted = builder.build().unwrap();
    let (_, _, step) = desk.gateway.state.subscribe(wanted, desk.now);
    desk.take(&step);
    desk.run();
    desk
}

const PROXY: &str = "http://www.example.com/proxy.xml";

#[test]
fn proxy_configuration_is_fetched_first_and_restored_after_a_restart() {
    let configuration = "<proxy xmlns='http://purl.org/BITSY'>\
        <namespace urlPrefix='http://www.example.com/xd/'>\
        <xd xmlns='http://purl.org/BITSY/xdp'/></namespace></proxy>";
    let mut desk = with_proxy("application/x-bitsy-proxy-config+xml", configuration);
    assert_eq!(desk.state(), State::Waiting);
    assert_eq!(desk.lines(), [format!("GET {PROXY}"), format!("GET {FEED}")]);
    let below = crate::desk::at("http://www.example.com/xd/1");
    assert!(desk.gateway.state.style_of(&below).is_some());
    assert!(desk.gateway.state.style_of(&crate::desk::at(FEED)).is_none());
    desk.restart();
    desk.gateway.state.load_proxies(&desk.gateway.disk).unwrap();
    assert!(desk.gateway.state.style_of(&below).is_some());
}

#[test]
fn invalid_configuration_pauses_with_an_error_at_its_address() {
    for (kind, configuration) in [
        ("application/x-bitsy-proxy-config+xml", "<proxy"),
        ("application/x-bitsy-proxy-config+xml", "<proxy xmlns='http://purl.org/BITSY'/>"),
        ("text/html", "<p>none</p>"),
    ] {
        let desk = with_proxy(kind, configuration);
        assert_eq!(desk.state(), State::Paused, "{configuration}");
        assert_eq!(desk.errors(), [format!("200 GET {PROXY}")]);
        assert_eq!(failure(&desk), Some(format!("200 {PROXY}")));
    }
}
