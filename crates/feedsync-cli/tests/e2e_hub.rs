//! Concurrent commands and a running hub on one data directory, and synchronisation through the hub.

mod support;

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use support::{Hub, TestDirectory, has, output};

#[test]
fn commands_and_a_running_hub_share_one_data_directory() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let hub = Hub::start(&place, "desk");
    let id = desk.add("Milk", "two litres");
    if has("curl") {
        let directory = place.path("desk");
        let feed = output("curl", &["-sSf", &hub.notes()], &directory);
        assert!(feed.contains("Milk") && feed.contains(&id), "{feed}");
        // A repeated request returns 304, and 200 after the command has written.
        let head = output("curl", &["-sSfI", &hub.notes()], &directory);
        let tag = head.lines().find_map(|line| {
            line.to_lowercase().strip_prefix("etag: ").map(|_| line[6..].trim().to_owned())
        });
        let header = format!("If-None-Match: {}", tag.expect("an ETag"));
        let ask = |_: ()| {
            let arguments =
                ["-sS", "-o", "body", "-w", "%{http_code}", "-H", &header, &hub.notes()];
            output("curl", &arguments, &directory)
        };
        assert_eq!(ask(()), "304");
        desk.ok(&["edit", "notes", &id, "--title", "Oat milk"]);
        assert_eq!(ask(()), "200");
    }
    desk.ok(&["collection", "create", "other"]);
    assert_eq!(desk.json(&["status"])["collections"].as_array().unwrap().len(), 2);
}

/// A hub keeps serving after the program that started it has stopped reading its output.
#[test]
fn a_hub_goes_on_when_nobody_reads_its_output() {
    let place = TestDirectory::new();
    place.desk("desk");
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let listen = address.to_string();
    let mut command = place.command(&["--data", "desk", "serve", "--listen", &listen]);
    let mut hub = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(hub.stdout.take());
    let begun = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not listen");
        sleep(Duration::from_millis(20));
    }
    // It prints its addresses once it listens.
    sleep(Duration::from_secs(1));
    assert!(hub.try_wait().unwrap().is_none(), "it has ended");
    assert!(TcpStream::connect(address).is_ok());
    hub.kill().unwrap();
    hub.wait().unwrap();
}

#[test]
fn commands_that_write_at_once_lose_nothing() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let _hub = Hub::start(&place, "desk");
    let mut writers = Vec::new();
    for number in 0..12 {
        let title = number.to_string();
        let arguments = ["--data", "desk", "add", "notes", "--title", &title];
        writers.push(place.command(&arguments).stdout(Stdio::null()).spawn().unwrap());
    }
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let items = desk.json(&["ls", "notes"]);
    let mut changes: Vec<_> =
        items.as_array().unwrap().iter().map(|item| item["change"].as_u64().unwrap()).collect();
    changes.sort_unstable();
    assert_eq!(changes, (1..=12).collect::<Vec<_>>());
}

#[test]
fn two_endpoints_come_in_step_through_a_hub_with_a_conflict_and_its_resolution() {
    let place = TestDirectory::new();
    let (_desk, laptop, phone) = (place.desk("hub"), place.desk("laptop"), place.bare("phone"));
    let hub = Hub::start(&place, "hub");
    let id = laptop.add("Milk", "two litres");
    for number in 0..30 {
        laptop.add(&number.to_string(), "x");
    }
    laptop.ok(&["sync", "notes", &hub.notes()]);
    // A sync with a new address creates the collection.
    let report = phone.json(&["sync", "notes", &hub.notes()]);
    assert_eq!(report[0]["pulled"]["added"], 31, "{report}");
    assert_eq!(laptop.state(), phone.state());

    laptop.ok(&["edit", "notes", &id, "--content", "three litres"]);
    phone.ok(&["edit", "notes", &id, "--title", "Oat milk"]);
    let preview = phone.json(&["sync", "--dry-run"]);
    assert!(preview[0]["error"].is_null(), "{preview}");
    for _ in 0..2 {
        laptop.ok(&["sync"]);
        phone.ok(&["sync"]);
    }
    assert_eq!(laptop.state(), phone.state());
    assert_eq!(laptop.json(&["conflicts", "notes"]).as_array().unwrap().len(), 1);
    laptop.ok(&["resolve", "notes", &id, "--content", "three litres of oat milk"]);
    laptop.ok(&["sync"]);
    phone.ok(&["sync"]);
    assert_eq!(laptop.state(), phone.state());
    assert_eq!(phone.json(&["conflicts", "notes"]), serde_json::json!([]));
    // No changes are left to synchronise.
    let report = laptop.json(&["sync"]);
    assert_eq!(report[0]["pulled"]["added"], 0);
    assert_eq!(report[0]["sent"], 0, "{report}");
    assert_eq!(laptop.json(&["remote", "list"])[0]["pending"], 0);
}

#[test]
fn a_dry_run_changes_nothing_at_either_end() {
    let place = TestDirectory::new();
    let (hub_desk, laptop) = (place.desk("hub"), place.desk("laptop"));
    let hub = Hub::start(&place, "hub");
    laptop.add("Milk", "x");
    hub_desk.add("Bread", "x");
    let line = laptop.ok(&["sync", "notes", &hub.notes(), "--dry-run"]);
    assert!(line.contains("would be received: 1 added") && line.contains("1 item"), "{line}");
    assert_eq!(laptop.json(&["remote", "list"]), serde_json::json!([]));
    assert_eq!(laptop.state().len(), 1);
    assert_eq!(hub_desk.state().len(), 1);
}

#[test]
fn pulling_and_pushing_go_one_way() {
    let place = TestDirectory::new();
    let (hub_desk, laptop) = (place.desk("hub"), place.desk("laptop"));
    let hub = Hub::start(&place, "hub");
    laptop.add("Milk", "x");
    hub_desk.add("Bread", "x");
    laptop.ok(&["sync", "notes", &hub.notes(), "--pull"]);
    assert_eq!((laptop.state().len(), hub_desk.state().len()), (2, 1));
    hub_desk.add("Eggs", "x");
    laptop.ok(&["sync", "notes", "--push"]);
    assert_eq!((laptop.state().len(), hub_desk.state().len()), (2, 3));
}

#[test]
fn watching_brings_changes_of_both_ends() {
    let place = TestDirectory::new();
    let (hub_desk, laptop) = (place.desk("hub"), place.desk("laptop"));
    let hub = Hub::start(&place, "hub");
    laptop.ok(&["sync", "notes", &hub.notes()]);
    let arguments = ["--data", "laptop", "sync", "--watch"];
    let mut watch = place.command(&arguments).stdout(Stdio::null()).spawn().unwrap();
    laptop.add("Milk", "x");
    let came = (0..600).any(|_| {
        sleep(Duration::from_millis(50));
        hub_desk.state().len() == 1
    });
    hub_desk.add("Bread", "x");
    let back = (0..600).any(|_| {
        sleep(Duration::from_millis(50));
        laptop.state().len() == 2
    });
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert!(came && back, "{came} {back}");
}

#[test]
fn a_hub_listens_on_loopback_only_and_initialises_a_fresh_directory() {
    let place = TestDirectory::new();
    place.run(&["--data", "x", "serve", "--listen", "0.0.0.0:0"]).fails(1, "loopback");
    assert!(!place.path("x").exists());
    let hub = Hub::start(&place, "fresh");
    assert!(place.path("fresh/feedsync.db").exists());
    let port = hub.url.rsplit(':').next().unwrap();
    let taken = format!("127.0.0.1:{port}");
    place.run(&["--data", "y", "serve", "--listen", &taken]).fails(5, "cannot listen");
}

#[test]
fn a_collection_that_the_hub_does_not_have_is_a_failure_of_the_remote() {
    let place = TestDirectory::new();
    let laptop = place.desk("laptop");
    let _hub_desk = place.bare("hub");
    let hub = Hub::start(&place, "hub");
    laptop.run(&["sync", "notes", &hub.notes()]).fails(4, "404");
    assert_eq!(laptop.json(&["remote", "list"]), serde_json::json!([]));
}

#[test]
fn feeds_of_the_web_come_in_step() {
    let place = TestDirectory::new();
    let (_hub_desk, laptop, phone) = (place.desk("hub"), place.desk("laptop"), place.bare("phone"));
    let hub = Hub::start(&place, "hub");
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../feedsync-test/fixtures");
    let mut feeds = files(&ours);
    match std::env::var_os("FEEDSYNC_CORPORA") {
        Some(corpora) => {
            feeds.extend(files(&Path::new(&corpora).join("real-feeds")).into_iter().take(100));
        }
        None => eprintln!("FEEDSYNC_CORPORA is not set: only the project's own fixtures"),
    }
    for feed in feeds {
        // An invalid document is refused; no other error may occur.
        let run = laptop.run(&["import", "notes", feed.to_str().unwrap()]);
        assert!(run.code <= 1 && !run.err.contains("panicked"), "{feed:?}: {run:?}");
    }
    assert!(laptop.state().len() > 1);
    laptop.ok(&["sync", "notes", &hub.notes()]);
    phone.ok(&["sync", "notes", &hub.notes()]);
    assert_eq!(laptop.state(), phone.state());
    for format in ["atom", "rss", "opml", "json", "pox"] {
        phone.ok(&["export", "notes", "--to", format, "--output", "feed"]);
        assert_eq!(laptop.ok(&["import", "notes", "feed"]), "nothing new\n", "{format}");
    }
}

/// Paths of all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> =
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    found.sort();
    found
}
