//! A captive portal between the program and its hub: no command takes a sign-in page for success, and nothing
//! is lost.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::portal::{INTERCEPTIONS, Portal};
use crate::support::{Hub, Run, TestDirectory, TestEndpoint, output};

/// Maximum duration of a command behind a portal.
const TIMEOUT: Duration = Duration::from_secs(45);

/// Runs a command that must end within `TIMEOUT`.
fn bounded(place: &TestDirectory, arguments: &[&str], what: &str) -> Run {
    let mut all = vec!["--data", "desk"];
    all.extend(arguments);
    let mut command = place.command(&all);
    let input = std::fs::File::open(place.path("token")).unwrap();
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > TIMEOUT {
            child.kill().unwrap();
            panic!("{what}: {arguments:?} never ends");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Run::of(child.wait_with_output().unwrap())
}

fn titles(desk: &TestEndpoint<'_>) -> Vec<String> {
    let items = desk.json(&["ls", "notes"]);
    let mut titles: Vec<_> =
        items.as_array().unwrap().iter().map(|item| item["title"].to_string()).collect();
    titles.sort();
    titles
}

#[test]
fn sign_in_page_is_never_taken_for_success_and_nothing_is_lost() {
    let place = TestDirectory::new();
    let (desk, other) = (place.desk("desk"), place.desk("other"));
    let home = place.desk("hub");
    let hub = Hub::start(&place, "hub");
    let portal = Portal::before(&hub);
    let at = |path: &str| format!("{}{path}", portal.url);
    let (notes, log, reading) = (at("/collections/notes"), at("/logs/lines"), at("/logs/reading"));
    let (new, database) = (at("/logs/new"), at("/couch/papers"));
    place.write("token", "fsy_0123456789abcdef\n");
    place.write("first", "one\n");
    place.write("second", "two\n");
    desk.add("Before", "the portal");
    desk.ok(&["sync", "notes", &notes]);
    desk.ok(&["log", "create", &log]);
    desk.ok(&["log", "append", &log, "first"]);
    desk.ok(&["log", "pull", &log, "copy"]);
    desk.ok(&["reader", "subscribe", "https://example.org/before"]);
    desk.ok(&["reader", "sync", &reading]);
    output("curl", &["-sS", "-X", "PUT", &format!("{}/couch/papers", hub.url)], &place.path(""));
    desk.ok(&["database", "replicate", &database, "papers", "--create"]);
    desk.add("Behind", "the portal");
    desk.ok(&["reader", "subscribe", "https://example.org/behind"]);
    let copy = place.read("copy");

    let commands: [&[&str]; 21] = [
        &["sync", "notes", &notes],
        &["sync", "notes", &at("/collections/never-seen")],
        &["sync", "notes", &notes, "--push"],
        &["remote", "discover", "notes", "--yes"],
        &["log", "append", &log, "second"],
        &["log", "create", &new],
        &["log", "tail", &log],
        &["log", "pull", &log, "copy"],
        &["log", "pull", &log, "fresh"],
        &["log", "compact", &log],
        &["log", "snapshot", &log],
        &["log", "verify", &log],
        &["reader", "sync", &reading],
        &["reader", "sync"],
        &["reader", "import", &notes],
        &["remote", "login", &portal.url, "--stdin"],
        &["import", "notes", &notes],
        &["file", "validate", &notes],
        &["file", "convert", &notes, "--to", "json"],
        &["database", "replicate", "papers", &database],
        &["database", "replicate", "papers", &at("/couch/other"), "--create"],
    ];
    for (index, (name, _, _, body)) in INTERCEPTIONS.iter().enumerate() {
        portal.stands_between(index);
        for command in commands {
            let run = bounded(&place, command, name);
            assert_ne!(run.code, 0, "{name}: {command:?}: {run:?}");
            assert!(!run.err.contains("panicked"), "{name}: {command:?}: {}", run.err);
            if body.contains("<html") || body.is_empty() {
                assert_eq!(run.code, 4, "{name}: {command:?}: {run:?}");
            }
        }
        assert_eq!(place.read("copy"), copy, "{name}");
        assert!(!place.path("desk/logins.json").exists(), "{name}");
    }
    let sent_on = portal.sent_on();
    assert!(sent_on.iter().all(|method| method == "GET"), "{sent_on:?}");

    portal.lets_through();
    assert!(desk.ok(&["log", "append", &log, "second"]).contains("appended 1 line"));
    let lines = desk.ok(&["log", "tail", &log]);
    let told = |line: &str| lines.lines().filter(|found| *found == line).count();
    assert_eq!((told("one"), told("two")), (1, 1), "{lines}");
    desk.ok(&["log", "pull", &log, "copy"]);
    assert_eq!(place.read("copy"), lines);
    desk.ok(&["log", "create", &new]);
    assert_eq!(desk.json(&["reader", "sync"])["appended"], 1);
    other.ok(&["reader", "sync", &reading]);
    assert_eq!(other.json(&["reader", "list"]).as_array().unwrap().len(), 2);
    desk.ok(&["sync", "notes", &notes]);
    assert_eq!(titles(&home), ["\"Before\"", "\"Behind\""]);
    assert_eq!(desk.state(), home.state());
    desk.ok(&["database", "replicate", "papers", &database]);
}

/// `remote subscribe` makes no request, so a portal cannot mislead it. The first synchronisation reports the portal.
#[test]
fn subscription_behind_a_portal_is_recorded_and_its_first_sync_fails() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    place.desk("hub");
    let hub = Hub::start(&place, "hub");
    let portal = Portal::before(&hub);
    place.write("token", "");
    let notes = format!("{}/collections/notes", portal.url);
    for (index, (name, ..)) in INTERCEPTIONS.iter().enumerate() {
        portal.stands_between(index);
        assert_eq!(bounded(&place, &["remote", "subscribe", "notes", &notes], name).code, 0);
        let run = bounded(&place, &["sync", "notes"], name);
        assert_eq!(run.code, 4, "{name}: {run:?}");
        desk.ok(&["remote", "unsubscribe", "notes", &notes]);
    }
}

#[test]
fn watch_reports_a_portal_at_once_and_goes_on_behind_it() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let home = place.desk("hub");
    let hub = Hub::start(&place, "hub");
    let portal = Portal::before(&hub);
    place.write("token", "");
    let at = |name: &str| format!("{}/collections/{name}", portal.url);
    desk.add("Before", "the portal");
    desk.ok(&["sync", "notes", &at("notes")]);
    desk.add("Behind", "the portal");
    for way in ["page", "found", "empty", "required"] {
        let index = INTERCEPTIONS.iter().position(|(name, ..)| *name == way).unwrap();
        portal.stands_between(index);
        // A new address that leads to a portal is not stored, so there is nothing to watch.
        let run = bounded(&place, &["sync", "notes", &at("never-seen"), "--watch"], way);
        assert_eq!(run.code, 4, "{way}: {run:?}");
        let said = place.path(way);
        let mut command = place.command(&["--data", "desk", "sync", "notes", "--watch"]);
        command.stderr(std::fs::File::create(&said).unwrap()).stdout(Stdio::null());
        let mut watch = command.spawn().unwrap();
        let begin = Instant::now();
        while !std::fs::read_to_string(&said).unwrap().contains("error: ") {
            assert!(begin.elapsed() < TIMEOUT, "{way}: the watch reports nothing");
            assert!(watch.try_wait().unwrap().is_none(), "{way}: the watch ended");
            std::thread::sleep(Duration::from_millis(10));
        }
        let took = begin.elapsed();
        portal.lets_through();
        while way == "required" && titles(&home).len() < 2 {
            assert!(begin.elapsed() < TIMEOUT, "the watch never tries again");
            std::thread::sleep(Duration::from_millis(100));
        }
        watch.kill().unwrap();
        watch.wait().unwrap();
        assert!(took < Duration::from_secs(2), "{way}: reported after {took:?}");
    }
}

/// A proxy that refuses changes in a page of its own says nothing about the log. So no append is retried.
#[test]
fn page_that_refuses_an_append_is_reported_at_once() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let hub = Hub::start(&place, "hub");
    let portal = Portal::before(&hub);
    let at = |name: &str| format!("{}/logs/{name}", portal.url);
    let (log, reading) = (at("lines"), at("reading"));
    place.write("token", "");
    place.write("line", "one\n");
    desk.ok(&["log", "create", &log]);
    desk.ok(&["reader", "subscribe", "https://example.org/before"]);
    desk.ok(&["reader", "sync", &reading]);
    desk.ok(&["reader", "subscribe", "https://example.org/behind"]);
    for status in ["404 Not Found", "409 Conflict", "412 Precondition Failed"] {
        portal.refuses_changes(status);
        let commands: [&[&str]; 5] = [
            &["log", "append", &log, "line"],
            &["log", "create", &at("new")],
            &["log", "compact", &reading],
            &["log", "snapshot", &reading],
            &["reader", "sync"],
        ];
        for command in commands {
            let begin = Instant::now();
            let run = bounded(&place, command, status);
            run.fails(4, "is there a sign-in page in between?");
            assert!(begin.elapsed() < Duration::from_secs(8), "{status}: {command:?}");
        }
    }
    portal.lets_through();
    desk.ok(&["log", "append", &log, "line"]);
    assert_eq!(desk.json(&["reader", "sync"])["appended"], 1);
}

#[test]
fn a_reader_is_told_that_its_log_is_not_there() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    place.desk("hub");
    let hub = Hub::start(&place, "hub");
    let log = |name: &str| format!("{}/logs/{name}", hub.url);
    desk.run(&["reader", "sync", &log("raeding")]).fails(3, "there is no such log");
    // A mistyped address does not bind the reader to a log.
    desk.ok(&["reader", "subscribe", "https://example.org/feed"]);
    assert_eq!(desk.json(&["reader", "sync", &log("reading")])["appended"], 1);
}
