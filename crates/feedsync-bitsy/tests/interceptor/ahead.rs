//! Edits that are noted as sent before they are sent (BITSY 3.5).

use std::time::Duration;

use feedsync_bitsy::interceptor::{Change, State, Step, Task};
use feedsync_bitsy::outbox::Progress;
use http::{Method, StatusCode};

use crate::desk::{Desk, FEED, answer, entry, feed, fields};

const MEMBERS: &str = "http://www.example.com/members";
const HTML: (&str, &str) = ("content-type", "text/html");
const ATOM: [(&str, &str); 1] = [("content-type", "application/atom+xml;type=entry")];

/// A desk where an application has posted three members without a network.
fn with_posts() -> Desk {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    for title in ["one", "two", "three"] {
        assert_eq!(desk.ask("POST", MEMBERS, &ATOM, &entry(title)).status, 201);
    }
    desk.is_online = true;
    desk.now = desk.now.after(Duration::from_secs(10));
    desk.serve("POST", MEMBERS, answer(201, &[("location", "/feed/new")], ""));
    desk.lines();
    desk
}

/// Asserts that three members were posted without any check before.
fn all_are_posted(desk: &mut Desk) {
    let lines = desk.lines();
    let posts = lines.iter().filter(|line| line.starts_with("POST"));
    assert_eq!((posts.count(), &*lines[0]), (3, &*format!("POST {MEMBERS}")), "{lines:?}");
}

/// Number of edits that a step notes as sent.
fn noted(step: &Step) -> usize {
    let is_sent =
        |change: &&Change| matches!(change, Change::Edit(it) if it.progress == Progress::Sent);
    step.changes.iter().filter(is_sent).count()
}

#[test]
fn edits_of_a_queue_are_made_durable_together() {
    let mut desk = with_posts();
    let begun = desk.begin();
    assert_eq!((begun.0.len(), noted(&begun.1), begun.1.is_durable), (1, 3, true));
    desk.carry_out(begun);
    let next = desk.begin();
    assert_eq!(next.1, Step::default(), "it is noted");
    assert!(!next.0.is_empty());
    desk.carry_out(next);
    desk.run();
    all_are_posted(&mut desk);
}

#[test]
fn edits_noted_as_sent_but_not_sent_are_checked_and_sent_after_a_restart() {
    let mut desk = with_posts();
    let (_, step) = desk.begin();
    desk.take(&step);
    desk.restart();
    desk.run();
    let lines = desk.lines();
    let (look, post) = (format!("GET {FEED}"), format!("POST {MEMBERS}"));
    assert_eq!(lines.iter().filter(|line| **line == post).count(), 3, "{lines:?}");
    assert_eq!(lines[0], look);
    assert!(desk.errors().is_empty());
}

#[test]
fn rest_takes_back_the_notes_of_unsent_edits() {
    let mut desk = with_posts();
    let begun = desk.begin();
    desk.carry_out(begun);
    let step = desk.gateway.state.delivery().rest();
    assert_eq!((step.changes.len(), noted(&step)), (2, 0));
    desk.take(&step);
    desk.restart();
    desk.run();
    all_are_posted(&mut desk);
}

#[test]
fn result_of_one_edit_is_not_taken_for_that_of_a_similar_one() {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    let (first, second) = (entry("one"), entry("one").replace("urn:one", "urn:other"));
    for entry in [&first, &second] {
        assert_eq!(desk.ask("POST", MEMBERS, &ATOM, entry).status, 201);
    }
    desk.is_online = true;
    desk.now = desk.now.after(Duration::from_secs(10));
    desk.serve("POST", MEMBERS, answer(201, &[("location", "/feed/new")], ""));
    let made = entry("one")
        .replace("urn:one", "urn:theirs")
        .replace("</entry>", "<link rel='edit' href='/feed/new'/></entry>");
    desk.serve("GET", FEED, feed(&format!("<app:collection href='/members'/>{made}")));
    let begun = desk.begin();
    assert_eq!(begun.0.len(), 1, "the first, and nothing else");
    desk.carry_out(begun);
    // The feed is fetched before the second edit is sent, and then the process ends.
    desk.now = desk.now.after(Duration::from_secs(24 * 60 * 60));
    let (tasks, step) = desk.begin();
    let (posts, others): (Vec<_>, Vec<_>) =
        tasks.into_iter().partition(|task| task.method == Method::POST);
    assert_eq!(posts.len(), 1);
    desk.carry_out((others, step));
    assert!(desk.get(FEED).body.contains("urn:theirs"), "it has come");
    desk.restart();
    desk.run();
    let bodies = desk.arrived.iter().filter(|arrived| arrived.line.starts_with("POST"));
    let bodies: Vec<_> = bodies.map(|arrived| &arrived.body).collect();
    assert_eq!(bodies, [&first, &second]);
}

#[test]
fn next_edit_of_a_queue_is_sent_after_a_plain_success() {
    let mut desk = with_posts();
    let (tasks, step) = desk.begin();
    desk.take(&step);
    let of = &mut desk.gateway.state;
    let next = |of: &mut State, after: &Task, status: u16, headers: &[(&str, &str)]| {
        of.delivery().next_in_queue(
            after.id,
            StatusCode::from_u16(status).unwrap(),
            &fields(headers),
        )
    };
    // Other responses may require a repetition, or not come from the server.
    for (status, kind) in [(202, ATOM[0]), (503, ATOM[0]), (409, ATOM[0]), (201, HTML)] {
        assert_eq!(next(of, &tasks[0], status, &[kind]), None, "{status} {kind:?}");
    }
    let second = next(of, &tasks[0], 201, &ATOM).expect("the second leaves");
    assert_eq!(next(of, &tasks[0], 201, &ATOM), None, "and nothing else");
    let third = next(of, &second, 201, &ATOM).expect("the third leaves");
    assert_eq!(next(of, &third, 201, &ATOM), None);
    // The order in which the responses are processed does not matter.
    desk.carry_out((vec![second, third], Step::default()));
    desk.carry_out((tasks, Step::default()));
    desk.run();
    let posts = desk.arrived.iter().filter(|arrived| arrived.line.starts_with("POST"));
    let bodies: Vec<_> = posts.map(|arrived| &arrived.body).collect();
    assert_eq!(bodies, [&entry("two"), &entry("three"), &entry("one")]);
    assert_eq!(desk.gateway.state.edits().count(), 0);
}

/// A desk where an application has posted this number of members without a network.
fn with_queue(length: usize) -> Desk {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    for number in 0..length {
        assert_eq!(desk.ask("POST", MEMBERS, &ATOM, &entry(&number.to_string())).status, 201);
    }
    desk.is_online = true;
    desk.now = desk.now.after(Duration::from_secs(10));
    desk.serve("POST", MEMBERS, answer(201, &[("location", "/feed/new")], ""));
    desk.lines();
    desk
}

/// The edit that leaves when the response to another arrives.
fn next(desk: &mut Desk, after: &Task) -> Option<Task> {
    let (status, headers) = (StatusCode::CREATED, fields(&ATOM));
    desk.gateway.state.delivery().next_in_queue(after.id, status, &headers)
}

/// Carries out edits of a queue, each of which is followed by a noted one. Returns the task of the last follower.
fn sent(desk: &mut Desk, mut task: Task, edits: usize) -> Task {
    for _ in 0..edits {
        let later = next(desk, &task).expect("a noted edit leaves");
        desk.carry_out((vec![std::mem::replace(&mut task, later)], Step::default()));
    }
    task
}

#[test]
fn at_most_sixteen_edits_of_a_queue_are_noted_at_once() {
    let (_, step) = with_queue(20).begin();
    assert_eq!(noted(&step), 16);
}

#[test]
fn edits_are_noted_before_the_notes_run_out_and_leave_once_these_are_durable() {
    let mut desk = with_queue(60);
    let (tasks, step) = desk.begin();
    desk.take(&step);
    let task = sent(&mut desk, tasks[0].clone(), 7);
    let (_, more) = desk.begin();
    assert_eq!((noted(&more), more.is_durable), (16, true));
    let again = desk.begin();
    assert_eq!(again.1, Step::default(), "they are noted once");
    let task = sent(&mut desk, task, 8);
    assert_eq!(next(&mut desk, &task), None, "the later notes are not durable");
    desk.take(&more);
    assert!(next(&mut desk, &task).is_some());
}

#[test]
fn edit_that_changes_after_it_was_noted_does_not_leave_early() {
    let mut desk = with_queue(60);
    let (tasks, step) = desk.begin();
    desk.take(&step);
    let task = sent(&mut desk, tasks[0].clone(), 7);
    let (_, more) = desk.begin();
    // All notes are taken back before they are durable.
    let back = desk.gateway.state.delivery().rest();
    assert_eq!((back.changes.len(), noted(&back)), (8 + 16, 0));
    desk.take(&more);
    desk.take(&back);
    assert_eq!(next(&mut desk, &task), None);
}

#[test]
fn each_edit_of_a_long_queue_arrives_once_and_in_order_wherever_the_process_ends() {
    for ends in 0..50 {
        let mut desk = with_queue(50);
        let mut sent = 0;
        let mut task = None;
        while sent < ends {
            let (mut tasks, step) = desk.begin();
            desk.take(&step);
            tasks.retain(|task| task.method == Method::POST);
            let Some(now) = task.take().or_else(|| tasks.pop()) else { continue };
            task = next(&mut desk, &now);
            desk.carry_out((vec![now], Step::default()));
            sent += 1;
        }
        desk.restart();
        desk.now = desk.now.after(Duration::from_secs(60));
        desk.run();
        let posts = desk.arrived.iter().filter(|arrived| arrived.line.starts_with("POST"));
        let bodies: Vec<_> = posts.map(|arrived| arrived.body.clone()).collect();
        let expected: Vec<_> = (0..50).map(|number| entry(&number.to_string())).collect();
        assert_eq!(bodies, expected, "after {ends} edits");
    }
}

#[test]
fn next_edit_of_a_queue_is_not_sent_when_the_policy_is_offline() {
    let mut desk = with_posts();
    let (tasks, step) = desk.begin();
    desk.take(&step);
    desk.go_offline();
    let (status, headers) = (StatusCode::CREATED, fields(&ATOM));
    assert_eq!(desk.gateway.state.delivery().next_in_queue(tasks[0].id, status, &headers), None);
}

#[test]
fn edit_of_an_unknown_version_is_not_noted_early() {
    // A PUT without an entity tag cannot be recognized by a check.
    for (tag, expected) in [(None, 1), (Some("\"1\""), 2)] {
        let mut desk = Desk::new();
        desk.serve("GET", FEED, feed(crate::desk::EDITABLE));
        let member = "http://www.example.com/feed/entry";
        let etag: Vec<_> = tag.map(|tag| ("etag", tag)).into_iter().collect();
        let headers = [&[("content-type", "application/atom+xml")], &*etag].concat();
        desk.serve("GET", member, answer(200, &headers, &entry("a")));
        desk.subscribe(&["edit"], &[]);
        desk.run();
        desk.is_online = false;
        assert_eq!(desk.ask("POST", MEMBERS, &ATOM, &entry("new")).status, 201);
        assert_eq!(desk.ask("PUT", member, &ATOM, &entry("mine")).status, 200);
        desk.is_online = true;
        desk.now = desk.now.after(Duration::from_secs(10));
        let (_, step) = desk.begin();
        assert_eq!(noted(&step), expected, "{tag:?}");
    }
}
