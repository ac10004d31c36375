//! The commands `store init`, `collection create`, `collection list`, `collection rename`, `collection drop`, `status`, `remote`, `store backup` and `store restore`.

use std::sync::Arc;

use feedsync_store::{CollectionName, People as _, SqliteStore, SystemEnvironment, UserName};

use crate::support::TestDirectory;

/// Everybody sees addresses in feeds.
#[test]
fn published_addresses_have_no_credentials() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    for arguments in
        [&["export", "notes"][..], &["collection", "publish", "notes", "--directory", "www"]]
    {
        for (url, said) in [
            ("https://anna:secret@example.org/feeds/", "must not have a user name and a password"),
            ("example.org", "an address must begin with https:// or http://"),
            ("ftp://example.org/", "only http and https"),
        ] {
            let run = desk.run(&[arguments, &["--url", url]].concat());
            run.fails(2, said);
            assert!(!place.path("www").exists());
        }
    }
    let url = "https://example.org/?a=b";
    desk.run(&["collection", "publish", "notes", "--directory", "www", "--url", url])
        .fails(2, "no directory");
}

/// A hub shows drafts to editors only; a web server shows files to everybody.
#[test]
fn publishing_drafts_is_warned_of() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let publish = || {
        desk.run(&["collection", "publish", "notes", "-d", "www", "--url", "https://example.org/"])
    };
    let run = publish();
    assert_eq!((run.code, &*run.err), (0, ""));
    desk.ok(&["collection", "set", "notes", "drafts=true"]);
    let run = publish();
    assert_eq!(run.code, 0);
    assert!(run.err.contains("drafts of notes are published, too"), "{}", run.err);
}

#[test]
fn a_directory_that_nobody_initialised_says_what_to_do() {
    let place = TestDirectory::new();
    let run = place.run(&["--data", "desk", "collection", "list"]);
    run.fails(5, "there is no endpoint here yet");
    assert!(run.err.contains("init"), "{}", run.err);
    assert!(!place.path("desk").exists());
}

#[test]
fn an_endpoint_is_initialised_once() {
    let place = TestDirectory::new();
    let desk = place.bare("desk");
    assert_eq!(desk.json(&["status"])["name"], "desk");
    desk.run(&["store", "init", "--endpoint", "other"]).fails(1, "there is already a store");
    place.run(&["--data", "x", "store", "init", "--endpoint", "import"]).fails(2, "reserved");
}

#[test]
fn the_data_directory_comes_from_the_option_the_environment_or_the_platform() {
    let place = TestDirectory::new();
    assert_eq!(place.run(&["store", "init"]).code, 0);
    assert_eq!(
        place
            .command(&["store", "init"])
            .env("FEEDSYNC_DATA", "by-env")
            .output()
            .unwrap()
            .status
            .code(),
        Some(0)
    );
    assert!(place.path("by-env/feedsync.db").exists());
    if cfg!(target_os = "linux") {
        assert!(place.path(".local/share/feedsync/feedsync.db").exists());
    }
}

#[test]
fn collections_are_created_listed_renamed_and_dropped() {
    let place = TestDirectory::new();
    let desk = place.bare("desk");
    desk.ok(&["collection", "create", "notes", "--title", "My notes", "--format", "rss"]);
    desk.run(&["collection", "create", "notes"]).fails(1, "already a collection notes");
    desk.run(&["collection", "create", "Notes"]).fails(2, "lower-case");
    desk.run(&["collection", "create", "other", "--format", "xhtml"])
        .fails(2, "atom, rss, opml, json, pox");
    desk.add("a", "b");
    let list = desk.json(&["collection", "list"]);
    assert_eq!(list[0]["name"], "notes");
    assert_eq!((&list[0]["title"], &list[0]["format"]), (&"My notes".into(), &"rss".into()));
    assert_eq!((list[0]["items"].as_u64(), list[0]["changes"].as_u64()), (Some(1), Some(1)));
    desk.ok(&["collection", "rename", "notes", "shopping"]);
    assert_eq!(desk.json(&["ls", "shopping"])[0]["format"], "rss");
    desk.ok(&["collection", "drop", "shopping", "--yes"]);
    desk.run(&["ls", "shopping"]).fails(3, "there is no collection shopping");
    assert_eq!(desk.json(&["collection", "list"]), serde_json::json!([]));
}

#[test]
fn remotes_that_are_not_there_are_not_found() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.run(&["sync"]).fails(3, "no remote to synchronise with yet");
    desk.run(&["sync", "notes", "7"]).fails(3, "notes has no remote 7");
    desk.run(&["sync", "notes", "http://"]).fails(2, "http://");
    desk.run(&["remote", "remove", "notes", "1"]).fails(3, "no remote");
    assert_eq!(desk.json(&["remote", "list"]), serde_json::json!([]));
}

#[test]
fn a_remote_that_never_answered_is_not_remembered() {
    let place = TestDirectory::new();
    let desk = place.bare("desk");
    desk.run(&["sync", "notes", "http://127.0.0.1:1/collections/notes"]).fails(4, "127.0.0.1:1");
    assert_eq!(desk.json(&["remote", "list"]), serde_json::json!([]));
    assert_eq!(desk.json(&["collection", "list"]), serde_json::json!([]));
}

#[test]
fn a_backup_is_restored_as_a_new_life_of_the_same_endpoint() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.add("before", "x");
    desk.ok(&["store", "backup", "desk.db"]);
    desk.add("after", "x");
    place
        .run(&["--data", "desk", "store", "restore", "--from", "desk.db"])
        .fails(1, "already a store");
    place.run(&["--data", "new", "store", "restore", "--from", "none.db"]).fails(3, "no such file");
    let run = place.run(&["--data", "new", "store", "restore", "--from", "desk.db"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let ask = |arguments: &[&str]| -> serde_json::Value {
        let mut all = vec!["--data", "new", "--json"];
        all.extend(arguments);
        serde_json::from_str(&place.run(&all).out).unwrap()
    };
    assert_eq!(ask(&["ls", "notes"]).as_array().unwrap().len(), 1);
    let (old, new) = (desk.json(&["status"]), ask(&["status"]));
    assert_eq!(old["name"], new["name"]);
    assert_ne!(old["by"], new["by"]);
    assert_ne!(old["collections"][0]["until"], new["collections"][0]["until"]);
}

#[test]
fn a_collection_with_items_that_no_remote_has_is_not_dropped_unasked() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.ok(&["collection", "create", "empty"]);
    desk.ok(&["collection", "drop", "empty"]);
    desk.add("a", "b");
    desk.add("c", "d");
    desk.run(&["collection", "drop", "notes"])
        .fails(2, "notes has 2 items, of which no remote has 2");
    desk.run(&["collection", "drop", "notes"]).fails(2, "--yes");
    desk.run(&["collection", "drop", "notes", "--forget"]).fails(2, "nothing of it is kept");
    assert_eq!(desk.json(&["ls", "notes"]).as_array().unwrap().len(), 2);
    // A drop does not lose items that others have seen.
    desk.ok(&["export", "notes", "--output", "shown.atom"]);
    desk.ok(&["collection", "drop", "notes"]);
    desk.ok(&["collection", "undrop", "notes"]);
    desk.ok(&["export", "notes", "--output", "shown.atom"]);
    desk.ok(&["log", "create", "notes"]);
    desk.run(&["collection", "drop", "notes"]).fails(2, "and a log of ");
}

#[test]
fn a_dropped_collection_comes_back_with_all_that_it_held() {
    let place = TestDirectory::new();
    let (desk, phone) = (place.desk("desk"), place.desk("phone"));
    desk.ok(&["collection", "set", "notes", "keep.tombstones=90d"]);
    let id = desk.add("Milk", "two litres");
    desk.add("Gone", "x");
    phone.hears(&desk);
    desk.ok(&["edit", "notes", &id, "--content", "three"]);
    phone.ok(&["edit", "notes", &id, "--content", "four"]);
    desk.hears(&phone);
    desk.ok(&["edit", "notes", &id, "--content", "five"]);
    let gone = desk.json(&["ls", "notes"]);
    let gone = gone.as_array().unwrap().iter().find(|item| item["title"] == "Gone").unwrap();
    desk.ok(&["rm", "notes", gone["id"].as_str().unwrap()]);
    place.write("lines", "one\ntwo\n");
    desk.ok(&["log", "create", "notes"]);
    desk.ok(&["log", "append", "notes", "lines"]);
    let before = (
        desk.state(),
        desk.ok(&["log", "tail", "notes"]),
        desk.json(&["collection", "settings", "notes"]),
    );
    let by = desk.json(&["status"])["by"].clone();
    desk.ok(&["collection", "drop", "notes", "--yes"]);
    desk.run(&["ls", "notes"]).fails(3, "there is no collection notes");
    let kept = desk.json(&["collection", "undrop"]);
    assert_eq!((&kept[0]["name"], &kept[0]["items"]), (&"notes".into(), &2.into()));
    let findings = desk.json(&["store", "doctor"])["findings"].clone();
    assert!(findings.to_string().contains("undrop notes"), "{findings}");
    desk.ok(&["collection", "create", "notes"]);
    desk.run(&["collection", "undrop", "notes"]).fails(1, "--as NAME");
    desk.ok(&["collection", "drop", "notes", "--forget"]);
    assert!(desk.ok(&["collection", "undrop", "notes"]).starts_with("notes is back with 2 items"));
    let after = (
        desk.state(),
        desk.ok(&["log", "tail", "notes"]),
        desk.json(&["collection", "settings", "notes"]),
    );
    assert_eq!(before, after);
    assert_eq!(desk.json(&["status"])["by"], by, "nobody takes it for a copy");
    assert_eq!(desk.json(&["collection", "undrop"]), serde_json::json!([]));
    desk.run(&["collection", "undrop", "notes"]).fails(3, "there is no dropped collection notes");
}

#[test]
fn roles_come_back_with_a_collection_to_the_users_who_had_them() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.add("Milk", "two litres");
    let user_add = |name: &str| desk.ok(&["user", "add", name, "--no-password"]);
    desk.ok(&["user", "add", "anna", "--administrator", "--no-password"]);
    let roles = [("berta", "editor"), ("carl", "owner"), ("dora", "reader")];
    for (name, role) in roles {
        user_add(name);
        desk.ok(&["collection", "grant", "notes", name, role]);
    }
    let charged = |to: Option<&str>| {
        let to = to.map(|name| UserName::new(name).unwrap());
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let environment = Arc::new(SystemEnvironment);
            let store = SqliteStore::open(&place.path("desk"), environment).unwrap();
            let notes = CollectionName::new("notes").unwrap();
            if let Some(name) = to {
                let user = store.user(&name).await.unwrap().unwrap();
                store.charge_collection(&notes, &user.id).await.unwrap();
            }
            store.collection_charged_to(&notes).await.unwrap()
        })
    };
    let berta = charged(Some("berta"));
    desk.ok(&["collection", "drop", "notes", "--yes"]);
    // One user is removed. Another one is removed and replaced by a different user of the same name.
    for name in ["carl", "dora"] {
        desk.ok(&["user", "remove", name, "--yes"]);
    }
    user_add("dora");
    assert!(
        desk.ok(&["collection", "undrop", "notes"])
            .starts_with("notes is back with 1 item and 1 role")
    );
    assert!(berta.is_some() && charged(None) == berta, "to whom it was charged");
    let grants = desk.json(&["collection", "grants", "notes"]);
    let grants = grants.as_array().unwrap();
    assert_eq!(grants.len(), 1, "{grants:?}");
    assert_eq!((&grants[0]["user"], &grants[0]["role"]), (&"berta".into(), &"editor".into()));
}

#[test]
fn a_dropped_collection_is_kept_no_longer_than_it_is_told() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.add("a", "b");
    desk.ok(&["collection", "drop", "notes", "--yes", "--keep", "1s"]);
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    assert_eq!(desk.json(&["collection", "undrop"]), serde_json::json!([]));
    assert_eq!(std::fs::read_dir(place.path("desk/dropped")).unwrap().count(), 0);
    desk.ok(&["collection", "create", "notes"]);
    desk.ok(&["collection", "drop", "notes", "--forget"]);
    assert_eq!(std::fs::read_dir(place.path("desk/dropped")).unwrap().count(), 0);
}
