//! Edits with unknown results, and members that must not be taken for them (BITSY 3.5, R-B32, R-B35).

use std::time::Duration;

use feedsync_bitsy::interceptor::{
    ControlError, Decision, EditRequest, Entity, ForwardOutcome, Outcome, Request, Settings, State,
    Task,
};
use feedsync_bitsy::outbox::{EditId, Progress};
use http::{HeaderMap, Method, StatusCode};

use crate::desk::{Desk, EDITABLE, FEED, answer, at, entry, feed, fields};

const MEMBER: &str = "http://www.example.com/feed/entry";
const MEMBERS: &str = "http://www.example.com/members";
const ATOM: [(&str, &str); 1] = [("content-type", "application/atom+xml;type=entry")];

/// A desk where these entries were posted without a network, and their temporary addresses.
fn posted(kind: &[(&str, &str)], bodies: &[&str]) -> (Desk, Vec<String>) {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    let mut places = Vec::new();
    for body in bodies {
        let made = desk.ask("POST", MEMBERS, kind, body);
        assert_eq!(made.status, 201);
        places.push(made.headers["location"].to_str().unwrap().to_owned());
    }
    desk.is_online = true;
    desk.now = desk.now.after(Duration::from_secs(10));
    desk.serve("POST", MEMBERS, answer(201, &[], ""));
    desk.lines();
    (desk, places)
}

/// The same desk. The edits are noted as sent by a process that ended then.
fn in_doubt(kind: &[(&str, &str)], bodies: &[&str]) -> (Desk, Vec<String>) {
    let (mut desk, places) = posted(kind, bodies);
    let (_, step) = desk.begin();
    desk.take(&step);
    desk.restart();
    (desk, places)
}

/// A desk with a doubtful picture, whose feed has a picture that may be the result.
fn with_a_picture() -> Desk {
    let (mut desk, _) = in_doubt(&[("content-type", "image/png")], &["picture"]);
    let content = "<content type='image/png' src='/m.png'/></entry>";
    let made = member("m", "").replace("</entry>", content);
    desk.serve("GET", FEED, feed(&format!("{EDITABLE}{made}")));
    desk
}

fn posts(desk: &Desk) -> usize {
    desk.arrived.iter().filter(|arrived| arrived.line.starts_with("POST")).count()
}

/// A member in the form that its server lists.
fn member(id: &str, title: &str) -> String {
    format!(
        "<entry><id>urn:{id}</id><title>{title}</title><link rel='edit' href='/feed/{id}'/></entry>"
    )
}

#[test]
fn picture_is_not_sent_again_while_its_server_is_inconclusive() {
    let mut desk = with_a_picture();
    let media = "http://www.example.com/m.png";
    for status in [503, 401, 500] {
        desk.serve("GET", media, answer(status, &[], ""));
        desk.after(60 * 60);
        assert_eq!((posts(&desk), desk.gateway.state.edits().count()), (0, 1), "{status}");
    }
    desk.serve("GET", media, answer(200, &[("content-type", "image/png")], "picture"));
    desk.after(60 * 60);
    assert_eq!((posts(&desk), desk.gateway.state.edits().count()), (0, 0));
}

#[test]
fn missing_picture_is_searched_in_the_feed_after_each_attempt() {
    let mut desk = with_a_picture();
    desk.serve("GET", "http://www.example.com/m.png", answer(200, &[], "another"));
    desk.serve("POST", MEMBERS, answer(504, &[], ""));
    desk.run();
    assert_eq!(posts(&desk), 1);
    desk.lines();
    desk.after(60);
    assert_eq!(desk.lines()[0], format!("GET {FEED}"), "not what was found before");
}

#[test]
fn copy_is_not_taken_for_its_original() {
    let copy = entry("b").replace("urn:b", "urn:a");
    let (mut desk, _) = in_doubt(&ATOM, &[&copy]);
    desk.run();
    assert_eq!(posts(&desk), 1);
}

#[test]
fn member_without_an_address_is_not_taken_for_a_later_one() {
    let (mut desk, _) =
        posted(&ATOM, &[&entry("one"), &entry("one").replace("urn:one", "urn:two")]);
    let begun = desk.begin();
    desk.carry_out(begun);
    desk.restart();
    desk.serve("GET", FEED, feed(&format!("{EDITABLE}{}", member("x", "one"))));
    desk.run();
    assert_eq!(posts(&desk), 2);
}

#[test]
fn two_members_with_the_same_wording_are_distinct() {
    let bodies = [&*entry("one"), &entry("one").replace("urn:one", "urn:two")];
    let (mut desk, places) = posted(&ATOM, &bodies);
    let members = [member("x", "one"), member("y", "one")].concat();
    desk.serve("GET", FEED, feed(&format!("{EDITABLE}{members}")));
    desk.run();
    assert_eq!(posts(&desk), 2);
    let mut found: Vec<String> = places
        .iter()
        .map(|place| desk.get(place))
        .map(|moved| moved.headers["location"].to_str().unwrap().to_owned())
        .collect();
    found.sort();
    assert_eq!(found, ["http://www.example.com/feed/x", "http://www.example.com/feed/y"]);
}

#[test]
fn edit_that_was_sent_once_does_not_change() {
    let (mut desk, places) = in_doubt(&ATOM, &[&entry("one")]);
    let look = desk.begin();
    assert_eq!(look.0[0].method, Method::GET);
    desk.carry_out(look);
    assert_eq!(desk.ask("PUT", &places[0], &ATOM, &entry("two")).status, 200);
    assert_eq!(desk.gateway.state.edits().count(), 2);
}

#[test]
fn hurrying_an_unsent_edit_does_not_put_it_in_doubt() {
    let (mut desk, _) = posted(&ATOM, &[&entry("one")]);
    let step = desk.gateway.state.delivery().retry_now(EditId(1));
    assert!(step.changes.is_empty());
    let progress: Vec<_> = desk.gateway.state.edits().map(|edit| &edit.progress).collect();
    assert_eq!(progress, [&Progress::Queued]);
}

#[test]
fn refused_edit_is_not_retried_over_a_later_one() {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("mine")).status, 200);
    desk.is_online = true;
    desk.serve("PUT", MEMBER, answer(409, &[], "no"));
    desk.after(10);
    assert_eq!(desk.errors(), [format!("409 PUT {MEMBER}")]);
    desk.go_offline();
    assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("later")).status, 200);
    let of = &mut desk.gateway;
    let error = of.state.errors().all().next().unwrap().id;
    let Ok(tried) = of.retry(error, 7, desk.now);
    assert!(matches!(tried, Err(ControlError::Waits)), "{tried:?}");
    assert_eq!(desk.errors().len(), 1, "it stands");
    let body = desk.gateway.state.edits().next().unwrap().requested.body.clone().unwrap();
    assert_eq!(body.content, desk.gateway.disk.hold(entry("later").into_bytes()));
}

#[test]
fn edit_of_a_subscription_that_ended_is_neither_stored_nor_acknowledged() {
    let (headers, put) = (fields(&ATOM), Method::PUT);
    let answered = ForwardOutcome::ServerResponse {
        status: StatusCode::OK,
        headers: fields(&[("content-type", "application/atom+xml")]),
        content: feedsync_bitsy::interceptor::Content::of(b""),
    };
    for forwarded in [ForwardOutcome::Lost { perhaps_arrived: false }, answered] {
        let mut desk = Desk::with_member();
        let location = at(MEMBER);
        let request = Request { method: &put, location: &location, headers: &headers };
        let of = &mut desk.gateway;
        let decided = of.decide(request, desk.now);
        let Ok(Decision::ForwardEdit(proposed)) = decided else { panic!("{decided:?}") };
        let entity = Entity::sent(&headers, of.disk.hold(entry("mine").into_bytes()));
        let step = of.state.delivery().begin_forward(&proposed, Some(&entity));
        desk.take(&step);
        let id = desk.gateway.state.stored_subscriptions().next().unwrap().id;
        let step = desk.gateway.state.close(id, desk.now).unwrap();
        desk.take(&step);
        let of = &mut desk.gateway;
        let told = of.forwarded(
            EditRequest { proposed: &proposed, headers: &headers, entity: Some(entity) },
            &forwarded,
            7,
            desk.now,
        );
        let (reply, step) = told.unwrap();
        assert_eq!(
            reply.map(|reply| reply.status.as_u16()),
            match forwarded {
                ForwardOutcome::Lost { .. } => Some(504),
                ForwardOutcome::ServerResponse { .. } => None,
            }
        );
        assert!(step.changes.is_empty(), "{step:?}");
        assert_eq!(of.state.edits().count(), 0);
    }
}

/// A desk after a takeover, with or without the step of the task begun before, and that task.
fn taken_over(is_begun: bool) -> (Desk, Task) {
    let (mut desk, _) = posted(&ATOM, &[&entry("one")]);
    let until = desk.gateway.state.next_task();
    let (mut tasks, step) = desk.begin();
    // If the step cannot be stored, its tasks do not begin.
    if is_begun {
        desk.take(&step);
    }
    let after = State::restored(Settings::default(), desk.gateway.disk.now.rows.clone());
    let before = std::mem::replace(&mut desk.gateway.state, after);
    let until = if is_begun { before.next_task() } else { until };
    desk.gateway.state.name_tasks_from(1 << 40);
    desk.gateway.state.take_over(before, until);
    (desk, tasks.remove(0))
}

#[test]
fn running_edits_are_not_checked_after_a_takeover() {
    let (mut desk, send) = taken_over(true);
    assert!(desk.begin().0.iter().all(|task| task.location.as_str() != FEED));
    let content = desk.gateway.disk.hold(Vec::new());
    let (status, headers) = (StatusCode::CREATED, HeaderMap::new());
    let answered = Outcome::ServerResponse { status, headers, content };
    let of = &mut desk.gateway;
    let Ok(step) = of.finished(send.id, answered, desk.now, 0);
    desk.take(&step);
    assert_eq!(desk.gateway.state.edits().count(), 0, "its answer counts");
}

#[test]
fn edits_that_were_not_begun_are_begun_after_a_takeover() {
    let (mut desk, send) = taken_over(false);
    let again = desk.begin().0.remove(0);
    assert_eq!((again.method, again.location), (send.method, send.location));
}

/// Makes an edit whose result a GET request finds out, so that it becomes an error, and retries it. Returns the headers
/// of the request that leaves then.
fn retried_after_a_check(method: &str, url: &str, kind: &[(&str, &str)]) -> HeaderMap {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    assert!(desk.ask(method, url, kind, &entry("mine")).status < 300);
    desk.is_online = true;
    desk.now = desk.now.after(Duration::from_secs(10));
    let (_, step) = desk.begin();
    desk.take(&step);
    desk.restart();
    // The checks of a POST are inconclusive, until there were too many.
    desk.serve("GET", FEED, answer(404, &[], ""));
    for _ in 0..20 {
        desk.after(60 * 60);
    }
    assert!(desk.errors().contains(&format!("404 {method} {url}")));
    assert!(desk.arrived.iter().all(|arrived| !arrived.line.starts_with(method)));
    let of = &mut desk.gateway;
    let error = of.state.errors().all().find(|error| error.interaction.method == method);
    let error = error.unwrap().id;
    let Ok(step) = of.retry(error, 7, desk.now);
    desk.take(&step.unwrap());
    desk.serve(method, url, answer(204, &[], ""));
    desk.run();
    let sent = desk.arrived.iter().find(|arrived| arrived.line == format!("{method} {url}"));
    sent.unwrap().headers.clone()
}

#[test]
fn edit_that_a_check_made_an_error_is_retried_with_its_own_headers() {
    let kind = [
        ("content-type", "application/atom+xml;type=entry"),
        ("slug", "summer-holiday"),
        ("content-language", "en"),
        ("x-draft", "yes"),
    ];
    for (method, url) in [("POST", MEMBERS), ("PUT", MEMBER)] {
        let sent = retried_after_a_check(method, url, &kind);
        for (name, value) in fields(&kind) {
            let name = name.unwrap();
            let expected = (method == "POST" || name != "slug").then_some(value);
            assert_eq!(sent.get(&name), expected.as_ref(), "{name} of {method}");
        }
        assert!(!sent.contains_key("cache-control"), "{method} has no header of the check");
    }
}
