//! The command `store doctor`.

use std::sync::Arc;

use feedsync_store::{
    Append, CollectionChange, CollectionName, Databases as _, Expected, ItemStore as _, Logs as _,
    SqliteStore, SystemEnvironment,
};

use crate::support::{Hub, TestDirectory};

fn findings(report: &serde_json::Value) -> Vec<(String, String)> {
    let of = |found: &serde_json::Value, name: &str| found[name].as_str().unwrap().to_owned();
    let findings = report["findings"].as_array().unwrap().iter();
    findings.map(|found| (of(found, "severity"), of(found, "check"))).collect()
}

#[test]
fn a_sound_directory_is_sound() {
    let place = TestDirectory::new();
    place.run(&["--data", "desk", "store", "doctor"]).fails(5, "there is no endpoint here yet");
    let desk = place.desk("desk");
    desk.add("Milk", "two litres");
    let report = desk.json(&["store", "doctor"]);
    assert_eq!((&report["sound"], &report["name"]), (&true.into(), &"desk".into()));
    assert!(findings(&report).is_empty(), "{report}");
    assert!(desk.ok(&["store", "doctor"]).contains("all is well"));
}

/// The damage is in the middle of the file: the tables can be found, but not all of them can be read.
#[test]
fn damaged_store_is_a_fault_with_advice_to_restore() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    for number in 0..200 {
        desk.add(&format!("Item {number}"), &"x".repeat(2_000));
    }
    let file = place.path("desk/feedsync.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + (64 << 10)].fill(0x5a);
    std::fs::write(&file, bytes).unwrap();
    let run = desk.run(&["store", "doctor", "--json"]);
    assert_eq!(run.code, 1, "{run:?}");
    let report: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let found = report["findings"].as_array().unwrap();
    let damage: Vec<_> = found.iter().filter(|found| found["check"] == "database").collect();
    assert!(!damage.is_empty(), "{report}");
    for one in damage {
        assert!(one["advice"].as_str().unwrap().contains("restore --from BACKUP"), "{report}");
    }
}

#[cfg(unix)]
#[test]
fn files_that_others_can_read_are_faults() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let mode = |name: &str, mode: u32| {
        let open = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.path(name), open).unwrap();
    };
    place.write("desk/logins.json", "{}");
    mode("desk/logins.json", 0o640);
    mode("desk/feedsync.db", 0o604);
    mode("desk", 0o755);
    let run = desk.run(&["store", "doctor"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("chmod 600 desk/feedsync.db"), "{}", run.out);
    assert!(run.out.contains("chmod 600 desk/logins.json"), "{}", run.out);
    assert!(run.out.contains("chmod 700 desk\n"), "{}", run.out);
    assert!(run.out.ends_with("desk: 2 faults, 1 warning\n"), "{}", run.out);
    mode("desk/logins.json", 0o600);
    mode("desk/feedsync.db", 0o600);
    // A directory that others can list is not a fault, because they cannot read the files in it.
    assert_eq!(findings(&desk.json(&["store", "doctor"])), [("warning".into(), "files".into())]);
    place.write("desk/logins.json", "{");
    let run = desk.run(&["store", "doctor", "--json"]);
    let report = serde_json::from_str(&run.out).unwrap();
    assert!(findings(&report).contains(&("fault".into(), "logins".into())), "{report}");
}

#[test]
fn expired_tokens_and_missing_files_are_warnings() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.ok(&["user", "add", "anna", "--administrator", "--no-password"]);
    desk.ok(&["user", "token", "create", "--expires", "0s"]);
    desk.ok(&["user", "token", "create"]);
    let report = desk.json(&["store", "doctor"]);
    assert_eq!(findings(&report), [("warning".into(), "tokens".into())]);
    assert_eq!(report["sound"], true);
    let id = desk.json(&["user", "token", "list"])[0]["id"].as_str().unwrap().to_owned();
    let advice = report["findings"][0]["advice"].as_str().unwrap();
    assert!(advice.contains(&format!("token revoke {id}")), "{advice}");
    desk.ok(&["user", "token", "revoke", &id]);
    assert!(findings(&desk.json(&["store", "doctor"])).is_empty());
    let digest = "5".repeat(64);
    let blob = format!(
        "<fs:blob xmlns:fs=\"urn:feedsync:1\" name=\"a.png\" type=\"image/png\" length=\"7\" \
         sha-256=\"{digest}\"/>"
    );
    place.write(
        "named.atom",
        &format!(
            "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x</id><title>Named</title>\
             <updated>2026-01-01T00:00:00Z</updated>{blob}</entry>"
        ),
    );
    desk.ok(&["add", "notes", "--file", "named.atom"]);
    let report = desk.json(&["store", "doctor"]);
    assert_eq!(findings(&report), [("warning".into(), "blobs".into())]);
    assert!(report["findings"][0]["message"].as_str().unwrap().contains(&digest), "{report}");
}

#[test]
fn database_that_keeps_a_collection_from_being_opened_is_a_fault() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.ok(&["collection", "set", "notes", "documents=true"]);
    assert!(findings(&desk.json(&["store", "doctor"])).is_empty());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let environment = Arc::new(SystemEnvironment);
        let store = SqliteStore::open(&place.path("desk"), environment).unwrap();
        store
            .create_database(&"notes".parse().unwrap(), Default::default())
            .await
            .unwrap()
            .unwrap();
    });
    let run = desk.run(&["store", "doctor", "--json"]);
    let report = serde_json::from_str(&run.out).unwrap();
    assert_eq!(findings(&report), [("fault".into(), "documents".into())]);
    let advice = report["findings"][0]["advice"].as_str().unwrap();
    assert!(advice.contains("rename notes NEW"), "{advice}");
    desk.ok(&["collection", "rename", "notes", "plans"]);
    assert!(findings(&desk.json(&["store", "doctor"])).is_empty());
}

#[test]
fn settings_that_cannot_be_read_are_taken_back_one_by_one_as_it_advises() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.ok(&["collection", "set", "notes", "drafts=true"]);
    let notes = CollectionName::new("notes").unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let environment = Arc::new(SystemEnvironment);
        let store = SqliteStore::open(&place.path("desk"), environment).unwrap();
        let mut settings = store.collection(&notes).await.unwrap().unwrap().settings;
        settings.insert("keep".to_owned(), "{\"age\": \"sometimes\"}".to_owned());
        settings.insert("public".to_owned(), "perhaps".to_owned());
        let change = CollectionChange { settings: Some(settings), ..CollectionChange::default() };
        store.change_collection(&notes, change).await.unwrap();
    });
    desk.run(&["collection", "set", "notes", "keep.age=90d"]).fails(1, "keep");
    for left in [2, 1] {
        let run = desk.run(&["store", "doctor", "--json"]);
        let report: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        let faults = vec![("fault".to_owned(), "settings".to_owned()); left];
        assert_eq!((findings(&report), run.code), (faults, 1), "{report}");
        let advice = report["findings"][0]["advice"].as_str().unwrap();
        let (_, command) = advice.split_once("feedsync ").unwrap();
        let arguments: Vec<_> = command.split_whitespace().collect();
        let followed = place.run(&arguments);
        assert_eq!(followed.code, 0, "{advice}: {}", followed.err);
    }
    assert!(findings(&desk.json(&["store", "doctor"])).is_empty());
    let settings = desk.json(&["collection", "settings", "notes"]);
    assert_eq!((&settings["drafts"], &settings["public"]), (&true.into(), &false.into()));
}

/// Creates a log of one line for `notes`.
fn begin_log(place: &TestDirectory) {
    let notes = CollectionName::new("notes").unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let environment = Arc::new(SystemEnvironment);
        let store = SqliteStore::open(&place.path("desk"), environment).unwrap();
        let append = Append {
            expected: Expected::Absent,
            bytes: b"{}\n".to_vec(),
            media_type: "application/x-ndjson".to_owned(),
            key: None,
            most: 100,
            act: None,
        };
        store.append_to_log(&notes, append).await.unwrap();
    });
}

#[test]
fn a_log_whose_file_is_lost_is_a_fault() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    begin_log(&place);
    assert!(findings(&desk.json(&["store", "doctor"])).is_empty());
    std::fs::remove_dir_all(place.path("desk/logs")).unwrap();
    let run = desk.run(&["store", "doctor"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("the log file ") && run.out.contains(" is missing"), "{}", run.out);
}

#[test]
fn a_backup_says_which_log_is_damaged_and_holds_all_else() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.add("Milk", "two litres");
    begin_log(&place);
    let whole = desk.json(&["store", "backup", "desk.db"]);
    assert_eq!((&whole["sound"], &whole["file"]), (&true.into(), &"desk.db".into()));
    assert!(findings(&whole).is_empty());
    std::fs::remove_dir_all(place.path("desk/logs")).unwrap();
    let run = desk.run(&["store", "backup", "desk.db"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        run.out.starts_with("fault: logs: notes: the store is damaged: the log file "),
        "{run:?}"
    );
    assert!(run.out.contains(" is missing; of its 3 bytes the backup has 0"), "{}", run.out);
    assert!(run.out.ends_with("\nbacked up to desk.db, with 1 fault\n"), "{}", run.out);
    let run = desk.run(&["store", "backup", "desk.db", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &report["sound"]), (1, &false.into()));
    assert_eq!(findings(&report), [("fault".into(), "logs".into())]);
    assert_eq!(report["findings"][0]["about"], "notes");
    let restored = place.run(&["--data", "new", "store", "restore", "--from", "desk.db"]);
    assert_eq!(restored.code, 0, "{restored:?}");
    let items = place.run(&["--data", "new", "--json", "ls", "notes"]);
    assert!(items.out.contains("Milk"), "{items:?}");
}

#[test]
fn a_file_that_is_no_database_cannot_be_examined() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let bytes = vec![b'x'; 10_000];
    std::fs::write(place.path("desk/feedsync.db"), bytes).unwrap();
    desk.run(&["store", "doctor"]).fails(5, "feedsync.db");
}

#[test]
fn damaged_articles_stop_no_hub_and_are_set_aside() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let sound = {
        let hub = Hub::start(&place, "desk");
        desk.run(&["sync", "notes", &hub.notes(), "--pull"]);
        drop(hub);
        std::fs::read(place.path("desk/articles.sqlite3")).unwrap()
    };
    assert!(desk.json(&["store", "doctor"])["sound"].as_bool().unwrap());
    let mut flipped = sound.clone();
    flipped[100..3_000].fill(0xff);
    for (number, damaged) in
        [b"not a database, but long enough to be one".repeat(200), flipped].iter().enumerate()
    {
        for beside in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(place.path(&format!("desk/articles.sqlite3{beside}")));
        }
        std::fs::write(place.path("desk/articles.sqlite3"), damaged).unwrap();
        let run = desk.run(&["store", "doctor"]);
        assert_eq!(run.code, 1, "{number}: {run:?}");
        assert!(run.out.contains("articles: "), "{number}: {}", run.out);
        let hub = Hub::start(&place, "desk");
        place.run(&["file", "validate", &hub.notes()]).success(&["file", "validate"]);
        drop(hub);
        let aside = place.path(&format!("desk/articles.sqlite3.damaged-{}", number + 1));
        assert_eq!(&std::fs::read(aside).unwrap(), damaged, "{number}");
        assert!(desk.json(&["store", "doctor"])["sound"].as_bool().unwrap(), "{number}");
    }
}
