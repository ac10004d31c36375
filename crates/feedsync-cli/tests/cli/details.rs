//! Subtitle, rights, author and foreign markup of a feed in `import`, `collection set`, `export`, `file convert` and `file merge`.

use serde_json::json;

use crate::support::TestDirectory;

const FEED: &str = "<?xml version=\"1.0\"?>\n\
    <rss version=\"2.0\" xmlns:m=\"urn:m\"><channel><title>News</title><link>http://example.org/</link>\
    <description>What is &amp;amp; was</description><copyright>R</copyright>\
    <managingEditor>ann@example.org (Ann)</managingEditor><m:colour>blue</m:colour><language>de</language>\
    <item><title>One</title><guid isPermaLink=\"false\">1</guid></item></channel></rss>\n";

#[test]
fn details_of_an_imported_feed_are_settings_and_are_exported_in_every_format() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    place.write("news.rss", FEED);
    desk.ok(&["import", "notes", "news.rss"]);
    let settings = desk.json(&["collection", "settings", "notes"]);
    assert_eq!(settings["subtitle"], "What is & was");
    assert_eq!((&settings["rights"], &settings["author"]), (&json!("R"), &json!("Ann")));
    let markup = json!({ "format": "rss", "pieces": [
        "<m:colour xmlns:m=\"urn:m\">blue</m:colour>", "<language>de</language>"
    ] });
    assert_eq!(settings["markup"], markup);
    let shown = desk.ok(&["collection", "settings", "notes"]);
    for (name, value) in
        [("subtitle", "What is & was"), ("author", "Ann"), ("markup", "2 pieces of rss")]
    {
        let said = shown.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(said.ends_with(value), "{said}");
    }
    for format in ["atom", "rss", "opml", "json", "pox"] {
        let other = place.bare(format);
        other.ok(&["collection", "create", "notes"]);
        place.write("out", &desk.ok(&["export", "notes", "--to", format]));
        assert_eq!(place.run(&["file", "validate", "out"]).code, 0, "{format}");
        other.ok(&["import", "notes", "out"]);
        let found = other.json(&["collection", "settings", "notes"]);
        for name in ["subtitle", "rights", "author"] {
            assert_eq!(found[name], settings[name], "{format}");
        }
        let colour = found["markup"]["pieces"][0].as_str().unwrap_or_default();
        assert_eq!(colour.contains("urn:m"), format != "json", "{found}");
    }
    std::fs::create_dir(place.path("www")).unwrap();
    desk.ok(&[
        "collection",
        "publish",
        "notes",
        "--directory",
        "www",
        "--url",
        "https://example.org/",
    ]);
    assert!(place.read("www/notes.atom").contains("<subtitle>What is &amp; was</subtitle>"));
}

#[test]
fn details_that_a_person_set_stay_when_a_feed_is_imported() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    place.write("news.rss", FEED);
    desk.ok(&["collection", "set", "notes", "author=  Bob\tB. ", "rights=default"]);
    desk.ok(&["import", "notes", "news.rss"]);
    let settings = desk.json(&["collection", "settings", "notes"]);
    assert_eq!(settings["author"], "Bob B.");
    for name in ["subtitle", "rights", "markup"] {
        assert_eq!(settings[name], json!(null), "{name}");
    }
    // This sets the markup from a feed, without importing the feed.
    desk.ok(&["collection", "set", "notes", "markup=news.rss"]);
    assert_eq!(
        desk.json(&["collection", "settings", "notes"])["markup"]["pieces"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert!(desk.ok(&["export", "notes", "--to", "rss"]).contains("<language>de</language>"));
    let settings = desk.json(&["collection", "settings", "notes"]);
    place
        .write("plain.atom", "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>t</title></feed>");
    let long = format!("rights={}", "x".repeat(4_097));
    for (wrong, code, said) in [
        ("author=", 1, "invalid value \"\" for the setting author: must not be empty"),
        (&*long, 1, "invalid value (not shown) for the setting rights: has more than 4096 bytes"),
        ("markup=none.rss", 3, "no such file"),
        ("markup=plain.atom", 1, "plain.atom: there is no markup of other namespaces at its head"),
    ] {
        desk.run(&["collection", "set", "notes", wrong]).fails(code, said);
        assert_eq!(desk.json(&["collection", "settings", "notes"]), settings);
    }
    desk.ok(&["collection", "set", "notes", "markup=default", "author=default"]);
    desk.ok(&["import", "notes", "news.rss"]);
    assert_eq!(
        desk.json(&["collection", "settings", "notes"])["author"],
        "Ann",
        "it has none again"
    );
    desk.ok(&["collection", "create", "made", "--set", "subtitle=Made here"]);
    assert_eq!(desk.json(&["collection", "settings", "made"])["subtitle"], "Made here");
}

#[test]
fn details_stay_when_a_document_is_converted_and_those_of_the_first_when_it_is_merged() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    place.write("news.rss", FEED);
    for format in ["atom", "opml", "pox", "json"] {
        let converted = desk.ok(&["file", "convert", "news.rss", "--to", format]);
        for part in ["What is &", "Ann", "R"] {
            assert!(converted.contains(part), "{format}: {converted}");
        }
        assert_eq!(converted.contains("urn:m"), format != "json", "{converted}");
        place.write("there", &converted);
        let back = desk.ok(&["file", "convert", "there", "--to", "rss"]);
        assert!(back.contains("<copyright>R</copyright>"), "{back}");
        assert!(back.contains("<description>What is &#x26; was</description>"), "{back}");
    }
    desk.add("One", "x");
    desk.ok(&["collection", "set", "notes", "subtitle=First"]);
    place.write("first.atom", &desk.ok(&["export", "notes", "--to", "atom"]));
    desk.ok(&["collection", "set", "notes", "subtitle=Second", "markup=news.rss"]);
    desk.add("Two", "x");
    place.write("second.atom", &desk.ok(&["export", "notes", "--to", "atom"]));
    desk.ok(&["file", "merge", "first.atom", "second.atom", "--output", "merged.atom"]);
    let merged = place.read("merged.atom");
    assert!(merged.contains("<subtitle>First</subtitle>") && merged.contains("Two"), "{merged}");
    assert!(!merged.contains("Second") && !merged.contains("urn:m"), "{merged}");
}

#[test]
fn parts_of_a_head_over_a_bound_are_reported() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    place.write("news.rss", &FEED.replace(">R<", &format!(">{}<", "x".repeat(4_097))));
    let run = desk.run(&["import", "notes", "news.rss"]);
    assert_eq!(run.code, 0);
    assert!(run.err.contains("1 part of the head of the feed left out"), "{}", run.err);
    assert_eq!(desk.json(&["collection", "settings", "notes"])["rights"], json!(null));
    assert_eq!(desk.json(&["collection", "settings", "notes"])["author"], "Ann");
}
