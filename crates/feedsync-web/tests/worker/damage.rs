//! Damaged rows and bodies: noticed, set aside, reported, and never served or sent as if they were whole.

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::commands::{
    ENTRY, FEED, edit, entry, feed, offline, origin, request, serve, subscribed,
};
use crate::script::Script;

/// A store with rows of all kinds: entries, waiting edits of an entry and of a new member, an error, a completed edit
/// that the feed does not show yet, a policy.
fn filled() -> Script {
    let mut script = subscribed();
    offline(&mut script);
    edit(&mut script, "PUT", ENTRY, &entry("refused"));
    script.control("POST", "/outbox/retry", Value::Null);
    serve(&mut script, &mut |method, url, body| match method {
        "GET" => origin(method, url, body),
        _ => Some((422, "no".to_owned())),
    });
    edit(&mut script, "POST", FEED, &entry("shown"));
    script.control("POST", "/outbox/retry", Value::Null);
    serve(&mut script, &mut |method, url, body| match method {
        "POST" => Some((201, entry("shown"))),
        _ => origin(method, url, body),
    });
    offline(&mut script);
    let made = edit(&mut script, "POST", FEED, &entry("new"));
    let headers = made["reply"]["headers"].as_array().unwrap().clone();
    let location = headers.iter().find(|header| header[0] == "location").unwrap();
    edit(&mut script, "PUT", location[1].as_str().unwrap(), &entry("newer"));
    edit(&mut script, "PUT", ENTRY, &entry("mine"));
    edit(&mut script, "PUT", ENTRY, &entry("mine 2"));
    script.control("PUT", "/network", json!({ "policy": "offline" }));
    script.again();
    script
}

/// Everything that a page sees.
fn seen(script: &mut Script) -> Value {
    let mut seen = json!({});
    for path in ["/subscriptions", "/outbox", "/errors", "/network"] {
        seen[path] = script.control("GET", path, Value::Null)["body"].clone();
    }
    for url in [FEED, ENTRY] {
        let reply = request(script, "GET", url);
        let text = String::from_utf8(script.worker.take_composed()).unwrap();
        seen[url] = json!([reply["reply"]["status"], reply["reply"]["body"], text]);
    }
    seen
}

fn problems(script: &mut Script) -> Vec<Value> {
    script.control("GET", "/problems", Value::Null)["body"].as_array().unwrap().clone()
}

/// Edits of the store by their keys: method, and whether it is in the outbox or among the errors.
fn edits(script: &mut Script) -> Vec<String> {
    let mut all = Vec::new();
    for path in ["/outbox", "/errors"] {
        let list = script.control("GET", path, Value::Null)["body"].clone();
        let list = list.as_array().unwrap().clone();
        all.extend(list.iter().map(|it| format!("{} {}", it["method"], it["location"])));
    }
    all.sort();
    all
}

/// Sends everything that waits. Returns the bodies that left.
fn sent(script: &mut Script) -> Vec<String> {
    script.control("PUT", "/network", json!({ "policy": "online" }));
    script.control("POST", "/outbox/retry", Value::Null);
    let mut left = Vec::new();
    serve(script, &mut |method, url, body| match method {
        "GET" => Some((200, if url == FEED { feed() } else { entry("a") })),
        _ => {
            left.push(body.to_owned());
            Some((if method == "POST" { 201 } else { 200 }, entry("answer")))
        }
    });
    left
}

#[test]
fn flipped_bit_in_any_row_is_reported_or_harmless() {
    let whole = filled();
    let expected = seen(&mut filled());
    let bodies: Vec<String> = ["new", "newer", "mine", "mine 2"].map(entry).into();
    let mut random = SmallRng::seed_from_u64(7);
    let mut kinds = std::collections::BTreeSet::new();
    for (key, text) in whole.rows.iter().filter(|(_, text)| !text.is_empty()) {
        for _ in 0..6 {
            let mut bytes = text.clone().into_bytes();
            let at = random.random_range(0..bytes.len());
            bytes[at] ^= 1 << random.random_range(0..7);
            // The browser stores texts, not bytes.
            let Ok(damaged) = String::from_utf8(bytes) else { continue };
            let what = format!("{key} at {at}: {damaged}");
            let mut script = filled();
            script.rows.insert(key.clone(), damaged);
            script.again();
            let before = edits(&mut filled());
            let seen = seen(&mut script);
            let found = problems(&mut script).len();
            if key.starts_with("p/") {
                assert_eq!((seen, found), (expected.clone(), 0), "only its key counts: {what}");
                continue;
            }
            kinds.insert(key[..key.len().min(6)].to_owned());
            assert!(found == 1 || !key.starts_with("s/"), "{what}: noticed at the start");
            if key.starts_with("s/edit") {
                // What is left of the edit, and what builds on it, is among the errors.
                assert!(edits(&mut script).len() >= before.len(), "{what}");
            }
            // No body leaves that was not made, and none twice.
            let left = sent(&mut script);
            let names: Vec<String> = bodies.iter().map(|body| script.received(body)).collect();
            let known = left.iter().all(|body| names.contains(body));
            assert!(known, "{what}: {left:?}");
            let distinct: std::collections::BTreeSet<&String> = left.iter().collect();
            assert_eq!(distinct.len(), left.len(), "{what}");
            assert_eq!(problems(&mut script).len(), 1, "{what}: noticed when the row is needed");
            // A restart finds nothing new.
            script.again();
            assert_eq!(problems(&mut script).len(), 1, "{what}");
        }
    }
    assert!(kinds.len() >= 8, "{kinds:?}");
}

#[test]
fn rows_of_arbitrary_text_stop_nothing() {
    let whole = filled();
    let keys: Vec<&String> =
        whole.rows.iter().filter(|(_, text)| !text.is_empty()).map(|(key, _)| key).collect();
    for damaged in ["", "{", "[]", "0123456789abcdef null", "\u{fffd}\":\":{\"a\":"] {
        let mut script = filled();
        for key in &keys {
            script.rows.insert((*key).clone(), damaged.to_owned());
        }
        script.again();
        assert!(problems(&mut script).len() > 5);
        assert_eq!(script.control("GET", "/subscriptions", Value::Null)["body"], json!([]));
        let made =
            script.control("POST", "/subscriptions", json!({ "feed": FEED, "follows": ["edit"] }));
        assert_eq!(made["status"], 201, "{made}");
        serve(&mut script, &mut origin);
        offline(&mut script);
        assert_eq!(request(&mut script, "GET", ENTRY)["reply"]["status"], 200);
        assert_eq!(edit(&mut script, "PUT", ENTRY, &entry("mine"))["reply"]["status"], 200);
    }
}

#[test]
fn damaged_edit_is_an_error_with_its_address_and_cannot_be_sent_again() {
    let mut script = filled();
    let (key, text) = script
        .rows
        .iter()
        .find(|(key, text)| {
            key.starts_with("s/edit")
                && text.contains("\"method\":\"PUT\"")
                && text.contains("\"queued\"")
        })
        .map(|(key, text)| (key.clone(), text.clone()))
        .unwrap();
    script.rows.insert(key, text.replace("\"tries\":0", "\"tries\":1"));
    script.again();
    let errors = script.control("GET", "/errors", Value::Null)["body"].clone();
    let error = errors.as_array().unwrap().iter().find(|it| it["status"] == 500).unwrap().clone();
    assert_eq!(error["method"], "PUT", "{error}");
    let id = error["id"].as_str().unwrap();
    let whole = script.control("GET", &format!("/errors/{id}"), Value::Null);
    assert!(
        whole["body"]["request"]["text"].as_str().is_some_and(|text| text.contains("<entry")),
        "{whole}"
    );
    let refused = script.control("POST", &format!("/errors/{id}/retry"), Value::Null);
    assert_eq!(refused["status"], 409, "{refused}");
    let [problem] = &*problems(&mut script) else { panic!("one problem") };
    assert_eq!(problem["location"], error["location"]);
    let path = format!("/problems/{}", problem["id"].as_str().unwrap());
    let shown = script.control("GET", &path, Value::Null);
    assert!(shown["body"]["text"].as_str().unwrap().contains("\"tries\":1"), "{shown}");
    assert_eq!(script.control("DELETE", &path, Value::Null)["status"], 204);
    script.again();
    assert_eq!(problems(&mut script), Vec::<Value>::new());
}

#[test]
fn edit_with_a_lost_body_is_an_error_and_cannot_be_sent_again() {
    let mut script = subscribed();
    offline(&mut script);
    edit(&mut script, "PUT", ENTRY, &entry("mine"));
    let lost = script.received(&entry("mine"));
    script.lose(&lost);
    script.again();
    let digest = lost.split(' ').next().unwrap().to_owned();
    script.lost(&digest);
    let errors = script.control("GET", "/errors", Value::Null)["body"].clone();
    assert_eq!(
        (&errors[0]["status"], &errors[0]["location"]),
        (&json!(500), &json!(ENTRY)),
        "{errors}"
    );
    let path = format!("/errors/{}/retry", errors[0]["id"].as_str().unwrap());
    assert_eq!(script.control("POST", &path, Value::Null)["status"], 409);
    assert_eq!(sent(&mut script), Vec::<String>::new());
}

#[test]
fn pages_hear_of_damage_and_of_its_end() {
    let mut script = filled();
    let key = format!("a/{ENTRY}");
    let text = script.rows[&key].replace("200", "201");
    script.rows.insert(key, text);
    script.again();
    script.run(json!({ "do": "connect", "page": "p" }));
    script.run(json!({ "do": "messages" }));
    request(&mut script, "GET", ENTRY);
    let names = |script: &mut Script| -> Vec<String> {
        let messages = script.run(json!({ "do": "messages" }));
        messages
            .as_array()
            .unwrap()
            .iter()
            .map(|it| format!("{} {}", it[1], it[2]["location"]))
            .collect()
    };
    assert_eq!(names(&mut script), [format!("\"problem\" \"{ENTRY}\"")]);
    script.control("DELETE", "/problems/1", Value::Null);
    assert_eq!(names(&mut script), ["\"problem-gone\" null"]);
}
