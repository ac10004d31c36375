//! The command `file`, for people who collaborate with files alone.

use std::fs;

use serde_json::Value;

use crate::support::{Run, TestDirectory};

/// Runs a command that must succeed; returns its output.
pub(crate) fn ok(place: &TestDirectory, arguments: &[&str]) -> String {
    place.run(arguments).success(arguments)
}

/// Runs a command that must succeed; returns its JSON output.
pub(crate) fn json(place: &TestDirectory, arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    serde_json::from_str(&ok(place, &arguments)).unwrap()
}

/// Adds an item to a file; returns its id.
pub(crate) fn add(place: &TestDirectory, file: &str, title: &str) -> String {
    let id = ok(place, &["file", "add", file, "--title", title, "--content", "c", "--by", "ann"]);
    id.trim_end().to_owned()
}

fn titles(items: &Value) -> Vec<&str> {
    items.as_array().unwrap().iter().map(|item| item["title"].as_str().unwrap()).collect()
}

/// Names of all files in the directory of a test.
fn names(place: &TestDirectory) -> Vec<String> {
    let entries = fs::read_dir(place.path("")).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_of_each_format_is_begun_and_edited_without_a_data_directory() {
    for (file, format) in [
        ("a.atom", "atom"),
        ("a.rss", "rss"),
        ("a.opml", "opml"),
        ("a.json", "json"),
        ("a.xml", "pox"),
    ] {
        let place = TestDirectory::new();
        let id = add(&place, file, "Milk");
        add(&place, file, "Bread");
        let edit = |arguments: &[&str]| {
            let [verb, rest @ ..] = arguments else { panic!("{arguments:?}") };
            json(&place, &[&["file", verb, file, &id[..9]], rest, &["--by", "bob"]].concat())
        };
        let edited = edit(&["edit", "--title", "Oat milk"]);
        assert_eq!(edited["winner"]["updates"], 2, "{format}");
        assert!(edited["winner"]["by"].as_str().unwrap().starts_with("bob.file-"), "{edited}");
        assert_eq!(edit(&["rm"])["winner"]["deleted"], true);
        assert_eq!(titles(&json(&place, &["file", "ls", file])), ["Bread"]);
        let all = json(&place, &["file", "ls", file, "--all"]);
        assert_eq!(titles(&all), ["Oat milk", "Bread"]);
        assert_eq!((&all[0]["deleted"], &all[0]["format"]), (&true.into(), &format.into()));
        edit(&["undelete"]);
        let shown = json(&place, &["file", "show", file, &id]);
        assert_eq!((&shown["title"], &shown["updates"]), (&"Oat milk".into(), &4.into()));
        let history = shown["history"].as_array().unwrap();
        let sequences: Vec<_> = history.iter().map(|update| update["sequence"].as_u64()).collect();
        assert_eq!(sequences, [Some(4), Some(3), Some(2), Some(1)], "{format}");
        assert_eq!(history[3]["by"].as_str().unwrap().split(".file-").next(), Some("ann"));
        let drawn = ok(&place, &["file", "history", file, &id]);
        assert_eq!(drawn.lines().count(), 4, "{drawn}");
        assert!(ok(&place, &["file", "show", file, &id]).contains("Oat milk"));
        assert_eq!(titles(&json(&place, &["file", "ls", file, "--search", "OAT"])), ["Oat milk"]);
        let valid = json(&place, &["file", "validate", file]);
        assert_eq!((&valid[0]["valid"], &valid[0]["format"]), (&true.into(), &format.into()));
        assert_eq!(names(&place), [file], "nothing else is left");
    }
}

#[test]
fn edits_in_copies_of_a_file_are_all_kept_even_under_one_name() {
    let place = TestDirectory::new();
    let id = add(&place, "mine.atom", "Milk");
    fs::copy(place.path("mine.atom"), place.path("theirs.atom")).unwrap();
    for (file, title) in [("mine.atom", "Oat milk"), ("theirs.atom", "Two milk")] {
        ok(&place, &["file", "edit", file, &id, "--title", title, "--by", "ann"]);
    }
    let bread = add(&place, "theirs.atom", "Bread");
    let merge = ["file", "merge", "mine.atom", "theirs.atom", "-o", "mine.atom"];
    assert_eq!(ok(&place, &merge), "1 added, 1 in conflict\n");
    let conflicts = json(&place, &["file", "conflicts", "mine.atom"]);
    let mut both = [&conflicts[0]["winner"]["title"], &conflicts[0]["conflicts"][0]["title"]]
        .map(Value::as_str);
    both.sort_unstable();
    assert_eq!(both, [Some("Oat milk"), Some("Two milk")]);
    let said = ok(&place, &["file", "conflicts", "mine.atom"]);
    assert!(said.contains("file resolve mine.atom ITEM --keep-winner"), "{said}");
    assert_eq!(ok(&place, &["file", "conflicts", "theirs.atom"]), "no conflicts\n");
    place.run(&["file", "resolve", "mine.atom", &id, "--take", "2"]).fails(3, "no conflict 2");
    place.run(&["file", "resolve", "mine.atom", &id]).fails(2, "required");
    place
        .run(&["file", "resolve", "mine.atom", &bread, "--keep-winner"])
        .fails(1, "has no conflicts");
    ok(&place, &["file", "resolve", "mine.atom", &id, "--take", "1", "--by", "ann"]);
    assert_eq!(json(&place, &["file", "conflicts", "mine.atom"]), serde_json::json!([]));
    // After a merge the other file has the resolution, and the conflict does not return.
    assert_eq!(
        ok(&place, &["file", "merge", "theirs.atom", "mine.atom", "-o", "theirs.atom"]),
        "1 updated\n"
    );
    assert_eq!(
        ok(&place, &["file", "merge", "mine.atom", "theirs.atom", "-o", "mine.atom"]),
        "nothing new\n"
    );
}

#[test]
fn a_collection_takes_part_with_a_file() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let id = desk.add("Milk", "two litres");
    desk.ok(&["export", "notes", "--output", "notes.atom", "--url", "https://example.org/n.atom"]);
    assert!(place.read("notes.atom").contains("until="));
    ok(&place, &["file", "edit", "notes.atom", &id, "--content", "three litres", "--by", "bob"]);
    let text = place.read("notes.atom");
    // Only the publisher knows the next window, so the window is removed. The rest of the sharing element
    // stays valid.
    assert!(!text.contains("until=") && !text.contains("since="), "{text}");
    assert!(text.contains("link=\"https://example.org/n.atom\""), "{text}");
    add(&place, "notes.atom", "Bread");
    desk.ok(&["edit", "notes", &id, "--title", "Oat milk"]);
    desk.ok(&["import", "notes", "notes.atom"]);
    assert_eq!(desk.json(&["ls", "notes"]).as_array().unwrap().len(), 2);
    let conflicts = desk.json(&["conflicts", "notes"]);
    let versions = [&conflicts[0]["winner"], &conflicts[0]["conflicts"][0]];
    let said = versions.map(|it| (it["title"].as_str().unwrap(), it["content"].as_str().unwrap()));
    for expected in [("Milk", "three litres"), ("Oat milk", "two litres")] {
        assert!(said.contains(&expected), "{said:?}");
    }
    desk.ok(&["resolve", "notes", &id, "--content", "four litres"]);
    desk.ok(&["export", "notes", "--output", "again.atom"]);
    ok(&place, &["file", "merge", "notes.atom", "again.atom", "-o", "notes.atom"]);
    assert_eq!(json(&place, &["file", "show", "notes.atom", &id])["content"], "four litres");
    assert_eq!(json(&place, &["file", "conflicts", "notes.atom"]), serde_json::json!([]));
}

#[test]
fn a_new_item_is_what_the_options_say() {
    let place = TestDirectory::new();
    let arguments = ["--id", "shopping.milk", "--deleted", "--noconflicts", "--title", "Milk"];
    let added = json(&place, &[&["file", "add", "n.json"], &arguments[..]].concat());
    assert_eq!(added, serde_json::json!({ "id": "shopping.milk" }));
    let item = &json(&place, &["file", "ls", "n.json", "--all"])[0];
    assert_eq!((&item["deleted"], &item["noconflicts"]), (&true.into(), &true.into()));
    let again = ["file", "add", "n.json", "--id", "shopping.milk", "--title", "x"];
    place.run(&again).fails(1, "already an item shopping.milk");
    // An entry of another format is projected and keeps its own format.
    place.write("entry.xml", "<item><title>RSS</title></item>");
    let id = ok(&place, &["file", "add", "n.json", "--file", "entry.xml"]);
    assert_eq!(json(&place, &["file", "show", "n.json", id.trim_end()])["format"], "rss");
    place.run(&["file", "add", "n.json"]).fails(2, "nothing to add");
    place
        .run(&["file", "add", "n.json", "--format", "atom", "--title", "x"])
        .fails(2, "n.json is in json, not in atom");
    place.run(&["file", "add", "notes", "--title", "x"]).fails(2, "its name tells no format");
    ok(&place, &["file", "add", "notes", "--format", "pox", "--title", "x"]);
    assert_eq!(json(&place, &["file", "ls", "notes"])[0]["format"], "pox");
    place.run(&["file", "add", "n.json", "--title", "x", "--by", "a b"]).fails(2, "--by");
}

#[test]
fn the_author_is_named_by_an_option_the_environment_or_the_host() {
    let place = TestDirectory::new();
    let by = |id: &str| {
        let shown = json(&place, &["file", "show", "n.rss", id]);
        shown["by"].as_str().unwrap().split(".file-").next().unwrap().to_owned()
    };
    let add = |more: &[&str]| {
        let arguments = [&["file", "add", "n.rss", "--title", "x"], more].concat();
        let output = place.command(&arguments).env("FEEDSYNC_BY", "kate").output().unwrap();
        Run::of(output).success(&arguments).trim_end().to_owned()
    };
    assert_eq!(by(&add(&[])), "kate");
    assert_eq!(by(&add(&["--by", "ann"])), "ann");
    let id = ok(&place, &["file", "add", "n.rss", "--title", "x"]);
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let label = host.trim().split('.').next().unwrap().to_ascii_lowercase();
    if !label.is_empty() && label.bytes().all(|it| it.is_ascii_alphanumeric()) {
        assert_eq!(by(id.trim_end()), label);
    }
}

#[test]
fn an_edit_that_was_made_while_an_editor_was_open_is_kept_beside_it() {
    let place = TestDirectory::new();
    let id = add(&place, "n.opml", "Milk");
    let program = env!("CARGO_BIN_EXE_feedsync");
    let meanwhile = format!("{program} file edit n.opml {id} --content meanwhile --by bob");
    place.write("editor.sh", &format!("#!/bin/sh\n{meanwhile} && echo mine > \"$1\"\n"));
    let arguments = ["file", "edit", "n.opml", &id, "--by", "ann"];
    let output = place.command(&arguments).env("EDITOR", "sh editor.sh").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("see feedsync file conflicts n.opml")
            || said.contains("file conflicts n.opml")
    );
    let conflicts = json(&place, &["file", "conflicts", "n.opml"]);
    let versions = [&conflicts[0]["winner"], &conflicts[0]["conflicts"][0]];
    let mut said = versions.map(|version| version["content"].as_str().unwrap());
    said.sort_unstable();
    assert_eq!(said, ["meanwhile", "mine"]);
    place.run(&["file", "edit", "n.opml", &id]).fails(2, "EDITOR");
    let same = ["file", "edit", "n.opml", &id, "--title", "Milk"];
    let before = place.read("n.opml");
    place.run(&same).fails(1, "nothing changed");
    assert_eq!(place.read("n.opml"), before);
}

#[test]
fn documents_that_are_no_feedsync_feeds_are_refused_with_advice_and_stay() {
    let place = TestDirectory::new();
    let sse = "<rss version=\"2.0\" xmlns:sx=\"http://www.microsoft.com/schemas/rss/sse\"><channel><item>\
        <title>a</title><sx:sync id=\"a\" version=\"1\"><sx:history when=\"Sat, 21 May 2005 11:43:33 GMT\" by=\"x\"/>\
        </sx:sync></item></channel></rss>";
    for (file, text, code, said, advice) in [
        (
            "plain.rss",
            "<rss version=\"2.0\"><channel><item><title>a</title></item></channel></rss>",
            1,
            "none of its items has sync information",
            "feedsync import NAME plain.rss",
        ),
        ("sse.rss", sse, 1, "is SSE", "convert sse.rss --to FORMAT"),
        (
            "bad.atom",
            "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n <title></feed>",
            1,
            "bad.atom:2:",
            "",
        ),
        ("list.txt", "milk, bread", 1, "list.txt: ", ""),
        ("page.html", "<html><body>x</body></html>", 1, "page.html: ", ""),
    ] {
        place.write(file, text);
        for arguments in [
            &["file", "ls", file][..],
            &["file", "add", file, "--title", "x"],
            &["file", "edit", file, "a", "--title", "x"],
            &["file", "rm", file, "a"],
        ] {
            let run = place.run(arguments);
            run.fails(code, said);
            assert!(run.err.contains(advice) || run.err.contains(&advice.replace("feedsync ", "")));
            assert_eq!(place.read(file), text);
        }
    }
    for arguments in [&["file", "ls", "none.atom"][..], &["file", "rm", "none.atom", "a"]] {
        place.run(arguments).fails(3, "none.atom: there is no such file");
    }
    place.run(&["file", "rm", "-", "a"]).fails(2, "no file that can be edited");
    place.run(&["file", "rm", "https://example.org/n.atom", "a"]).fails(2, "can be edited");
    assert!(!names(&place).contains(&"none.atom".to_owned()));
}

#[test]
fn items_are_found_by_id_prefix_and_faulty_ones_reported_by_position() {
    let place = TestDirectory::new();
    let item = |id: &str, updates: u32| {
        format!(
            "\n<item><title>{id}</title><s:sync id=\"{id}\" updates=\"{updates}\">\
             <s:history sequence=\"1\" by=\"x\"/></s:sync></item>"
        )
    };
    place.write(
        "n.rss",
        &format!(
            "<rss version=\"2.0\" xmlns:s=\"http://feedsync.org/2007/feedsync\"><channel>{}{}{}{}{}\n\
             <item><title>plain</title></item></channel></rss>",
            item("abc", 1),
            item("abd", 1),
            item("abcd", 1),
            item("bad", 0),
            item("bader", 1)
        ),
    );
    let title = |id: &str| json(&place, &["file", "show", "n.rss", id])["title"].clone();
    assert_eq!(
        (title("abc"), title("abd"), title("abcd")),
        ("abc".into(), "abd".into(), "abcd".into())
    );
    place
        .run(&["file", "show", "n.rss", "ab"])
        .fails(2, "more than one item of n.rss begins with ab");
    let missing = place.run(&["file", "show", "n.rss", "abx"]);
    missing.fails(3, "there is no item abx in n.rss; did you mean ");
    assert!(missing.err.contains("file ls n.rss --all"), "{}", missing.err);
    place.run(&["file", "show", "n.rss", ""]).fails(2, "is no item id");
    place.run(&["file", "rm", "n.rss", "bad"]).fails(1, "n.rss:5:");
    place
        .run(&["file", "add", "n.rss", "--id", "bad", "--title", "x"])
        .fails(1, "already an item bad");
    let listed = place.run(&["file", "ls", "n.rss"]);
    assert_eq!((listed.code, listed.out.lines().count()), (0, 4), "{listed:?}");
    assert!(
        listed.err.contains("n.rss:5:") && listed.err.contains("1 item without sync information")
    );
    // Items that are faulty or have no sync information stay unchanged.
    ok(&place, &["file", "rm", "n.rss", "abd"]);
    let text = place.read("n.rss");
    assert!(text.contains(&item("bad", 0)) && text.contains("<item><title>plain</title></item>"));
}

#[test]
fn an_item_is_deleted_with_its_content_and_needs_new_content_to_come_back() {
    let place = TestDirectory::new();
    let id = add(&place, "n.atom", "Secret");
    place.run(&["file", "undelete", "n.atom", &id]).fails(1, "is not deleted");
    ok(&place, &["file", "rm", "n.atom", &id, "--truncate"]);
    assert!(!place.read("n.atom").contains("Secret"));
    place.run(&["file", "rm", "n.atom", &id]).fails(1, "is deleted already");
    place.run(&["file", "undelete", "n.atom", &id]).fails(2, "was deleted with its content");
    let edited = place.run(&["file", "edit", "n.atom", &id, "--title", "x"]);
    assert!(edited.code == 0 && edited.err.contains("file undelete n.atom"), "{edited:?}");
    ok(&place, &["file", "undelete", "n.atom", &id, "--title", "Open"]);
    assert_eq!(titles(&json(&place, &["file", "ls", "n.atom"])), ["Open"]);
}
