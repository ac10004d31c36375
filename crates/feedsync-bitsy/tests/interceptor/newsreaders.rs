//! Waiting changes of newsreaders, and changes that a server refuses.

use std::time::Duration;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::{Content, Policy, WaitingFor};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::newsreader::{
    ChangeId, ChangeKind, ChangeRequest, Interface, RequestCredentials, UnsignedRequest,
};
use feedsync_reader_api::Secret;
use http::{HeaderMap, StatusCode};

use crate::desk::{Desk, at, fields};

const INTERFACE: Interface = Interface::Google;

fn base() -> Location {
    at("http://hub.example/reader/")
}

/// A desk where a user has made a change that waits.
fn desk() -> (Desk, Partition) {
    let mut desk = Desk::new();
    let credentials = RequestCredentials::Session(Secret::from("s1".to_owned()));
    let now = desk.now;
    let mut partition = None;
    let step = desk.gateway.state.read_with(false, |accounts| {
        let (whose, changes) =
            accounts.answered((INTERFACE, &base()), &credentials, true, now).unwrap();
        partition = Some(whose);
        changes
    });
    assert!(!step.is_durable);
    desk.take(&step);
    let partition = partition.unwrap();
    change(&mut desk, partition);
    (desk, partition)
}

fn change(desk: &mut Desk, partition: Partition) {
    let writing = ChangeRequest {
        change_kind: ChangeKind::Edit,
        request: UnsignedRequest {
            method: "PUT".to_owned(),
            path: "reader/api/0/edit".to_owned(),
            ..UnsignedRequest::default()
        },
        answer: feedsync_reader_api::google::done(),
    };
    let step = desk
        .gateway
        .state
        .read_with(true, |accounts| accounts.take(INTERFACE, partition, &writing).unwrap());
    assert!(step.is_durable && step.changes.len() == 1);
    desk.take(&step);
}

/// The event that the changes wait for.
fn why(desk: &Desk) -> WaitingFor {
    let waiting = desk.gateway.state.waiting_changes(desk.now);
    assert_eq!((waiting.len(), waiting[0].interface, &waiting[0].base), (1, INTERFACE, &base()));
    waiting[0].why
}

fn is_deliverable(desk: &Desk) -> bool {
    !desk.gateway.state.deliverable(desk.now).is_empty()
}

fn first(desk: &Desk, partition: Partition) -> ChangeId {
    desk.gateway.state.accounts().pending(partition).next().unwrap().id
}

#[test]
fn waiting_changes_report_what_they_wait_for() {
    let (mut desk, partition) = desk();
    change(&mut desk, partition);
    assert_eq!(desk.gateway.state.waiting_changes(desk.now)[0].count, 2);
    assert_eq!((why(&desk), is_deliverable(&desk)), (WaitingFor::Capacity, true));
    let id = first(&desk, partition);
    let later = fields(&[("retry-after", "60")]);
    let until = desk.now.after(Duration::from_secs(60));
    let busy = StatusCode::SERVICE_UNAVAILABLE;
    assert!(!desk.gateway.state.not_taken((partition, id), busy, &later, desk.now));
    assert_eq!((why(&desk), is_deliverable(&desk)), (WaitingFor::Time(until), false));
    assert_eq!(desk.gateway.state.next_wake(desk.now), Some(until));
    assert_eq!(desk.gateway.state.next_wake(until), None, "the pause is over");
    desk.gateway.state.reached(&base(), false, desk.now, 0);
    assert_eq!((why(&desk), is_deliverable(&desk)), (WaitingFor::Server, false));
    desk.go_offline();
    assert_eq!((why(&desk), is_deliverable(&desk)), (WaitingFor::Network, false));
    let account = desk.gateway.state.accounts().account(partition).unwrap().clone();
    let step = desk.gateway.state.not_known(&account, StatusCode::UNAUTHORIZED, desk.now);
    desk.take(&step);
    assert_eq!((why(&desk), is_deliverable(&desk)), (WaitingFor::SignIn, false));
    assert_eq!(desk.errors(), [format!("401 POST {}", base())]);
    // It is reported once.
    let step = desk.gateway.state.not_known(&account, StatusCode::UNAUTHORIZED, desk.now);
    assert!(step.changes.is_empty() && step.events.is_empty());
}

#[test]
fn server_may_be_asked_if_permitted_and_due() {
    let (mut desk, _) = desk();
    let may_ask = |desk: &Desk| desk.gateway.state.may_ask(&base(), desk.now);
    assert!(may_ask(&desk));
    desk.gateway.state.reached(&base(), false, desk.now, 0);
    assert!(!may_ask(&desk) && !desk.gateway.state.is_reached(&base()));
    // Waiting changes are work, so that the server is tried again.
    assert_eq!(
        desk.gateway.state.next_wake(desk.now),
        Some(desk.now.after(Duration::from_secs(1)))
    );
    desk.now = desk.now.after(Duration::from_secs(1));
    assert!(may_ask(&desk));
    desk.gateway.state.reached(&base(), true, desk.now, 0);
    assert!(may_ask(&desk) && desk.gateway.state.is_reached(&base()));
    desk.go_offline();
    assert!(!may_ask(&desk));
    let step = desk.gateway.state.set_policy(Policy::Auto);
    desk.take(&step);
    assert!(may_ask(&desk));
}

#[test]
fn watched_server_is_tried_more_often() {
    let longest = |is_watched: bool| {
        let (mut desk, _) = desk();
        if is_watched {
            desk.gateway.state.watch(&base());
        }
        let mut pause = Duration::ZERO;
        for _ in 0..20 {
            desk.gateway.state.reached(&base(), false, desk.now, u64::MAX);
            let until = desk.gateway.state.next_wake(desk.now).unwrap();
            pause = until.since(desk.now);
            desk.now = until;
        }
        pause
    };
    assert_eq!(longest(true), Duration::from_secs(10));
    assert_eq!(longest(false), Duration::from_secs(120));
}

#[test]
fn retry_after_is_read_for_429_and_503_only() {
    for (status, is_pause) in [(429, true), (503, true), (500, false), (502, false), (404, false)] {
        let (mut desk, partition) = desk();
        let id = first(&desk, partition);
        let later = fields(&[("retry-after", "60")]);
        let status = StatusCode::from_u16(status).unwrap();
        desk.gateway.state.not_taken((partition, id), status, &later, desk.now);
        assert_eq!(matches!(why(&desk), WaitingFor::Time(_)), is_pause, "{status}");
    }
    let (mut desk, partition) = desk();
    let (id, none) = (first(&desk, partition), HeaderMap::new());
    let busy = StatusCode::TOO_MANY_REQUESTS;
    desk.gateway.state.not_taken((partition, id), busy, &none, desk.now);
    assert_eq!(why(&desk), WaitingFor::Capacity);
}

#[test]
fn change_is_at_fault_when_its_server_fails_at_it_for_long() {
    for (status, is_at_fault) in [(500, true), (502, false), (503, false)] {
        let (mut desk, partition) = desk();
        let id = first(&desk, partition);
        let status = StatusCode::from_u16(status).unwrap();
        let mut last = false;
        for _ in 0..10 {
            assert!(!last);
            desk.now = desk.now.after(Duration::from_secs(100));
            let of = &mut desk.gateway.state;
            last = of.not_taken((partition, id), status, &HeaderMap::new(), desk.now);
        }
        assert_eq!(last, is_at_fault, "{status}");
    }
}

#[test]
fn refused_change_is_an_error_with_the_request_and_the_response() {
    let (mut desk, partition) = desk();
    let id = first(&desk, partition);
    let (body, content) = (Content::of(b"request"), Content::of(b"response"));
    let answered = (StatusCode::FORBIDDEN, fields(&[("x-why", "no")]));
    let step = desk.gateway.state.not_written(id, answered.clone(), (body, content), desk.now);
    assert!(step.is_durable);
    desk.take(&step);
    let location = "http://hub.example/reader/reader/api/0/edit";
    assert_eq!(desk.errors(), [format!("403 PUT {location}")]);
    assert_eq!(desk.told, [format!("403 PUT {location}")]);
    let interaction = desk.gateway.state.errors().all().next().unwrap().interaction.clone();
    assert_eq!(interaction.response_headers, answered.1);
    assert_eq!((interaction.request_body, interaction.response_body), (Some(body), Some(content)));
    assert_eq!(interaction.time, desk.now);
    assert!(desk.gateway.state.waiting_changes(desk.now).is_empty());
    // It is refused once.
    let step = desk.gateway.state.not_written(id, answered, (body, content), desk.now);
    assert!(step.changes.is_empty());
    desk.restart();
    assert_eq!(desk.errors().len(), 1, "it is stored");
    assert!(desk.gateway.state.waiting_changes(desk.now).is_empty());
}
