//! Checks of edits that may have been carried out: their addresses and their results (BITSY 3.5, R-B35,
//! R-B43).

use std::time::Duration;

use feedsync_bitsy::outbox::Progress;
use feedsync_bitsy::subscription::outcome::MAX_HOPS;

use crate::desk::{Answer, Desk, EDITABLE, FEED, answer, entry, feed};

const MEMBER: &str = "http://www.example.com/feed/entry";
const MEMBERS: &str = "http://www.example.com/members";
const ATOM: (&str, &str) = ("content-type", "application/atom+xml;type=entry");
const SERVED: (&str, &str) = ("content-type", "application/atom+xml");
const WITHOUT: &str = "<app:collection href='/members'/>";

fn page() -> Answer {
    answer(200, &[("content-type", "text/html")], "<p>sign in</p>")
}

fn member(tag: &str, title: &str) -> Answer {
    answer(200, &[SERVED, ("etag", tag)], &entry(title))
}

/// A desk whose feed has a member, and an edit of it that an application made without a network.
fn edited(method: &str, location: &str, tag: Option<&str>) -> Desk {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    let etag: Vec<_> = tag.map(|tag| ("etag", tag)).into_iter().collect();
    let headers = [&[SERVED], &*etag].concat();
    desk.serve("GET", MEMBER, answer(200, &headers, &entry("a")));
    desk.subscribe(&["edit"], &[]);
    desk.run();
    desk.is_online = false;
    let (headers, body) = match method {
        "DELETE" => (vec![], String::new()),
        _ => (vec![ATOM], entry("ours")),
    };
    assert!(desk.ask(method, location, &headers, &body).status < 300);
    desk.is_online = true;
    desk.now = desk.now.after(Duration::from_secs(10));
    desk.lines();
    desk
}

/// The same desk. The edit is noted as sent by a process that ended then.
fn in_doubt(method: &str, location: &str, tag: Option<&str>) -> Desk {
    let mut desk = edited(method, location, tag);
    let (_, step) = desk.begin();
    desk.take(&step);
    desk.restart();
    desk
}

fn put_in_doubt() -> Desk {
    in_doubt("PUT", MEMBER, Some("\"e1\""))
}

pub(crate) fn waiting(desk: &Desk) -> usize {
    desk.gateway.state.edits().count()
}

/// Pauses the subscription, so that no round requests the member.
fn pause(desk: &mut Desk) {
    let stored_subscription = desk.gateway.state.stored_subscriptions().next().unwrap().id;
    let step = desk.gateway.state.pause(stored_subscription, desk.now).unwrap();
    desk.take(&step);
}

/// Number of times that a request arrived since the last call.
pub(crate) fn count(desk: &mut Desk, line: &str) -> usize {
    desk.lines().iter().filter(|arrived| *arrived == line).count()
}

fn get(url: &str) -> String {
    format!("GET {url}")
}

#[test]
fn deletion_confirmed_by_a_page_is_done_when_the_feed_lacks_the_member() {
    let mut desk = edited("DELETE", MEMBER, None);
    desk.serve("DELETE", MEMBER, page());
    desk.serve("GET", FEED, feed(WITHOUT));
    desk.run();
    assert_eq!((waiting(&desk), desk.errors()), (0, vec![]));
    let lines = desk.lines();
    assert_eq!(lines[..2], [format!("DELETE {MEMBER}"), get(FEED)]);
    assert_eq!(lines.iter().filter(|line| line.starts_with("DELETE")).count(), 1);
}

#[test]
fn deletion_confirmed_by_a_page_is_repeated_while_the_feed_has_the_member() {
    let mut desk = edited("DELETE", MEMBER, None);
    desk.serve("DELETE", MEMBER, page());
    let begun = desk.begin();
    desk.carry_out(begun);
    let begun = desk.begin();
    assert_eq!(begun.0[0].location.as_str(), FEED);
    desk.carry_out(begun);
    desk.serve("DELETE", MEMBER, answer(204, &[], ""));
    desk.serve("GET", FEED, feed(WITHOUT));
    desk.run();
    assert_eq!(count(&mut desk, &format!("DELETE {MEMBER}")), 2);
    assert_eq!((waiting(&desk), desk.errors()), (0, vec![]));
}

#[test]
fn deletion_confirmed_by_a_page_is_done_when_the_feed_is_gone() {
    for status in [404, 410] {
        let mut desk = edited("DELETE", MEMBER, None);
        desk.serve("DELETE", MEMBER, page());
        desk.serve("GET", FEED, answer(status, &[], ""));
        pause(&mut desk);
        desk.run();
        assert_eq!((waiting(&desk), desk.errors()), (0, vec![]), "{status}");
        assert_eq!(count(&mut desk, &format!("DELETE {MEMBER}")), 1);
    }
}

#[test]
fn page_in_place_of_the_feed_is_inconclusive_for_a_deletion() {
    let mut desk = edited("DELETE", MEMBER, None);
    desk.serve("DELETE", MEMBER, page());
    desk.serve("GET", FEED, page());
    desk.after(30);
    assert_eq!(waiting(&desk), 1);
    assert_eq!(count(&mut desk, &format!("DELETE {MEMBER}")), 1);
}

#[test]
fn accepted_deletion_is_done_when_the_member_is_gone() {
    for status in [404, 410] {
        let mut desk = edited("DELETE", MEMBER, None);
        desk.serve("DELETE", MEMBER, answer(202, &[], ""));
        desk.run();
        assert_eq!(desk.gateway.state.edits().next().unwrap().progress, Progress::Accepted);
        desk.lines();
        desk.after(29);
        assert_eq!(count(&mut desk, &get(MEMBER)), 0, "the server has half a minute");
        desk.after(1);
        assert_eq!((count(&mut desk, &get(MEMBER)), waiting(&desk)), (1, 1), "it is there still");
        assert!(desk.gateway.state.is_reached(&crate::desk::at(MEMBER)));
        desk.serve("GET", MEMBER, answer(status, &[], ""));
        desk.serve("GET", FEED, feed(WITHOUT));
        desk.after(600);
        assert_eq!((waiting(&desk), desk.errors()), (0, vec![]), "{status}");
        assert_eq!(count(&mut desk, &format!("DELETE {MEMBER}")), 0);
    }
}

/// Number of checks of an edit at an address until there are no more.
fn looks(desk: &mut Desk, line: &str) -> usize {
    let mut looks = 0;
    for _ in 0..200 {
        let before = waiting(desk);
        let is_held =
            desk.gateway.state.edits().next().is_none_or(|edit| edit.progress == Progress::Held);
        if before == 0 || is_held {
            break;
        }
        desk.after(30 * 60);
        looks += count(desk, line);
    }
    looks
}

#[test]
fn inconclusive_edit_is_an_error_after_twelve_checks() {
    for (status, is_error) in
        [(400, true), (403, true), (501, true), (500, false), (408, false), (429, false)]
    {
        let mut desk = put_in_doubt();
        desk.serve("GET", MEMBER, answer(status, &[], "no"));
        desk.serve("PUT", MEMBER, answer(204, &[], ""));
        pause(&mut desk);
        let looks = looks(&mut desk, &get(MEMBER));
        assert_eq!(waiting(&desk), usize::from(!is_error), "{status}");
        let errors = if is_error { vec![format!("{status} PUT {MEMBER}")] } else { vec![] };
        assert_eq!(desk.errors(), errors);
        if is_error {
            // The last of thirteen checks is final, and then the server's version is requested.
            assert_eq!(looks, 14, "{status}");
        }
    }
}

#[test]
fn check_without_credentials_holds_the_edit_soon() {
    for status in [401, 407] {
        let mut desk = put_in_doubt();
        desk.serve("GET", MEMBER, answer(status, &[], ""));
        pause(&mut desk);
        assert_eq!(looks(&mut desk, &get(MEMBER)), 4, "{status}");
        assert_eq!(desk.gateway.state.edits().next().unwrap().progress, Progress::Held);
        assert_eq!(desk.errors(), [format!("{status} PUT {MEMBER}")]);
    }
}

#[test]
fn accepted_edit_that_never_shows_is_an_error_after_forty_eight_checks() {
    let mut desk = edited("POST", MEMBERS, None);
    desk.serve("POST", MEMBERS, answer(202, &[], ""));
    pause(&mut desk);
    desk.run();
    desk.lines();
    let looks = looks(&mut desk, &get(FEED));
    assert_eq!(desk.errors(), [format!("200 POST {MEMBERS}")]);
    assert_eq!(looks, 48);
}

#[test]
fn check_follows_a_limited_number_of_redirections() {
    let mut desk = put_in_doubt();
    let there = "http://www.example.com/there";
    desk.serve("GET", MEMBER, answer(307, &[("location", "/there")], ""));
    desk.serve("GET", there, member("\"e2\"", "ours"));
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    desk.run();
    assert_eq!((waiting(&desk), desk.errors()), (0, vec![]));
    let lines = desk.lines();
    assert_eq!(lines[..2], [get(MEMBER), get(there)]);
    assert!(!lines.contains(&format!("PUT {MEMBER}")));
    // A circle ends the check, which begins again later.
    let mut desk = put_in_doubt();
    desk.serve("GET", MEMBER, answer(307, &[("location", "/there")], ""));
    desk.serve("GET", there, answer(307, &[("location", "/there")], ""));
    pause(&mut desk);
    desk.run();
    let lines = desk.lines();
    assert_eq!((&*lines[0], lines.len(), waiting(&desk)), (&*get(MEMBER), MAX_HOPS + 1, 1));
    assert!(lines[1..].iter().all(|line| *line == get(there)));
    // A redirection without an address is inconclusive.
    desk.serve("GET", MEMBER, answer(307, &[], ""));
    desk.after(30 * 60);
    assert_eq!((waiting(&desk), desk.errors()), (1, vec![]));
}

#[test]
fn edit_found_at_its_address_is_done() {
    let mut desk = put_in_doubt();
    desk.serve("GET", MEMBER, member("\"e2\"", "ours"));
    desk.run();
    assert_eq!((waiting(&desk), desk.errors()), (0, vec![]));
    assert_eq!(count(&mut desk, &format!("PUT {MEMBER}")), 0);
    desk.go_offline();
    assert_eq!(desk.get(MEMBER).body, entry("ours"));
}

#[test]
fn edit_is_sent_again_when_the_server_has_the_previous_version() {
    // With an entity tag the version is recognized by it, without one by its content.
    for tag in [Some("\"e1\""), None] {
        let mut desk = in_doubt("PUT", MEMBER, tag);
        desk.serve("PUT", MEMBER, answer(204, &[], ""));
        desk.run();
        assert_eq!(count(&mut desk, &format!("PUT {MEMBER}")), 1, "{tag:?}");
        assert_eq!((waiting(&desk), desk.errors()), (0, vec![]));
    }
}

#[test]
fn edit_does_not_overwrite_another_clients_content() {
    // Without an entity tag the server could not detect the conflict.
    let mut desk = in_doubt("PUT", MEMBER, None);
    desk.serve("GET", MEMBER, answer(200, &[SERVED], &entry("theirs")));
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    desk.run();
    assert_eq!(count(&mut desk, &format!("PUT {MEMBER}")), 0);
    assert_eq!(desk.errors(), [format!("200 PUT {MEMBER}")]);
    // With an entity tag the server detects the conflict.
    let mut desk = put_in_doubt();
    desk.serve("GET", MEMBER, member("\"e3\"", "theirs"));
    desk.serve("PUT", MEMBER, answer(412, &[], ""));
    desk.run();
    assert_eq!(count(&mut desk, &format!("PUT {MEMBER}")), 1);
    assert_eq!(desk.errors(), [format!("412 PUT {MEMBER}")]);
}

#[test]
fn edit_of_a_missing_member_is_an_error() {
    for status in [404, 410] {
        let mut desk = put_in_doubt();
        desk.serve("GET", MEMBER, answer(status, &[], ""));
        desk.serve("PUT", MEMBER, answer(204, &[], ""));
        pause(&mut desk);
        desk.run();
        assert_eq!(desk.errors(), [format!("{status} PUT {MEMBER}")]);
        assert_eq!(count(&mut desk, &format!("PUT {MEMBER}")), 0);
    }
}

#[test]
fn page_at_the_address_of_an_entry_is_not_from_its_server() {
    let mut desk = put_in_doubt();
    desk.serve("GET", MEMBER, page());
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    desk.after(60);
    assert_eq!((count(&mut desk, &format!("PUT {MEMBER}")), waiting(&desk)), (0, 1));
    desk.serve("GET", MEMBER, member("\"e1\"", "a"));
    desk.after(600);
    assert_eq!((count(&mut desk, &format!("PUT {MEMBER}")), waiting(&desk)), (1, 0));
}

#[test]
fn edit_confirmed_by_a_page_is_done_when_the_server_has_a_new_version() {
    // The server may make something else of an edit.
    for tag in [Some("\"e1\""), None] {
        let mut desk = edited("PUT", MEMBER, tag);
        desk.serve("PUT", MEMBER, page());
        let begun = desk.begin();
        desk.carry_out(begun);
        desk.serve("GET", MEMBER, member("\"e2\"", "made of ours"));
        desk.run();
        assert_eq!((waiting(&desk), desk.errors()), (0, vec![]), "{tag:?}");
        assert_eq!(count(&mut desk, &format!("PUT {MEMBER}")), 1);
        desk.go_offline();
        assert_eq!(desk.get(MEMBER).body, entry("made of ours"));
    }
}

#[test]
fn edit_confirmed_twice_by_a_page_and_not_found_is_an_error() {
    for tag in [Some("\"e1\""), None] {
        let mut desk = edited("PUT", MEMBER, tag);
        desk.serve("PUT", MEMBER, page());
        pause(&mut desk);
        desk.run();
        assert_eq!(desk.errors(), [format!("200 PUT {MEMBER}")], "{tag:?}");
        assert_eq!(count(&mut desk, &format!("PUT {MEMBER}")), 2);
        assert_eq!(waiting(&desk), 0);
    }
}

#[test]
fn new_member_confirmed_twice_by_a_page_is_done() {
    let mut desk = edited("POST", MEMBERS, None);
    desk.serve("POST", MEMBERS, page());
    pause(&mut desk);
    desk.run();
    assert_eq!((waiting(&desk), desk.errors()), (0, vec![]));
    assert_eq!(count(&mut desk, &format!("POST {MEMBERS}")), 2);
}
