//! Backups of a data directory: whole, as increments, and checked.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use feedsync_aggregator::SqliteLibrary;
use serde_json::{Value, json};

use crate::support::{Hub, TestDirectory};

/// All files below a directory with their contents, by their names.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let below = files(&path).into_iter();
            found.extend(below.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else {
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

/// Whether a backup holds a file in another form or not at all: the store, locks, and the data of a gateway and of mirrors.
fn is_elsewhere(name: &str) -> bool {
    let is_store = name.starts_with("feedsync.") && name != "feedsync.toml";
    is_store
        || name.starts_with("logs/")
        || name.starts_with("gateway/")
        || name.starts_with("mirrors/")
        || name.ends_with(".lock")
        || name.ends_with("-wal")
        || name.ends_with("-shm")
}

#[test]
fn a_backup_holds_every_file_of_a_data_directory() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.add("Milk", "two litres");
    desk.ok(&["collection", "create", "old"]);
    desk.ok(&["collection", "drop", "old", "--yes"]);
    desk.ok(&["reader", "subscribe", "http://feeds.example.org/", "--title", "Feed"]);
    place.write("desk/feedsync.toml", "metrics = \"public\"\n");
    place.write("desk/logins.json", "{}\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(place.path("desk/logins.json"), mode).unwrap();
    }
    fs::create_dir_all(place.path("desk/authority")).unwrap();
    place.write("desk/authority/key.pem", "a key\n");
    fs::create_dir_all(place.path("desk/acme")).unwrap();
    place.write("desk/acme/account.json", "{}\n");
    drop(Hub::start(&place, "desk"));

    desk.ok(&["store", "backup", "base"]);
    assert!(desk.ok(&["store", "doctor", "--backup", "base"]).contains("base: all is well"));
    let restore = ["--data", "restored", "--json", "store", "restore", "--from", "base"];
    let restored: Value = serde_json::from_str(&place.run(&restore).success(&restore)).unwrap();
    assert_eq!(restored["kept"], json!([]));
    let (before, after) = (files(&place.path("desk")), files(&place.path("restored")));
    let names = before.keys().filter(|name| !is_elsewhere(name));
    for name in names.clone() {
        if name == SqliteLibrary::FILE {
            SqliteLibrary::check(&place.path("restored")).unwrap();
            assert!(after.contains_key(name));
        } else {
            assert_eq!(after.get(name), before.get(name), "{name}");
        }
    }
    for expected in [
        "articles.sqlite3",
        "feedsync.toml",
        "logins.json",
        "reader.jsonl",
        "authority/key.pem",
        "acme/account.json",
    ] {
        assert!(names.clone().any(|name| name == expected), "{expected} in {:?}", before.keys());
    }
    assert!(names.clone().any(|name| name.starts_with("dropped/")), "{:?}", before.keys());
}

#[test]
fn an_increment_is_restored_with_its_backup() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.add("Milk", "two litres");
    desk.ok(&["store", "backup", "base"]);
    desk.add("Bread", "one");
    place.write("desk/feedsync.toml", "metrics = \"public\"\n");
    desk.ok(&["store", "backup", "increment", "--since", "base"]);
    let checked = desk.json(&["store", "doctor", "--backup", "base", "--with", "increment"]);
    assert_eq!((&checked["sound"], &checked["data"]), (&true.into(), &"increment".into()));

    // The backup is checked, whatever store the restored configuration names.
    place.write("desk/feedsync.toml", "store = \"sqlite:/nowhere\"\n");
    place
        .run(&["--data", "desk", "--store", "sqlite:desk", "store", "backup", "other-store"])
        .success(&["store", "backup"]);
    let run = place.run(&["--data", "none", "store", "doctor", "--backup", "other-store"]);
    assert!(run.success(&["store", "doctor"]).contains("other-store: all is well"));
    place.write("desk/feedsync.toml", "metrics = \"public\"\n");

    fs::create_dir(place.path("other")).unwrap();
    place.write("other/feedsync.toml", "metrics = \"administrators\"\n");
    let all = ["--data", "other", "store", "restore", "--from", "base", "--with", "increment"];
    let run = place.run(&all);
    assert!(run.err.contains("feedsync.toml was there and stays as it is"), "{}", run.err);
    run.success(&all);
    let listed = place.run(&["--data", "other", "--json", "ls", "notes"]).success(&["ls"]);
    assert!(listed.contains("Milk") && listed.contains("Bread"), "{listed}");
    assert_eq!(place.read("other/feedsync.toml"), "metrics = \"administrators\"\n");

    desk.run(&["store", "backup", "base", "--since", "base"])
        .fails(1, "is the backup that the increment would belong to");
    let run = desk.run(&["store", "backup", "./base", "--since", "base"]);
    run.fails(1, "is the backup that the increment would belong to");
    desk.run(&["store", "backup", "more", "--since", "nothing"]).fails(3, "no such file");
    desk.run(&["store", "doctor", "--backup", "increment"]).fails(5, "increment");
    desk.run(&["store", "doctor", "--with", "increment"]).fails(2, "--backup");
}

#[test]
fn a_damaged_backup_is_named_and_leaves_nothing_behind() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    for number in 0..100 {
        desk.add(&format!("Item {number}"), &"x".repeat(2_000));
    }
    desk.ok(&["store", "backup", "base"]);
    let mut bytes = fs::read(place.path("base")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8_192].fill(0x55);
    fs::write(place.path("base"), bytes).unwrap();
    let run = desk.run(&["store", "doctor", "--backup", "base"]);
    assert_eq!(run.code, 5, "{}{}", run.out, run.err);
    let run = place.run(&["--data", "restored", "store", "restore", "--from", "base"]);
    assert_eq!(run.code, 5, "{}{}", run.out, run.err);
    assert!(!place.path("restored/feedsync.db").exists());
}
