//! Background requests of the gateway: their number, and the time of the next ones.

use std::time::Duration;

use feedsync_bitsy::interceptor::{Outcome, Step, Task, TaskId};
use feedsync_bitsy::outbox::Progress;
use feedsync_bitsy::subscription::state::State;

use crate::desk::{Desk, EDITABLE, FEED, answer, at, entry, feed};

const MEMBER: &str = "http://www.example.com/feed/entry";
const MEMBERS: &str = "http://www.example.com/members";
const ATOM: [(&str, &str); 1] = [("content-type", "application/atom+xml;type=entry")];
const SERVED: [(&str, &str); 1] = [("content-type", "application/atom+xml")];

fn begin(desk: &mut Desk, room: usize) -> Vec<Task> {
    let of = &mut desk.gateway;
    let Ok((tasks, step)) = of.begin(room, desk.now);
    desk.take(&step);
    tasks
}

fn lines(tasks: &[Task]) -> Vec<String> {
    tasks.iter().map(|task| format!("{} {}", task.method, task.location)).collect()
}

/// A desk with four tasks: a waiting edit, an accepted edit to check, a member to request, and a round that
/// is due.
fn busy() -> Desk {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.serve("GET", MEMBER, answer(200, &SERVED, &entry("a")));
    desk.subscribe(&["edit"], &[]);
    desk.run();
    desk.is_online = false;
    assert_eq!(desk.ask("POST", MEMBERS, &ATOM, &entry("new")).status, 201);
    desk.is_online = true;
    desk.serve("POST", MEMBERS, answer(202, &[], ""));
    desk.after(10);
    let edit = desk.gateway.state.edits().next().unwrap();
    assert_eq!(edit.progress, Progress::Accepted);
    desk.serve("PATCH", MEMBER, answer(204, &[], ""));
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("mine")).status, 200);
    desk.is_online = true;
    desk.gateway.state.retry_all();
    desk.now = desk.now.after(Duration::from_secs(3_600));
    let of = &mut desk.gateway;
    let request = (&http::Method::PATCH, &at(MEMBER));
    let (status, headers) = (http::StatusCode::NO_CONTENT, http::HeaderMap::new());
    let Ok(step) = of.passed_through(request, status, &headers, desk.now);
    desk.take(&step);
    desk.lines();
    desk
}

#[test]
fn running_requests_do_not_exceed_the_room() {
    let all = [
        format!("PUT {MEMBER}"),
        format!("GET {FEED}"),
        format!("GET {MEMBER}"),
        format!("GET {FEED}"),
    ];
    for room in 0..=5 {
        let mut desk = busy();
        let tasks = begin(&mut desk, room);
        assert_eq!(lines(&tasks), all[..room.min(4)], "{room}");
        assert!(begin(&mut desk, room).is_empty(), "{room}");
        // Tasks without room begin when there is room.
        let more = begin(&mut desk, 4);
        assert_eq!(lines(&more), all[room.min(4)..], "{room}");
    }
}

#[test]
fn requests_do_not_begin_when_the_policy_is_offline() {
    let mut desk = busy();
    desk.go_offline();
    assert!(begin(&mut desk, 4).is_empty());
    assert_eq!(desk.gateway.state.next_wake(desk.now), None);
}

#[test]
fn requests_to_a_server_that_was_not_reached_do_not_begin() {
    let mut desk = busy();
    desk.gateway.state.reached(&at(FEED), false, desk.now, u64::MAX);
    assert!(begin(&mut desk, 4).is_empty());
    assert_eq!(
        desk.gateway.state.next_wake(desk.now),
        Some(desk.now.after(Duration::from_secs(2)))
    );
    desk.now = desk.now.after(Duration::from_secs(2));
    assert_eq!(begin(&mut desk, 9).len(), 4);
}

#[test]
fn response_to_an_unknown_request_changes_nothing() {
    let mut desk = busy();
    let content = desk.gateway.disk.hold(Vec::new());
    let answered = Outcome::ServerResponse {
        status: http::StatusCode::OK,
        headers: http::HeaderMap::new(),
        content,
    };
    let of = &mut desk.gateway;
    let Ok(step) = of.finished(TaskId(99_999), answered, desk.now, 0);
    assert_eq!(step, Step::default());
}

#[test]
fn response_that_cannot_be_stored_is_not_taken_for_another() {
    // The edit is checked later, and the round fails.
    let mut desk = busy();
    for task in begin(&mut desk, 4) {
        let of = &mut desk.gateway;
        let Ok(step) = of.finished(task.id, Outcome::OutOfSpace, desk.now, 0);
        desk.take(&step);
    }
    let progress: Vec<_> = desk.gateway.state.edits().map(|edit| edit.progress.clone()).collect();
    assert_eq!(progress, [Progress::Accepted, Progress::Doubtful]);
    assert_eq!((desk.state(), desk.errors()), (State::Paused, vec![format!("507 GET {FEED}")]));
    assert!(desk.gateway.state.is_reached(&at(FEED)));
}

#[test]
fn lost_check_leaves_an_accepted_edit_accepted() {
    let mut desk = busy();
    let tasks = begin(&mut desk, 4);
    for task in tasks {
        let lost = Outcome::Lost { perhaps_arrived: false };
        let of = &mut desk.gateway;
        let Ok(step) = of.finished(task.id, lost, desk.now, 0);
        desk.take(&step);
    }
    let progress: Vec<_> = desk.gateway.state.edits().map(|edit| edit.progress.clone()).collect();
    assert_eq!(progress, [Progress::Accepted, Progress::Queued]);
    assert_eq!((desk.state(), desk.errors()), (State::Fetching, vec![]));
    desk.gateway.state.retry_all();
    assert_eq!(begin(&mut desk, 9).len(), 4, "all of it is asked for again");
}

#[test]
fn version_of_the_server_is_shown_unless_the_member_was_edited_since() {
    for is_edited in [false, true] {
        let mut desk = Desk::new();
        desk.serve("GET", FEED, feed(EDITABLE));
        desk.serve("GET", MEMBER, answer(200, &SERVED, &entry("a")));
        desk.subscribe(&["edit"], &[]);
        desk.run();
        desk.serve("PUT", MEMBER, answer(200, &[], ""));
        assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("mine")).status, 200);
        let mut tasks = begin(&mut desk, 4);
        tasks.retain(|task| task.location.as_str() == MEMBER);
        assert_eq!(tasks.len(), 1, "the server may have changed it");
        if is_edited {
            desk.is_online = false;
            assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("more")).status, 200);
        }
        desk.is_online = true;
        desk.serve("GET", MEMBER, answer(200, &SERVED, &entry("theirs")));
        desk.carry_out((tasks, Step::default()));
        desk.go_offline();
        let expected = if is_edited { entry("more") } else { entry("theirs") };
        assert_eq!(desk.get(MEMBER).body, expected);
    }
}
