//! init, create, list, rename, drop, status, remote, backup, restore.

use crate::support::Place;

#[test]
fn a_directory_that_nobody_initialised_says_what_to_do() {
    let place = Place::new();
    let run = place.run(&["--data", "desk", "list"]);
    run.fails(5, "there is no endpoint here yet");
    assert!(run.err.contains("init"), "{}", run.err);
    assert!(!place.path("desk").exists());
}

#[test]
fn an_endpoint_is_initialised_once() {
    let place = Place::new();
    let desk = place.bare("desk");
    assert_eq!(desk.json(&["status"])["name"], "desk");
    desk.run(&["init", "--endpoint", "other"]).fails(1, "there is already a store");
    place.run(&["--data", "x", "init", "--endpoint", "import"]).fails(2, "reserved");
}

#[test]
fn the_data_directory_comes_from_the_option_the_environment_or_the_platform() {
    let place = Place::new();
    assert_eq!(place.run(&["init"]).code, 0);
    assert_eq!(
        place.command(&["init"]).env("FEEDSYNC_DATA", "by-env").output().unwrap().status.code(),
        Some(0)
    );
    assert!(place.path("by-env/feedsync.db").exists());
    if cfg!(target_os = "linux") {
        assert!(place.path(".local/share/feedsync/feedsync.db").exists());
    }
}

#[test]
fn collections_are_created_listed_renamed_and_dropped() {
    let place = Place::new();
    let desk = place.bare("desk");
    desk.ok(&["create", "notes", "--title", "My notes", "--format", "rss"]);
    desk.run(&["create", "notes"]).fails(1, "already a collection notes");
    desk.run(&["create", "Notes"]).fails(2, "lower-case");
    desk.run(&["create", "other", "--format", "xhtml"]).fails(2, "atom, rss, opml, json, pox");
    desk.add("a", "b");
    let list = desk.json(&["list"]);
    assert_eq!(list[0]["name"], "notes");
    assert_eq!((&list[0]["title"], &list[0]["format"]), (&"My notes".into(), &"rss".into()));
    assert_eq!((list[0]["items"].as_u64(), list[0]["changes"].as_u64()), (Some(1), Some(1)));
    desk.ok(&["rename", "notes", "shopping"]);
    assert_eq!(desk.json(&["ls", "shopping"])[0]["format"], "rss");
    desk.ok(&["drop", "shopping"]);
    desk.run(&["ls", "shopping"]).fails(3, "there is no collection shopping");
    assert_eq!(desk.json(&["list"]), serde_json::json!([]));
}

#[test]
fn remotes_that_are_not_there_are_not_found() {
    let place = Place::new();
    let desk = place.desk("desk");
    desk.run(&["sync"]).fails(3, "nothing to synchronise with yet");
    desk.run(&["sync", "notes", "7"]).fails(3, "notes has no remote 7");
    desk.run(&["sync", "notes", "http://"]).fails(2, "http://");
    desk.run(&["remote", "remove", "notes", "1"]).fails(3, "no remote");
    assert_eq!(desk.json(&["remote", "list"]), serde_json::json!([]));
}

#[test]
fn a_remote_that_never_answered_is_not_remembered() {
    let place = Place::new();
    let desk = place.bare("desk");
    desk.run(&["sync", "notes", "http://127.0.0.1:1/collections/notes"]).fails(4, "127.0.0.1:1");
    assert_eq!(desk.json(&["remote", "list"]), serde_json::json!([]));
    assert_eq!(desk.json(&["list"]), serde_json::json!([]));
}

#[test]
fn a_backup_is_restored_as_a_new_life_of_the_same_endpoint() {
    let place = Place::new();
    let desk = place.desk("desk");
    desk.add("before", "x");
    desk.ok(&["backup", "desk.db"]);
    desk.add("after", "x");
    place.run(&["--data", "desk", "restore", "--from", "desk.db"]).fails(1, "already a store");
    place.run(&["--data", "new", "restore", "--from", "none.db"]).fails(3, "no such file");
    let run = place.run(&["--data", "new", "restore", "--from", "desk.db"]);
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
