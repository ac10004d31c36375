//! The command `log`, for collections of this endpoint and for files.

use crate::support::TestDirectory;

const RECORD: &str = r#"{"v":1,"id":"laptop:1","ts":"1000.0","obj":{"kind":"feed","id":"https://example.org/feed"},"act":"subscribe"}"#;

#[test]
fn a_log_begins_once_grows_and_is_read() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    assert_eq!(desk.ok(&["log", "create", "notes"]), "notes: begun\n");
    assert_eq!(desk.run(&["log", "create", "notes"]).code, 1);
    place.write("lines", "one\ntwo\n");
    assert_eq!(desk.ok(&["log", "append", "notes", "lines"]), "notes: appended 2 lines\n");
    place.write("lines", "three\n");
    let appended = desk.json(&["log", "append", "notes", "lines"]);
    assert_eq!(appended["appended"], 1);
    assert!(appended["log"]["etag"].as_str().unwrap().ends_with('"'), "{appended}");
    assert_eq!(desk.ok(&["log", "tail", "notes", "--lines", "2"]), "two\nthree\n");
    assert_eq!(desk.ok(&["log", "tail", "notes"]).lines().count(), 4);
}

#[test]
fn a_torn_line_is_named_and_nothing_of_the_file_is_appended() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.ok(&["log", "create", "notes"]);
    place.write("lines", "one\ntwo");
    let run = desk.run(&["log", "append", "notes", "lines"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("lines:2: a line ends in a line feed"), "{}", run.err);
    assert_eq!(desk.ok(&["log", "tail", "notes"]).lines().count(), 1);
}

#[test]
fn faults_of_a_log_are_reported_with_their_lines() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    place.write("a.log", &format!("{RECORD}\n{RECORD}\nnonsense\n{{\"v\":1"));
    let run = desk.run(&["log", "verify", "./a.log"]);
    assert_eq!(run.code, 1);
    let lines: Vec<_> = run.out.lines().collect();
    assert!(
        lines[0].starts_with("line 2, byte 110: the record laptop:1 occurs a second time"),
        "{}",
        run.out
    );
    assert!(lines[1].starts_with("line 3, byte 220: not a record"), "{}", run.out);
    assert!(lines[2].starts_with("line 4, byte 229: the last line is incomplete"), "{}", run.out);
    assert_eq!(lines[3], "4 lines, 2 records of 1 device, 3 faults");
    place.write("b.log", &format!("{RECORD}\n"));
    let found = desk.json(&["log", "verify", "./b.log"]);
    assert_eq!((&found["records"], &found["faults"]), (&1.into(), &0.into()));
}

#[test]
fn copy_of_a_log_gets_new_lines_only() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.ok(&["log", "create", "notes"]);
    place.write("lines", "one\n");
    desk.ok(&["log", "append", "notes", "lines"]);
    let first = desk.json(&["log", "pull", "notes", "copy"]);
    assert_eq!(first["added"], first["length"]);
    desk.ok(&["log", "append", "notes", "lines"]);
    assert_eq!(desk.json(&["log", "pull", "notes", "copy"])["added"], 4);
    assert_eq!(desk.json(&["log", "pull", "notes", "copy"])["added"], 0);
    assert_eq!(place.read("copy"), desk.ok(&["log", "tail", "notes"]));
    // Remains of a crash at the end of the copy are removed; a copy that lost lines is refused.
    place.write("copy", &format!("{}torn", place.read("copy")));
    desk.ok(&["log", "append", "notes", "lines"]);
    desk.ok(&["log", "pull", "notes", "copy"]);
    assert_eq!(place.read("copy"), desk.ok(&["log", "tail", "notes"]));
    place.write("copy", "");
    assert_eq!(desk.run(&["log", "pull", "notes", "copy"]).code, 5);
    place.write("other", "mine\n");
    assert_eq!(desk.run(&["log", "pull", "notes", "other"]).code, 5);
    assert_eq!(place.read("other"), "mine\n");
}

#[test]
fn a_compacted_log_holds_what_the_long_one_did() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.ok(&["log", "create", "notes"]);
    place.write("lines", &format!("{RECORD}\n"));
    desk.ok(&["log", "append", "notes", "lines"]);
    let before = desk.json(&["log", "verify", "notes"])["bytes"].as_u64().unwrap();
    assert_eq!(desk.json(&["log", "compact", "notes"])["before"], before);
    assert_eq!(desk.json(&["log", "verify", "notes"])["records"], 0);
    // The copy equals the log, even if the log continues from a snapshot.
    desk.ok(&["log", "pull", "notes", "copy"]);
    assert_eq!(place.read("copy"), desk.ok(&["log", "tail", "notes"]));
    // An existing snapshot is no error.
    assert_eq!(desk.run(&["log", "snapshot", "notes"]).code, 0);
    desk.ok(&["log", "compact", "notes"]);
    desk.ok(&["log", "pull", "notes", "copy"]);
    assert_eq!(place.read("copy"), desk.ok(&["log", "tail", "notes"]));
    desk.ok(&["reader", "sync", "notes"]);
    let listed = desk.json(&["reader", "list"]);
    assert_eq!(listed[0]["feed"], "https://example.org/feed");
    place.write("later", "{\"v\":2}\n");
    desk.ok(&["log", "append", "notes", "later"]);
    // A command that only appends ignores records of a later version. A command that reads them does not
    // append.
    desk.ok(&["log", "append", "notes", "later"]);
    assert_eq!(desk.ok(&["log", "tail", "notes", "--lines", "2"]), "{\"v\":2}\n{\"v\":2}\n");
    desk.ok(&["reader", "subscribe", "https://other.example/feed"]);
    let run = desk.run(&["reader", "sync"]);
    assert_eq!(
        (run.code, run.err.contains("records of version 2, which this program does not know")),
        (4, true),
        "{}",
        run.err
    );
    let run = desk.run(&["log", "compact", "notes"]);
    assert_eq!(
        (run.code, run.err.contains("records of version 2, which this program does not know")),
        (1, true),
        "{}",
        run.err
    );
}

#[test]
fn a_snapshot_of_a_file_is_a_file() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    place.write("a.log", &format!("{RECORD}\n"));
    desk.ok(&["log", "snapshot", "./a.log", "--output", "a.snapshot"]);
    let snapshot = place.read("a.snapshot");
    assert!(snapshot.contains("\"offset\":110") && snapshot.lines().count() == 2, "{snapshot}");
    assert_eq!(desk.run(&["log", "snapshot", "./a.log"]).code, 4);
    // The log continues from a snapshot, which is in a file beside it.
    std::fs::rename(place.path("a.snapshot"), place.path("b.log.snapshot")).unwrap();
    let first: serde_json::Value =
        snapshot.lines().next().and_then(|line| serde_json::from_str(line).ok()).unwrap();
    let covers = &first["snapshot"]["log"]["covers"];
    let header = serde_json::json!({ "v": 1, "log": { "generation": "b", "number": 2, "snapshot": { "covers": covers } } });
    place.write("b.log", &format!("{header}\n"));
    desk.ok(&["log", "snapshot", "./b.log", "--output", "b.snapshot"]);
    assert!(place.read("b.snapshot").contains("example.org"), "{}", place.read("b.snapshot"));
}

#[test]
fn a_log_that_is_not_there_is_named() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let all = [
        &["log", "tail", "notes"][..],
        &["log", "pull", "notes", "copy"],
        &["log", "compact", "notes"],
        &["log", "snapshot", "notes", "--output", "snapshot"],
        &["log", "verify", "notes"],
    ];
    for arguments in all {
        desk.run(arguments).fails(3, "there is no such log");
    }
    assert!(!place.path("snapshot").exists());
    for (log, code) in [("other", 3), ("./none.log", 3), ("No Name", 2), ("notes", 3)] {
        let run = desk.run(&["log", "verify", log]);
        assert_eq!(run.code, code, "{log}: {}", run.err);
    }
    assert_eq!(desk.run(&["log", "tail", "http://127.0.0.1:1/x"]).code, 4);
}
