//! Sending of edits, and the responses of their servers (BITSY 3.5).

use std::time::Duration;

use feedsync_bitsy::outbox::Progress;
use feedsync_bitsy::profile::Profile;

use crate::desk::{Desk, EDITABLE, FEED, answer, entry, feed};

const MEMBER: &str = "http://www.example.com/feed/entry";
const MEMBERS: &str = "http://www.example.com/members";
const ATOM: [(&str, &str); 1] = [("content-type", "application/atom+xml;type=entry")];

/// A desk where an application has put a member without a network.
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

/// A desk where an application has posted a member without a network, and its temporary address.
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
fn edit_is_sent_with_its_headers_and_its_base() {
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
    assert_eq!(desk.gateway.state.edits().count(), 0);
}

#[test]
fn entity_of_the_response_to_put_is_shown() {
    for (status, headers, body, shown) in [
        (200, [("content-type", "application/atom+xml")].as_slice(), entry("theirs"), "theirs"),
        (200, &[("content-type", "application/json")], String::new(), "mine"),
        (204, &[], String::new(), "mine"),
    ] {
        let mut desk = with_put();
        desk.serve("PUT", MEMBER, answer(status, headers, &body));
        // The server is queried again only after this.
        desk.serve("GET", MEMBER, answer(503, &[], ""));
        desk.after(5);
        let headers = [("authorization", "Basic YTpi")];
        assert_eq!(desk.ask("GET", MEMBER, &headers, "").body, entry(shown), "{status}");
    }
}

#[test]
fn refused_edit_shows_the_servers_version_and_keeps_the_sent_content() {
    for status in [400, 409, 412, 422, 500, 501] {
        let mut desk = with_put();
        desk.serve("PUT", MEMBER, answer(status, &[], "no"));
        desk.after(5);
        assert_eq!(desk.errors(), [format!("{status} PUT {MEMBER}")]);
        assert_eq!(
            desk.ask("GET", MEMBER, &[("authorization", "Basic YTpi")], "").body,
            entry("a")
        );
        let errors = desk.gateway.state.errors().all().next().unwrap().clone();
        let sent = errors.interaction.request_body.unwrap();
        assert_eq!(desk.gateway.disk.contents.borrow()[&sent], entry("mine").into_bytes());
        let previous = errors.previous.unwrap();
        assert_eq!(desk.gateway.disk.contents.borrow()[&previous], entry("a").into_bytes());
        assert_ne!(desk.state(), feedsync_bitsy::subscription::state::State::Paused, "B82");
        // The edit is retried on the present version.
        desk.serve("PUT", MEMBER, answer(204, &[], ""));
        let of = &mut desk.gateway;
        let again = of.retry(errors.id, 7, desk.now).unwrap().unwrap();
        desk.take(&again);
        desk.lines();
        desk.run();
        assert!(desk.lines().contains(&format!("PUT {MEMBER}")));
        assert!(desk.errors().is_empty());
    }
}

#[test]
fn temporary_errors_are_retried_when_resilient_and_final_when_strict() {
    for status in [408, 429, 502, 503, 504] {
        let mut desk = with_put();
        desk.serve("PUT", MEMBER, answer(status, &[("retry-after", "30")], ""));
        desk.after(5);
        assert!(desk.errors().is_empty(), "{status}");
        let told = desk.told.iter().filter(|told| told.contains("PUT")).count();
        assert_eq!(told, 1, "once");
        desk.serve("PUT", MEMBER, answer(204, &[], ""));
        desk.after(100);
        assert_eq!(desk.gateway.state.edits().count(), 0, "{status}");
        let mut desk = with_put_of(Profile::Strict);
        desk.serve("PUT", MEMBER, answer(status, &[("retry-after", "30")], ""));
        desk.after(5);
        assert_eq!(desk.errors(), [format!("{status} PUT {MEMBER}")]);
    }
}

#[test]
fn edits_without_credentials_are_held_until_there_are_some() {
    let mut desk = with_put();
    desk.serve("PUT", MEMBER, answer(401, &[], ""));
    desk.after(5);
    let edit = desk.gateway.state.edits().next().unwrap();
    assert_eq!(edit.progress, Progress::Held);
    desk.after(7_200);
    assert_eq!(desk.lines().iter().filter(|line| line.starts_with("PUT")).count(), 1);
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    let id = desk.gateway.state.stored_subscriptions().next().unwrap().id;
    let step = desk.gateway.state.resume(id, desk.now).unwrap();
    desk.take(&step);
    desk.run();
    assert_eq!(desk.gateway.state.edits().count(), 0);
}

#[test]
fn new_member_is_found_under_both_addresses() {
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
    // An edit of the temporary address is an edit of the member.
    desk.serve("DELETE", "http://www.example.com/feed/new", answer(204, &[], ""));
    assert_eq!(desk.ask("DELETE", &pending, &[], "").status, 204);
    assert!(desk.lines().contains(&"DELETE http://www.example.com/feed/new".to_owned()));
}

#[test]
fn member_without_a_named_address_is_found_in_the_feed() {
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
fn edits_are_sent_after_unsubscribing_and_then_all_data_are_removed() {
    let mut desk = with_put();
    let stored_subscription = desk.gateway.state.stored_subscriptions().next().unwrap().id;
    let step = desk.gateway.state.close(stored_subscription, desk.now).unwrap();
    desk.take(&step);
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    desk.after(5);
    assert_eq!(desk.lines(), [format!("PUT {MEMBER}")]);
    assert_eq!(desk.gateway.state.stored_subscriptions().count(), 0);
    assert!(desk.gateway.disk.now.rows.stored_subscriptions.is_empty());
    assert_eq!(desk.gateway.state.needed().count(), 0);
}

#[test]
fn edit_of_a_member_without_an_address_is_sent_while_paused() {
    let (mut desk, pending) = with_post();
    let stored_subscription = desk.gateway.state.stored_subscriptions().next().unwrap().id;
    let step = desk.gateway.state.pause(stored_subscription, desk.now).unwrap();
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
    let (tasks, step) = of.begin(4, desk.now.after(Duration::from_secs(9))).unwrap();
    desk.take(&step);
    assert_eq!(tasks[0].method, "POST");
    // The POST is in progress.
    assert_eq!(desk.ask("PUT", &pending, &ATOM, &entry("newer")).status, 200);
    let outcome = feedsync_bitsy::interceptor::Outcome::ServerResponse {
        status: http::StatusCode::OK,
        headers: crate::desk::fields(&[]),
        content: desk.gateway.disk.hold(Vec::new()),
    };
    let of = &mut desk.gateway;
    let step = of.finished(tasks[0].id, outcome, desk.now, 0).unwrap();
    desk.take(&step);
    desk.after(60);
    assert!(desk.lines().contains(&"PUT http://www.example.com/feed/9".to_owned()));
    assert_eq!(desk.gateway.state.edits().count(), 0);
}

#[test]
fn accepted_edit_is_checked_until_it_shows() {
    let (mut desk, pending) = with_post();
    desk.serve("POST", MEMBERS, answer(202, &[], ""));
    desk.after(5);
    let edit = desk.gateway.state.edits().next().unwrap();
    assert_eq!(edit.progress, Progress::Accepted);
    desk.after(300);
    assert_eq!(desk.gateway.state.edits().count(), 1);
    let listed = format!(
        "{EDITABLE}<entry><id>urn:new</id><title>new</title>\
        <link rel='edit' href='/feed/9'/></entry>"
    );
    desk.serve("GET", FEED, feed(&listed));
    desk.after(600);
    assert_eq!(desk.gateway.state.edits().count(), 0);
    assert_eq!(desk.get(&pending).headers["location"], "http://www.example.com/feed/9");
    let posted = desk.lines().into_iter().filter(|line| line.starts_with("POST")).count();
    assert_eq!(posted, 1);
}

#[test]
fn captive_portal_that_accepts_everything_loses_no_edit() {
    let mut desk = with_put();
    let page = answer(200, &[("content-type", "text/html")], "<p>sign in</p>");
    for url in [("PUT", MEMBER), ("GET", MEMBER), ("GET", FEED)] {
        desk.serve(url.0, url.1, page.clone());
    }
    desk.after(5);
    desk.after(60);
    assert_eq!(desk.gateway.state.edits().count(), 1, "it still waits");
    assert!(desk.errors().is_empty());
    let tagged = [("content-type", "application/atom+xml"), ("etag", "\"e1\"")];
    desk.serve("GET", MEMBER, answer(200, &tagged, &entry("a")));
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.serve("PUT", MEMBER, answer(204, &[("etag", "\"e2\"")], ""));
    desk.lines();
    desk.after(600);
    assert!(desk.lines().contains(&format!("PUT {MEMBER}")), "and leaves");
    assert_eq!(desk.gateway.state.edits().count(), 0);
}

#[test]
fn captive_portal_that_redirects_everything_gets_no_edit() {
    let mut desk = with_put();
    let away = answer(307, &[("location", "http://portal.example/login")], "");
    desk.serve("PUT", MEMBER, away);
    desk.serve("PUT", "http://portal.example/login", answer(204, &[], ""));
    desk.after(5);
    desk.after(60);
    assert!(!desk.lines().iter().any(|line| line.contains("portal.example")));
    assert_eq!(desk.gateway.state.edits().count(), 1);
}

#[test]
fn redirected_edit_is_sent_to_its_new_address() {
    let mut desk = with_put();
    desk.serve("PUT", MEMBER, answer(308, &[("location", "/there")], ""));
    desk.serve("PUT", "http://www.example.com/there", answer(204, &[], ""));
    desk.after(5);
    let puts: Vec<String> =
        desk.lines().into_iter().filter(|line| line.starts_with("PUT")).collect();
    assert_eq!(puts, [format!("PUT {MEMBER}"), "PUT http://www.example.com/there".to_owned()]);
    assert_eq!(desk.gateway.state.edits().count(), 0);

    let (mut desk, pending) = with_post();
    desk.serve("POST", MEMBERS, answer(303, &[("location", "/feed/9")], ""));
    let kind = [("content-type", "application/atom+xml")];
    desk.serve("GET", "http://www.example.com/feed/9", answer(200, &kind, &entry("new")));
    desk.after(5);
    assert_eq!(desk.get(&pending).headers["location"], "http://www.example.com/feed/9");
    assert_eq!(desk.lines().iter().filter(|line| line.starts_with("POST")).count(), 1);
}

#[test]
fn edit_on_top_of_a_refused_one_is_refused_with_it() {
    let (mut desk, pending) = with_post();
    desk.serve("POST", MEMBERS, answer(422, &[], "no"));
    let of = &mut desk.gateway;
    let later = desk.now.after(Duration::from_secs(9));
    let (tasks, step) = of.begin(4, later).unwrap();
    desk.take(&step);
    assert_eq!(desk.ask("PUT", &pending, &ATOM, &entry("newer")).status, 200);
    let outcome = feedsync_bitsy::interceptor::Outcome::ServerResponse {
        status: http::StatusCode::UNPROCESSABLE_ENTITY,
        headers: crate::desk::fields(&[]),
        content: desk.gateway.disk.hold(Vec::new()),
    };
    let post = tasks.iter().find(|task| task.method == "POST").unwrap().id;
    let of = &mut desk.gateway;
    let step = of.finished(post, outcome, desk.now, 0).unwrap();
    desk.take(&step);
    assert_eq!(desk.errors(), [format!("422 POST {MEMBERS}"), format!("424 PUT {pending}")]);
    assert_eq!(desk.get(&pending).status, 410);
    // An edit on top of the refused one can be created on its own.
    let id = desk.gateway.state.errors().all().last().unwrap().id;
    let of = &mut desk.gateway;
    let again = of.retry(id, 9, desk.now).unwrap().unwrap();
    desk.take(&again);
    let edit = desk.gateway.state.edits().next().unwrap();
    assert_eq!(edit.requested.location.as_str(), MEMBERS);
}
