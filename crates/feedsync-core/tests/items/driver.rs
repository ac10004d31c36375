//! The driver for other projects' test suites writes one response line for each request, whatever
//! the input.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// The example's binary, which is built beside the tests.
fn driver() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.parent().and_then(|deps| deps.parent()).expect("target directory");
    target.join("examples").join("behaviours")
}

fn answers(lines: &[String]) -> Vec<Value> {
    let mut child = Command::new(driver())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the driver is built with the tests");
    let mut input = child.stdin.take().expect("piped");
    let text = lines.join("\n");
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("the driver ends");
    writer.join().expect("no panic").expect("the driver reads all");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn ask(requests: &[Value]) -> Vec<Value> {
    answers(&requests.iter().map(Value::to_string).collect::<Vec<_>>())
}

#[test]
fn a_conflict_is_made_shown_and_resolved() {
    let create = json!({"op": "create", "id": "x", "content": "milk", "by": "ann", "when": "2026-01-01T00:00:00Z"});
    let item = ask(&[create]).remove(0)["result"].clone();
    assert_eq!(item["updates"], 1);
    assert_eq!(
        item["history"],
        json!([{"sequence": 1, "when": "2026-01-01T00:00:00Z", "by": "ann"}])
    );
    let edit = |content: &str, by: &str| json!({"op": "update", "item": item, "content": content, "by": by, "when": "2026-01-02T00:00:00Z"});
    let edited = ask(&[edit("oat milk", "ann"), edit("two milk", "bob")]);
    let [ann, bob] = [&edited[0]["result"], &edited[1]["result"]];
    let merged = ask(&[json!({"op": "merge", "local": ann, "incoming": bob})]).remove(0);
    assert_eq!(merged["outcome"], "conflict");
    let conflicted = &merged["result"];
    assert_eq!(
        (&conflicted["content"], &conflicted["conflicts"][0]["content"]),
        (&json!("two milk"), &json!("oat milk"))
    );
    let answers = ask(&[
        json!({"op": "resolve", "item": conflicted, "pick": null, "content": "two oat milk", "by": "ann"}),
        json!({"op": "resolve", "item": conflicted, "pick": [0], "by": "ann"}),
        json!({"op": "subsumed", "x": item, "y": ann}),
        json!({"op": "x_wins", "x": ann, "y": bob}),
        json!({"op": "merge", "local": null, "incoming": bob}),
        json!({"op": "delete", "item": item, "by": "ann"}),
    ]);
    assert_eq!(answers[0]["result"]["content"], "two oat milk");
    assert_eq!(answers[0]["result"]["conflicts"], json!([]));
    assert_eq!(answers[1]["result"]["content"], "two milk");
    assert_eq!((&answers[2]["result"], &answers[3]["result"]), (&json!(true), &json!(false)));
    assert_eq!(answers[4]["outcome"], "added");
    assert_eq!(answers[5]["result"]["deleted"], true);
}

#[test]
fn invalid_requests_get_an_error_and_the_next_line_is_processed() {
    let item =
        json!({"id": "x", "updates": 1, "content": "", "history": [{"sequence": 1, "by": "a"}]});
    let broken = |change: fn(&mut Value)| {
        let mut item = item.clone();
        change(&mut item);
        json!({"op": "merge", "local": null, "incoming": item}).to_string()
    };
    let lines = [
        "not json".to_owned(),
        "[]".to_owned(),
        json!({"op": "fly"}).to_string(),
        json!({"op": "create", "id": "two words", "content": "", "by": "a"}).to_string(),
        json!({"op": "create", "id": "x", "content": "", "by": ""}).to_string(),
        json!({"op": "create", "id": "x", "content": ""}).to_string(),
        json!({"op": "create", "id": "x", "content": "", "when": "2026-01-01T00:00:00.5Z"})
            .to_string(),
        broken(|item| item["updates"] = json!(0)),
        broken(|item| item["updates"] = json!(2_147_483_648_u64)),
        broken(|item| item["updates"] = json!("1")),
        broken(|item| item["history"] = json!([])),
        broken(|item| item["history"] = json!([{"sequence": 1}])),
        broken(|item| item["deleted"] = json!("true")),
        broken(|item| item["conflicts"] = json!([{"id": "y"}])),
        json!({"op": "resolve", "item": item, "pick": [3], "by": "a"}).to_string(),
        json!({"op": "merge", "local": null, "incoming": item}).to_string(),
    ];
    let answers = answers(&lines);
    assert_eq!(answers.len(), lines.len());
    let (last, errors) = answers.split_last().expect("answers");
    for (answer, line) in errors.iter().zip(&lines) {
        assert!(answer["error"].is_string(), "{line}: {answer}");
    }
    assert_eq!(last["outcome"], "added");
}
