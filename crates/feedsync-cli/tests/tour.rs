//! The commands of the README and of the tutorials, as a new user would paste them.

#![cfg(unix)]

mod support;

use std::path::Path;
use std::process::Command;

use support::{TestDirectory, has};

/// Runs all commands of a document in the directory `tour`, and returns their output.
fn follow(place: &TestDirectory, document: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(root.join("scripts/tour"))
        .arg(document)
        .env("FEEDSYNC_BIN", env!("CARGO_BIN_EXE_feedsync"))
        .env("FEEDSYNC_TOUR", place.path("tour"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{document}: {printed}{errors}");
    printed.into_owned()
}

#[test]
fn readme_example_publishes_the_item_at_the_hub() {
    if !has("bash") || !has("curl") {
        return;
    }
    let printed = follow(&TestDirectory::new(), "README.md");
    assert!(printed.contains("<title>Oat milk</title>"), "{printed}");
}

#[test]
fn commands_of_every_how_to_run() {
    if !has("bash") || !has("curl") {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to");
    let mut followed = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let document = entry.unwrap().path();
        if std::fs::read_to_string(&document).unwrap().contains("\n```sh\n") {
            follow(&TestDirectory::new(), document.to_str().unwrap());
            followed.push(document);
        }
    }
    assert!(!followed.is_empty());
}

#[test]
fn shared_list_tutorial_ends_with_both_devices_the_same() {
    if !has("bash") || !has("curl") {
        return;
    }
    let place = TestDirectory::new();
    follow(&place, "docs/tutorials/shared-list.md");
    let run = std::fs::read_dir(place.path("tour/tmp")).unwrap().next().unwrap().unwrap().path();
    let state = |name: &str| {
        let data = run.join(name);
        let data = data.to_str().unwrap();
        let listed = place.run(&["--data", data, "--json", "ls", "notes", "--all"]);
        let items: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
        let item = |item: &serde_json::Value| {
            ["id", "title", "content", "updates", "conflicts", "by"]
                .map(|name| item[name].to_string())
        };
        let mut items: Vec<_> = items.as_array().unwrap().iter().map(item).collect();
        items.sort();
        items
    };
    let laptop = state("laptop");
    assert_eq!(laptop, state("phone"));
    assert_eq!(laptop.len(), 2);
    let milk = laptop.iter().find(|item| item[1] == "\"Oat milk\"").unwrap();
    assert_eq!((&*milk[2], &*milk[3], &*milk[4]), ("\"three litres\"", "3", "0"));
}

#[test]
fn newsreader_tutorial_ends_with_both_interfaces_the_same() {
    if !has("bash") || !has("curl") {
        return;
    }
    let printed = follow(&TestDirectory::new(), "docs/tutorials/newsreaders.md");
    let (_, end) = printed.split_once("starred in both").expect(&printed);
    // The device that follows the log has both articles as read, and one of them with a star.
    let read: Vec<_> = end.lines().filter(|line| line.contains("  yes   ")).collect();
    assert_eq!(read.len(), 2, "{end}");
    assert_eq!(read.iter().filter(|line| line.contains("  yes   *")).count(), 1, "{end}");
}

#[test]
fn vault_tutorial_keeps_both_edits_until_one_is_deleted() {
    if !has("bash") || !has("curl") {
        return;
    }
    let printed = follow(&TestDirectory::new(), "docs/tutorials/vault.md");
    let (_, end) = printed.split_once("both edits are kept").expect(&printed);
    assert!(end.contains(r#""_rev":"2-bb""#) && !end.contains("_conflicts"), "{end}");
    assert!(end.contains("3 documents written"), "{end}");
}

#[test]
fn offline_page_tutorial_delivers_the_edit_once() {
    if !has("bash") || !has("curl") || !has("python3") {
        return;
    }
    let printed = follow(&TestDirectory::new(), "docs/tutorials/offline-page.md");
    let (offline, online) = printed.split_once("servers are tried now").expect(&printed);
    assert!(offline.contains("queued"), "{offline}");
    assert_eq!(online.matches(">Milk<").count(), 1, "{online}");
    assert!(online.contains("0 edits pending, 0 errors"), "{online}");
}

#[test]
fn rust_tutorial_list_is_a_feed_that_the_command_line_syncs() {
    if !has("bash") || !has("curl") {
        return;
    }
    let printed = follow(&TestDirectory::new(), "docs/tutorials/rust.md");
    let (feed, synced) = printed.split_once("tablet is the endpoint").expect(&printed);
    assert!(feed.contains(r#""title":"To do""#), "{feed}");
    assert!(synced.contains("received: nothing new"), "{synced}");
}
