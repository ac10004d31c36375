//! Responses to the requests of a round: what is stored, and the effect on the subscription (BITSY 2.1.3).

use feedsync_bitsy::profile::Profile;
use feedsync_bitsy::subscription::state::State;

use crate::desk::{Answer, Desk, EDITABLE, FEED, answer, entry, feed};

const MEMBER: &str = "http://www.example.com/feed/entry";
const ONE: &str = "http://www.example.com/1";
const KEY: (&str, &str) = ("authorization", "Basic YTpi");

fn page() -> Answer {
    answer(200, &[("content-type", "text/html")], "<p>sign in</p>")
}

/// A desk whose feed links to a page. `first` is the first response of the page's server, if it has responded
/// before.
fn linked(profile: Profile, first: Option<Answer>) -> Desk {
    let mut desk = Desk::of(profile);
    desk.serve("GET", FEED, feed("<link rel='related' href='/1'/>"));
    if let Some(first) = first {
        desk.serve("GET", ONE, first);
        desk.subscribe(&["related"], &[("Authorization", KEY.1)]);
        desk.run();
        assert_eq!(desk.state(), State::Waiting);
    }
    desk
}

#[test]
fn refusal_replaces_the_stored_representation_only_where_required() {
    let good = || Some(answer(200, &[], "one"));
    for (profile, first, status, shown) in [
        (Profile::Resilient, good(), 401, 401),
        (Profile::Resilient, good(), 403, 200),
        (Profile::Resilient, good(), 404, 200),
        (Profile::Resilient, good(), 410, 200),
        (Profile::Resilient, good(), 400, 200),
        (Profile::Resilient, None, 403, 403),
        (Profile::Resilient, None, 404, 404),
        (Profile::Resilient, None, 410, 410),
        (Profile::Resilient, None, 400, 400),
        (Profile::Strict, good(), 401, 401),
        (Profile::Strict, good(), 403, 403),
        (Profile::Strict, good(), 404, 404),
        (Profile::Strict, good(), 410, 410),
        (Profile::Strict, good(), 400, 200),
        (Profile::Strict, None, 400, 400),
    ] {
        let name = format!("{profile:?} {status} {}", first.is_some());
        let is_known = first.is_some();
        let mut desk = linked(profile, first);
        desk.serve("GET", ONE, answer(status, &[("www-authenticate", "Basic")], "no"));
        if is_known {
            desk.after(3_600);
        } else {
            desk.subscribe(&["related"], &[("Authorization", KEY.1)]);
            desk.run();
        }
        assert_eq!(desk.state(), State::Paused, "{name}");
        assert_eq!(desk.errors(), [format!("{status} GET {ONE}")], "{name}");
        desk.go_offline();
        let got = desk.ask("GET", ONE, &[KEY], "");
        assert_eq!(got.status, shown, "{name}");
        assert_eq!(got.body, if shown == 200 { "one" } else { "no" }, "{name}");
    }
}

#[test]
fn page_in_place_of_the_feed_is_an_error_after_ten_times() {
    let mut desk = Desk::with_member();
    desk.serve("GET", FEED, page());
    desk.lines();
    desk.now = desk.now.after(std::time::Duration::from_secs(3_600));
    for number in 0..10 {
        desk.after(600);
        assert_eq!(desk.state(), State::Fetching, "{number}");
        assert_eq!(desk.lines().len(), 1);
    }
    desk.after(600);
    assert_eq!((desk.state(), desk.errors()), (State::Paused, vec![format!("200 GET {FEED}")]));
    // In the strict profile it is an error at once, and so it is if no feed was stored.
    let mut desk = Desk::of(Profile::Strict);
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.subscribe(&[], &[]);
    desk.run();
    desk.serve("GET", FEED, page());
    desk.after(3_600);
    assert_eq!(desk.state(), State::Paused);
    let mut desk = Desk::new();
    desk.serve("GET", FEED, page());
    desk.subscribe(&[], &[]);
    desk.run();
    assert_eq!(desk.state(), State::Paused);
}

#[test]
fn status_511_is_treated_as_a_missing_network() {
    let mut desk = Desk::with_member();
    desk.serve("GET", FEED, answer(511, &[], ""));
    desk.after(3_600);
    assert_eq!((desk.state(), desk.errors()), (State::Fetching, vec![]));
    assert!(!desk.gateway.state.is_reached(&FEED.parse().unwrap()));
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.after(600);
    assert_eq!(desk.state(), State::Waiting);
}

#[test]
fn response_304_without_a_stored_representation_is_an_error() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, answer(304, &[], ""));
    desk.subscribe(&[], &[]);
    desk.run();
    assert_eq!((desk.state(), desk.errors()), (State::Paused, vec![format!("304 GET {FEED}")]));
}

#[test]
fn redirection_without_a_valid_address_is_an_error() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, answer(302, &[("location", "http://")], ""));
    desk.subscribe(&[], &[]);
    desk.run();
    assert_eq!((desk.state(), desk.errors()), (State::Paused, vec![format!("302 GET {FEED}")]));
}

#[test]
fn relative_addresses_of_a_feed_refer_to_its_final_address() {
    let elsewhere = "http://www.example.com/there/feed";
    let entries = "<entry><id>urn:a</id><link rel='edit' href='entry'/></entry>";
    for (told, member) in [(None, "there/entry"), (Some("/told/feed"), "told/entry")] {
        let mut desk = Desk::new();
        desk.serve("GET", FEED, answer(302, &[("location", elsewhere)], ""));
        let mut served = feed(entries);
        if let Some(told) = told {
            served.headers.insert("content-location", told.parse().unwrap());
        }
        desk.serve("GET", elsewhere, served);
        let member = format!("http://www.example.com/{member}");
        desk.serve("GET", &member, answer(200, &[], &entry("a")));
        desk.subscribe(&["edit"], &[]);
        desk.run();
        assert!(desk.lines().contains(&format!("GET {member}")), "{told:?}");
        // After a temporary redirection the next request goes to the original address.
        desk.after(3_600);
        assert_eq!(desk.lines()[0], format!("GET {FEED}"));
    }
}

#[test]
fn no_store_of_another_origin_is_honoured() {
    let one = "http://other.example/1";
    for (at, directive, is_stored) in
        [(one, "no-store", false), (one, "max-age=9", true), (ONE, "no-store", true)]
    {
        let mut desk = Desk::new();
        desk.serve("GET", FEED, feed(&format!("<link rel='related' href='{at}'/>")));
        desk.serve("GET", at, answer(200, &[("cache-control", directive)], "one"));
        desk.subscribe(&["related"], &[]);
        desk.run();
        assert_eq!(desk.state(), State::Waiting);
        desk.go_offline();
        assert_eq!(desk.get(at).status == 200, is_stored, "{at} {directive}");
    }
}

#[test]
fn media_of_an_entry_deleted_here_may_be_gone() {
    let media = "http://www.example.com/m.png";
    let parts = "<app:collection href='/members'/><entry><id>urn:m</id>\
        <link rel='edit' href='/m'/><link rel='edit-media' href='/m.png'/></entry>";
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(parts));
    desk.serve("GET", media, answer(200, &[], "bytes"));
    desk.serve("DELETE", "http://www.example.com/m", answer(204, &[], ""));
    desk.subscribe(&["edit-media"], &[]);
    desk.run();
    assert_eq!(desk.ask("DELETE", "http://www.example.com/m", &[], "").status, 204);
    desk.serve("GET", media, answer(404, &[], ""));
    desk.run();
    assert!(desk.lines().contains(&format!("GET {media}")));
    assert_eq!((desk.state(), desk.errors()), (State::Waiting, vec![]));
    // Other statuses are errors.
    let mut desk = Desk::with_member();
    desk.serve("DELETE", MEMBER, answer(204, &[], ""));
    assert_eq!(desk.ask("DELETE", MEMBER, &[], "").status, 204);
    desk.serve("GET", FEED, answer(404, &[], ""));
    desk.run();
    assert_eq!(desk.state(), State::Paused, "it is no link");
}

#[test]
fn at_most_four_requests_of_a_round_run_at_once() {
    let links: String = (0..9).map(|n| format!("<link rel='related' href='/{n}'/>")).collect();
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(&links));
    for number in 0..9 {
        desk.serve("GET", &format!("http://www.example.com/{number}"), answer(200, &[], "x"));
    }
    desk.subscribe(&["related"], &[]);
    let of = &mut desk.gateway;
    let Ok(begun) = of.begin(100, desk.now);
    assert_eq!(begun.0.len(), 1, "the feed first");
    desk.carry_out(begun);
    let of = &mut desk.gateway;
    let Ok(begun) = of.begin(100, desk.now);
    assert_eq!(begun.0.len(), 4);
    desk.take(&begun.1);
    let of = &mut desk.gateway;
    let Ok(more) = of.begin(100, desk.now);
    assert!(more.0.is_empty());
    // One request is enough for a server that was not reached.
    desk.gateway.state.reached(&ONE.parse().unwrap(), false, desk.now, 0);
    desk.carry_out(begun);
    desk.run();
    assert_eq!(desk.state(), State::Waiting);
    assert_eq!(desk.lines().len(), 10);
}
