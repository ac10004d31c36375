//! The commands `add`, `edit`, `rm`, `undelete`, `show`, `history` and `ls`.

use crate::support::TestDirectory;

#[test]
fn add_prints_the_id_and_nothing_else() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let printed = desk.ok(&["add", "notes", "--title", "Milk", "--content", "two < litres & more"]);
    let id = printed.strip_suffix('\n').unwrap();
    assert!(!id.contains(char::is_whitespace) && id.len() == 36, "{printed:?}");
    let items = desk.json(&["ls", "notes"]);
    assert_eq!(items.as_array().unwrap().len(), 1);
    assert_eq!(items[0]["id"], id);
    assert_eq!(items[0]["title"], "Milk");
    assert_eq!(items[0]["content"], "two < litres & more");
    assert_eq!((items[0]["updates"].as_u64(), items[0]["conflicts"].as_u64()), (Some(1), Some(0)));
    assert_eq!(items[0]["deleted"], false);
    desk.run(&["add", "notes"]).fails(2, "nothing to add");
    desk.run(&["add", "none", "--title", "x"]).fails(3, "no collection none");
}

#[test]
fn an_entry_comes_from_a_file_or_standard_input_with_all_it_holds() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let entry = "<item><title>t</title><x:y xmlns:x='urn:x'>kept</x:y></item>";
    place.write("entry.xml", &format!("<?xml version=\"1.0\"?>\n{entry}\n"));
    let id = desk.ok(&["add", "notes", "--file", "entry.xml"]);
    let shown = desk.json(&["show", "notes", id.trim_end()]);
    assert_eq!((&shown["payload"], &shown["format"]), (&entry.into(), &"rss".into()));
    let run =
        place.run_with(&["--data", "desk", "add", "notes", "--file", "-"], "{\"title\":\"j\"}");
    assert_eq!(desk.json(&["show", "notes", run.out.trim_end()])["title"], "j");
    place.write("bad.xml", "<entry>\n  <title>x</entry>");
    desk.run(&["add", "notes", "--file", "bad.xml"]).fails(1, "bad.xml:2:");
    desk.run(&["add", "notes", "--file", "none.xml"]).fails(3, "no such file");
    desk.run(&["add", "notes", "--file", "entry.xml", "--title", "x"])
        .fails(2, "cannot be used with");
    assert_eq!(desk.json(&["ls", "notes"]).as_array().unwrap().len(), 2);
}

#[test]
fn an_edit_changes_what_it_names_and_keeps_the_rest() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let entry = "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x</id><title>a</title>\
                 <updated>2005-05-21T11:43:33Z</updated><content>b</content><!-- kept --></entry>";
    let run = place.run_with(&["--data", "desk", "add", "notes", "--file", "-"], entry);
    let id = run.out.trim_end();
    desk.ok(&["edit", "notes", id, "--title", "c"]);
    let shown = desk.json(&["show", "notes", id]);
    assert_eq!((&shown["title"], &shown["content"]), (&"c".into(), &"b".into()));
    assert_eq!(shown["updates"], 2);
    assert!(shown["payload"].as_str().unwrap().contains("<!-- kept -->"), "{shown}");
    assert_eq!(shown["history"].as_array().unwrap().len(), 2);
    desk.run(&["edit", "notes", id]).fails(2, "EDITOR");
}

#[test]
fn an_edit_without_flags_opens_an_editor_on_the_content() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let id = desk.add("Milk", "two litres");
    place.write("editor.sh", "#!/bin/sh\nsed -i 's/two/three/' \"$2\"\n");
    let edit = |editor: &str| {
        let arguments = ["--data", "desk", "edit", "notes", &id];
        place.command(&arguments).env("EDITOR", editor).output().unwrap().status.code()
    };
    assert_eq!(edit("sh editor.sh x"), Some(0));
    let item = &desk.json(&["ls", "notes"])[0];
    assert_eq!((&item["title"], &item["content"]), (&"Milk".into(), &"three litres".into()));
    // A later time alone is not a change.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(edit("true"), Some(1), "nothing changed");
    assert_eq!(edit("false"), Some(1), "the editor gave up");
    assert_eq!(edit("no-such-editor"), Some(2));
    assert_eq!(desk.json(&["ls", "notes"])[0]["updates"], 2);
}

#[test]
fn change_during_an_editor_session_becomes_a_conflict() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let id = desk.add("Milk", "two litres");
    // The item changes while the editor is open.
    let program = env!("CARGO_BIN_EXE_feedsync");
    let meanwhile = format!("{program} --data desk edit notes {id} --content meanwhile");
    place.write("editor.sh", &format!("#!/bin/sh\n{meanwhile} && echo mine > \"$1\"\n"));
    let arguments = ["--data", "desk", "edit", "notes", &id];
    let output = place.command(&arguments).env("EDITOR", "sh editor.sh").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(desk.in_conflict("notes", "content"), ["meanwhile", "mine"]);
}

#[test]
fn an_item_is_deleted_and_comes_back_as_it_was() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let id = desk.add("Milk", "two litres");
    desk.run(&["undelete", "notes", &id]).fails(1, "is not deleted");
    desk.ok(&["rm", "notes", &id]);
    desk.run(&["rm", "notes", &id]).fails(1, "deleted already");
    assert_eq!(desk.json(&["ls", "notes"]), serde_json::json!([]));
    assert_eq!(desk.json(&["ls", "notes", "--all"])[0]["deleted"], true);
    assert!(desk.ok(&["ls", "notes", "--all"]).contains("deleted"));
    desk.ok(&["undelete", "notes", &id]);
    let item = &desk.json(&["ls", "notes"])[0];
    assert_eq!((&item["content"], &item["updates"]), (&"two litres".into(), &3.into()));
}

/// Another endpoint has used up the update counter of an item.
#[test]
fn an_item_that_has_had_all_its_updates_goes_on_as_a_copy() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    place.write(
        "full.atom",
        "<feed xmlns=\"http://www.w3.org/2005/Atom\" xmlns:sx=\"http://feedsync.org/2007/feedsync\">\
         <id>urn:f</id><title>f</title><updated>2020-01-01T00:00:00Z</updated><author><name>a</name></author>\
         <entry><id>urn:milk</id><title>Milk</title><updated>2020-01-01T00:00:00Z</updated>\
         <sx:sync id=\"milk\" updates=\"1073741824\">\
         <sx:history sequence=\"9\" when=\"2020-01-01T00:00:00Z\" by=\"a\"/></sx:sync></entry></feed>",
    );
    desk.ok(&["import", "notes", "full.atom"]);
    desk.run(&["edit", "notes", "milk", "--title", "Oat milk"]).fails(1, "copy it under a new id");
    assert!(
        desk.ok(&["store", "doctor"]).contains("milk has 1073741824 updates of the 1073741824")
    );
    let copy = desk.ok(&["add", "notes", "--copy", "milk"]);
    let copy = copy.trim();
    desk.ok(&["edit", "notes", copy, "--title", "Oat milk"]);
    let copied = desk.json(&["show", "notes", copy]);
    assert_eq!((&copied["title"], &copied["updates"]), (&"Oat milk".into(), &2.into()));
    assert!(!copied["payload"].as_str().unwrap().contains("urn:milk"), "{copied}");
    desk.ok(&["rm", "notes", "milk"]);
    assert_eq!(desk.json(&["ls", "notes"]).as_array().unwrap().len(), 1);
}

#[test]
fn item_is_found_by_a_unique_prefix_of_its_id() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let feed = |ids: &[&str]| {
        let items =
            ids.iter().map(|id| format!("<item><guid>{id}</guid><title>{id}</title></item>"));
        format!("<rss version=\"2.0\"><channel>{}</channel></rss>", items.collect::<String>())
    };
    place.write("feed.rss", &feed(&["abc", "abd", "abcd", "b c"]));
    desk.ok(&["import", "notes", "feed.rss"]);
    let title = |id: &str| desk.json(&["show", "notes", id])["title"].clone();
    assert_eq!(title("abc"), "abc", "a whole id, though it begins another");
    assert_eq!(title("abd"), "abd");
    assert_eq!(title("b"), "b c");
    assert_eq!(title("b%2"), "b c", "an unfinished escape");
    desk.run(&["show", "notes", "ab"]).fails(2, "more than one item of notes begins with ab");
    desk.run(&["show", "notes", "zz"]).fails(3, "there is no item zz in notes");
    desk.run(&["show", "notes", "a b"]).fails(2, "is no item id");
}

#[test]
fn ls_searches_and_shows_newest_changes_first() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let first = desk.add("Milk", "two litres");
    desk.add("Bread", "one");
    let titles = |arguments: &[&str]| -> Vec<String> {
        let items = desk.json(arguments);
        let items = items.as_array().unwrap().iter();
        items.map(|item| item["title"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(titles(&["ls", "notes"]), ["Bread", "Milk"]);
    desk.ok(&["edit", "notes", &first, "--content", "three litres"]);
    assert_eq!(titles(&["ls", "notes"]), ["Milk", "Bread"]);
    assert_eq!(titles(&["ls", "notes", "--search", "LITRES"]), ["Milk"]);
    assert_eq!(titles(&["ls", "notes", "--discarded"]), [""; 0]);
    assert_eq!(desk.ok(&["undelete", "--discarded", "notes"]), "recovered 0 items\n");
    desk.run(&["undelete", "--discarded", "notes", "x"]).fails(3, "no discarded item");
}

#[test]
fn history_of_one_line_of_edits_is_a_line() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let id = desk.add("Milk", "a");
    desk.ok(&["edit", "notes", &id, "--content", "b"]);
    let history = desk.ok(&["history", "notes", &id]);
    let lines: Vec<_> = history.lines().collect();
    assert_eq!(lines.len(), 2, "{history}");
    assert!(lines[0].starts_with("*") && lines[0].ends_with("winner"), "{history}");
    assert!(lines[1].contains(" 1  ") && lines[1].contains("desk."), "{history}");
}

#[test]
fn an_item_has_the_id_that_it_is_given_and_may_be_deleted_from_the_beginning() {
    let place = TestDirectory::new();
    let (desk, phone) = (place.desk("desk"), place.desk("phone"));
    assert_eq!(desk.ok(&["add", "notes", "--title", "Milk", "--id", "list.milk"]), "list.milk\n");
    desk.run(&["add", "notes", "--title", "Milk", "--id", "list.milk"]).fails(1, "list.milk");
    desk.run(&["add", "notes", "--title", "Milk", "--id", "not an id"]).fails(2, "--id");
    phone.ok(&["add", "notes", "--title", "Gone", "--id", "list.gone", "--deleted"]);
    assert_eq!(phone.json(&["ls", "notes"]), serde_json::json!([]));
    let all = phone.json(&["ls", "notes", "--all"]);
    assert_eq!((&all[0]["deleted"], &all[0]["updates"]), (&true.into(), &1.into()));
}

#[test]
fn an_item_that_was_deleted_with_its_content_comes_back_with_new_content_only() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    place.write(
        "gone.atom",
        "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:sx='http://feedsync.org/2007/feedsync'>\
         <id>urn:f</id><title>f</title><updated>2007-01-01T00:00:00Z</updated><entry><id>urn:g</id>\
         <title/><updated>2007-01-01T00:00:00Z</updated><author><name>n</name></author>\
         <sx:sync id='g' updates='2' deleted='true'><sx:history sequence='2' by='x'/></sx:sync>\
         </entry></feed>",
    );
    desk.ok(&["import", "notes", "gone.atom"]);
    desk.run(&["undelete", "notes", "g"]).fails(2, "was deleted with its content");
    desk.ok(&["undelete", "notes", "g", "--title", "Back"]);
    assert_eq!(desk.json(&["ls", "notes"])[0]["title"], "Back");
}
