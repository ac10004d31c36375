//! A store of version 1, as a browser had it, in the present version.

use serde_json::{Value, json};

use crate::commands::{ENTRY, FEED, entry, offline, serve};
use crate::script::Script;

const VERSION_1: &str = include_str!("../fixtures/store-version-1.json");

/// A worker over the rows of version 1 after their migration.
fn migrated() -> Script {
    let dump: Value = serde_json::from_str(VERSION_1).unwrap();
    let mut script = Script::new();
    for row in dump["rows"].as_array().unwrap() {
        let (key, text) = (row[0].as_str().unwrap(), row[1].as_str().unwrap());
        let text = feedsync_web::migrated(1, key, text);
        script.rows.extend(text.map(|text| (key.to_owned(), text)));
    }
    for content in dump["contents"].as_array().unwrap() {
        let name = script.received(content[1].as_str().unwrap());
        assert!(name.starts_with(content[0].as_str().unwrap()), "the bytes of {name}");
    }
    script.again();
    script
}

/// Asks as a page with the cookies of the browser.
fn ask(script: &mut Script, path: &str) -> Value {
    script.run(json!({
        "do": "control", "method": "GET", "path": path, "body": null, "page": "p", "open": ["p"], "partition": "",
    }))
}

#[test]
fn store_of_version_1_keeps_its_subscription_its_entries_and_its_edits() {
    let mut script = migrated();
    assert_eq!(ask(&mut script, "/problems")["body"], json!([]));
    let subscriptions = ask(&mut script, "/subscriptions");
    assert_eq!(subscriptions["body"][0]["feed"], FEED, "{subscriptions}");
    let outbox = ask(&mut script, "/outbox");
    let methods: Vec<&str> = outbox["body"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|edit| edit["method"].as_str())
        .collect();
    assert_eq!(methods, ["PUT", "POST"]);
    offline(&mut script);
    let read = script.run(json!({
        "do": "request", "method": "GET", "url": ENTRY, "headers": [], "partition": "",
    }));
    assert_eq!(read["reply"]["status"], 200, "{read}");
    script.control("POST", "/outbox/retry", Value::Null);
    let mut sent = Vec::new();
    serve(&mut script, &mut |method, url, body| {
        if method == "GET" {
            return Some((200, if url == FEED { crate::commands::feed() } else { entry("a") }));
        }
        sent.push(format!("{method} {url} {}", !body.is_empty()));
        Some((if method == "POST" { 201 } else { 200 }, entry("a2")))
    });
    assert_eq!(sent, [format!("PUT {ENTRY} true"), format!("POST {FEED} true")]);
}

#[test]
fn rows_of_the_present_version_stay_as_they_are() {
    let script = migrated();
    for (key, text) in &script.rows {
        assert_eq!(feedsync_web::migrated(2, key, text).as_ref(), Some(text), "{key}");
    }
}

#[test]
fn rows_of_version_1_are_damaged_for_this_version() {
    let dump: Value = serde_json::from_str(VERSION_1).unwrap();
    for row in dump["rows"].as_array().unwrap() {
        let (key, text) = (row[0].as_str().unwrap(), row[1].as_str().unwrap());
        assert!(feedsync_web::unseal(key, text).is_err(), "{key}");
    }
}
