//! Representations that applications read (BITSY 3, 3.1).

use crate::desk::{Desk, EDITABLE, FEED, answer, entry, feed};

const MEMBER: &str = "http://www.example.com/feed/entry";

#[test]
fn missing_resources_are_forwarded_and_not_stored() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.subscribe(&[], &[]);
    assert_eq!(desk.get(FEED).status, 200, "before it is stored");
    assert_eq!(desk.lines(), [format!("GET {FEED}")]);
    desk.serve("GET", "http://www.example.com/else", answer(418, &[], "tea"));
    assert_eq!(desk.get("http://www.example.com/else").status, 418);
    desk.is_online = false;
    assert_eq!(desk.get("http://www.example.com/else").status, 504);
}

#[test]
fn stored_resources_are_answered_locally_with_a_network() {
    let mut desk = Desk::with_member();
    desk.lines();
    let got = desk.ask("GET", FEED, &[("cache-control", "no-cache, max-age=0")], "");
    assert_eq!(got.status, 200);
    assert_eq!(got.headers["cache-status"].to_str().unwrap().split(';').next(), Some("bitsy"));
    assert!(!got.headers.contains_key("warning"), "there is a network");
    assert!(desk.lines().is_empty());
    let of = desk.ask("HEAD", FEED, &[], "");
    assert_eq!((of.status, of.headers["etag"].clone()), (200, got.headers["etag"].clone()));
}

#[test]
fn options_are_answered_locally_only_without_a_network() {
    let mut desk = Desk::with_member();
    desk.serve("OPTIONS", FEED, answer(200, &[("allow", "GET")], ""));
    assert_eq!(desk.ask("OPTIONS", FEED, &[], "").headers["allow"], "GET", "by its server");
    desk.go_offline();
    let told = |desk: &mut Desk, url| {
        let answer = desk.ask("OPTIONS", url, &[], "");
        assert_eq!(answer.status, 204);
        answer.headers["allow"].to_str().unwrap().to_owned()
    };
    assert_eq!(told(&mut desk, FEED), "GET, HEAD, OPTIONS");
    assert_eq!(told(&mut desk, MEMBER), "DELETE, GET, HEAD, OPTIONS, PUT");
    assert_eq!(told(&mut desk, "http://www.example.com/members"), "OPTIONS, POST");
}

#[test]
fn variant_that_is_not_stored_is_refused_without_a_network() {
    let mut desk = Desk::with_member();
    let wants = [("accept", "text/html")];
    desk.lines();
    desk.ask("GET", FEED, &wants, "");
    assert_eq!(desk.lines(), [format!("GET {FEED}")], "its server may have it");
    desk.go_offline();
    let refused = desk.ask("GET", FEED, &wants, "");
    assert_eq!(refused.status, 406);
    assert_eq!(refused.headers["cache-control"], "no-store", "another one may come");
}

#[test]
fn edits_show_in_the_feed_from_their_acknowledgement() {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    let members = "http://www.example.com/members";
    let atom = [("content-type", "application/atom+xml;type=entry")];
    let made = desk.ask("POST", members, &atom, &entry("new"));
    assert_eq!((made.status, &*made.body), (201, &*entry("new")));
    let pending = made.headers["location"].to_str().unwrap().to_owned();
    let first = desk.get(FEED);
    let before = first.body.find("<id>urn:new</id>").unwrap();
    assert!(before < first.body.find("<id>urn:a</id>").unwrap(), "the latest first");
    assert_eq!(desk.ask("PUT", &pending, &atom, &entry("newer")).status, 200);
    assert_eq!(desk.ask("PUT", MEMBER, &atom, &entry("mine")).status, 200);
    let second = desk.get(FEED);
    assert_ne!(first.headers["etag"], second.headers["etag"]);
    assert!(second.body.contains("urn:newer") && !second.body.contains("urn:new<"));
    assert!(second.body.contains("urn:mine") && !second.body.contains("urn:a<"));
    assert_eq!(desk.get(MEMBER).body, entry("mine"));
    assert_eq!(desk.ask("DELETE", MEMBER, &[], "").status, 204);
    let gone = desk.get(MEMBER);
    assert_eq!(gone.status, 410);
    assert_eq!(gone.headers["cache-control"], "no-store", "it may be there again");
    assert_eq!(desk.ask("DELETE", MEMBER, &[], "").status, 204, "again");
    assert_eq!(desk.ask("PUT", MEMBER, &atom, &entry("late")).status, 410);
    assert!(!desk.get(FEED).body.contains("urn:mine"));
    assert_eq!(desk.ask("DELETE", &pending, &[], "").status, 204);
    assert_eq!(desk.get(&pending).status, 410);
    assert_eq!(desk.gateway.state.edits().count(), 1, "what was never sent is not");
}

#[test]
fn invalid_entry_is_accepted_and_not_shown() {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    let atom = [("content-type", "application/atom+xml;type=entry")];
    let made = desk.ask("POST", "http://www.example.com/members", &atom, "<entry");
    assert_eq!((made.status, &*made.body), (201, "<entry"));
    assert!(desk.get(FEED).body.contains("<id>urn:a</id>"));
    let mut arrived = desk.gateway.state.edits();
    assert!(arrived.next().is_some());
}

#[test]
fn media_are_deleted_with_their_media_link_entry() {
    let mut desk = Desk::new();
    let parts = "<app:collection href='/members'/><entry><id>urn:m</id>\
        <link rel='edit' href='/m'/><link rel='edit-media' href='/m.png'/>\
        <content src='/m.png' type='image/png'/></entry>";
    desk.serve("GET", FEED, feed(parts));
    desk.serve("GET", "http://www.example.com/m.png", answer(200, &[], "bytes"));
    desk.subscribe(&["edit-media"], &[]);
    desk.run();
    desk.is_online = false;
    let media = "http://www.example.com/m.png";
    assert_eq!(desk.get(media).body, "bytes");
    assert_eq!(desk.ask("PUT", media, &[("content-type", "image/png")], "others").status, 200);
    assert_eq!(desk.get(media).body, "others");
    assert_eq!(desk.ask("DELETE", "http://www.example.com/m", &[], "").status, 204);
    assert_eq!(desk.get(media).status, 410);
    assert_eq!(desk.ask("PUT", media, &[], "late").status, 410);
}

#[test]
fn conditions_refer_to_the_shown_representation() {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    let atom = ("content-type", "application/atom+xml;type=entry");
    assert_eq!(desk.ask("PUT", MEMBER, &[atom], &entry("mine")).status, 200);
    let tag = desk.get(MEMBER).headers["etag"].to_str().unwrap().to_owned();
    let stale = desk.ask("PUT", MEMBER, &[atom, ("if-match", "\"other\"")], &entry("lost"));
    assert_eq!((stale.status, stale.headers["etag"].to_str().unwrap()), (412, &*tag));
    assert_eq!(stale.headers["cache-control"], "no-store");
    assert_eq!(desk.ask("PUT", MEMBER, &[atom, ("if-match", &tag)], &entry("two")).status, 200);
}

#[test]
fn feed_with_edits_has_its_own_tag_and_no_digests() {
    let mut desk = Desk::new();
    let mut served = feed(EDITABLE);
    let digests = ["content-digest", "content-md5", "digest", "repr-digest"];
    for name in digests {
        served.headers.insert(name, "sha-256=:AAAA:".parse().unwrap());
    }
    desk.serve("GET", FEED, served);
    desk.subscribe(&[], &[]);
    desk.run();
    assert!(digests.iter().all(|name| desk.get(FEED).headers.contains_key(*name)));
    desk.is_online = false;
    let atom = [("content-type", "application/atom+xml;type=entry")];
    assert_eq!(desk.ask("PUT", MEMBER, &atom, &entry("mine")).status, 200);
    let before = desk.get(FEED);
    assert!(!digests.iter().any(|name| before.headers.contains_key(*name)));
    assert_eq!(desk.get(FEED).headers["etag"], before.headers["etag"]);
    // The edit still waits, and the feed is validated later.
    desk.serve("PUT", MEMBER, answer(503, &[], ""));
    desk.serve("GET", FEED, answer(304, &[], ""));
    desk.is_online = true;
    desk.after(3_600);
    let after = desk.get(FEED);
    assert_ne!(after.body, before.body, "it says when it was updated");
    assert_ne!(after.headers["etag"], before.headers["etag"]);
}

#[test]
fn deleted_member_is_gone_until_the_feed_lacks_it() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    let served = [("content-type", "application/atom+xml")];
    desk.serve("GET", MEMBER, answer(200, &served, &entry("a")));
    desk.serve("DELETE", MEMBER, answer(204, &[], ""));
    desk.subscribe(&["edit"], &[]);
    desk.run();
    assert_eq!(desk.ask("DELETE", MEMBER, &[], "").status, 204);
    desk.lines();
    assert_eq!(desk.get(MEMBER).status, 410);
    assert!(desk.lines().is_empty(), "nobody asks its server");
    // The server judges another edit.
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    assert_eq!(desk.ask("PUT", MEMBER, &[], &entry("again")).status, 204);
    assert_eq!(desk.lines(), [format!("PUT {MEMBER}")]);
    assert_eq!(desk.ask("DELETE", MEMBER, &[], "").status, 204);
    desk.go_offline();
    assert_eq!(desk.get(MEMBER).status, 410);
    // Without a network the deletion counts (3.3).
    assert_eq!(desk.ask("PUT", MEMBER, &[], &entry("back")).status, 410);
    assert_eq!(desk.ask("DELETE", MEMBER, &[], "").status, 204);
}

#[test]
fn replaced_member_is_shown_until_the_feed_has_it() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    let served = [("content-type", "application/atom+xml")];
    desk.serve("GET", MEMBER, answer(200, &served, &entry("a")));
    desk.subscribe(&["edit"], &[]);
    desk.run();
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    assert_eq!(desk.ask("PUT", MEMBER, &served, &entry("mine")).status, 204);
    desk.go_offline();
    assert_eq!(desk.get(MEMBER).body, entry("mine"));
    assert!(desk.get(FEED).body.contains("urn:mine"));
    assert_eq!(desk.ask("PUT", MEMBER, &served, &entry("more")).status, 200);
    assert_eq!(desk.get(MEMBER).body, entry("more"));
}

#[test]
fn malformed_atom_is_an_error_and_is_not_stored() {
    let one = "http://www.example.com/1";
    for (kind, body, is_stored) in [
        ("application/atom+xml", entry("one"), true),
        ("application/atom+xml;type=entry", "<entry".to_owned(), false),
        ("text/plain", "<entry".to_owned(), true),
    ] {
        let mut desk = Desk::new();
        desk.serve("GET", FEED, feed("<link rel='related' href='/1'/>"));
        desk.serve("GET", one, answer(200, &[("content-type", kind)], &body));
        desk.subscribe(&["related"], &[]);
        desk.run();
        assert_eq!(desk.errors().is_empty(), is_stored, "{kind} {body}");
        desk.go_offline();
        assert_eq!(desk.get(one).status == 200, is_stored, "{kind} {body}");
    }
}

#[test]
fn malformed_atom_in_the_response_to_an_edit_is_not_shown() {
    for (body, shown) in [(entry("theirs"), entry("theirs")), ("<entry".to_owned(), entry("mine"))]
    {
        let mut desk = Desk::with_member();
        let kind = [("content-type", "application/atom+xml")];
        desk.serve("PUT", MEMBER, answer(200, &kind, &body));
        desk.serve("GET", MEMBER, answer(503, &[], ""));
        desk.ask("PUT", MEMBER, &kind, &entry("mine"));
        desk.go_offline();
        assert_eq!(desk.get(MEMBER).body, shown);
    }
}

#[test]
fn deletion_after_a_waiting_edit_has_the_base_of_that_edit() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    let served = [("content-type", "application/atom+xml"), ("etag", "\"e1\"")];
    desk.serve("GET", MEMBER, answer(200, &served, &entry("a")));
    desk.serve("DELETE", MEMBER, answer(204, &[], ""));
    desk.subscribe(&["edit"], &[]);
    desk.run();
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", MEMBER, &served[..1], &entry("mine")).status, 200);
    assert_eq!(desk.ask("DELETE", MEMBER, &[], "").status, 204);
    desk.is_online = true;
    desk.after(10);
    let deleted = desk.arrived.iter().find(|arrived| arrived.line.starts_with("DELETE")).unwrap();
    assert_eq!(deleted.headers["if-match"], "\"e1\"");
    assert!(!desk.arrived.iter().any(|arrived| arrived.line.starts_with("PUT")));
}
