//! merge, validate and convert, without any endpoint.

use serde_json::Value;

use crate::support::Place;

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
    let place = Place::new();
    let local = feed(&format!("{}<entry><title>plain</title></entry>", entry("1", "one", 1, "a")));
    place.write("local.atom", &local);
    place.write("same.atom", &feed(&entry("1", "one", 1, "a")));
    let run = place.run(&["merge", "local.atom", "same.atom", "-o", "out.atom"]);
    assert_eq!((run.code, &*run.out), (0, "nothing new\n"), "{}", run.err);
    assert_eq!(place.read("out.atom"), local);

    place.write("new.atom", &feed(&(entry("1", "uno", 2, "b") + &entry("2", "two", 1, "a"))));
    let arguments = ["merge", "local.atom", "new.atom", "-o", "local.atom", "--report", "json"];
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
    let place = Place::new();
    place.write("local.atom", &feed(&entry("1", "mine", 2, "b")));
    place.write("other.atom", &feed(&entry("1", "theirs", 2, "c")));
    let run = place.run(&["merge", "local.atom", "other.atom", "-o", "out.atom"]);
    assert_eq!((run.code, &*run.out), (0, "1 in conflict\n"), "{}", run.err);
    let merged = place.read("out.atom");
    assert!(merged.contains("mine") && merged.contains("theirs"), "{merged}");
    assert!(merged.contains("<sx:conflicts>"), "{merged}");
}

#[test]
fn sse_merges_with_sse_by_the_rules_of_sse() {
    let place = Place::new();
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
    let run = place.run(&["merge", "local.opml", "other.opml", "-o", "out.opml"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(place.read("out.opml").contains("theirs"));
    place.write("feed.atom", &feed(&entry("2", "x", 1, "a")));
    place.run(&["merge", "local.opml", "feed.atom", "-o", "x"]).fails(1, "is SSE");
    assert!(!place.path("x").exists());
    // The other way round it is upgraded.
    let run = place.run(&["merge", "feed.atom", "local.opml", "-o", "feed.atom"]);
    assert_eq!((run.code, &*run.out), (0, "1 added\n"), "{}", run.err);
}

#[test]
fn validate_names_every_fault_with_its_line() {
    let place = Place::new();
    place.write("good.atom", &feed(&entry("1", "one", 1, "a")));
    let run = place.run(&["validate", "good.atom"]);
    assert_eq!((run.code, &*run.out), (0, "good.atom: no faults: atom, 1 item\n"));
    let bad = entry("1", "one", 1, "a").replace("updates=\"1\"", "updates=\"zero\"")
        + &entry("two words", "two", 1, "a")
        + &entry("3", "three", 1, "a");
    place.write("bad.atom", &feed(&bad));
    let run = place.run(&["validate", "good.atom", "bad.atom"]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("bad.atom:5:") && run.out.contains("bad.atom:6:"), "{}", run.out);
    assert!(run.out.contains("bad.atom: 2 faults: atom, 1 item"), "{}", run.out);

    let run = place.run(&["validate", "--json", "bad.atom"]);
    let value: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &value[0]["valid"]), (1, &false.into()));
    assert_eq!(value[0]["findings"][0]["line"], 5);

    place.write("torn.atom", "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<entry>");
    let run = place.run(&["validate", "torn.atom"]);
    assert!(run.code == 1 && run.out.starts_with("torn.atom:2:"), "{}", run.out);
    place.run(&["validate", "none.atom"]).fails(3, "no such file");
    place.run(&["validate"]).fails(2, "required");
}

#[test]
fn a_feed_converts_there_and_back_without_loss() {
    let place = Place::new();
    place.write(
        "a.atom",
        &feed(&(entry("1", "one", 2, "b") + &entry("2", "two &amp; &lt;more>", 1, "a"))),
    );
    for format in ["rss", "opml", "json", "pox"] {
        let run = place.run(&["convert", "a.atom", "--to", format, "-o", "b"]);
        assert_eq!(run.code, 0, "{}", run.err);
        let run = place.run(&["convert", "b", "--to", "atom", "-o", "c.atom"]);
        assert_eq!(run.code, 0, "{}", run.err);
        let run = place.run(&["merge", "a.atom", "c.atom", "-o", "d.atom"]);
        assert_eq!(run.out, "nothing new\n", "{format}");
        assert_eq!(place.read("d.atom"), place.read("a.atom"), "{format}");
    }
    let run = place.run_with(&["convert", "-", "--to", "atom"], &place.read("a.atom"));
    assert_eq!(run.out, place.read("a.atom"));
    place.run(&["convert", "a.atom"]).fails(2, "--to");
}
