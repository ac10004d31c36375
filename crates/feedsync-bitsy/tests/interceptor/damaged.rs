//! Damaged contents: the gateway fetches them again, and an edit with a damaged body becomes an error.

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::{Change, Content};
use feedsync_bitsy::outbox::EditId;
use feedsync_bitsy::subscription::state::State;

use crate::desk::{Desk, EDITABLE, FEED, answer, at, entry, feed};

const MEMBER: &str = "http://www.example.com/feed/entry";
const MEMBERS: &str = "http://www.example.com/members";
const ONE: &str = "http://www.example.com/1";
const ATOM: [(&str, &str); 1] = [("content-type", "application/atom+xml;type=entry")];
const SERVED: [(&str, &str); 1] = [("content-type", "application/atom+xml")];

/// A desk with a feed, its member and a page that the feed links to, all of them stored.
fn desk() -> Desk {
    let mut desk = Desk::new();
    let links = format!("{EDITABLE}<link rel='related' href='/1'/>");
    desk.serve("GET", FEED, feed(&links));
    desk.serve("GET", MEMBER, answer(200, &SERVED, &entry("a")));
    desk.serve("GET", ONE, answer(200, &[], "one"));
    desk.subscribe(&["edit", "related"], &[]);
    desk.run();
    desk.lines();
    desk.told.clear();
    desk
}

/// Reports these bytes as damaged, which are stored for these addresses.
fn damage(desk: &mut Desk, body: &str, addresses: &[&str]) -> Vec<Change> {
    let damaged = Content::of(body.as_bytes()).digest;
    let addresses = addresses.iter().map(|url| (Partition::public(), at(url))).collect();
    let of = &mut desk.gateway;
    let Ok(step) = of.damaged(|digest| *digest == damaged, addresses, desk.now);
    assert!(step.is_durable);
    desk.take(&step);
    step.changes
}

fn count(changes: &[Change], is_it: impl Fn(&Change) -> bool) -> usize {
    changes.iter().filter(|change| is_it(change)).count()
}

#[test]
fn damaged_page_is_fetched_again_alone() {
    let mut desk = desk();
    damage(&mut desk, "one", &[ONE]);
    assert_eq!(desk.state(), State::Waiting);
    assert_eq!(desk.get(ONE).body, "one", "from its server");
    desk.lines();
    desk.run();
    assert_eq!(desk.lines(), [format!("GET {ONE}")]);
    desk.go_offline();
    assert_eq!(desk.get(ONE).body, "one");
}

#[test]
fn damaged_feed_begins_a_round() {
    let mut desk = desk();
    let body = feed(&format!("{EDITABLE}<link rel='related' href='/1'/>")).body;
    damage(&mut desk, &body, &[FEED]);
    assert_eq!(desk.state(), State::Ready);
    assert_eq!(desk.told, [format!("READY {FEED}")]);
    desk.run();
    let feeds: Vec<_> = desk.arrived.iter().filter(|it| it.line == format!("GET {FEED}")).collect();
    assert!(!feeds.is_empty() && !feeds[0].headers.contains_key("if-none-match"));
    desk.go_offline();
    assert_eq!(desk.get(FEED).status, 200);
}

#[test]
fn damaged_bytes_of_another_partition_begin_no_round() {
    let mut desk = desk();
    let theirs = (Partition::of_bytes([7; 32]), at(FEED));
    let of = &mut desk.gateway;
    let Ok(step) = of.damaged(|_| false, vec![theirs], desk.now);
    desk.take(&step);
    assert_eq!(desk.state(), State::Waiting);
    desk.run();
    assert!(desk.lines().is_empty());
}

#[test]
fn damaged_edit_becomes_an_error_and_is_not_sent() {
    let mut desk = desk();
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("mine")).status, 200);
    assert_eq!(desk.ask("POST", MEMBERS, &ATOM, &entry("new")).status, 201);
    desk.told.clear();
    damage(&mut desk, &entry("mine"), &[]);
    assert_eq!(desk.errors(), [format!("500 PUT {MEMBER}")]);
    assert_eq!(desk.told[0], format!("500 PUT {MEMBER}"));
    let error = desk.gateway.state.errors().all().next().unwrap().clone();
    assert_eq!(
        error.interaction.response_headers["warning"],
        "299 feedsync \"the stored body of this edit is damaged, so it was not sent\""
    );
    assert_eq!(error.interaction.request_body, None, "there is nothing to be shown");
    assert_eq!(error.previous, Some(Content::of(entry("a").as_bytes())));
    assert_eq!(error.interaction.time, desk.now);
    assert_eq!(desk.gateway.state.edits().count(), 1, "the other one waits");
    assert_eq!(desk.get(MEMBER).body, entry("a"));
    desk.is_online = true;
    desk.serve("POST", MEMBERS, answer(201, &[], ""));
    desk.after(10);
    assert!(desk.lines().iter().all(|line| !line.starts_with("PUT")));
    desk.restart();
    assert_eq!(desk.errors(), [format!("500 PUT {MEMBER}")]);
}

#[test]
fn edit_on_top_of_a_damaged_one_becomes_an_error_with_it() {
    let mut desk = desk();
    desk.is_online = false;
    let made = desk.ask("POST", MEMBERS, &ATOM, &entry("new"));
    let pending = made.headers["location"].to_str().unwrap().to_owned();
    // An edit that was sent once does not change.
    desk.is_online = true;
    desk.now = desk.now.after(std::time::Duration::from_secs(10));
    let (_, step) = desk.begin();
    desk.take(&step);
    desk.restart();
    assert_eq!(desk.ask("PUT", &pending, &ATOM, &entry("newer")).status, 200);
    assert_eq!(desk.gateway.state.edits().count(), 2);
    damage(&mut desk, &entry("new"), &[]);
    assert_eq!(desk.errors(), [format!("500 POST {MEMBERS}"), format!("424 PUT {pending}")]);
    let errors: Vec<_> = desk.gateway.state.errors().all().cloned().collect();
    assert_eq!(errors[0].interaction.request_body, None);
    assert_eq!(
        errors[1].interaction.request_body,
        Some(Content::of(entry("newer").as_bytes())),
        "what is whole is kept"
    );
    assert_eq!(desk.get(&pending).status, 410);
    assert_eq!(desk.gateway.state.edits().count(), 0);
}

#[test]
fn damaged_edit_that_is_being_sent_is_settled_by_its_response() {
    let mut desk = desk();
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("mine")).status, 200);
    desk.is_online = true;
    desk.now = desk.now.after(std::time::Duration::from_secs(10));
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    let begun = desk.begin();
    damage(&mut desk, &entry("mine"), &[]);
    assert_eq!(desk.gateway.state.edits().count(), 1);
    desk.carry_out(begun);
    assert_eq!((desk.gateway.state.edits().count(), desk.errors()), (0, vec![]));
}

#[test]
fn edit_continues_without_its_damaged_base() {
    let mut desk = desk();
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("mine")).status, 200);
    damage(&mut desk, &entry("a"), &[MEMBER]);
    let edit = desk.gateway.state.edits().next().unwrap().clone();
    assert_eq!((edit.id, edit.requested.previous), (EditId(1), None));
    desk.restart();
    assert_eq!(desk.gateway.state.edits().next().unwrap().requested.previous, None);
    desk.is_online = true;
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    desk.after(10);
    assert!(desk.lines().contains(&format!("PUT {MEMBER}")));
}

#[test]
fn damaged_shown_edit_is_requested_from_its_server() {
    let mut desk = desk();
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("mine")).status, 204);
    desk.lines();
    let changes = damage(&mut desk, &entry("mine"), &[MEMBER]);
    assert_eq!(count(&changes, |it| matches!(it, Change::OverlayEditRemoved(_))), 1);
    desk.serve("GET", MEMBER, answer(200, &SERVED, &entry("mine")));
    desk.run();
    let lines = desk.lines();
    assert!(lines.contains(&format!("GET {MEMBER}")) && lines.contains(&format!("GET {FEED}")));
    desk.go_offline();
    assert_eq!(desk.get(MEMBER).body, entry("mine"));
}

#[test]
fn error_keeps_its_undamaged_parts() {
    for (damaged, expected) in [
        (entry("mine"), [false, true, true]),
        ("no".to_owned(), [true, false, true]),
        (entry("a"), [true, true, false]),
        (entry("other"), [true, true, true]),
    ] {
        let mut desk = desk();
        desk.is_online = false;
        assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("mine")).status, 200);
        desk.is_online = true;
        desk.serve("PUT", MEMBER, answer(409, &[], "no"));
        desk.after(10);
        let changes = damage(&mut desk, &damaged, &[]);
        let is_changed = expected != [true; 3];
        let changed = count(&changes, |it| matches!(it, Change::Error(_)));
        assert_eq!(changed, usize::from(is_changed), "{damaged}");
        desk.restart();
        let error = desk.gateway.state.errors().all().next().unwrap();
        let of = &error.interaction;
        let parts = [of.request_body, of.response_body, error.previous];
        assert_eq!(parts.map(|part| part.is_some()), expected, "{damaged}");
    }
}

#[test]
fn damaged_attempt_is_removed() {
    for (damaged, is_gone) in [(entry("mine"), true), (entry("other"), false)] {
        let mut desk = desk();
        desk.serve("PUT", MEMBER, answer(204, &[], ""));
        desk.ends_in_the_middle = true;
        assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("mine")).status, 0);
        let changes = damage(&mut desk, &damaged, &[]);
        let gone = count(&changes, |it| matches!(it, Change::AttemptRemoved(_)));
        assert_eq!(gone, usize::from(is_gone), "{damaged}");
        assert_eq!(desk.gateway.disk.now.rows.attempts.is_empty(), is_gone);
    }
}

#[test]
fn round_with_damaged_documents_begins_again() {
    let mut desk = desk();
    let id = desk.gateway.state.stored_subscriptions().next().unwrap().id;
    let mut changed = feed(&format!("{EDITABLE}<link rel='related' href='/1'/><rights>x</rights>"));
    changed.headers.insert("etag", "\"f2\"".parse().unwrap());
    desk.serve("GET", FEED, changed.clone());
    let step = desk.gateway.state.resume(id, desk.now).unwrap();
    desk.take(&step);
    let begun = desk.begin();
    desk.carry_out(begun);
    assert_eq!(desk.state(), State::Fetching);
    damage(&mut desk, "something else", &[]);
    assert_eq!(desk.state(), State::Fetching);
    damage(&mut desk, &changed.body, &[]);
    assert_eq!(desk.state(), State::Ready);
    desk.lines();
    desk.run();
    assert_eq!(desk.lines()[0], format!("GET {FEED}"));
    desk.go_offline();
    assert_eq!(desk.get(FEED).body, changed.body);
}

#[test]
fn all_referenced_contents_are_needed() {
    let needs = |desk: &Desk, body: &str| {
        let digest = Content::of(body.as_bytes()).digest;
        desk.gateway.state.needed().any(|needed| needed == digest)
    };
    let mut desk = desk();
    assert!(!needs(&desk, "one"), "it has an address");
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("mine")).status, 200);
    assert!(needs(&desk, &entry("mine")) && needs(&desk, &entry("a")), "an edit");
    desk.is_online = true;
    desk.serve("PUT", MEMBER, answer(409, &[], "no"));
    desk.after(10);
    for body in [&entry("mine"), &entry("a"), "no"] {
        assert!(needs(&desk, body), "an error");
    }
    let error = desk.gateway.state.errors().all().next().unwrap().id;
    let step = desk.gateway.state.clear(error).unwrap();
    desk.take(&step);
    assert!(!needs(&desk, &entry("mine")) && !needs(&desk, "no"));
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("shown")).status, 204);
    assert!(needs(&desk, &entry("shown")), "what shows");
    desk.ends_in_the_middle = true;
    assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("attempt")).status, 0);
    assert!(needs(&desk, &entry("attempt")), "an attempt");
    // A document that a running round has fetched.
    let mut changed = feed(&format!("{EDITABLE}<link rel='related' href='/1'/><rights>y</rights>"));
    changed.headers.insert("etag", "\"f3\"".parse().unwrap());
    desk.serve("GET", FEED, changed.clone());
    desk.now = desk.now.after(std::time::Duration::from_secs(3_600));
    let begun = desk.begin();
    desk.carry_out(begun);
    assert_eq!(desk.state(), State::Fetching);
    assert!(needs(&desk, &changed.body), "a round");
    desk.run();
    assert!(!needs(&desk, &changed.body));
}
