//! Restored backups, copied directories and killed hubs: no incarnation of a store loses an edit that was
//! acknowledged and synchronised.

mod support;

use std::path::Path;
use std::process::Stdio;

use support::{Hub, TestDirectory, TestEndpoint};

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Contents of all versions of an endpoint, including conflicts.
fn contents(desk: &TestEndpoint<'_>) -> Vec<String> {
    let text = |value: &serde_json::Value| value["content"].as_str().unwrap_or_default().to_owned();
    let items = desk.json(&["ls", "notes"]);
    let mut contents: Vec<_> = items.as_array().unwrap().iter().map(text).collect();
    for item in desk.json(&["conflicts", "notes"]).as_array().unwrap() {
        contents.extend(item["conflicts"].as_array().unwrap().iter().map(text));
    }
    contents.sort();
    contents
}

fn settle(desks: &[&TestEndpoint<'_>]) {
    for _ in 0..3 {
        for desk in desks {
            desk.ok(&["sync"]);
        }
    }
}

#[test]
fn edits_synchronised_after_a_backup_survive_its_restoration() {
    let place = TestDirectory::new();
    let (_hub_desk, laptop) = (place.desk("hub"), place.desk("laptop"));
    let hub = Hub::start(&place, "hub");
    let ids: Vec<_> = (0..5).map(|number| laptop.add(&format!("note {number}"), "first")).collect();
    laptop.ok(&["sync", "notes", &hub.notes()]);
    laptop.ok(&["store", "backup", "laptop.backup"]);
    for id in &ids {
        laptop.ok(&["edit", "notes", id, "--content", "synchronised after the backup"]);
    }
    laptop.ok(&["sync"]);

    std::fs::rename(place.path("laptop"), place.path("lost")).unwrap();
    laptop.ok(&["store", "restore", "--from", "laptop.backup"]);
    assert_eq!(contents(&laptop), vec!["first"; 5]);
    // The restored endpoint edits before it gets its own earlier edits back: both are kept.
    laptop.ok(&["edit", "notes", &ids[0], "--content", "edited after the restoration"]);
    settle(&[&laptop]);
    let mut expected = vec!["synchronised after the backup".to_owned(); 5];
    expected.push("edited after the restoration".into());
    expected.sort();
    assert_eq!(contents(&laptop), expected);
    let hub_desk = TestEndpoint::of(&place, "hub");
    assert_eq!(contents(&hub_desk), expected);
}

#[test]
fn two_copies_of_one_directory_lose_nothing_of_each_other() {
    let place = TestDirectory::new();
    let (_hub_desk, laptop) = (place.desk("hub"), place.desk("laptop"));
    let hub = Hub::start(&place, "hub");
    let shared = laptop.add("Shared", "before");
    laptop.ok(&["sync", "notes", &hub.notes()]);

    copy(&place.path("laptop"), &place.path("copy"));
    let clone = TestEndpoint::of(&place, "copy");
    for (desk, who) in [(&laptop, "original"), (&clone, "copy")] {
        desk.ok(&["edit", "notes", &shared, "--content", &format!("by the {who}")]);
        for number in 0..3 {
            desk.add(&format!("{who} {number}"), &format!("{who} {number}"));
        }
    }
    settle(&[&laptop, &clone]);
    let mut expected: Vec<String> = ["original", "copy"]
        .iter()
        .flat_map(|who| (0..3).map(move |number| format!("{who} {number}")))
        .collect();
    expected.extend(["by the copy".into(), "by the original".into()]);
    expected.sort();
    for desk in [&laptop, &clone, &TestEndpoint::of(&place, "hub")] {
        assert_eq!(contents(desk), expected);
    }
}

#[test]
fn a_hub_that_is_killed_again_and_again_loses_nothing_that_was_pushed() {
    let place = TestDirectory::new();
    let (_hub_desk, laptop) = (place.desk("hub"), place.desk("laptop"));
    let mut acknowledged = Vec::new();
    for life in 0..6 {
        let hub = Hub::start(&place, "hub");
        acknowledged.push(laptop.add(&format!("life {life}"), "x"));
        // The port is different in each incarnation.
        laptop.ok(&["sync", "notes", &hub.notes()]);
        drop(hub);
    }
    let items = TestEndpoint::of(&place, "hub").json(&["ls", "notes"]);
    let items = items.as_array().unwrap();
    assert_eq!(items.len(), acknowledged.len());
    for id in &acknowledged {
        assert!(items.iter().any(|item| item["id"] == id.as_str()), "{id}");
    }
}

/// Followers of a hub's events receive each change once and in order, while commands write concurrently.
#[test]
fn followers_of_a_hub_miss_and_repeat_nothing_while_commands_write_beside_it() {
    use std::io::{BufRead as _, BufReader};

    if !support::has("curl") {
        return;
    }
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let hub = Hub::start(&place, "desk");
    let follow = || {
        let url = format!("{}/events", hub.notes());
        let mut curl = std::process::Command::new("curl");
        curl.args(["-sN", "--max-time", "60", &url]).stdout(Stdio::piped());
        curl.spawn().unwrap()
    };
    let mut followers: Vec<_> = (0..3).map(|_| follow()).collect();
    let mut streams: Vec<_> = followers
        .iter_mut()
        .map(|follower| BufReader::new(follower.stdout.take().unwrap()).lines())
        .collect();
    // Each stream begins with its position; no later change may be missed.
    for stream in &mut streams {
        stream.find(|line| line.as_ref().unwrap().starts_with("id:")).unwrap().unwrap();
    }
    let writers: Vec<_> = (0..16)
        .map(|number| {
            let title = number.to_string();
            let arguments = ["--data", "desk", "add", "notes", "--title", &title];
            place.command(&arguments).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let items = desk.json(&["ls", "notes"]);
    let mut by_change: Vec<_> = items.as_array().unwrap().iter().collect();
    by_change.sort_by_key(|item| item["change"].as_u64());
    let expected: Vec<_> = by_change.iter().map(|item| item["id"].as_str().unwrap()).collect();
    for stream in &mut streams {
        let mut told = Vec::new();
        while told.len() < expected.len() {
            let line = stream.next().expect("the stream goes on").unwrap();
            if let Some(data) = line.strip_prefix("data:") {
                let event: serde_json::Value = serde_json::from_str(data).unwrap();
                told.push(event["id"].as_str().unwrap().to_owned());
            }
        }
        assert_eq!(told, expected);
    }
    for mut follower in followers {
        follower.kill().unwrap();
        follower.wait().unwrap();
    }
}
