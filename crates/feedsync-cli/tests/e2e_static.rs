//! Feeds as files on an independent web server.

mod support;

use std::cell::Cell;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use support::{Hub, TestDirectory, has};

/// Python's web server for the files of a directory.
struct Files {
    child: Child,
    url: String,
    dated: Cell<u64>,
}

impl Files {
    fn serve(place: &TestDirectory, directory: &str) -> Option<Self> {
        if !has("python3") {
            return None;
        }
        std::fs::create_dir_all(place.path(directory)).unwrap();
        let mut child = Command::new("python3")
            .args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory"])
            .arg(place.path(directory))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.split("port ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        Some(Self { url: format!("http://127.0.0.1:{port}"), child, dated: Cell::new(1_000) })
    }

    /// Sets the time of a file to one second after that of the previous one. The server reports times in
    /// seconds: a file replaced within the same second would look unchanged.
    fn date(&self, place: &TestDirectory, file: &str) {
        self.dated.set(self.dated.get() - 1);
        let file = std::fs::File::options().write(true).open(place.path(file)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(self.dated.get())).unwrap();
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_collection_exported_to_a_web_server_is_followed_by_others() {
    let place = TestDirectory::new();
    let Some(files) = Files::serve(&place, "www") else { return };
    let (publisher, reader) = (place.desk("publisher"), place.bare("reader"));
    let id = publisher.add("Milk", "two litres");
    let publish = || {
        publisher.ok(&["export", "notes", "--to", "rss", "--output", "www/notes.rss"]);
        files.date(&place, "www/notes.rss");
    };
    publish();
    let url = format!("{}/notes.rss", files.url);
    reader.ok(&["sync", "notes", &url]);
    assert_eq!(reader.state(), publisher.state());

    publisher.ok(&["edit", "notes", &id, "--content", "three litres"]);
    publisher.add("Bread", "one");
    publish();
    reader.ok(&["sync"]);
    assert_eq!(reader.state(), publisher.state());
    // The reader's own changes stay local, because a file accepts no changes.
    reader.add("mine", "x");
    reader.ok(&["sync"]);
    assert_eq!(reader.state().len(), 3);
    reader.run(&["sync", "notes", "--push"]).fails(4, "read-only");
}

/// The usage model of FeedSync 1.3 and 1.4 with files alone, in every format. After a purge, one subscriber was
/// away too long, and another one begins.
#[test]
fn subscribers_of_published_files_stay_in_sync_after_a_purge() {
    for format in ["atom", "rss", "opml", "pox", "json"] {
        let place = TestDirectory::new();
        let Some(files) = Files::serve(&place, "www") else { return };
        let publisher = place.desk("publisher");
        let (kept, gone) = (publisher.add("Milk", "two litres"), publisher.add("Bread", "one"));
        publisher.ok(&["collection", "set", "notes", "partial.count=2", "expires=1h"]);
        let publish = |expected: &[u64]| {
            let base = format!("{}/", files.url);
            let arguments = [
                "collection",
                "publish",
                "notes",
                "--directory",
                "www",
                "--url",
                &base,
                "--to",
                format,
            ];
            let written = publisher.json(&arguments);
            let written = written.as_array().unwrap();
            let items: Vec<_> = written.iter().map(|it| it["items"].as_u64().unwrap()).collect();
            assert_eq!(items, expected, "{format}");
            for file in written.iter().filter(|it| it["changed"] == true) {
                files.date(&place, file["file"].as_str().unwrap());
            }
            written.iter().filter(|it| it["changed"] == true).count()
        };
        assert_eq!(publish(&[2, 2]), 2);
        assert_eq!(publish(&[2, 2]), 0, "files that are the same stay");
        let suffix = if format == "pox" { "xml" } else { format };
        let url = format!("{}/notes.{suffix}", files.url);
        assert_eq!(place.run(&["file", "validate", &url]).code, 0);
        assert_eq!(
            place.run(&["file", "validate", &url.replace("notes.", "notes.complete.")]).code,
            0
        );
        let (early, late) = (place.bare("early"), place.bare("late"));
        early.ok(&["sync", "notes", &url]);
        assert_eq!(early.state(), publisher.state());
        // Items that only the subscriber has always stay.
        let mine = early.add("mine", "x");

        publisher.ok(&["rm", "notes", &gone]);
        publish(&[2, 2]);
        publisher.ok(&["collection", "set", "notes", "keep.tombstones=0s"]);
        publisher.ok(&["store", "purge", "notes"]);
        for title in ["Eggs", "Salt", "Tea"] {
            publisher.add(title, "x");
        }
        assert_eq!(publish(&[4, 2]), 2, "{format}");
        early.ok(&["sync"]);
        let held = early.state();
        assert!(!held.iter().any(|it| it.to_string().contains(&gone)), "{format}: {held:?}");
        assert!(held.iter().any(|it| it.to_string().contains(&mine)), "{format}: {held:?}");
        assert_eq!(held.len(), 5);
        late.ok(&["sync", "notes", &url]);
        assert_eq!(late.state(), publisher.state(), "{format}");
        assert!(late.state().iter().any(|it| it.to_string().contains(&kept)), "{format}");
    }
}

/// Publishes feeds of several collections, and SSE feeds beside FeedSync feeds, in one directory.
#[test]
fn several_collections_are_published_at_once_and_as_sse_for_those_who_know_nothing_else() {
    let place = TestDirectory::new();
    let Some(files) = Files::serve(&place, "www") else { return };
    let (publisher, reader) = (place.desk("publisher"), place.bare("reader"));
    publisher.ok(&["collection", "create", "links", "--format", "opml"]);
    publisher.ok(&["add", "links", "--title", "A list", "--content", ""]);
    publisher.ok(&["collection", "set", "notes", "partial.count=2"]);
    let (kept, gone) = (publisher.add("Milk", "two litres"), publisher.add("Bread", "one"));
    let base = format!("{}/", files.url);
    let publish = |more: &[&str]| {
        let arguments =
            ["collection", "publish", "links", "notes", "links", "-d", "www", "--url", &*base];
        let written = publisher.json(&[&arguments[..], more].concat());
        let written: Vec<_> = written.as_array().unwrap().clone();
        for file in written.iter().filter(|it| it["changed"] == true) {
            files.date(&place, file["file"].as_str().unwrap());
        }
        let name = |it: &serde_json::Value| it["file"].as_str().unwrap()["www/".len()..].to_owned();
        written.iter().filter(|it| it["changed"] == true).map(name).collect::<Vec<_>>()
    };
    let own = ["links.complete.opml", "links.opml", "notes.complete.atom", "notes.atom"];
    assert_eq!(publish(&[]), own);
    assert_eq!(publish(&[]), [""; 0], "files that are the same stay");
    let sse = ["--to", "rss", "--sse"];
    let lists = ["links.complete.rss", "links.sse.complete.rss", "links.rss", "links.sse.rss"];
    let notes = ["notes.complete.rss", "notes.sse.complete.rss", "notes.rss", "notes.sse.rss"];
    assert_eq!(publish(&sse), [lists, notes].concat());
    assert_eq!(publish(&sse), [""; 0]);
    let text = place.read("www/notes.sse.rss");
    let complete = format!("{base}notes.sse.complete.rss");
    assert!(text.contains(&complete) && text.contains("until="), "{text}");

    // The partial feed begins after the reader's position, so the reader detects the gap and reads the
    // complete feed.
    let url = format!("{base}notes.sse.rss");
    reader.ok(&["sync", "notes", &url]);
    let seen = |desk: &support::TestEndpoint<'_>| -> Vec<_> {
        let items = desk.json(&["ls", "notes", "--all"]);
        let shown =
            |it: &serde_json::Value| ["id", "title", "deleted"].map(|key| it[key].to_string());
        let mut seen: Vec<_> = items.as_array().unwrap().iter().map(shown).collect();
        seen.sort();
        seen
    };
    assert_eq!(seen(&reader), seen(&publisher));
    publisher.ok(&["rm", "notes", &gone]);
    std::thread::sleep(Duration::from_millis(1_100));
    for title in ["Eggs", "Salt", "Tea"] {
        publisher.add(title, "x");
    }
    publisher.ok(&["edit", "notes", &kept, "--content", "three litres"]);
    publish(&sse);
    reader.ok(&["sync"]);
    assert_eq!(seen(&reader), seen(&publisher));
    assert_eq!(reader.json(&["show", "notes", &kept])["content"], "three litres");
    assert_eq!(reader.json(&["show", "notes", &gone])["deleted"], true);

    let atom = ["collection", "publish", "notes", "-d", "www", "--url", &*base, "--sse"];
    publisher.run(&atom).fails(2, "no feed of notes is in a format of SSE");
    publisher
        .run(&["collection", "publish", "-d", "www", "--url", &base])
        .fails(2, "several collections");
    publisher.run(&["collection", "publish", "none", "-d", "www", "--url", &base]).fails(3, "none");
}

/// A complete feed that is exported with its address shows late subscribers that it is complete.
#[test]
fn exported_feed_with_its_address_is_a_complete_feed() {
    let place = TestDirectory::new();
    let Some(files) = Files::serve(&place, "www") else { return };
    let (publisher, reader) = (place.desk("publisher"), place.bare("reader"));
    let (kept, gone) = (publisher.add("Milk", "two litres"), publisher.add("Bread", "one"));
    let url = format!("{}/notes.rss", files.url);
    let export = || {
        publisher.ok(&[
            "export",
            "notes",
            "--to",
            "rss",
            "--output",
            "www/notes.rss",
            "--url",
            &url,
        ]);
        files.date(&place, "www/notes.rss");
    };
    export();
    reader.ok(&["sync", "notes", &url]);
    publisher.ok(&["rm", "notes", &gone]);
    export();
    publisher.ok(&["collection", "set", "notes", "keep.tombstones=0s"]);
    publisher.ok(&["store", "purge", "notes"]);
    export();
    reader.ok(&["sync"]);
    assert_eq!(reader.state(), publisher.state());
    assert!(
        reader.state().iter().any(|it| it.to_string().contains(&kept)),
        "older than what was purged"
    );
}

#[test]
fn publish_watches_for_changes() {
    let place = TestDirectory::new();
    let publisher = place.desk("publisher");
    let mut watching =
        place.command(&["--data", "publisher", "collection", "publish", "notes", "--watch"]);
    watching.args(["--directory", "www", "--url", "https://example.org"]).stdout(Stdio::null());
    let mut watching = watching.spawn().unwrap();
    let until = |text: &str| {
        for _ in 0..200 {
            if std::fs::read_to_string(place.path("www/notes.atom"))
                .is_ok_and(|it| it.contains(text))
            {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{text} was not published");
    };
    until("https://example.org/notes.complete.atom");
    publisher.add("Milk", "two litres");
    until("Milk");
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn a_plain_feed_is_imported_and_cannot_be_synchronised() {
    let place = TestDirectory::new();
    let Some(files) = Files::serve(&place, "www") else { return };
    let desk = place.desk("desk");
    place.write(
        "www/feed.rss",
        "<rss version=\"2.0\"><channel><title>t</title>\
         <item><title>a</title><link>http://example.org/a</link></item></channel></rss>",
    );
    let url = format!("{}/feed.rss", files.url);
    desk.run(&["sync", "notes", &url]).fails(4, "import");
    assert_eq!(desk.ok(&["import", "notes", &url]), "1 added\n");
    assert_eq!(desk.ok(&["import", "notes", &url]), "nothing new\n");
    assert_eq!(place.run(&["file", "validate", &url]).code, 0);
    desk.run(&["import", "notes", &format!("{}/none", files.url)]).fails(4, "404");
}

#[test]
fn credentials_of_an_address_are_neither_shown_nor_imported() {
    let place = TestDirectory::new();
    let Some(files) = Files::serve(&place, "www") else { return };
    let desk = place.desk("desk");
    let feed = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x:feed</id><title>F</title>\
        <updated>2026-01-01T00:00:00Z</updated><entry><id>urn:x:1</id><title>T</title>\
        <updated>2026-01-01T00:00:00Z</updated><link href=\"relative\"/></entry></feed>";
    std::fs::write(place.path("www/feed.atom"), feed).unwrap();
    let url = format!("{}/feed.atom", files.url.replace("://", "://anna:secret@"));
    assert_eq!(desk.ok(&["import", "notes", &url]), "1 added\n");
    let exported = desk.ok(&["export", "notes", "--to", "atom"]);
    assert!(exported.contains(&files.url), "the base of relative links: {exported}");
    assert!(!exported.contains("secret"), "{exported}");
    let missing = desk.run(&["import", "notes", &url.replace("feed.atom", "none")]);
    assert!(!missing.err.contains("secret"), "{missing:?}");
}

#[test]
fn media_are_published_beside_the_feeds_and_their_items_lead_to_them() {
    let place = TestDirectory::new();
    place.desk("hub");
    let hub = Hub::start(&place, "hub");
    place.write("cat.png", "what is in a picture");
    let here = place.path(".");
    let accept = r#"{"accept": ["image/*", "application/atom+xml;type=entry"]}"#;
    let kind = "Content-Type: application/json";
    let put = ["-s", "-f", "-X", "PUT", "-H", kind, "-d", accept, &*hub.notes()];
    support::output("curl", &put, &here);
    let kind = "Content-Type: image/png";
    let post =
        ["-s", "-f", "-H", kind, "-H", "Slug: cat.png", "--data-binary", "@cat.png", &*hub.notes()];
    support::output("curl", &post, &here);
    let url = "https://example.org/feeds/";
    let publish = [
        "--data",
        "hub",
        "collection",
        "publish",
        "notes",
        "-d",
        "out",
        "--url",
        url,
        "--to",
        "atom,rss",
    ];
    assert_eq!(place.run(&publish).code, 0);
    let files: Vec<_> = std::fs::read_dir(place.path("out/media")).unwrap().collect();
    assert_eq!(files.len(), 1);
    let file = files[0].as_ref().unwrap().path();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "what is in a picture");
    let name = file.file_name().unwrap().to_str().unwrap().to_owned();
    for feed in ["notes.atom", "notes.complete.atom", "notes.rss", "notes.complete.rss"] {
        let text = place.read(&format!("out/{feed}"));
        assert!(
            text.contains(&format!("https://example.org/feeds/media/{name}")),
            "{feed}: {text}"
        );
    }
    // An exported feed links to media beside it, under its own address or relative to it.
    let export = ["--data", "hub", "export", "notes", "--to", "atom"];
    let run = place.run(&export);
    assert!(run.err.contains("1 file of media left out"), "{}", run.err);
    for (more, address) in [
        (&[][..], format!("\"a%20b/files/{name}\"")),
        (&["--url", "https://h/x/f.atom"], format!("\"https://h/x/a%20b/files/{name}\"")),
    ] {
        let _ = std::fs::remove_dir_all(place.path("out/a b"));
        let file = ["--output", "out/one.atom", "--media", "a b/files"];
        let run = place.run(&[&export[..], &file, more].concat());
        assert_eq!((run.code, &*run.err), (0, ""));
        let text = place.read("out/one.atom");
        assert!(text.contains(&address), "{text}");
        assert_eq!(place.read(&format!("out/a b/files/{name}")), "what is in a picture");
    }
    for directory in ["", "..", "../x", "/tmp/x"] {
        place
            .run(&[&export[..], &["--output", "out/two.atom", "--media", directory]].concat())
            .fails(2, "beside the feed");
    }
    for feed in ["out/notes.atom", "out/one.atom"] {
        let validated = place.run(&["file", "validate", feed]);
        assert_eq!(validated.code, 0, "{}", validated.out);
    }
    // A reader of the feed gets the same item as the hub, without the links that the publisher adds.
    let desk = place.desk("desk");
    desk.ok(&["import", "notes", "out/notes.complete.atom"]);
    let sees = |data: &str| {
        let listed = place.run(&["--data", data, "--json", "ls", "notes"]).out;
        let mut items: Vec<serde_json::Value> = serde_json::from_str(&listed).unwrap();
        // Each of them says when it got the item.
        items.iter_mut().for_each(|item| drop(item.as_object_mut().unwrap().remove("changed")));
        assert_eq!(items.len(), 1, "{listed}");
        items
    };
    assert_eq!(sees("desk"), sees("hub"));
}
