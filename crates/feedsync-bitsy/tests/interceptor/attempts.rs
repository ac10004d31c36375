//! Edits that were sent by a process that ended before the response arrived (BITSY 3.5, R-B35).

use crate::desk::{Arrived, Desk, EDITABLE, FEED, answer, entry, feed};

const MEMBER: &str = "http://www.example.com/feed/entry";
const ATOM: (&str, &str) = ("content-type", "application/atom+xml;type=entry");
const SERVED: (&str, &str) = ("content-type", "application/atom+xml");

/// A desk whose process ended while it sent an edit that arrived. Another edit was then made without a
/// network, with these headers.
fn edited_again(headers: &[(&str, &str)]) -> Desk {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e1\"")], &entry("a")));
    desk.subscribe(&["edit"], &[]);
    desk.run();
    desk.serve("PUT", MEMBER, answer(204, &[("etag", "\"e2\"")], ""));
    desk.ends_in_the_middle = true;
    assert_eq!(desk.ask("PUT", MEMBER, &[ATOM], &entry("first")).status, 0);
    desk.is_online = false;
    assert_eq!(desk.get(MEMBER).body, entry("a"), "nobody acknowledged it");
    let headers: Vec<_> = [&[ATOM], headers].concat();
    assert_eq!(desk.ask("PUT", MEMBER, &headers, &entry("second")).status, 200);
    desk.is_online = true;
    desk.serve("PUT", MEMBER, answer(412, &[], ""));
    desk.arrived.clear();
    desk
}

fn edits(desk: &Desk) -> Vec<&Arrived> {
    desk.arrived.iter().filter(|arrived| arrived.line.starts_with("PUT")).collect()
}

#[test]
fn edit_builds_on_content_sent_before_the_process_ended() {
    let mut desk = edited_again(&[]);
    desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e2\"")], &entry("first")));
    desk.after(5);
    let conditions: Vec<_> = edits(&desk).iter().map(|edit| &edit.headers["if-match"]).collect();
    assert_eq!(conditions, ["\"e1\"", "\"e2\""]);
    assert!(edits(&desk).iter().all(|edit| edit.body == entry("second")));
    assert_eq!(desk.errors(), [format!("412 PUT {MEMBER}")], "it is refused for good");
}

#[test]
fn deletion_builds_on_content_sent_before_the_process_ended() {
    for (there, is_ours) in [("first", true), ("theirs", false)] {
        let mut desk = Desk::new();
        desk.serve("GET", FEED, feed(EDITABLE));
        desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e1\"")], &entry("a")));
        desk.subscribe(&["edit"], &[]);
        desk.run();
        desk.serve("PUT", MEMBER, answer(204, &[("etag", "\"e2\"")], ""));
        desk.ends_in_the_middle = true;
        assert_eq!(desk.ask("PUT", MEMBER, &[ATOM], &entry("first")).status, 0);
        desk.is_online = false;
        assert_eq!(desk.ask("DELETE", MEMBER, &[], "").status, 204);
        desk.is_online = true;
        desk.serve("DELETE", MEMBER, answer(412, &[], ""));
        desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e2\"")], &entry(there)));
        desk.arrived.clear();
        desk.after(5);
        let deletions = desk.arrived.iter().filter(|it| it.line.starts_with("DELETE"));
        let conditions: Vec<_> = deletions.map(|it| &it.headers["if-match"]).collect();
        let expected = if is_ours { vec!["\"e1\"", "\"e2\""] } else { vec!["\"e1\""] };
        assert_eq!(conditions, expected, "{there}");
        assert_eq!(desk.errors(), [format!("412 DELETE {MEMBER}")]);
    }
}

#[test]
fn weak_or_missing_entity_tag_does_not_identify_the_base() {
    for headers in [&[SERVED, ("etag", "W/\"e2\"")][..], &[SERVED]] {
        let mut desk = edited_again(&[]);
        desk.serve("GET", MEMBER, answer(200, headers, &entry("first")));
        desk.after(5);
        assert_eq!(edits(&desk).len(), 1);
        assert_eq!(desk.errors(), [format!("412 PUT {MEMBER}")]);
    }
}

#[test]
fn resource_of_a_failed_condition_is_requested_until_the_server_responds() {
    let mut desk = edited_again(&[]);
    desk.serve("GET", MEMBER, answer(503, &[], ""));
    desk.after(60);
    assert_eq!((edits(&desk).len(), desk.errors()), (1, vec![]));
    desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e2\"")], &entry("first")));
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    desk.after(600);
    assert_eq!((edits(&desk).len(), desk.errors()), (2, vec![]));
    for status in [404, 410] {
        let mut desk = edited_again(&[]);
        desk.serve("GET", MEMBER, answer(status, &[], ""));
        desk.after(5);
        assert_eq!(edits(&desk).len(), 1);
        assert!(desk.errors().contains(&format!("412 PUT {MEMBER}")), "{status}");
    }
}

#[test]
fn content_of_another_client_is_a_conflict() {
    let mut desk = edited_again(&[]);
    desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e3\"")], &entry("theirs")));
    desk.after(5);
    assert_eq!(edits(&desk).len(), 1);
    assert_eq!(desk.errors(), [format!("412 PUT {MEMBER}")]);
}

#[test]
fn base_named_by_the_application_is_not_replaced() {
    let mut desk = edited_again(&[("if-match", "\"e1\"")]);
    desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e2\"")], &entry("first")));
    desk.after(5);
    assert_eq!(edits(&desk).len(), 1);
    assert_eq!(desk.errors(), [format!("412 PUT {MEMBER}")]);
}

#[test]
fn attempt_that_arrives_after_the_check_is_recognized_as_ours() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    let before = answer(200, &[SERVED, ("etag", "\"e1\"")], &entry("a"));
    desk.serve("GET", MEMBER, before.clone());
    desk.subscribe(&["edit"], &[]);
    desk.run();
    desk.serve("PUT", MEMBER, answer(204, &[("etag", "\"e2\"")], ""));
    desk.ends_in_the_middle = true;
    assert_eq!(desk.ask("PUT", MEMBER, &[ATOM], &entry("first")).status, 0);
    // The server is slow, so another round finds the previous version.
    desk.arrived.clear();
    desk.after(60 * 60);
    assert!(desk.lines().contains(&format!("GET {MEMBER}")), "it was looked");
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", MEMBER, &[ATOM], &entry("second")).status, 200);
    desk.is_online = true;
    desk.serve("PUT", MEMBER, answer(412, &[], ""));
    desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e2\"")], &entry("first")));
    desk.after(5);
    let conditions: Vec<_> = edits(&desk).iter().map(|edit| &edit.headers["if-match"]).collect();
    assert_eq!(conditions, ["\"e1\"", "\"e2\""]);
}

#[test]
fn attempts_are_removed_after_another_clients_edit() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e1\"")], &entry("a")));
    desk.subscribe(&["edit"], &[]);
    desk.run();
    desk.serve("PUT", MEMBER, answer(204, &[("etag", "\"e2\"")], ""));
    desk.ends_in_the_middle = true;
    assert_eq!(desk.ask("PUT", MEMBER, &[ATOM], &entry("first")).status, 0);
    desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e3\"")], &entry("theirs")));
    desk.after(60 * 60);
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", MEMBER, &[ATOM], &entry("second")).status, 200);
    desk.is_online = true;
    // The other client restores the content that was sent from here, which still counts as its edit.
    desk.serve("PUT", MEMBER, answer(412, &[], ""));
    desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e4\"")], &entry("first")));
    desk.arrived.clear();
    desk.after(5);
    assert_eq!(edits(&desk).len(), 1);
    assert_eq!(desk.errors(), [format!("412 PUT {MEMBER}")]);
}

/// A desk whose edit was sent without a response, not found, and sent again. The second attempt is refused
/// because of this other content.
fn sent_twice(there: &str) -> Desk {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e1\"")], &entry("a")));
    desk.subscribe(&["edit"], &[]);
    desk.run();
    desk.is_online = false;
    assert_eq!(desk.ask("PUT", MEMBER, &[ATOM], &entry("ours")).status, 200);
    desk.is_online = true;
    desk.serve("PUT", MEMBER, answer(504, &[], ""));
    for _ in 0..1_000 {
        let begun = desk.begin();
        desk.carry_out(begun);
        match edits(&desk).len() {
            0 => {}
            1 => desk.serve("PUT", MEMBER, answer(412, &[], "")),
            _ => break,
        }
        desk.now = desk.now.after(std::time::Duration::from_millis(100));
    }
    assert_eq!(edits(&desk).len(), 2);
    desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e2\"")], &entry(there)));
    desk.after(5);
    desk
}

#[test]
fn edit_that_arrived_after_its_check_is_not_a_conflict() {
    let desk = sent_twice("ours");
    assert_eq!(desk.errors(), [] as [String; 0]);
    assert_eq!(desk.gateway.state.edits().count(), 0, "it is carried out");
    assert_eq!(edits(&desk).len(), 2);
    let desk = sent_twice("theirs");
    assert_eq!(desk.errors(), [format!("412 PUT {MEMBER}")]);
    assert_eq!(edits(&desk).len(), 2);
}

#[test]
fn eight_attempts_of_a_member_are_stored_over_a_restart() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(EDITABLE));
    desk.serve("GET", MEMBER, answer(200, &[SERVED, ("etag", "\"e1\"")], &entry("a")));
    desk.subscribe(&["edit"], &[]);
    desk.run();
    desk.serve("PUT", MEMBER, answer(204, &[], ""));
    for number in 0..9 {
        desk.ends_in_the_middle = true;
        assert_eq!(desk.ask("PUT", MEMBER, &[ATOM], &entry(&number.to_string())).status, 0);
        let expected = (number + 1).min(8);
        assert_eq!(desk.gateway.disk.now.rows.attempts.len(), expected, "{number}");
    }
    let oldest = desk.gateway.disk.hold(entry("0").into_bytes());
    assert!(desk.gateway.disk.now.rows.attempts.iter().all(|it| it.content != oldest));
}
