//! The traces that the document prints (BITSY 2.2, BI97).

use feedsync_bitsy::event::headers_text;
use feedsync_bitsy::interceptor::EventKind;
use feedsync_bitsy::subscription::state::State;

use crate::desk::{Desk, FEED, answer, entry, feed};

/// The listeners of the document with their intended meaning: `else (…)` is not a condition in ECMAScript.
fn console(desk: &mut Desk) -> Vec<String> {
    let told = std::mem::take(&mut desk.told);
    let lines = told.iter().filter_map(|told| {
        let mut words = told.split(' ');
        let (what, rest): (&str, Vec<&str>) = (words.next()?, words.collect());
        let at = rest.last()?;
        match (what.parse::<u16>(), what) {
            (Ok(status @ 400..500), _) => {
                Some(format!("Error when fetching {at} with code {status}"))
            }
            (Ok(status @ 500..), _) => {
                Some(format!("Server error when fetching {at} with code {status}"))
            }
            (Err(_), "WAITING") => Some(format!("Completed subscription to {at}")),
            (Err(_), "PAUSED") => Some(format!("Error subscribing to {at}")),
            _ => None,
        }
    });
    lines.collect()
}

const LINKED: &str = "<link rel='related' href='/feed/invalid'/>";

#[test]
fn completed_subscription_prints_the_trace_of_the_document() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(LINKED));
    desk.serve("GET", "http://www.example.com/feed/invalid", answer(200, &[], "there after all"));
    desk.subscribe(&["related"], &[]);
    desk.run();
    assert_eq!(console(&mut desk), ["Completed subscription to http://www.example.com/feed"]);
}

#[test]
fn broken_link_is_reported_before_the_pause() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(LINKED));
    desk.subscribe(&["related"], &[]);
    desk.run();
    let expected = [
        "Error when fetching http://www.example.com/feed/invalid with code 404",
        "Error subscribing to http://www.example.com/feed",
    ];
    assert_eq!(console(&mut desk), expected);
    assert_eq!(desk.state(), State::Paused);
    assert_eq!(desk.errors(), ["404 GET http://www.example.com/feed/invalid"]);
}

#[test]
fn link_with_retry_after_is_reported_and_the_subscription_completes() {
    let mut desk = Desk::new();
    desk.serve("GET", FEED, feed(LINKED));
    let later = answer(503, &[("retry-after", "120")], "");
    desk.serve("GET", "http://www.example.com/feed/invalid", later);
    desk.subscribe(&["related"], &[]);
    desk.run();
    let expected = [
        "Server error when fetching http://www.example.com/feed/invalid with code 503",
        "Completed subscription to http://www.example.com/feed",
    ];
    assert_eq!(console(&mut desk), expected);
    assert!(desk.errors().is_empty(), "it mends itself");
}

/// Puts an entry without a network, and returns the events that the application receives later.
fn put(status: u16, headers: &[(&str, &str)]) -> (Desk, String) {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    let url = "http://www.example.com/feed/entry";
    assert_eq!(desk.ask("PUT", url, &[], &entry("mine")).status, 200);
    desk.told.clear();
    desk.is_online = true;
    desk.serve("PUT", url, answer(status, headers, &entry("theirs")));
    desk.after(5);
    let sync = desk.kind.iter().find_map(|kind| match kind {
        EventKind::Sync(sync) if sync.method == "PUT" => Some(sync),
        _ => None,
    });
    let sync = sync.expect("it is told");
    let (at, code) = (&sync.location, sync.status.as_u16());
    let printed = match code {
        200 => {
            let headers = headers_text(&sync.response_headers);
            format!("Updated entry at {at} with headers: {headers}")
        }
        _ => format!("Error when updating {at} with code {code}"),
    };
    (desk, printed)
}

#[test]
fn completed_update_is_reported_with_the_response_headers() {
    let headers = [("content-type", "application/atom+xml"), ("content-length", "1283")];
    let (desk, printed) = put(200, &headers);
    let expected = "Updated entry at http://www.example.com/feed/entry with headers: \
        Content-Type: application/atom+xml\nContent-Length: 1283";
    assert_eq!(printed, expected);
    assert!(desk.errors().is_empty());
}

/// The document prints the feed where the entry was put, against its own 2.2.1 (R-B40).
#[test]
fn refused_update_is_reported_and_recorded_as_an_error() {
    let (desk, printed) = put(409, &[]);
    assert_eq!(printed, "Error when updating http://www.example.com/feed/entry with code 409");
    assert_eq!(desk.errors(), ["409 PUT http://www.example.com/feed/entry"]);
}
