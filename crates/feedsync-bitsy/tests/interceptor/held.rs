//! Edits that are put off, held or refused. They do not delay edits of other members, and their reason is
//! reported (BITSY 3.5, R-B34, R-B35).

use std::collections::BTreeSet;

use feedsync_bitsy::interceptor::WaitReason;
use feedsync_bitsy::outbox::{EditId, Progress};
use feedsync_bitsy::profile::Profile;
use http::StatusCode;

use crate::desk::{Desk, FEED, answer, entry, feed};

const ATOM: [(&str, &str); 1] = [("content-type", "application/atom+xml;type=entry")];
const MEMBERS: &str = "http://www.example.com/members";
const HAS_THREE: &str = "<app:collection href='/members'/>\
    <entry><id>urn:a</id><title>a</title><link rel='edit' href='/feed/a'/></entry>\
    <entry><id>urn:b</id><title>b</title><link rel='edit' href='/feed/b'/></entry>\
    <entry><id>urn:c</id><title>c</title><link rel='edit' href='/feed/c'/></entry>";

fn member(name: &str) -> String {
    format!("http://www.example.com/feed/{name}")
}

/// A desk whose feed has three members, all stored.
fn desk(profile: Profile) -> Desk {
    let mut desk = Desk::of(profile);
    desk.serve("GET", FEED, feed(HAS_THREE));
    for name in ["a", "b", "c"] {
        let tagged = [ATOM[0], ("etag", "\"1\"")];
        desk.serve("GET", &member(name), answer(200, &tagged, &entry(name)));
        desk.serve("PUT", &member(name), answer(204, &[], ""));
        desk.serve("DELETE", &member(name), answer(204, &[], ""));
    }
    let made = [ATOM[0], ("location", "/feed/new"), ("content-location", "/feed/new")];
    desk.serve("POST", MEMBERS, answer(201, &made, &entry("new")));
    desk.subscribe(&["edit"], &[]);
    desk.run();
    desk
}

/// Makes edits without a network: a PUT of `a`, then one edit of each kind.
fn edit_all(desk: &mut Desk) {
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", &member("a"), &ATOM, &entry("mine")).status, 200);
    assert_eq!(desk.ask("PUT", &member("b"), &ATOM, &entry("other")).status, 200);
    assert_eq!(desk.ask("DELETE", &member("c"), &[], "").status, 204);
    assert_eq!(desk.ask("POST", MEMBERS, &ATOM, &entry("new")).status, 201);
    desk.is_online = true;
    desk.lines();
}

/// Headers that a response may have besides its status.
const HEADERS: [&[(&str, &str)]; 5] = [
    &[],
    &[("retry-after", "86400")],
    &[("location", "/feed/elsewhere")],
    &[("location", "http://portal.example/")],
    &[("content-type", "text/html"), ("www-authenticate", "Basic realm=\"x\"")],
];

#[test]
fn any_status_delays_only_its_own_member_and_loses_no_edit() {
    for profile in [Profile::Resilient, Profile::Strict] {
        for status in (100..600).chain([600, 999]) {
            for headers in HEADERS {
                let name = format!("{status} {headers:?} {profile:?}");
                let mut desk = desk(profile);
                edit_all(&mut desk);
                desk.serve("PUT", &member("a"), answer(status, headers, "no"));
                for _ in 0..20 {
                    desk.after(3);
                }
                let lines: BTreeSet<String> = desk.lines().into_iter().collect();
                for line in [
                    format!("PUT {}", member("a")),
                    format!("PUT {}", member("b")),
                    format!("DELETE {}", member("c")),
                    format!("POST {MEMBERS}"),
                ] {
                    assert!(lines.contains(&line), "{name}: {line} never left");
                }
                let state = &desk.gateway.state;
                let waiting: Vec<_> = state.edits().cloned().collect();
                let (edit, more) = (waiting.first(), waiting.get(1));
                assert!(more.is_none(), "{name}: {more:?} waits");
                let errors = desk.errors();
                let is_error = errors.contains(&format!("{status} PUT {}", member("a")))
                    // Result of the request after a redirection.
                    || errors.contains(&format!("404 PUT {}", member("a")));
                let is_done = (200..400).contains(&status);
                match edit {
                    Some(edit) => {
                        assert_eq!(edit.requested.location.as_str(), member("a"), "{name}");
                        let edit_status = state.edit_status(edit);
                        assert_ne!(edit_status.why, WaitReason::Capacity, "{name}");
                        assert_eq!(is_error, edit.progress == Progress::Held, "{name}");
                    }
                    None => assert!(is_error || is_done, "{name}: it vanished"),
                }
                if profile == Profile::Strict && status >= 400 {
                    assert!(is_error && edit.is_none(), "{name}");
                }
                let is_refused = edit.is_none() && is_error;
                let shown = desk.get(&member("a")).body;
                // The server is queried, so its version is shown again.
                let expected = if is_refused { entry("a") } else { shown.clone() };
                assert_eq!(shown, expected, "{name}");
            }
        }
    }
}

#[test]
fn status_403_is_an_error_at_once_and_shows_the_servers_version() {
    let mut desk = desk(Profile::Resilient);
    edit_all(&mut desk);
    desk.serve("PUT", &member("a"), answer(403, &[], "no"));
    desk.after(5);
    assert_eq!(desk.errors(), [format!("403 PUT {}", member("a"))]);
    assert_eq!(desk.gateway.state.edits().count(), 0);
    assert_eq!(desk.get(&member("a")).body, entry("a"));
}

#[test]
fn status_401_holds_the_edit_and_is_an_error_until_retried() {
    let mut desk = desk(Profile::Resilient);
    edit_all(&mut desk);
    desk.serve("PUT", &member("a"), answer(401, &[("www-authenticate", "Basic")], "who?"));
    desk.after(5);
    assert_eq!(desk.errors(), [format!("401 PUT {}", member("a"))]);
    assert!(desk.told.contains(&format!("401 PUT {}", member("a"))));
    assert_eq!(desk.get(&member("a")).body, entry("mine"), "it still waits");
    let edit = desk.gateway.state.edits().next().unwrap().clone();
    let edit_status = desk.gateway.state.edit_status(&edit);
    assert_eq!(edit_status.why, WaitReason::Credentials(StatusCode::UNAUTHORIZED));
    assert_eq!((edit_status.since, edit_status.until), (Some(desk.now), None));
    let error = edit_status.error.unwrap();
    // The edit is held after a restart, too.
    desk.restart();
    assert_eq!(desk.gateway.state.edit_status(&edit), edit_status);
    desk.lines();
    desk.after(100_000);
    assert!(!desk.lines().iter().any(|line| line.starts_with("PUT")), "nobody has released it");
    // The edit is refused again, which is still one error.
    let of = &mut desk.gateway;
    let step = of.retry(error, 7, desk.now).unwrap().unwrap();
    desk.take(&step);
    desk.run();
    assert_eq!(desk.errors(), [format!("401 PUT {}", member("a"))]);
    desk.serve("PUT", &member("a"), answer(204, &[], ""));
    let step = desk.gateway.state.delivery().retry_now(edit.id);
    desk.take(&step);
    desk.run();
    assert_eq!(desk.errors(), [""; 0]);
    assert_eq!(desk.gateway.state.edits().count(), 0);
}

#[test]
fn discarding_a_held_edit_removes_its_error() {
    let mut desk = desk(Profile::Resilient);
    edit_all(&mut desk);
    desk.serve("PUT", &member("a"), answer(407, &[], ""));
    desk.after(5);
    assert_eq!(desk.errors().len(), 1);
    let step = desk.gateway.state.delivery().discard(EditId(1));
    desk.take(&step);
    assert_eq!(desk.errors(), [""; 0]);
    assert_eq!(desk.get(&member("a")).body, entry("a"));
}

#[test]
fn retry_after_delays_its_own_edit_and_reports_the_time() {
    let mut desk = desk(Profile::Resilient);
    edit_all(&mut desk);
    desk.serve("PUT", &member("a"), answer(503, &[("retry-after", "600")], ""));
    desk.after(5);
    let edit = desk.gateway.state.edits().next().unwrap().clone();
    let edit_status = desk.gateway.state.edit_status(&edit);
    assert_eq!(edit_status.why, WaitReason::PutOff(StatusCode::SERVICE_UNAVAILABLE));
    let until = desk.now.after(std::time::Duration::from_secs(600));
    assert_eq!((edit_status.since, edit_status.until), (Some(desk.now), Some(until)));
    assert_eq!(desk.gateway.state.edits().count(), 1);
    // With a network, an edit of another member is sent to its server at once.
    desk.lines();
    assert_eq!(desk.ask("PUT", &member("b"), &ATOM, &entry("more")).status, 204);
    assert_eq!(desk.lines(), [format!("PUT {}", member("b"))]);
    // An edit of the same member waits behind it.
    assert_eq!(desk.ask("PUT", &member("a"), &ATOM, &entry("later")).status, 200);
    let later = desk.gateway.state.edits().last().unwrap().clone();
    assert_eq!(desk.gateway.state.edit_status(&later).why, WaitReason::Behind(edit.id));
    desk.after(500);
    assert!(!desk.lines().iter().any(|line| line.starts_with("PUT")));
    desk.serve("PUT", &member("a"), answer(204, &[], ""));
    desk.after(101);
    assert_eq!(desk.gateway.state.edits().count(), 0);
}

#[test]
fn server_that_puts_off_every_edit_gets_fewer_requests() {
    let mut desk = Desk::new();
    let members: String = (0..40)
        .map(|n| format!("<entry><id>urn:{n}</id><link rel='edit' href='/feed/{n}'/></entry>"))
        .collect();
    desk.serve("GET", FEED, feed(&format!("<app:collection href='/members'/>{members}")));
    desk.subscribe(&[], &[]);
    desk.run();
    desk.is_online = false;
    for n in 0..40 {
        assert_eq!(desk.ask("PUT", &member(&n.to_string()), &ATOM, &entry("x")).status, 200);
        desk.serve("PUT", &member(&n.to_string()), answer(429, &[("retry-after", "9999")], ""));
    }
    desk.is_online = true;
    desk.lines();
    let mut counts = Vec::new();
    for _ in 0..10 {
        for _ in 0..60 {
            desk.after(1);
        }
        counts.push(desk.lines().iter().filter(|line| line.starts_with("PUT")).count());
    }
    assert!(counts[0] >= 2 && counts[0] <= 8, "{counts:?}");
    assert!(counts[2..].iter().all(|count| *count <= 2), "{counts:?}");
    assert!(counts.iter().sum::<usize>() >= 8, "bounded, and not stopped: {counts:?}");
}

#[test]
fn new_member_similar_to_a_doubtful_one_waits_for_it() {
    let mut desk = desk(Profile::Resilient);
    desk.is_online = false;
    for _ in 0..2 {
        assert_eq!(desk.ask("POST", MEMBERS, &ATOM, &entry("twin")).status, 201);
    }
    assert_eq!(desk.ask("POST", MEMBERS, &ATOM, &entry("new")).status, 201);
    desk.is_online = true;
    desk.lines();
    desk.serve("POST", MEMBERS, answer(504, &[], ""));
    desk.after(5);
    let posts = desk.arrived.iter().filter(|arrived| arrived.line.starts_with("POST"));
    let bodies: Vec<&str> = posts.map(|arrived| &*arrived.body).collect();
    assert_eq!(bodies, [entry("twin"), entry("new")], "the other twin waits");
}
