//! Feeds that are files on a web server that knows nothing of us.

mod support;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use support::{Place, has};

/// Python's web server on the files of a directory.
struct Files {
    child: Child,
    url: String,
}

impl Files {
    fn serve(place: &Place, directory: &str) -> Option<Self> {
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
        Some(Self { url: format!("http://127.0.0.1:{port}"), child })
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
    let place = Place::new();
    let Some(files) = Files::serve(&place, "www") else { return };
    let (publisher, reader) = (place.desk("publisher"), place.bare("reader"));
    let id = publisher.add("Milk", "two litres");
    let publish = || publisher.ok(&["export", "notes", "--to", "rss", "--output", "www/notes.rss"]);
    publish();
    // The server dates files to the second: a file that is replaced within one looks unchanged.
    let published = std::fs::File::options().write(true).open(place.path("www/notes.rss")).unwrap();
    published.set_modified(SystemTime::now() - Duration::from_secs(10)).unwrap();
    let url = format!("{}/notes.rss", files.url);
    reader.ok(&["sync", "notes", &url]);
    assert_eq!(reader.state(), publisher.state());

    publisher.ok(&["edit", "notes", &id, "--content", "three litres"]);
    publisher.add("Bread", "one");
    publish();
    reader.ok(&["sync"]);
    assert_eq!(reader.state(), publisher.state());
    // What the reader changes stays here: a file takes nothing.
    reader.add("mine", "x");
    reader.ok(&["sync"]);
    assert_eq!(reader.state().len(), 3);
    reader.run(&["sync", "notes", "--push"]).fails(4, "can only be read");
}

#[test]
fn a_plain_feed_is_imported_and_cannot_be_synchronised() {
    let place = Place::new();
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
    assert_eq!(place.run(&["validate", &url]).code, 0);
    desk.run(&["import", "notes", &format!("{}/none", files.url)]).fails(4, "404");
}

#[test]
fn credentials_of_an_address_are_neither_shown_nor_imported() {
    let place = Place::new();
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
