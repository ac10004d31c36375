//! The commands `import` and `export`.

use crate::support::TestDirectory;

const FEED: &str = r#"<?xml version="1.0"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <title>News</title>
  <entry><id>tag:x,2005:1</id><title>One</title><updated>2005-05-21T11:43:33Z</updated></entry>
  <entry><id>tag:x,2005:2</id><title>Two</title><updated>2005-05-21T11:43:33Z</updated></entry>
</feed>
"#;

#[test]
fn two_people_who_import_one_feed_have_the_same_items() {
    let place = TestDirectory::new();
    let (laptop, phone) = (place.desk("laptop"), place.desk("phone"));
    place.write("feed.atom", FEED);
    assert_eq!(laptop.ok(&["import", "notes", "feed.atom"]), "2 added\n");
    phone.ok(&["import", "notes", "feed.atom"]);
    assert_eq!(laptop.state(), phone.state());
    let item = laptop.json(&["show", "notes", "tag:x,2005:1"]);
    assert_eq!(item["when"], "2005-05-21T11:43:33Z");
    assert!(item["by"].as_str().unwrap().starts_with("import."), "{item}");
}

#[test]
fn importing_again_updates_what_changed_and_deletes_nothing_unless_mirrored() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    place.write("feed.atom", FEED);
    desk.ok(&["import", "notes", "feed.atom"]);
    assert_eq!(desk.ok(&["import", "feed.atom"]), "nothing new\n", "the only collection");
    let report = desk.json(&["import", "notes", "feed.atom"]);
    assert_eq!(report["counts"]["unchanged"], 2);
    place.write("feed.atom", &FEED.replace("One", "Uno").replace("tag:x,2005:2", "tag:x,2005:3"));
    assert_eq!(desk.ok(&["import", "notes", "feed.atom"]), "1 added, 1 updated\n");
    assert_eq!(desk.json(&["ls", "notes"]).as_array().unwrap().len(), 3);
    assert_eq!(desk.ok(&["import", "notes", "feed.atom", "--mirror"]), "nothing new, 1 deleted\n");
    assert_eq!(desk.json(&["ls", "notes"]).as_array().unwrap().len(), 2);
}

#[test]
fn a_faulty_feed_changes_nothing_and_is_named_with_its_line() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    place.write("bad.atom", &FEED.replace("</feed>", "</fed>"));
    desk.run(&["import", "notes", "bad.atom"]).fails(1, "bad.atom:6:");
    place.write("text.txt", "hello");
    desk.run(&["import", "notes", "text.txt"]).fails(1, "not a feed");
    desk.run(&["import", "notes", "none.atom"]).fails(3, "no such file");
    desk.run(&["import", "none", "bad.atom"]).fails(3, "no collection none");
    assert_eq!(desk.json(&["ls", "notes", "--all"]), serde_json::json!([]));
}

#[test]
fn a_feed_exported_in_any_format_brings_the_same_items_elsewhere() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let id = desk.add("Milk & <more>", "two\nlitres");
    desk.ok(&["edit", "notes", &id, "--content", "three"]);
    desk.ok(&["rm", "notes", &desk.add("gone", "x")]);
    for format in ["atom", "rss", "opml", "json", "pox"] {
        let data = format!("by-{format}");
        let feed = format!("notes.{format}");
        place.write(&feed, &desk.ok(&["export", "notes", "--to", format]));
        for arguments in [
            &["store", "init", "--endpoint", "other"][..],
            &["collection", "create", "notes"],
            &["import", "notes", &feed],
        ] {
            let mut all = vec!["--data", &*data];
            all.extend(arguments);
            let run = place.run(&all);
            assert_eq!(run.code, 0, "{all:?} {}", run.err);
        }
        let run = place.run(&["--data", &data, "--json", "ls", "notes", "--all"]);
        let theirs: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        let mut ours = desk.json(&["ls", "notes", "--all"]);
        let mut theirs = theirs;
        for items in [&mut ours, &mut theirs] {
            let items = items.as_array_mut().unwrap();
            items.sort_by_key(|item| item["id"].to_string());
            for item in items {
                item["change"].take();
                item["changed"].take();
            }
        }
        assert_eq!(ours, theirs, "{format}");
        let valid = place.run(&["file", "validate", &feed]);
        assert_eq!(valid.code, 0, "{format}: {}", valid.out);
    }
}

#[test]
fn sse_is_exported_as_rss_or_opml_and_read_again() {
    let place = TestDirectory::new();
    let (desk, other) = (place.desk("desk"), place.desk("other"));
    desk.add("Milk", "two litres");
    desk.run(&["export", "notes", "--to", "atom", "--sse"]).fails(2, "SSE has no atom");
    for format in ["rss", "opml"] {
        let run = desk.run(&["export", "notes", "--to", format, "--sse"]);
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(run.out.contains("http://www.microsoft.com/schemas/rss/sse"), "{}", run.out);
        place.write("sse.xml", &run.out);
        assert_eq!(place.run(&["file", "validate", "sse.xml"]).code, 0);
        other.ok(&["import", "notes", "sse.xml"]);
    }
    assert_eq!(other.json(&["ls", "notes"])[0]["title"], "Milk");
    other.run(&["import", "notes", "sse.xml", "--mirror"]).fails(2, "says itself what is deleted");
}

#[test]
fn items_without_title_link_and_guid_are_all_imported() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let rss = |items: &[&str]| {
        let items: String = items.iter().map(|item| format!("<item>{item}</item>")).collect();
        format!(
            "<rss version=\"2.0\"><channel><title>t</title><link>http://example.com/</link><description>d</description>{items}</channel></rss>"
        )
    };
    let texts = ["first", "second", "third", "second"];
    let texts = texts.map(|text| format!("<description>{text} thing</description>"));
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    place.write("desc.rss", &rss(&texts));
    assert_eq!(desk.ok(&["import", "notes", "desc.rss"]), "3 added, 1 repeated word for word\n");
    assert_eq!(desk.json(&["ls", "notes"]).as_array().unwrap().len(), 3);
    assert_eq!(
        desk.ok(&["import", "notes", "desc.rss"]),
        "nothing new, 1 repeated word for word\n"
    );
    // An item that is left out is reported, and the import fails.
    place.write("twice.rss", &rss(&["<guid>g</guid>one", "<guid>g</guid><title>two</title>"]));
    let run = desk.run(&["import", "notes", "twice.rss"]);
    run.fails(1, "g: left out: an earlier item has the same id");
    assert_eq!(run.out, "1 added, 1 left out\n");
    let json = r#"{"items":[{"content_text":"a"},{"content_text":"b"},{"content_text":"a"}]}"#;
    place.write("bare.json", json);
    assert_eq!(desk.ok(&["import", "notes", "bare.json"]), "2 added, 1 repeated word for word\n");
    let entry = |text: &str| format!("<entry><content>{text}</content></entry>");
    let atom =
        format!("<feed xmlns=\"http://www.w3.org/2005/Atom\">{}{}</feed>", entry("a"), entry("b"));
    place.write("bare.atom", &atom);
    assert_eq!(desk.ok(&["import", "notes", "bare.atom"]), "2 added\n");
    let Some(cases) = std::env::var_os("FEEDSYNC_CASES") else {
        eprintln!("FEEDSYNC_CASES is not set: its feed is left out");
        return;
    };
    let feed = std::path::Path::new(&cases).join("http/desc.rss");
    desk.ok(&["collection", "create", "cases"]);
    assert_eq!(desk.ok(&["import", "cases", feed.to_str().unwrap()]), "3 added\n");
}

/// Only a publisher knows the next value of `until`, so a merged document does not keep a wrong one (SSE 2.1,
/// FeedSync 4.2.3).
#[test]
fn merged_documents_keep_no_window_that_is_untrue() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let feed = |namespace: &str, sharing: &str, sync: &str| {
        format!(
            "<rss version=\"2.0\" xmlns:sx=\"{namespace}\"><channel><title>t</title><link>http://x/</link>\
             <description>d</description><sx:sharing {sharing}/><item><description>x</description>{sync}</item>\
             </channel></rss>"
        )
    };
    let sse = "http://www.microsoft.com/schemas/rss/sse";
    let old = "<sx:sync id=\"i\" version=\"1\"><sx:history when=\"Sat, 21 May 2005 09:43:33 GMT\" by=\"A\"/></sx:sync>";
    let new = "<sx:sync id=\"i\" version=\"2\"><sx:history when=\"Sun, 22 May 2005 09:43:33 GMT\" by=\"B\">\
        <sx:update when=\"Sat, 21 May 2005 09:43:33 GMT\" by=\"A\"/></sx:history></sx:sync>";
    let since = "since=\"Sat, 21 May 2005 09:43:33 GMT\"";
    let window =
        format!("version=\"0.91\" {since} until=\"Sat, 21 May 2005 09:43:33 GMT\" window=\"30\"");
    place.write("local.rss", &feed(sse, &window, old));
    place.write("incoming.rss", &feed(sse, "version=\"0.91\"", new));
    desk.ok(&["file", "merge", "local.rss", "local.rss", "--output", "same.rss"]);
    assert_eq!(place.read("same.rss"), place.read("local.rss"));
    desk.ok(&["file", "merge", "local.rss", "incoming.rss", "--output", "out.rss"]);
    let merged = place.read("out.rss");
    assert!(
        merged.contains(&format!("<sx:sharing version=\"0.91\" {since} window=\"30\"/>")),
        "{merged}"
    );

    let feedsync = "http://feedsync.org/2007/feedsync";
    let sync = |updates: u32, history: &str| {
        format!("<sx:sync id=\"i\" updates=\"{updates}\">{history}</sx:sync>")
    };
    let first = "<sx:history sequence=\"1\" when=\"2005-05-21T09:43:33Z\" by=\"A\"/>";
    let second =
        format!("<sx:history sequence=\"2\" when=\"2005-05-22T09:43:33Z\" by=\"B\"/>{first}");
    let window = "since=\"1\" until=\"2\" expires=\"2030-01-01T00:00:00Z\"";
    place.write("local.rss", &feed(feedsync, window, &sync(1, first)));
    place.write("incoming.rss", &feed(feedsync, "", &sync(2, &second)));
    desk.ok(&["file", "merge", "local.rss", "incoming.rss", "--output", "out.rss"]);
    let merged = place.read("out.rss");
    assert!(merged.contains("<sx:sharing expires=\"2030-01-01T00:00:00Z\"/>"), "{merged}");

    let Some(cases) = std::env::var_os("FEEDSYNC_CASES") else {
        eprintln!("FEEDSYNC_CASES is not set: its feeds are left out");
        return;
    };
    let case =
        |name: &str| std::path::Path::new(&cases).join("feedsync").join(name).display().to_string();
    desk.ok(&["file", "merge", &case("s9.rss"), &case("s9i.rss"), "--output", "out.rss"]);
    assert!(!place.read("out.rss").contains("until="), "{}", place.read("out.rss"));
}

#[test]
fn items_without_sync_information_beside_others_are_no_success() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.add("Kept", "x");
    desk.ok(&["export", "notes", "--to", "atom", "--output", "all.atom"]);
    let feed = place.read("all.atom");
    place.write(
        "mixed.atom",
        &feed.replace("</feed>", "<entry><title>plain</title></entry></feed>"),
    );
    let run = desk.run(&["import", "notes", "mixed.atom"]);
    run.fails(1, "1 item without sync information left out");
}
