//! The commands `file merge`, `file validate` and `file convert`, which need no endpoint.

use serde_json::Value;

use crate::support::TestDirectory;

fn feed(entries: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\" \
         xmlns:sx=\"http://feedsync.org/2007/feedsync\">\n<title>t</title>\n<!-- mine -->\n{entries}\
         \n</feed>\n"
    )
}

fn entry(id: &str, title: &str, updates: u32, by: &str) -> String {
    let when = "2005-05-21T11:43:33Z";
    let first = format!("<sx:history sequence=\"1\" when=\"{when}\" by=\"a\"/>");
    let second = match updates {
        1 => String::new(),
        _ => format!("<sx:history sequence=\"{updates}\" when=\"{when}\" by=\"{by}\"/>"),
    };
    format!(
        "<entry><title>{title}</title>\
         <sx:sync id=\"{id}\" updates=\"{updates}\">{second}{first}</sx:sync></entry>\n"
    )
}

#[test]
fn a_merge_keeps_every_byte_that_it_does_not_change() {
    let place = TestDirectory::new();
    let local = feed(&format!("{}<entry><title>plain</title></entry>", entry("1", "one", 1, "a")));
    place.write("local.atom", &local);
    place.write("same.atom", &feed(&entry("1", "one", 1, "a")));
    let run = place.run(&["file", "merge", "local.atom", "same.atom", "-o", "out.atom"]);
    assert_eq!((run.code, &*run.out), (0, "nothing new\n"), "{}", run.err);
    assert_eq!(place.read("out.atom"), local);

    place.write("new.atom", &feed(&(entry("1", "uno", 2, "b") + &entry("2", "two", 1, "a"))));
    let arguments =
        ["file", "merge", "local.atom", "new.atom", "-o", "local.atom", "--report", "json"];
    let run = place.run(&arguments);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["counts"]["updated"], 1);
    assert_eq!(report["counts"]["added"], 1);
    assert_eq!(report["items"][0]["id"], "1");
    assert_eq!(report["items"][0]["outcome"], "updated");
    let merged = place.read("local.atom");
    for kept in ["<!-- mine -->", "<entry><title>plain</title></entry>", "uno", "two"] {
        assert!(merged.contains(kept), "{kept} in {merged}");
    }
}

#[test]
fn a_merge_of_two_edits_keeps_both() {
    let place = TestDirectory::new();
    place.write("local.atom", &feed(&entry("1", "mine", 2, "b")));
    place.write("other.atom", &feed(&entry("1", "theirs", 2, "c")));
    let run = place.run(&["file", "merge", "local.atom", "other.atom", "-o", "out.atom"]);
    assert_eq!((run.code, &*run.out), (0, "1 in conflict\n"), "{}", run.err);
    let merged = place.read("out.atom");
    assert!(merged.contains("mine") && merged.contains("theirs"), "{merged}");
    assert!(merged.contains("<sx:conflicts>"), "{merged}");
}

#[test]
fn sse_merges_with_sse_by_the_rules_of_sse() {
    let place = TestDirectory::new();
    let opml = |text: &str, version: u32, by: &str| {
        let stamp = format!("when=\"Sat, 21 May 2005 11:43:33 GMT\" by=\"{by}\"");
        format!(
            "<opml version=\"1.0\" xmlns:sx=\"http://www.microsoft.com/schemas/rss/sse\">\n<head/>\
             <body><outline text=\"{text}\"><sx:sync id=\"1\" version=\"{version}\">\
             <sx:history {stamp}/></sx:sync></outline></body></opml>\n"
        )
    };
    place.write("local.opml", &opml("mine", 1, "a"));
    place.write("other.opml", &opml("theirs", 2, "b"));
    let run = place.run(&["file", "merge", "local.opml", "other.opml", "-o", "out.opml"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(place.read("out.opml").contains("theirs"));
    place.write("feed.atom", &feed(&entry("2", "x", 1, "a")));
    place.run(&["file", "merge", "local.opml", "feed.atom", "-o", "x"]).fails(1, "is SSE");
    assert!(!place.path("x").exists());
    // In the other direction, the SSE document is converted to FeedSync.
    let run = place.run(&["file", "merge", "feed.atom", "local.opml", "-o", "feed.atom"]);
    assert_eq!((run.code, &*run.out), (0, "1 added\n"), "{}", run.err);
}

#[test]
fn validate_names_every_fault_with_its_line() {
    let place = TestDirectory::new();
    place.write("good.atom", &feed(&entry("1", "one", 1, "a")));
    let run = place.run(&["file", "validate", "good.atom"]);
    assert_eq!((run.code, &*run.out), (0, "good.atom: no faults: atom, 1 item\n"));
    let bad = entry("1", "one", 1, "a").replace("updates=\"1\"", "updates=\"zero\"")
        + &entry("two words", "two", 1, "a")
        + &entry("3", "three", 1, "a");
    place.write("bad.atom", &feed(&bad));
    let run = place.run(&["file", "validate", "good.atom", "bad.atom"]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("bad.atom:5:") && run.out.contains("bad.atom:6:"), "{}", run.out);
    assert!(run.out.contains("bad.atom: 2 faults: atom, 1 item"), "{}", run.out);

    let run = place.run(&["file", "validate", "--json", "bad.atom"]);
    let value: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &value[0]["valid"]), (1, &false.into()));
    assert_eq!(value[0]["findings"][0]["line"], 5);

    place.write("torn.atom", "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<entry>");
    let run = place.run(&["file", "validate", "torn.atom"]);
    assert!(run.code == 1 && run.out.starts_with("torn.atom:2:"), "{}", run.out);
    place.run(&["file", "validate", "none.atom"]).fails(3, "no such file");
    place.run(&["file", "validate"]).fails(2, "required");
}

#[test]
fn validate_reports_misplaced_elements_and_checks_documents_of_atompub() {
    let place = TestDirectory::new();
    let misplaced = entry("1", "one", 1, "a").replace("<title>", "\n<sx:sharing/><title>");
    place.write("misplaced.atom", &feed(&misplaced));
    let run = place.run(&["file", "validate", "misplaced.atom"]);
    assert_eq!(run.code, 1);
    let expected = "misplaced.atom:6:1: fault: item \"1\": sx:sharing stands in entry";
    assert!(run.out.starts_with(expected), "{}", run.out);
    // Commands that read feeds still tolerate the misplaced element.
    assert_eq!(place.run(&["file", "convert", "misplaced.atom", "--to", "rss", "-o", "b"]).code, 0);

    let warning = entry("1", "one", 1, "a").replace(" by=\"a\"", "");
    place.write("warning.atom", &feed(&warning));
    let run = place.run(&["file", "validate", "--json", "warning.atom"]);
    let value: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &value[0]["valid"]), (0, &true.into()));
    assert_eq!(value[0]["findings"][0]["severity"], "warning");
    assert_eq!(value[0]["findings"][0]["clause"], "FeedSync 2.5");

    let service = |collection: &str| {
        let workspace = format!("<workspace><atom:title>w</atom:title>{collection}</workspace>");
        format!(
            "<service xmlns=\"http://www.w3.org/2007/app\" xmlns:atom=\"http://www.w3.org/2005/Atom\">\n\
             {workspace}{workspace}</service>"
        )
    };
    place.write(
        "good.xml",
        &service("<collection href=\"c\"><atom:title>c</atom:title></collection>"),
    );
    let run = place.run(&["file", "validate", "good.xml"]);
    let verdict = "good.xml: no faults: AtomPub service document, 2 workspaces, 2 collections\n";
    assert_eq!((run.code, &*run.out), (0, verdict));
    place.write("bad.xml", &service("<collection><atom:title>c</atom:title></collection>"));
    let run = place.run(&["file", "validate", "--json", "bad.xml"]);
    let value: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(
        (run.code, &value[0]["collections"], &value[0]["items"]),
        (1, &2.into(), &Value::Null)
    );
    assert_eq!(value[0]["findings"].as_array().unwrap().len(), 2);
    assert_eq!(value[0]["findings"][0]["clause"], "RFC 5023 8.3.3.1");
}

#[test]
fn a_feed_converts_there_and_back_without_loss() {
    let place = TestDirectory::new();
    place.write(
        "a.atom",
        &feed(&(entry("1", "one", 2, "b") + &entry("2", "two &amp; &lt;more>", 1, "a"))),
    );
    for format in ["rss", "opml", "json", "pox"] {
        let run = place.run(&["file", "convert", "a.atom", "--to", format, "-o", "b"]);
        assert_eq!(run.code, 0, "{}", run.err);
        let run = place.run(&["file", "convert", "b", "--to", "atom", "-o", "c.atom"]);
        assert_eq!(run.code, 0, "{}", run.err);
        let run = place.run(&["file", "merge", "a.atom", "c.atom", "-o", "d.atom"]);
        assert_eq!(run.out, "nothing new\n", "{format}");
        assert_eq!(place.read("d.atom"), place.read("a.atom"), "{format}");
    }
    let run = place.run_with(&["file", "convert", "-", "--to", "atom"], &place.read("a.atom"));
    assert_eq!(run.out, place.read("a.atom"));
    place.run(&["file", "convert", "a.atom"]).fails(2, "--to");
}

#[test]
fn items_without_sync_information_stay_so_when_converted() {
    let place = TestDirectory::new();
    let plain = "<entry><id>urn:x:1</id><title>plain &amp; simple</title></entry>\n";
    place.write("a.atom", &feed(&(plain.to_owned() + &entry("1", "one", 1, "a"))));
    let counts = |file: &str| {
        let run = place.run(&["file", "validate", "--json", file]);
        let value: Value = serde_json::from_str(&run.out).unwrap();
        (run.code, value[0]["items"].clone(), value[0]["plain"].clone())
    };
    for format in ["rss", "opml", "json"] {
        for (from, to, target) in [("a.atom", format, "b"), ("b", "atom", "c.atom")] {
            let run = place.run(&["file", "convert", from, "--to", to, "-o", target]);
            assert_eq!(run.code, 0, "{}", run.err);
            assert!(run.err.contains("1 item without sync information: kept"), "{}", run.err);
            assert_eq!(counts(target), (0, 1.into(), 1.into()), "{format}");
            assert!(place.read(target).contains("simple"), "{}", place.read(target));
        }
        assert!(place.read("c.atom").contains("<title>plain &amp; simple</title>"), "{format}");
    }
    // Plain XML has no element name for items; only `sx:sync` marks them.
    let run = place.run(&["file", "convert", "a.atom", "--to", "pox", "-o", "b"]);
    assert_eq!((run.code, counts("b")), (0, (0, 1.into(), 0.into())));
    assert!(place.read("b").contains("<title>plain &amp; simple</title>"), "{}", place.read("b"));
    // A feed without any sync information, and a feed in SSE, which marks its items.
    let rss = |items: &str| {
        format!(
            "<rss version=\"2.0\" xmlns:sx=\"http://www.microsoft.com/schemas/rss/sse\"><channel>\
             <title>t</title><item><title>plain</title></item>{items}</channel></rss>\n"
        )
    };
    place.write("plain.rss", &rss(""));
    place.write("sse.rss", &rss(&sse_item("1", "1")));
    for (from, items) in [("plain.rss", 0), ("sse.rss", 1)] {
        let run = place.run(&["file", "convert", from, "--to", "atom", "-o", "c.atom"]);
        assert_eq!(run.code, 0, "{}", run.err);
        assert_eq!(counts("c.atom"), (0, items.into(), 1.into()), "{}", place.read("c.atom"));
    }
}

fn sse_item(id: &str, version: &str) -> String {
    format!(
        "<item><title>{id}</title><sx:sync id=\"{id}\" version=\"{version}\">\
         <sx:history when=\"Sat, 21 May 2005 11:43:33 GMT\" by=\"a\"/></sx:sync></item>\n"
    )
}

#[test]
fn a_refused_item_of_sse_or_feedsync_is_named_and_told_by_the_exit_code() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let sse = format!(
        "<rss version=\"2.0\" xmlns:sx=\"http://www.microsoft.com/schemas/rss/sse\"><channel>\n\
         <title>t</title>\n{}{}</channel></rss>\n",
        sse_item("1", "one"),
        sse_item("2", "1")
    );
    place.write("sse.rss", &sse);
    let faulty = entry("1", "one", 1, "a").replace("updates=\"1\"", "updates=\"one\"");
    place.write("feed.atom", &feed(&(faulty + &entry("2", "two", 1, "a"))));
    place.write("none.atom", &feed(""));
    let none = sse.replace(&sse_item("1", "one"), "").replace(&sse_item("2", "1"), "");
    place.write("none.rss", &none.replace("<title>t</title>", "<sx:sharing version=\"0.91\"/>"));

    let run = desk.run(&["import", "notes", "sse.rss"]);
    assert_eq!((run.code, &*run.out), (1, "1 added, 1 refused\n"), "{}", run.err);
    assert!(run.err.contains("sse.rss:3:"), "{}", run.err);
    assert_eq!(desk.json(&["ls", "notes"]).as_array().unwrap().len(), 1);
    for (local, incoming, line) in [
        ("none.atom", "sse.rss", "sse.rss:3:"),
        ("none.rss", "sse.rss", "sse.rss:3:"),
        ("none.atom", "feed.atom", "feed.atom:5:"),
    ] {
        let run = place.run(&["file", "merge", local, incoming, "-o", "out"]);
        assert_eq!((run.code, &*run.out), (1, "1 added, 1 refused\n"), "{}", run.err);
        assert!(run.err.contains(line), "{}", run.err);
        assert!(place.path("out").exists(), "the others are merged");
    }
    let run = place.run(&["file", "convert", "sse.rss", "--to", "atom", "-o", "out"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("sse.rss:3:"), "{}", run.err);
}

#[test]
fn a_converted_feed_keeps_its_window_and_its_related_feeds() {
    let place = TestDirectory::new();
    let sharing = "<sx:sharing since='3' until='7'>\
         <sx:related link='http://example.org/all' type='complete'/></sx:sharing>";
    place.write(
        "a.atom",
        &format!(
            "<feed xmlns='http://www.w3.org/2005/Atom' \
             xmlns:sx='http://feedsync.org/2007/feedsync'><id>urn:f</id><title>f</title>\
             <updated>2007-01-01T00:00:00Z</updated>{sharing}</feed>"
        ),
    );
    for format in ["rss", "json", "pox", "opml"] {
        assert_eq!(
            place.run(&["file", "convert", "a.atom", "--to", format, "-o", "b"]).code,
            0,
            "{format}"
        );
        assert_eq!(
            place.run(&["file", "convert", "b", "--to", "atom", "-o", "c.atom"]).code,
            0,
            "{format}"
        );
        let back = place.read("c.atom");
        for part in ["since=\"3\"", "until=\"7\"", "http://example.org/all"] {
            assert!(back.contains(part), "{format}: {part}: {back}");
        }
    }
    place.write(
        "s.rss",
        "<rss version='2.0' xmlns:sx='http://www.microsoft.com/schemas/rss/sse'><channel><title>T\
         </title><link>http://a/</link><description>D</description><sx:sharing version='0.91' \
         since='Sat, 21 May 2005 09:43:33 GMT'><sx:related link='http://example.org/all' \
         type='complete'/></sx:sharing></channel></rss>",
    );
    let run = place.run(&["file", "convert", "s.rss", "--to", "atom"]);
    assert!(run.out.contains("http://example.org/all") && run.err.contains("since"), "{}", run.err);
}
