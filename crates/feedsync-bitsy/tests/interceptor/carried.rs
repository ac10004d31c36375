//! Edits that are sent to their server while the application waits (BITSY 3.5, R-B35).

use feedsync_bitsy::interceptor::{
    Change, Decision, EditRequest, Entity, ForwardOutcome, Proposed, Reply, Request, Step,
};
use feedsync_bitsy::outbox::Progress;
use http::{Method, StatusCode};

use crate::desk::{Desk, EDITABLE, FEED, answer, at, entry, feed, fields};

const MEMBER: &str = "http://www.example.com/feed/entry";
const MEMBERS: &str = "http://www.example.com/members";
const ATOM: [(&str, &str); 1] = [("content-type", "application/atom+xml;type=entry")];
const SERVED: [(&str, &str); 1] = [("content-type", "application/atom+xml")];

fn desk() -> Desk {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    let tagged = [SERVED[0], ("etag", "\"e1\"")];
    desk.serve("GET", MEMBER, answer(200, &tagged, &entry("a")));
    desk.subscribe(&["edit"], &[]);
    desk.run();
    desk.lines();
    desk
}

/// Returns the edit that the gateway proposes to send.
fn proposed(desk: &Desk, method: &Method, url: &str, headers: &[(&str, &str)]) -> Box<Proposed> {
    let (location, headers) = (at(url), fields(headers));
    let request = Request { method, location: &location, headers: &headers };
    let of = &desk.gateway;
    let decided = of.decide(request, desk.now);
    let Ok(Decision::ForwardEdit(proposed)) = decided else { panic!("{decided:?}") };
    proposed
}

/// Sends an edit with this result.
fn carry(
    desk: &mut Desk,
    method: &Method,
    url: &str,
    forwarded: &ForwardOutcome,
) -> (Option<Reply>, Step) {
    let proposed = proposed(desk, method, url, &ATOM);
    let headers = fields(&ATOM);
    let body = entry("mine").into_bytes();
    let entity =
        (*method != Method::DELETE).then(|| Entity::sent(&headers, desk.gateway.disk.hold(body)));
    let step = desk.gateway.state.delivery().begin_forward(&proposed, entity.as_ref());
    desk.take(&step);
    let (of, now) = (&mut desk.gateway, desk.now);
    let Ok((reply, step)) = of.forwarded(
        EditRequest { proposed: &proposed, headers: &headers, entity },
        forwarded,
        7,
        now,
    );
    desk.take(&step);
    (reply, step)
}

fn answered(desk: &Desk, status: u16, headers: &[(&str, &str)], body: &str) -> ForwardOutcome {
    let content = desk.gateway.disk.hold(body.as_bytes().to_vec());
    let status = StatusCode::from_u16(status).unwrap();
    ForwardOutcome::ServerResponse { status, headers: fields(headers), content }
}

#[test]
fn lost_edit_is_queued_and_doubtful_if_it_may_have_arrived() {
    for (perhaps_arrived, progress) in [(true, Progress::Doubtful), (false, Progress::Queued)] {
        for (method, url, status) in [
            (Method::PUT, MEMBER, 200),
            (Method::POST, MEMBERS, 201),
            (Method::DELETE, MEMBER, 204),
        ] {
            let mut desk = desk();
            let (reply, step) =
                carry(&mut desk, &method, url, &ForwardOutcome::Lost { perhaps_arrived });
            assert_eq!(reply.unwrap().status.as_u16(), status, "{method}");
            assert!(step.is_durable);
            assert!(!desk.gateway.state.is_reached(&at(url)));
            let edit = desk.gateway.state.edits().next().unwrap().clone();
            assert_eq!((edit.progress, edit.tries), (progress.clone(), u32::from(perhaps_arrived)));
            // The edit is in the outbox now.
            assert!(desk.gateway.disk.now.rows.attempts.is_empty());
            desk.restart();
            let edit = desk.gateway.state.edits().next().unwrap();
            assert_eq!(edit.progress, progress);
        }
    }
}

#[test]
fn attempt_is_kept_after_a_server_error() {
    for (status, is_remembered) in [
        (200, false),
        (204, false),
        (302, false),
        (404, false),
        (409, false),
        (408, true),
        (500, true),
        (503, true),
    ] {
        let mut desk = desk();
        let forwarded = answered(&desk, status, &[], "");
        let (reply, _) = carry(&mut desk, &Method::PUT, MEMBER, &forwarded);
        assert_eq!(reply, None, "the application gets the answer of the server");
        let attempts = desk.gateway.disk.now.rows.attempts.len();
        assert_eq!(attempts, usize::from(is_remembered), "{status}");
        assert!(desk.gateway.state.is_reached(&at(MEMBER)));
    }
}

#[test]
fn only_a_put_is_noted_before_sending() {
    let mut desk = desk();
    let entity = Entity::sent(&fields(&ATOM), desk.gateway.disk.hold(b"x".to_vec()));
    for (method, url, noted) in
        [(Method::PUT, MEMBER, 1), (Method::POST, MEMBERS, 0), (Method::DELETE, MEMBER, 0)]
    {
        let proposed = proposed(&desk, &method, url, &ATOM);
        let step = desk.gateway.state.delivery().begin_forward(&proposed, Some(&entity));
        assert_eq!(step.changes.len(), noted, "{method}");
    }
}

#[test]
fn response_determines_the_shown_and_stored_content() {
    // Shown is the entity of the response with its tag, or the content of the application.
    for (status, headers, body, shown, tag) in [
        (204, &[("etag", "\"e2\"")][..], "", "mine", Some("\"e2\"")),
        (204, &[("etag", "W/\"e2\"")], "", "mine", None),
        (204, &[], "", "mine", None),
        (200, &[SERVED[0], ("etag", "\"e2\"")], &entry("theirs"), "theirs", Some("\"e2\"")),
    ] {
        let mut desk = desk();
        let forwarded = answered(&desk, status, headers, body);
        assert_eq!(carry(&mut desk, &Method::PUT, MEMBER, &forwarded).0, None);
        desk.go_offline();
        let got = desk.get(MEMBER);
        assert_eq!(got.body, entry(shown), "{status} {headers:?}");
        let given = got.headers["etag"].to_str().unwrap();
        match tag {
            Some(tag) => assert_eq!(given, tag),
            None => assert!(given.starts_with("\"local-"), "{given}"),
        }
        // The feed is requested again.
        let shown = desk.gateway.disk.now.rows.shown.len();
        assert_eq!(shown, 1);
        let step = desk.gateway.state.set_policy(feedsync_bitsy::interceptor::Policy::Auto);
        desk.take(&step);
        desk.run();
        assert!(desk.lines().contains(&format!("GET {FEED}")));
        assert!(desk.gateway.disk.now.rows.shown.is_empty());
    }
}

#[test]
fn html_response_to_an_edit_shows_nothing_and_the_feed_is_fetched() {
    let mut desk = desk();
    let forwarded = answered(&desk, 200, &[("content-type", "text/html")], "<p>sign in</p>");
    let (reply, step) = carry(&mut desk, &Method::PUT, MEMBER, &forwarded);
    assert_eq!(reply, None);
    assert!(!step.changes.iter().any(|change| matches!(change, Change::OverlayEdit(_))));
    assert_eq!(desk.get(MEMBER).body, entry("a"));
    desk.run();
    assert_eq!(desk.lines()[0], format!("GET {FEED}"));
}

#[test]
fn refused_edit_does_not_change_the_stored_representation() {
    for status in [400, 409, 412, 500] {
        let mut desk = desk();
        let forwarded = answered(&desk, status, &[], "no");
        assert_eq!(carry(&mut desk, &Method::PUT, MEMBER, &forwarded).0, None);
        assert!(desk.gateway.disk.now.rows.shown.is_empty());
        assert_eq!(desk.get(MEMBER).body, entry("a"), "{status}");
        desk.run();
        assert!(desk.lines().is_empty(), "{status}");
    }
}

#[test]
fn last_edit_of_a_member_is_shown() {
    let mut desk = desk();
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    for title in ["one", "two"] {
        assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry(title)).status, 204);
    }
    assert_eq!(desk.gateway.disk.now.rows.shown.len(), 1);
    desk.go_offline();
    assert_eq!(desk.get(MEMBER).body, entry("two"));
    assert_eq!(desk.get(FEED).body.matches("urn:two").count(), 1);
    assert!(!desk.get(FEED).body.contains("urn:one"));
}

#[test]
fn local_tag_is_replaced_by_the_servers_tag_in_if_match() {
    let mut desk = desk();
    desk.serve("PUT", MEMBER, answer(204, &[("etag", "\"e2\"")], ""));
    assert_eq!(desk.ask("PUT", MEMBER, &ATOM, &entry("mine")).status, 204);
    let ours = {
        let shown = &desk.gateway.disk.now.rows.shown[0];
        let content = shown.entity.as_ref().unwrap().content;
        format!("\"local-{:.16}\"", content.digest.to_string())
    };
    for (tag, expected) in [
        (&*ours, Some("\"e2\"")),
        ("\"e2\"", None),
        ("\"local-0000000000000000\"", None),
        ("*", None),
    ] {
        let headers = [ATOM[0], ("if-match", tag)];
        let proposed = proposed(&desk, &Method::PUT, MEMBER, &headers);
        assert_eq!(proposed.tag.as_deref(), expected, "{tag}");
    }
}
