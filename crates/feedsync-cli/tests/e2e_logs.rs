//! Logs with curl: the commands of docs/logs.md as a reader would paste them, events, and the end of
//! retention.

#![cfg(unix)]

mod support;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use support::{Hub, TestDirectory, has, output, until};

/// Blocks of shell commands in the document.
fn blocks() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = std::fs::read_to_string(root.join("docs/logs.md")).unwrap();
    let blocks = document.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.map(str::to_owned).collect()
}

/// Runs the blocks in one shell; returns the output of each.
fn run(place: &TestDirectory, hub: &Hub, blocks: &[String]) -> Vec<String> {
    const END: &str = "==== the next block ====";
    let script = blocks.join(&format!("echo '{END}'\n"));
    let script = format!("set -euo pipefail\n{script}").replace("http://127.0.0.1:4287", &hub.url);
    let printed = output("bash", &["-c", &script], &place.path(""));
    printed.replace('\r', "").split(&format!("{END}\n")).map(str::to_owned).collect()
}

/// Value of a header in the output of `curl --include`.
fn header<'a>(printed: &'a str, name: &str) -> &'a str {
    let is = |line: &&str| line.to_ascii_lowercase().starts_with(&format!("{name}: "));
    let line = printed.lines().find(is).unwrap_or_else(|| panic!("no {name}: {printed}"));
    &line[name.len() + 2..]
}

/// Status codes of all responses in the output.
fn statuses(printed: &str) -> Vec<&str> {
    let lines = printed.lines().filter_map(|line| line.strip_prefix("HTTP/1.1 "));
    lines.map(|status| &status[..3]).collect()
}

/// Runs curl on the events of a log; returns the process and the data lines.
fn follow(log: &str) -> (Child, impl Iterator<Item = String>) {
    let mut curl = Command::new("curl")
        .args(["--silent", "--no-buffer", "--max-time", "60", &format!("{log}/events")])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(curl.stdout.take().unwrap()).lines();
    (curl, lines.map_while(Result::ok).filter(|line| line.starts_with("data: ")))
}

#[test]
fn the_walk_of_the_document_leads_through_the_life_of_a_log() {
    if !has("bash") || !has("curl") {
        return;
    }
    let place = TestDirectory::new();
    place.bare("hub");
    let hub = Hub::start(&place, "hub");
    let printed = run(&place, &hub, &blocks());
    let found: Vec<_> = printed.iter().map(|block| statuses(block)).collect();
    let expected: [&[&str]; 8] = [
        &["201"],
        &["204"],
        &["204"],
        &["412"],
        &["206", "304"],
        &["201", "204"],
        &["200"],
        &["204", "410"],
    ];
    assert_eq!(found, expected, "{printed:#?}");
    let [begun, appended, again, stale, read, compacted, former, _] = &printed[..] else {
        panic!()
    };
    assert_eq!(header(begun, "log-offset"), "0-16");
    assert_eq!(header(appended, "log-offset"), "16-24");
    assert_eq!(header(again, "etag"), header(appended, "etag"));
    assert_eq!(header(stale, "etag"), header(appended, "etag"));
    assert!(stale.contains("\"length\":24"), "{stale}");
    assert!(read.contains("\n\n{\"n\":3}\n"), "{read}");
    assert_eq!(header(read, "content-range"), "bytes 16-23/24");
    assert_eq!(header(compacted, "log-covers"), header(appended, "etag"));
    assert!(former.ends_with("{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n"), "{former}");
    assert!(former.contains(&format!("<{}/logs/reading>; rel=\"successor-version\"", hub.url)));
}

#[test]
fn an_event_comes_with_each_append_and_a_generation_goes_when_it_is_kept_no_longer() {
    if !has("bash") || !has("curl") {
        return;
    }
    let place = TestDirectory::new();
    place.bare("hub");
    let hub = Hub::start(&place, "hub");
    let blocks = blocks();
    let begun = run(&place, &hub, &blocks[..1]).remove(0);
    let log = format!("{}/logs/reading", hub.url);
    let (mut curl, mut data) = follow(&log);
    assert!(data.next().unwrap().contains("\"length\":16"));
    let tag = header(&begun, "etag").to_owned();
    let append = |body: &str, condition: &str, method: &str| {
        let arguments = [
            "--silent",
            "--show-error",
            "--include",
            "-X",
            method,
            &log,
            "-H",
            condition,
            "-H",
            "Content-Type: application/x-ndjson",
            "--data-binary",
            body,
        ];
        output("curl", &arguments, &place.path("")).replace('\r', "")
    };
    std::fs::write(place.path("records"), "{\"n\":3}\n").unwrap();
    let appended = append("@records", &format!("If-Match: {tag}"), "POST");
    assert_eq!(statuses(&appended), ["204"]);
    assert!(data.next().unwrap().contains("\"length\":24"));
    let compacted = append("@records", "If-Match: *", "PUT");
    assert_eq!(statuses(&compacted), ["204"]);
    let generation = header(&compacted, "log-generation");
    assert!(data.next().unwrap().contains(&format!("\"generation\":\"{generation}\"")));
    let former = header(&appended, "log-generation");
    drop(hub);
    curl.wait().unwrap();

    // A hub with a retention of zero sweeps soon after it starts.
    let hub = Hub::start_with(&place, "hub", |command| {
        command.args(["--limits-log-generation-time", "0 s"]);
    });
    let former = format!("{}/logs/reading/{former}", hub.url);
    let gone = until("the generation is swept", || {
        let answer = output("curl", &["--silent", "--include", &former], &place.path(""));
        let is_gone = statuses(&answer) == ["410"];
        if is_gone { Ok(answer.replace('\r', "")) } else { Err(answer) }
    });
    assert_eq!(
        header(&gone, "link"),
        format!("<{}/logs/reading>; rel=\"successor-version\"", hub.url)
    );
    let current =
        output("curl", &["--silent", &format!("{}/logs/reading", hub.url)], &place.path(""));
    assert_eq!(current, "{\"n\":3}\n");
    // The event stream ends when the log is deleted.
    let log = format!("{}/logs/reading", hub.url);
    let (mut following, mut data) = follow(&log);
    assert!(data.next().unwrap().contains("\"length\":8"));
    output("curl", &["--silent", "-X", "DELETE", "-H", "If-Match: *", &log], &place.path(""));
    assert_eq!(data.next(), None);
    assert_eq!(following.wait().unwrap().code(), Some(0));
}
