//! The command `reader`: subscriptions and marks, and a log that synchronises them.

use crate::support::{Run, TestDirectory, TestEndpoint};

pub(crate) const FEED: &str = "https://example.org/feed";

pub(crate) const LIST: &str = r#"<?xml version="1.0"?>
<opml version="2.0"><head><title>Mine</title></head><body>
  <outline text="Daily"><outline text="News" type="rss" xmlUrl="https://news.example/rss"/></outline>
  <outline text="Nowhere" type="rss" xmlUrl="ftp://news.example/rss"/>
</body></opml>
"#;

#[test]
fn changes_of_one_device_reach_the_others() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let reader = |data: &str, words: &[&str]| {
        let file = format!("{data}/reader.jsonl");
        // One endpoint has the log, and each device has a separate reader.
        if place.path(&file).exists() {
            std::fs::copy(place.path(&file), place.path("desk/reader.jsonl")).unwrap();
        } else {
            let _ = std::fs::remove_file(place.path("desk/reader.jsonl"));
            std::fs::create_dir_all(place.path(data)).unwrap();
        }
        let out = desk.json(&[&["reader"], words].concat());
        std::fs::copy(place.path("desk/reader.jsonl"), place.path(&file)).unwrap();
        out
    };
    reader("laptop", &["subscribe", FEED, "--title", "News", "--folder", "Daily"]);
    assert_eq!(
        reader("laptop", &["mark", FEED, "--read", "urn:x:1", "--up-to", "now"])["changed"],
        2
    );
    let done = reader("laptop", &["sync", "notes"]);
    assert_eq!((&done["appended"], &done["news"]), (&3.into(), &false.into()));
    assert_eq!(reader("phone", &["star", FEED, "urn:x:2"])["changed"], 1);
    let done = reader("phone", &["sync", "notes"]);
    assert_eq!((&done["appended"], &done["news"]), (&1.into(), &true.into()));
    let listed = reader("phone", &["list"]);
    assert_eq!((&listed[0]["title"], &listed[0]["folder"][0]), (&"News".into(), &"Daily".into()));
    assert_eq!(reader("laptop", &["sync"])["news"], true);
    assert_eq!(reader("laptop", &["sync"])["news"], false);
    reader("phone", &["unsubscribe", FEED]);
    reader("phone", &["sync"]);
    reader("laptop", &["sync"]);
    assert_eq!(reader("laptop", &["list"]).as_array().unwrap().len(), 0);
    assert_eq!(desk.json(&["log", "verify", "notes"])["faults"], 0);
}

#[test]
fn subscription_list_is_imported_and_exported_with_its_folders() {
    let place = TestDirectory::new();
    let desk = place.bare("desk");
    place.write("list.opml", LIST);
    desk.run(&["reader", "import", "list.opml"]).fails(1, "Nowhere");
    let again = desk.run(&["reader", "import", "list.opml"]);
    assert_eq!((again.code, &*again.out), (1, "list.opml: 1 feed, 0 changes\n"));
    desk.ok(&["reader", "export", "out.opml"]);
    let other = place.bare("other");
    other.ok(&["reader", "import", "out.opml"]);
    let strip = |mut listed: serde_json::Value| {
        listed[0]["position"] = serde_json::Value::Null;
        listed
    };
    assert_eq!(strip(desk.json(&["reader", "list"])), strip(other.json(&["reader", "list"])));
    place.write("list.opml", "<opml><body><outline></body></opml>");
    let run = desk.run(&["reader", "import", "list.opml"]);
    assert!(run.code == 1 && run.err.contains("list.opml:1:"), "{}", run.err);
}

#[test]
fn complete_state_is_exported_and_imported() {
    let place = TestDirectory::new();
    let desk = place.bare("desk");
    desk.ok(&["reader", "subscribe", FEED]);
    desk.ok(&["reader", "tag", FEED, "urn:x:1", "later"]);
    desk.ok(&["reader", "export", "--all", "all.jsonl"]);
    let other = place.bare("other");
    assert_eq!(other.json(&["reader", "import", "all.jsonl"])["changes"], 2);
    assert_eq!(other.json(&["reader", "import", "all.jsonl"])["changes"], 0);
    other.ok(&["reader", "export", "--all", "again.jsonl"]);
    assert_eq!(place.read("all.jsonl"), place.read("again.jsonl"));
    place.write("torn.jsonl", &place.read("all.jsonl")[..60]);
    assert_eq!(other.run(&["reader", "import", "torn.jsonl"]).code, 1);
}

#[test]
fn a_reader_is_kept_by_one_log_unless_it_begins_again() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.ok(&["collection", "create", "more"]);
    desk.ok(&["reader", "subscribe", FEED]);
    assert_eq!(desk.run(&["reader", "sync"]).code, 2);
    desk.ok(&["reader", "sync", "notes"]);
    let run = desk.run(&["reader", "sync", "more"]);
    assert!(run.code == 1 && run.err.contains("--begin-again"), "{}", run.err);
    assert_eq!(desk.json(&["reader", "sync", "more", "--begin-again"])["appended"], 1);
    assert_eq!(desk.json(&["log", "verify", "more"])["records"], 1);
}

#[test]
fn changes_without_effect_are_not_recorded() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    // Without a log nothing is queued.
    desk.ok(&["reader", "subscribe", "https://other.example/feed"]);
    desk.ok(&["reader", "sync", "notes"]);
    desk.ok(&["reader", "subscribe", FEED]);
    assert_eq!(desk.ok(&["reader", "subscribe", FEED]), "there is nothing to change\n");
    assert_eq!(desk.json(&["reader", "mark", FEED, "--read", "a"])["waiting"], 2);
    assert_eq!(desk.json(&["reader", "mark", FEED, "--unread", "a"])["waiting"], 2);
    // Without the date of the article, it is unknown whether the mark "all up to now" covers it.
    desk.ok(&["reader", "mark", FEED, "--up-to", "now"]);
    assert_eq!(desk.json(&["reader", "mark", FEED, "--unread", "b"])["changed"], 1);
    assert_eq!(desk.run(&["reader", "mark", FEED]).code, 2);
    assert_eq!(desk.run(&["reader", "subscribe", "ftp://x/"]).code, 2);
}

#[cfg(unix)]
#[test]
fn reader_files_are_private_to_their_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.ok(&["reader", "subscribe", FEED]);
    place.write("all.jsonl", "what was there");
    desk.ok(&["reader", "export", "--all", "all.jsonl"]);
    let mode = |name| std::fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("desk/reader.jsonl"), mode("all.jsonl")), (0o600, 0o600));
    // A snapshot for a web server has the default permissions of new files.
    desk.ok(&["reader", "sync", "notes"]);
    desk.ok(&["log", "snapshot", "notes", "--output", "log.snapshot"]);
    place.write("beside", "");
    assert_eq!(mode("log.snapshot"), mode("beside"));
    let partial = |name: &str| name.ends_with(".partial");
    let names = std::fs::read_dir(place.path(".")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| partial(name)).count(), 0);
}

/// A backup that cannot be written leaves the previous one unchanged.
#[cfg(unix)]
#[test]
fn an_export_that_does_not_fit_leaves_the_file_as_it_was() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.ok(&["reader", "subscribe", FEED]);
    desk.ok(&["reader", "sync", "notes"]);
    let long = "x".repeat(500);
    for number in 0..20 {
        desk.ok(&["reader", "star", FEED, &format!("{long}{number}")]);
    }
    desk.ok(&["reader", "sync"]);
    // The file size is limited to 8 blocks, which are 512 bytes or, in some shells, 1,024 bytes.
    let small = ["sh", "-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"];
    for arguments in [
        &["--data", "desk", "reader", "export", "--all", "file"][..],
        &["--data", "desk", "reader", "export", "--all", "link"][..],
    ] {
        place.write("file", "what was there");
        let _ = std::os::unix::fs::symlink("file", place.path("link"));
        let run = Run::of(place.within(&small, arguments).output().unwrap());
        run.fails(5, arguments.last().unwrap());
        assert_eq!(place.read("file"), "what was there");
        assert!(place.path("link").is_symlink());
        place.run(arguments).fails(0, "");
        assert!(place.read("file").contains(&long));
        assert!(place.path("link").is_symlink());
    }
    desk.ok(&["reader", "export", "--all", "/dev/null"]);
    assert_eq!(desk.ok(&["reader", "export", "--all", "/dev/stdout"]), place.read("file"));
}

/// A running command, which is killed when it is dropped.
struct Running(std::process::Child);

impl Running {
    fn start(place: &TestDirectory, arguments: &[&str]) -> Self {
        let mut command = place.command(arguments);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// First line of standard error; empty if the command ends without one.
    fn first_line(&mut self) -> String {
        let mut line = String::new();
        let error = self.0.stderr.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(error), &mut line).unwrap();
        line
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Commands that only read do not wait for the lock and create nothing. A command that writes says that it
/// waits.
#[test]
fn reading_does_not_wait_for_the_lock_and_waiting_is_reported() {
    let place = TestDirectory::new();
    let desk = place.bare("desk");
    desk.ok(&["reader", "subscribe", FEED]);
    let held = std::fs::File::open(place.path("desk/reader.jsonl.lock")).unwrap();
    held.lock().unwrap();
    for command in ["list", "articles", "export"] {
        let mut running = Running::start(&place, &["--data", "desk", "reader", command]);
        assert_eq!(running.first_line(), "");
        assert!(running.0.wait().unwrap().success());
    }
    let mut running = Running::start(&place, &["--data", "desk", "reader", "unsubscribe", FEED]);
    let line = running.first_line();
    assert!(line.contains("waiting for") && line.contains("reader.jsonl"), "{line:?}");
    drop(held);
    assert!(running.0.wait().unwrap().success());
    assert_eq!(desk.json(&["reader", "list"]).as_array().unwrap().len(), 0);

    for command in ["list", "articles", "export"] {
        assert_eq!(place.run(&["--data", "nowhere", "reader", command]).code, 0);
    }
    assert!(!place.path("nowhere").exists());
}

/// An import counts the changes that it made, whatever is queued for a log.
#[test]
fn an_import_counts_what_it_changed() {
    let place = TestDirectory::new();
    let (desk, other) = (place.desk("desk"), place.bare("other"));
    desk.ok(&["reader", "subscribe", FEED]);
    desk.ok(&["reader", "sync", "notes"]);
    // The queued change of `a` is replaced by a later one.
    desk.ok(&["reader", "star", FEED, "a"]);
    other.ok(&["reader", "star", FEED, "a", "b"]);
    other.ok(&["reader", "export", "--all", "all.jsonl"]);
    assert_eq!(desk.json(&["reader", "import", "all.jsonl"])["changes"], 2);
    assert_eq!(desk.json(&["reader", "import", "all.jsonl"])["changes"], 0);
}

/// Complete state of a device.
fn known(desk: &TestEndpoint<'_>) -> String {
    desk.ok(&["reader", "export", "--all"])
}

/// Result of a synchronisation with the collection: whether there was news, and how many items were written.
fn joined(desk: &TestEndpoint<'_>) -> (bool, u64) {
    let done = desk.json(&["reader", "sync", "--collection", "notes"]);
    (done["news"].as_bool().unwrap(), done["written"].as_u64().unwrap())
}

#[test]
fn a_collection_keeps_devices_in_step_as_a_log_does() {
    let place = TestDirectory::new();
    let (laptop, phone) = (place.desk("laptop"), place.desk("phone"));
    laptop.ok(&["reader", "subscribe", FEED, "--title", "News", "--folder", "Daily"]);
    laptop.ok(&["reader", "mark", FEED, "--read", "urn:x:1"]);
    assert_eq!(joined(&laptop), (false, 1));
    assert_eq!(joined(&laptop), (false, 0));
    phone.hears(&laptop);
    assert_eq!(joined(&phone), (true, 0));
    assert_eq!(known(&phone), known(&laptop));
    // Any program can read the subscriptions in the collection.
    let outlines = phone.ok(&["export", "notes", "--to", "opml"]);
    assert!(outlines.contains(&format!("xmlUrl=\"{FEED}\"")), "{outlines}");

    // The concurrent changes of both devices are in conflict, which both resolve in the same way.
    laptop.ok(&["reader", "mark", FEED, "--read", "urn:x:2"]);
    phone.ok(&["reader", "star", FEED, "urn:x:3"]);
    assert_eq!((joined(&laptop), joined(&phone)), ((false, 1), (false, 1)));
    laptop.hears(&phone);
    phone.hears(&laptop);
    assert_eq!((joined(&laptop), joined(&phone)), ((true, 1), (true, 1)));
    assert_eq!(known(&phone), known(&laptop));
    assert_eq!(laptop.state(), phone.state());
    laptop.hears(&phone);
    assert_eq!(laptop.json(&["conflicts", "notes"]).as_array().unwrap().len(), 0);
    assert_eq!((joined(&laptop), joined(&phone)), ((false, 0), (false, 0)));

    // Deleting the outline ends the subscription, and its marks stay.
    let id = laptop.json(&["ls", "notes"])[0]["id"].as_str().unwrap().to_owned();
    laptop.ok(&["rm", "notes", &id]);
    assert!(joined(&laptop).0);
    phone.hears(&laptop);
    assert!(joined(&phone).0);
    assert_eq!(phone.json(&["reader", "list"]).as_array().unwrap().len(), 0);
    assert!(known(&phone).contains("urn:x:3"));
    assert_eq!(known(&phone), known(&laptop));
}

/// Outlines of another program are accepted as they are: duplicate, at other ids, and without the elements of
/// this program.
#[test]
fn a_collection_that_another_program_edits_goes_on() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let outline = |text: &str| {
        let list = format!(
            "<opml version=\"2.0\"><head/><body><outline text=\"{text}\" type=\"rss\" \
             xmlUrl=\"{FEED}\"/></body></opml>"
        );
        place.write("one.opml", &list);
        desk.ok(&["import", "notes", "one.opml"]);
    };
    outline("First");
    outline("Second");
    assert!(joined(&desk).0);
    assert_eq!(desk.json(&["reader", "list"]).as_array().unwrap().len(), 1);
    let items = desk.json(&["ls", "notes"]);
    let [one, _] = &items.as_array().unwrap()[..] else { panic!("{items}") };
    // One of two outlines of the feed is deleted: the subscription stays.
    desk.ok(&["rm", "notes", one["id"].as_str().unwrap()]);
    joined(&desk);
    assert_eq!(desk.json(&["reader", "list"]).as_array().unwrap().len(), 1);
    assert_eq!(desk.json(&["ls", "notes"]).as_array().unwrap().len(), 1);
    // After the other outline is deleted, there is no subscription.
    let items = desk.json(&["ls", "notes"]);
    desk.ok(&["rm", "notes", items[0]["id"].as_str().unwrap()]);
    joined(&desk);
    assert_eq!(desk.json(&["reader", "list"]).as_array().unwrap().len(), 0);
}
