//! The commands that keep, show and restore past states of a database.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Hub, TestDirectory, has, output};

/// Sends a request to a database of a hub without users; returns the JSON of the response.
fn ask(hub: &Hub, method: &str, path: &str, body: &Value) -> Value {
    let (url, body) = (format!("{}/couch/{path}", hub.url), body.to_string());
    let json = "content-type: application/json";
    let arguments = ["-sS", "-X", method, "-H", json, "-d", &body, &url];
    serde_json::from_str(&output("curl", &arguments, std::path::Path::new("."))).unwrap()
}

/// Writes a new text of a document.
fn write(hub: &Hub, id: &str, text: &str) {
    let path = format!("plans/{id}");
    let before = ask(hub, "GET", &path, &Value::Null);
    let mut document = json!({ "text": text });
    if let Some(revision) = before.get("_rev") {
        document["_rev"] = revision.clone();
    }
    assert_eq!(ask(hub, "PUT", &path, &document)["ok"], true);
}

fn text(hub: &Hub, id: &str) -> Value {
    ask(hub, "GET", &format!("plans/{id}"), &Value::Null)["text"].clone()
}

/// The present time in whole seconds, with a second on each side of it in which nothing is written.
fn quiet_moment() -> String {
    sleep(Duration::from_millis(1_100));
    let seconds = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let time = feedsync_core::Timestamp::from_unix_seconds(seconds as i64).unwrap().to_string();
    sleep(Duration::from_millis(1_100));
    time
}

#[test]
fn a_database_is_shown_and_brought_back_as_it_was() {
    if !has("curl") {
        return;
    }
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let hub = Hub::start(&place, "desk");
    assert_eq!(ask(&hub, "PUT", "plans", &Value::Null)["ok"], true);
    desk.run(&["database", "at", "plans", "--time", "0s"]).fails(3, "plans keeps no history");
    desk.run(&["database", "set", "none", "--history", "1d"]).fails(3, "there is no database none");
    let set = desk.json(&["database", "set", "plans", "--history", "30d"]);
    assert_eq!(set["history_seconds"], 2_592_000);
    assert!(desk.ok(&["database", "list"]).contains("30d"));

    write(&hub, "milk", "two litres");
    write(&hub, "bread", "one");
    let time = quiet_moment();
    write(&hub, "milk", "none");
    let revision =
        ask(&hub, "GET", "plans/bread", &Value::Null)["_rev"].as_str().unwrap().to_owned();
    ask(&hub, "DELETE", &format!("plans/bread?rev={revision}"), &Value::Null);
    write(&hub, "tea", "new");

    let then = desk.json(&["database", "at", "plans", "--time", &time]);
    let shown: Vec<_> = then
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["id"], &one["winner"]["body"]["text"]))
        .collect();
    assert_eq!(shown, [(&json!("bread"), &json!("one")), (&json!("milk"), &json!("two litres"))]);
    let one = desk.ok(&["database", "at", "plans", "--time", &time, "--document", "milk"]);
    assert!(one.contains("two litres"), "{one}");
    let listed = desk.json(&["database", "history", "plans"]);
    let ids: Vec<_> = listed.as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["bread", "milk"]);
    let of_milk = desk.json(&["database", "history", "plans", "--document", "milk"]);
    assert_eq!(of_milk.as_array().unwrap().len(), 1);

    let restore = ["database", "restore", "plans", "--at", &time];
    let planned = desk.json(&[&restore[..], &["--dry-run"]].concat());
    assert_eq!((&planned["restored"], &planned["newer"]), (&json!(2), &json!(1)));
    assert_eq!(text(&hub, "milk"), "none", "a dry run changes nothing");
    desk.run(&restore).fails(2, "there is no terminal to ask on");
    let only = desk.json(&[&restore[..], &["--document", "bread", "--yes"]].concat());
    assert_eq!(only["restored"], 1);
    assert_eq!((text(&hub, "bread"), text(&hub, "milk")), (json!("one"), json!("none")));
    let undo = quiet_moment();
    let all = desk.json(&[&restore[..], &["--delete-newer", "--yes"]].concat());
    assert_eq!(
        (&all["restored"], &all["deleted"], &all["unchanged"]),
        (&json!(1), &json!(1), &json!(1))
    );
    assert_eq!((text(&hub, "milk"), text(&hub, "tea")), (json!("two litres"), Value::Null));
    // A restore is undone by another one.
    desk.ok(&["database", "restore", "plans", "--at", &undo, "--yes"]);
    assert_eq!((text(&hub, "milk"), text(&hub, "tea")), (json!("none"), json!("new")));

    let early = desk.run(&["database", "at", "plans", "--time", "2001-01-01"]);
    early.fails(3, "the history of plans begins at");
    desk.run(&["database", "set", "plans", "--history", "7d"]).fails(2, "older states are gone");
    let off = desk.run(&["database", "set", "plans", "--history", "off"]);
    off.fails(2, "plans keeps no history: older states are gone");
    let missing = desk.run(&["database", "at", "plans", "--time", "0s", "--document", "none"]);
    missing.fails(3, "plans had no such document");
    desk.ok(&["database", "set", "plans", "--history", "off", "--yes"]);
    desk.run(&["database", "history", "plans"]).fails(3, "plans keeps no history");
    desk.run(&["database", "at", "plans", "--time", "0s"]).fails(3, "plans keeps no history");
}

#[test]
fn a_dropped_database_comes_back_or_is_forgotten() {
    if !has("curl") {
        return;
    }
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let hub = Hub::start(&place, "desk");
    let create = || {
        assert_eq!(ask(&hub, "PUT", "plans", &Value::Null)["ok"], true);
        desk.ok(&["database", "set", "plans", "--history", "30d"]);
    };
    let dropped = || desk.json(&["database", "undrop"]).as_array().unwrap().len();
    create();
    write(&hub, "milk", "two litres");
    assert_eq!(desk.ok(&["database", "undrop"]).trim(), "there is no dropped database");
    desk.run(&["database", "drop", "plans"]).fails(2, "undrop brings it back for 30d");
    desk.run(&["database", "drop", "none", "--yes"]).fails(3, "there is no database none");
    desk.run(&["database", "undrop", "plans"]).fails(3, "no dropped database plans is kept");
    assert_eq!(desk.json(&["database", "drop", "plans", "--yes"])["kept"], true);
    assert_eq!(ask(&hub, "GET", "plans/milk", &Value::Null)["error"], "not_found");
    assert_eq!(desk.json(&["database", "list"]), json!([]));
    let listed = desk.json(&["database", "undrop"]);
    assert_eq!((&listed[0]["name"], &listed[0]["documents"]), (&json!("plans"), &json!(1)));
    assert!(desk.ok(&["database", "undrop"]).contains("30d"));
    let back = desk.ok(&["database", "undrop", "plans"]);
    assert_eq!(back.trim(), "plans is back with 1 document");
    assert_eq!((text(&hub, "milk"), dropped()), (json!("two litres"), 0));

    // A device drops the database and creates it again.
    let time = quiet_moment();
    assert_eq!(ask(&hub, "DELETE", "plans", &Value::Null)["ok"], true);
    create();
    write(&hub, "tea", "green");
    let run = desk.run(&["database", "undrop", "plans"]);
    run.fails(1, "there is a new database or a collection plans");
    let then = desk.json(&["database", "at", "plans", "--time", &time]);
    assert_eq!((then.as_array().unwrap().len(), &then[0]["id"]), (1, &json!("milk")));
    let restore = ["database", "restore", "plans"];
    let planned = desk.json(&[&restore[..], &["--at", &time, "--dry-run"]].concat());
    assert_eq!((&planned["restored"], &planned["newer"]), (&json!(1), &json!(1)));
    let done = desk.json(&[&restore[..], &["--dropped", "--yes"]].concat());
    assert_eq!((&done["restored"], &done["newer"]), (&json!(1), &json!(1)));
    assert_eq!((text(&hub, "milk"), text(&hub, "tea")), (json!("two litres"), json!("green")));
    desk.run(&restore).fails(2, "--at");

    let run = desk.run(&["database", "drop", "plans", "--forget"]);
    run.fails(2, "1 former database of that name; nothing of it is kept");
    assert_eq!(desk.json(&["database", "drop", "plans", "--forget", "--yes"])["kept"], false);
    assert_eq!((dropped(), desk.json(&["database", "list"])), (0, json!([])));
    desk.run(&["database", "restore", "plans", "--dropped"]).fails(3, "there is no database plans");
}
