//! Collections that subscribe to feeds of other publishers, through running hubs.

mod support;

use std::time::{Duration, Instant};

use support::{Hub, TestDirectory};

#[test]
fn a_running_hub_reads_what_a_collection_subscribes_to() {
    let place = TestDirectory::new();
    let (source, desk) = (place.desk("source"), place.desk("desk"));
    let there = Hub::start(&place, "source");
    source.add("Theirs", "from there");
    assert!(desk.ok(&["remote", "subscribe", "notes", &there.notes()]).contains("every 15m"));
    let listed = desk.json(&["remote", "list"]);
    assert_eq!((&listed[0]["every"], &listed[0]["plain"]), (&"15m".into(), &false.into()));
    let _here = Hub::start(&place, "desk");
    let began = Instant::now();
    while desk.json(&["ls", "notes"]).as_array().unwrap().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", desk.json(&["remote", "list"]));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(desk.state(), source.state());
    assert!(desk.json(&["remote", "list"])[0]["due"].is_string());
    // A subscription sends nothing to its publisher, even after a manual sync.
    desk.add("Mine", "from here");
    desk.ok(&["sync"]);
    assert_eq!(source.json(&["ls", "notes"]).as_array().unwrap().len(), 1);
    desk.ok(&["remote", "unsubscribe", "notes", "1"]);
    assert_eq!(desk.json(&["remote", "list"]), serde_json::json!([]));
    assert_eq!(desk.json(&["ls", "notes"]).as_array().unwrap().len(), 2);
    desk.run(&["remote", "unsubscribe", "notes", "1"]).fails(3, "does not subscribe");
    let too_often = ["remote", "subscribe", "notes", &there.notes(), "--every", "5s"];
    desk.run(&too_often).fails(2, "at least a minute");
    desk.run(&["remote", "subscribe", "notes", "feed.xml"]).fails(2, "feed.xml");
}

#[test]
fn feeds_that_a_publisher_subscribes_to_are_shown_and_followed_on_consent() {
    let place = TestDirectory::new();
    let (source, middle) = (place.desk("source"), place.desk("middle"));
    let reader = place.desk("reader");
    let (far, near) = (Hub::start(&place, "source"), Hub::start(&place, "middle"));
    source.add("Far", "away");
    middle.ok(&["remote", "subscribe", "notes", &far.notes()]);
    middle.ok(&["remote", "subscribe", "notes", "http://127.0.0.1:9/secret", "--unlisted"]);
    reader.run(&["remote", "discover", "notes"]).fails(3, "no remote yet");
    reader.ok(&["remote", "subscribe", "notes", &near.notes()]);
    // The feeds are shown and nothing is done, because there is no terminal to confirm on.
    reader.run(&["remote", "discover", "notes"]).fails(2, "--yes");
    let shown = reader.json(&["remote", "discover", "notes"]);
    assert_eq!(shown.as_array().unwrap().len(), 1, "{shown}");
    assert_eq!((&shown[0]["url"], &shown[0]["subscribed"]), (&far.notes().into(), &false.into()));
    assert_eq!(reader.json(&["remote", "list"]).as_array().unwrap().len(), 1);
    let said = reader.ok(&["remote", "discover", "notes", "--yes"]);
    assert!(said.contains(&far.notes()) && said.contains("subscribed to 1 feed"), "{said}");
    assert!(reader.ok(&["remote", "discover", "notes"]).contains("not known here yet"));
    reader.ok(&["sync"]);
    assert_eq!(reader.state(), source.state());
}
