//! The command `edit`, for outlines in collections and in files.

use crate::support::{TestDirectory, TestEndpoint};

/// Adds an outline to the collection `feeds`.
fn add(desk: &TestEndpoint<'_>, id: &str) {
    desk.ok(&["add", "feeds", "--title", id, "--id", id]);
}

/// Creates a desk with the outlines a, b, c and d at the top level of the collection `feeds`.
fn outliner(place: &TestDirectory) -> TestEndpoint<'_> {
    let desk = place.bare("desk");
    desk.ok(&["collection", "create", "feeds", "--format", "opml"]);
    ["a", "b", "c", "d"].iter().for_each(|id| add(&desk, id));
    desk
}

/// Nesting of the outlines of a document, written as `a(b c(d)) e`.
fn nesting(text: &str) -> String {
    let (mut out, mut open) = (String::new(), Vec::new());
    for part in text.split('<') {
        if part.starts_with("outline") {
            let (_, name) = part.split_once(" text=\"").unwrap();
            let name = name.split_once('"').unwrap().0;
            match open.last_mut() {
                Some(has_child @ false) => {
                    *has_child = true;
                    out.push('(');
                }
                _ if out.is_empty() => {}
                _ => out.push(' '),
            }
            out.push_str(name);
            open.push(false);
        } else if part.starts_with("/outline") && open.pop() == Some(true) {
            out.push(')');
        }
    }
    out
}

fn exported(desk: &TestEndpoint<'_>) -> String {
    nesting(&desk.ok(&["export", "feeds"]))
}

#[test]
fn an_outline_of_a_collection_moves_with_what_is_in_it() {
    let place = TestDirectory::new();
    let desk = outliner(&place);
    assert_eq!(exported(&desk), "a b c d");
    let moved = desk.json(&["edit", "feeds", "b", "--under", "a"]);
    assert_eq!((&moved["id"], &moved["winner"]["updates"]), (&"b".into(), &2.into()));
    assert_eq!(desk.ok(&["edit", "feeds", "d", "--under", "b"]), "d  update 2\n");
    desk.ok(&["edit", "feeds", "c", "--under", "a"]);
    assert_eq!(exported(&desk), "a(b(d) c)");
    desk.ok(&["edit", "feeds", "b", "--under", "c"]);
    assert_eq!(exported(&desk), "a(c(b(d)))");
    desk.ok(&["edit", "feeds", "b", "--top"]);
    assert_eq!(exported(&desk), "a(c) b(d)");
    // Other properties of the outline stay, and a later edit changes only the title.
    desk.ok(&["edit", "feeds", "d", "--title", "D"]);
    assert_eq!(exported(&desk), "a(c) b(D)");
}

#[test]
fn moves_that_cannot_be_are_refused_by_name_and_change_nothing() {
    let place = TestDirectory::new();
    let desk = outliner(&place);
    desk.ok(&["edit", "feeds", "b", "--under", "a"]);
    desk.ok(&["edit", "feeds", "c", "--under", "b"]);
    desk.ok(&["rm", "feeds", "d"]);
    let before = desk.ok(&["export", "feeds"]);
    for (item, to, code, said) in [
        ("a", &["--under", "a"][..], 1, "a cannot be moved under itself"),
        ("a", &["--under", "b"], 1, "a cannot be moved under b, which is inside a"),
        ("a", &["--under", "c"], 1, "a cannot be moved under c, which is inside a"),
        ("b", &["--under", "a"], 1, "b is already under a"),
        ("a", &["--top"], 1, "a is already at the top"),
        ("a", &["--under", "d"], 1, "d is deleted, so nothing can be moved under it"),
        ("a", &["--under", "none"], 3, "there is no item none in feeds"),
        ("none", &["--top"], 3, "there is no item none in feeds"),
        ("a", &[], 2, "nothing to change"),
        ("b", &["--top", "--under", "c"], 2, "cannot be used with"),
    ] {
        desk.run(&[&["edit", "feeds", item], to].concat()).fails(code, said);
    }
    let entry = "{\"title\":\"j\"}";
    place.write("entry.json", entry);
    desk.ok(&["add", "feeds", "--file", "entry.json", "--id", "entry"]);
    desk.run(&["edit", "feeds", "entry", "--under", "a"])
        .fails(1, "entry is an item in the format json, and only OPML outlines can be moved");
    let updated = |text: &str| {
        let body = text.split_once("<body>").unwrap().1;
        body.split("entry").next().unwrap().matches("sx:history").count()
    };
    assert_eq!(updated(&before), updated(&desk.ok(&["export", "feeds"])));
}

#[test]
fn a_move_and_an_edit_made_without_knowing_of_each_other_are_both_kept() {
    let place = TestDirectory::new();
    let desk = outliner(&place);
    desk.ok(&["export", "feeds", "--output", "feeds.opml"]);
    desk.ok(&["edit", "feeds", "b", "--under", "a"]);
    let edit = ["file", "edit", "feeds.opml", "b", "--title", "B", "--by", "bob"];
    place.run(&edit).success(&edit);
    desk.ok(&["import", "feeds", "feeds.opml"]);
    assert_eq!(desk.in_conflict("feeds", "title"), ["B", "b"]);
}

#[test]
fn an_outline_of_a_file_moves_and_the_document_with_it() {
    let place = TestDirectory::new();
    let run = |arguments: &[&str]| place.run(arguments).success(arguments);
    for id in ["a", "b", "c"] {
        run(&["file", "add", "feeds.opml", "--title", id, "--id", id]);
    }
    assert_eq!(nesting(&place.read("feeds.opml")), "a b c");
    assert_eq!(run(&["file", "edit", "feeds.opml", "c", "--under", "a"]), "c  update 2\n");
    run(&["file", "edit", "feeds.opml", "a", "--under", "b"]);
    assert_eq!(nesting(&place.read("feeds.opml")), "b(a(c))");
    place
        .run(&["file", "edit", "feeds.opml", "b", "--under", "c"])
        .fails(1, "b cannot be moved under c, which is inside b");
    run(&["file", "edit", "feeds.opml", "c", "--top", "--by", "ann"]);
    assert_eq!(nesting(&place.read("feeds.opml")), "b(a) c");
    run(&["file", "add", "notes.atom", "--title", "x", "--id", "x"]);
    place
        .run(&["file", "edit", "notes.atom", "x", "--top"])
        .fails(1, "x is an item in the format atom, and only OPML outlines can be moved");
}

/// A document without information about positions: the outlines keep the order and nesting of the document.
#[test]
fn an_outline_moves_in_a_document_of_others_and_all_else_stays() {
    let place = TestDirectory::new();
    let outline = |id: &str, inside: &str| {
        format!(
            "<outline text=\"{id}\" x='y'><s:sync id=\"{id}\" updates=\"1\"><s:history sequence=\"1\" by=\"x\"/></s:sync>\
             {inside}</outline>"
        )
    };
    let furniture = "<outline text=\"furniture\"><!-- kept --></outline>";
    let text = format!(
        "<opml version='2.0' xmlns:s='http://feedsync.org/2007/feedsync'><head><title>t</title></head><body>\n{}\n{}\n\
         {furniture}</body></opml>",
        outline("a", &outline("b", "")),
        outline("c", "")
    );
    place.write("feeds.opml", &text);
    let arguments = ["file", "edit", "feeds.opml", "b", "--under", "c"];
    place.run(&arguments).success(&arguments);
    let moved = place.read("feeds.opml");
    assert_eq!(nesting(&moved), "a c(b) furniture");
    assert!(moved.contains(&outline("a", "")) && moved.contains(furniture), "{moved}");
}
