//! Edits on their way, and what their servers say (BITSY 3.5).

use std::time::Duration;

use feedsync_offline::outbox::Progress;
use feedsync_offline::profile::Profile;

use crate::desk::{Desk, EDITABLE, FEED, answer, entry, feed};

const MEMBER: &str = "http://www.example.com/feed/entry";
const MEMBERS: &str = "http://www.example.com/members";
const ATOM: [(&str, &str); 1] = [("content-type", "application/atom+xml;type=entry")];

/// A desk where an application has put a member while there was no network.
fn with_put() -> Desk {
    with_put_of(Profile::Resilient)
}

fn with_put_of(profile: Profile) -> Desk {
    let mut desk = Desk::of(profile);
    desk.serve("GET", FEED, feed(EDITABLE));
    let tagged = [("content-type", "application/atom+xml"), ("etag", "\"e1\"")];
    desk.serve("GET", MEMBER, answer(200, &tagged, &entry("a")));
    desk.subscribe(&["edit"], &[("Authorization", "Basic YTpi")]);
    desk.run();
    desk.is_online = false;
    let headers = [ATOM[0], ("authorization", "Basic YTpi"), ("x-mine", "1")];
    assert_eq!(desk.ask("PUT", MEMBER, &headers, &entry("mine")).status, 200);
    desk.is_online = true;
    desk.lines();
    desk
}

/// A desk where an application has posted a member while there was no network, and its address.
fn with_post() -> (Desk, String) {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    let headers = [ATOM[0], ("slug", "New one")];
    let made = desk.ask("POST", MEMBERS, &headers, &entry("new"));
    assert_eq!(made.status, 201);
    desk.is_online = true;
    desk.lines();
    (desk, made.headers["location"].to_str().unwrap().to_owned())
}

#[test]
fn an_edit_leaves_as_it_was_asked_for_on_what_it_was_made_on() {
    let mut desk = with_put();
    desk.serve("PUT", MEMBER, answer(204, &[("etag", "\"e2\"")], ""));
    desk.after(5);
    let put = desk.arrived.iter().find(|arrived| arrived.line.starts_with("PUT")).unwrap();
    assert_eq!(put.body, entry("mine"));
    assert_eq!(put.headers["if-match"], "\"e1\"");
    assert_eq!(put.headers["authorization"], "Basic YTpi", "what was registered");
    assert_eq!(put.headers["content-type"], ATOM[0].1);
    assert_eq!(put.headers["x-mine"], "1");
    assert!(desk.told.contains(&format!("204 PUT {MEMBER}")));
    assert_eq!(desk.gateway.interceptor.edits().count(), 0);
}

#[test]
fn what_its_server_sends_back_is_what_there_is() {
    for (status, headers, body, shown) in [
        (200, [("content-type", "application/atom+xml")].as_slice(), entry("theirs"), "theirs"),
        (200, &[("content-type", "application/json")], String::new(), "mine"),
        (204, &[], String::new(), "mine"),
    ] {
        let mut desk = with_put();
        desk.serve("PUT", MEMBER, answer(status, headers, &body));
        // The server is asked again only after this.
        desk.serve("GET", MEMBER, answer(503, &[], ""));
        desk.after(5);
        let headers = [("authorization", "Basic YTpi")];
        assert_eq!(desk.ask("GET", MEMBER, &headers, "").body, entry(shown), "{status}");
    }
}

#[test]
fn a_refusal_brings_back_what_the_server_has_and_keeps_what_was_sent() {
    for status in [400, 409, 412, 422, 500, 501] {
        let mut desk = with_put();
        desk.serve("PUT", MEMBER, answer(status, &[], "no"));
        desk.after(5);
        assert_eq!(desk.errors(), [format!("{status} PUT {MEMBER}")]);
        assert_eq!(
            desk.ask("GET", MEMBER, &[("authorization", "Basic YTpi")], "").body,
            entry("a")
        );
        let errors = desk.gateway.interceptor.errors().all().next().unwrap().clone();
        let sent = errors.interaction.request_body.unwrap();
        assert_eq!(desk.gateway.disk.contents.borrow()[&sent], entry("mine").into_bytes());
        let was = errors.was.unwrap();
        assert_eq!(desk.gateway.disk.contents.borrow()[&was], entry("a").into_bytes());
        assert_ne!(desk.state(), feedsync_offline::subscription::state::State::Paused, "B82");
        // Once more, on what there is now.
        desk.serve("PUT", MEMBER, answer(204, &[], ""));
        let of = &mut desk.gateway;
        let again = of.interceptor.retry(&of.disk, errors.id, 7, desk.now).unwrap().unwrap();
        desk.take(&again);
        desk.lines();
        desk.run();
        assert!(desk.lines().contains(&format!("PUT {MEMBER}")));
        assert!(desk.errors().is_empty());
    }
}

#[test]
fn what_passes_is_waited_for_and_to_the_letter_is_an_error() {
    for status in [408, 429, 502, 503, 504] {
        let mut desk = with_put();
        desk.serve("PUT", MEMBER, answer(status, &[("retry-after", "30")], ""));
        desk.after(5);
        assert!(desk.errors().is_empty(), "{status}");
        let told = desk.told.iter().filter(|told| told.contains("PUT")).count();
        assert_eq!(told, 1, "once");
        desk.serve("PUT", MEMBER, answer(204, &[], ""));
        desk.after(100);
        assert_eq!(desk.gateway.interceptor.edits().count(), 0, "{status}");
        let mut desk = with_put_of(Profile::Strict);
        desk.serve("PUT", MEMBER, answer(status, &[("retry-after", "30")], ""));
        desk.after(5);
        assert_eq!(desk.errors(), [format!("{status} PUT {MEMBER}")]);
    }
}

#[test]
fn without_credentials_edits_are_held_until_there_are_some() {
    let mut desk = with_put();
    desk.serve("PUT", MEMBER, answer(401, &[], ""));
    desk.after(5);
    let edit = desk.gateway.interceptor.edits().next().unwrap();
    assert_eq!(edit.progress, Progress::Held);
    desk.after(7_200);
    assert_eq!(desk.lines().iter().filter(|line| line.starts_with("PUT")).count(), 1);
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    let id = desk.gateway.interceptor.keepings().next().unwrap().id;
    let step = desk.gateway.interceptor.resume(id, desk.now).unwrap();
    desk.take(&step);
    desk.run();
    assert_eq!(desk.gateway.interceptor.edits().count(), 0);
}

#[test]
fn what_was_made_is_found_under_both_addresses() {
    let (mut desk, pending) = with_post();
    let made = [("location", "/feed/new"), ("content-location", "/feed/new"), ATOM[0]];
    desk.serve("POST", MEMBERS, answer(201, &made, &entry("new")));
    let listed =
        format!("{EDITABLE}<entry><id>urn:new</id><link rel='edit' href='/feed/new'/></entry>");
    desk.serve("GET", FEED, feed(&listed));
    desk.after(5);
    let post = desk.arrived.iter().find(|arrived| arrived.line.starts_with("POST")).unwrap();
    assert_eq!(post.headers["slug"], "New one");
    assert!(post.headers.contains_key("idempotency-key"));
    let moved = desk.get(&pending);
    assert_eq!(moved.status, 308);
    assert_eq!(moved.headers["cache-control"], "no-store");
    assert_eq!(moved.headers["location"], "http://www.example.com/feed/new");
    assert_eq!(desk.get("http://www.example.com/feed/new").body, entry("new"));
    // An edit of what it was called here is one of what it is.
    desk.serve("DELETE", "http://www.example.com/feed/new", answer(204, &[], ""));
    assert_eq!(desk.ask("DELETE", &pending, &[], "").status, 204);
    assert!(desk.lines().contains(&"DELETE http://www.example.com/feed/new".to_owned()));
}

#[test]
fn a_member_whose_address_is_not_told_is_found_in_the_feed() {
    let (mut desk, pending) = with_post();
    assert_eq!(desk.ask("PUT", &pending, &ATOM, &entry("newer")).status, 200);
    desk.serve("POST", MEMBERS, answer(200, &[], ""));
    let (_, pending_of_other) = (desk.get(FEED), desk.ask("POST", MEMBERS, &ATOM, &entry("other")));
    assert_eq!(pending_of_other.status, 201);
    let listed = format!(
        "{EDITABLE}<entry><id>urn:newer</id><title>newer</title>\
        <link rel='edit' href='/feed/9'/></entry>"
    );
    let mut changed = feed(&listed);
    changed.headers.insert("etag", "\"f2\"".parse().unwrap());
    desk.serve("GET", FEED, changed);
    desk.after(5);
    assert_eq!(desk.get(&pending).headers["location"], "http://www.example.com/feed/9");
    let feed = desk.get(FEED).body;
    assert_eq!(feed.matches("urn:newer").count(), 1);
}

#[test]
fn edits_leave_after_unsubscribing_and_then_nothing_is_kept() {
    let mut desk = with_put();
    let keeping = desk.gateway.interceptor.keepings().next().unwrap().id;
    let step = desk.gateway.interceptor.close(keeping, desk.now).unwrap();
    desk.take(&step);
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    desk.after(5);
    assert_eq!(desk.lines(), [format!("PUT {MEMBER}")]);
    assert_eq!(desk.gateway.interceptor.keepings().count(), 0);
    assert!(desk.gateway.disk.now.rows.keepings.is_empty());
    assert_eq!(desk.gateway.interceptor.needed().count(), 0);
}

#[test]
fn an_edit_of_what_has_no_address_leaves_though_the_subscription_is_paused() {
    let (mut desk, pending) = with_post();
    let keeping = desk.gateway.interceptor.keepings().next().unwrap().id;
    let step = desk.gateway.interceptor.pause(keeping, desk.now).unwrap();
    desk.take(&step);
    desk.is_online = false;
    desk.after(1);
    desk.is_online = true;
    desk.serve("POST", MEMBERS, answer(200, &[], ""));
    let listed = format!(
        "{EDITABLE}<entry><id>urn:new</id><title>new</title>\
        <link rel='edit' href='/feed/9'/></entry>"
    );
    desk.serve("GET", FEED, feed(&listed));
    desk.serve("PUT", "http://www.example.com/feed/9", answer(204, &[], ""));
    let of = &mut desk.gateway;
    let (tasks, step) =
        of.interceptor.begin(&of.disk, 4, desk.now.after(Duration::from_secs(9))).unwrap();
    desk.take(&step);
    assert_eq!(tasks[0].method, "POST");
    // While the POST is under way.
    assert_eq!(desk.ask("PUT", &pending, &ATOM, &entry("newer")).status, 200);
    let outcome = feedsync_offline::interceptor::Outcome::Answered {
        status: http::StatusCode::OK,
        headers: crate::desk::fields(&[]),
        content: desk.gateway.disk.hold(Vec::new()),
    };
    let of = &mut desk.gateway;
    let step = of.interceptor.finished(&of.disk, tasks[0].id, outcome, desk.now, 0).unwrap();
    desk.take(&step);
    desk.after(60);
    assert!(desk.lines().contains(&"PUT http://www.example.com/feed/9".to_owned()));
    assert_eq!(desk.gateway.interceptor.edits().count(), 0);
}

#[test]
fn what_is_accepted_is_asked_after_until_it_is_there() {
    let (mut desk, pending) = with_post();
    desk.serve("POST", MEMBERS, answer(202, &[], ""));
    desk.after(5);
    let edit = desk.gateway.interceptor.edits().next().unwrap();
    assert_eq!(edit.progress, Progress::Accepted);
    desk.after(300);
    assert_eq!(desk.gateway.interceptor.edits().count(), 1);
    let listed = format!(
        "{EDITABLE}<entry><id>urn:new</id><title>new</title>\
        <link rel='edit' href='/feed/9'/></entry>"
    );
    desk.serve("GET", FEED, feed(&listed));
    desk.after(600);
    assert_eq!(desk.gateway.interceptor.edits().count(), 0);
    assert_eq!(desk.get(&pending).headers["location"], "http://www.example.com/feed/9");
    let posted = desk.lines().into_iter().filter(|line| line.starts_with("POST")).count();
    assert_eq!(posted, 1);
}

#[test]
fn a_portal_that_says_yes_to_everything_loses_nothing() {
    let mut desk = with_put();
    let page = answer(200, &[("content-type", "text/html")], "<p>sign in</p>");
    for url in [("PUT", MEMBER), ("GET", MEMBER), ("GET", FEED)] {
        desk.serve(url.0, url.1, page.clone());
    }
    desk.after(5);
    desk.after(60);
    assert_eq!(desk.gateway.interceptor.edits().count(), 1, "it still waits");
    assert!(desk.errors().is_empty());
    let tagged = [("content-type", "application/atom+xml"), ("etag", "\"e1\"")];
    desk.serve("GET", MEMBER, answer(200, &tagged, &entry("a")));
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.serve("PUT", MEMBER, answer(204, &[("etag", "\"e2\"")], ""));
    desk.lines();
    desk.after(600);
    assert!(desk.lines().contains(&format!("PUT {MEMBER}")), "and leaves");
    assert_eq!(desk.gateway.interceptor.edits().count(), 0);
}

#[test]
fn a_portal_that_sends_everybody_elsewhere_gets_no_edit() {
    let mut desk = with_put();
    let away = answer(307, &[("location", "http://portal.example/login")], "");
    desk.serve("PUT", MEMBER, away);
    desk.serve("PUT", "http://portal.example/login", answer(204, &[], ""));
    desk.after(5);
    desk.after(60);
    assert!(!desk.lines().iter().any(|line| line.contains("portal.example")));
    assert_eq!(desk.gateway.interceptor.edits().count(), 1);
}

#[test]
fn what_moved_is_edited_where_it_is() {
    let mut desk = with_put();
    desk.serve("PUT", MEMBER, answer(308, &[("location", "/there")], ""));
    desk.serve("PUT", "http://www.example.com/there", answer(204, &[], ""));
    desk.after(5);
    let puts: Vec<String> =
        desk.lines().into_iter().filter(|line| line.starts_with("PUT")).collect();
    assert_eq!(puts, [format!("PUT {MEMBER}"), "PUT http://www.example.com/there".to_owned()]);
    assert_eq!(desk.gateway.interceptor.edits().count(), 0);

    let (mut desk, pending) = with_post();
    desk.serve("POST", MEMBERS, answer(303, &[("location", "/feed/9")], ""));
    let kind = [("content-type", "application/atom+xml")];
    desk.serve("GET", "http://www.example.com/feed/9", answer(200, &kind, &entry("new")));
    desk.after(5);
    assert_eq!(desk.get(&pending).headers["location"], "http://www.example.com/feed/9");
    assert_eq!(desk.lines().iter().filter(|line| line.starts_with("POST")).count(), 1);
}

#[test]
fn what_is_made_on_a_refused_edit_is_refused_with_it() {
    let (mut desk, pending) = with_post();
    desk.serve("POST", MEMBERS, answer(422, &[], "no"));
    let of = &mut desk.gateway;
    let later = desk.now.after(Duration::from_secs(9));
    let (tasks, step) = of.interceptor.begin(&of.disk, 4, later).unwrap();
    desk.take(&step);
    assert_eq!(desk.ask("PUT", &pending, &ATOM, &entry("newer")).status, 200);
    let outcome = feedsync_offline::interceptor::Outcome::Answered {
        status: http::StatusCode::UNPROCESSABLE_ENTITY,
        headers: crate::desk::fields(&[]),
        content: desk.gateway.disk.hold(Vec::new()),
    };
    let post = tasks.iter().find(|task| task.method == "POST").unwrap().id;
    let of = &mut desk.gateway;
    let step = of.interceptor.finished(&of.disk, post, outcome, desk.now, 0).unwrap();
    desk.take(&step);
    assert_eq!(desk.errors(), [format!("422 POST {MEMBERS}"), format!("424 PUT {pending}")]);
    assert_eq!(desk.get(&pending).status, 410);
    // What was made on it can be made itself.
    let id = desk.gateway.interceptor.errors().all().last().unwrap().id;
    let of = &mut desk.gateway;
    let again = of.interceptor.retry(&of.disk, id, 9, desk.now).unwrap().unwrap();
    desk.take(&again);
    let edit = desk.gateway.interceptor.edits().next().unwrap();
    assert_eq!(edit.asked.location.as_str(), MEMBERS);
}
