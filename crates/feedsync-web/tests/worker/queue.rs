//! A queue of edits: the next one leaves when the response to its predecessor arrives, before that is stored.

use serde_json::{Value, json};

use crate::commands::{FEED, edit, entry, offline, subscribed};
use crate::script::Script;

/// A worker that sends the first of some edits of one queue, and the task of it.
fn sending(titles: &[&str]) -> (Script, Value) {
    let mut script = subscribed();
    offline(&mut script);
    for title in titles {
        assert_eq!(edit(&mut script, "POST", FEED, &entry(title))["reply"]["status"], 201);
    }
    script.control("POST", "/outbox/retry", Value::Null);
    let tasks = begun(&mut script);
    let mut posts = tasks.into_iter().filter(|task| task["method"] == "POST");
    let first = posts.next().unwrap();
    assert_eq!(posts.next(), None, "edits of one queue leave one after the other");
    (script, first)
}

fn begun(script: &mut Script) -> Vec<Value> {
    script.run(json!({ "do": "begin" }))["tasks"].as_array().unwrap().clone()
}

fn response(status: u16, number: usize) -> Value {
    let location = format!("https://notes.example/entry/{number}");
    let headers =
        json!([["location", location], ["content-location", location], ["etag", "\"1\""]]);
    json!({ "status": status, "headers": headers })
}

fn next(script: &mut Script, task: &Value, status: u16) -> Value {
    script.run(json!({ "do": "next", "id": task["id"], "response": response(status, 1) }))
}

fn finished(task: &Value, number: usize, content: &str) -> Value {
    let mut response = response(201, number);
    response["content"] = json!(content);
    json!({ "do": "finished", "id": task["id"], "response": response })
}

fn waiting(script: &mut Script) -> usize {
    script.control("GET", "/outbox", Value::Null)["body"].as_array().unwrap().len()
}

#[test]
fn next_edit_leaves_before_the_outcome_of_its_predecessor_is_stored() {
    let titles = ["one", "two", "three"];
    let (mut script, mut task) = sending(&titles);
    for (index, title) in titles.iter().enumerate() {
        let content = script.received(&entry(title));
        assert!(task["body"] == *content, "{title} leaves in its turn: {task}");
        let following = next(&mut script, &task, 201);
        assert_eq!(following.is_null(), index == 2, "{following}");
        script.run(finished(&task, index, &content));
        task = following;
    }
    assert_eq!(waiting(&mut script), 0);
}

#[test]
fn edit_does_not_leave_before_its_predecessor_has_succeeded() {
    for status in [200, 201, 204, 202, 303, 400, 412, 503] {
        let (mut script, task) = sending(&["one", "two"]);
        let next = next(&mut script, &task, status);
        assert_eq!(next.is_null(), ![200, 201, 204].contains(&status), "{status}: {next}");
    }
}

#[test]
fn edit_that_left_early_is_sent_once_although_the_outcome_of_its_predecessor_could_not_be_stored() {
    let (mut script, one) = sending(&["one", "two"]);
    let two = next(&mut script, &one, 201);
    let contents = ["one", "two"].map(|title| script.received(&entry(title)));
    script.fails = true;
    script.try_run(finished(&one, 1, &contents[0])).unwrap_err();
    // The request for the second edit is under way, and no other may begin.
    let others = begun(&mut script);
    assert!(others.iter().all(|task| task["body"] != *contents[1]), "{others:?}");
    script.run(finished(&two, 2, &contents[1]));
    assert_eq!(waiting(&mut script), 1, "the first edit is in doubt");
    let others = begun(&mut script);
    assert!(others.iter().all(|task| task["method"] == "GET"), "it is looked for: {others:?}");
}
