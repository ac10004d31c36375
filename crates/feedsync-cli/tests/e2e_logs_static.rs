//! Logs as files on independent web servers: unmodified nginx and lighttpd, and a script that appends the
//! posted data.

#![cfg(unix)]

mod support;

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread;

use support::application::{Answer, Application};
use support::web::{RecordedRequest, WebServer};
use support::{TestDirectory, TestEndpoint, has, output, until};

const FEED: &str = "https://news.example/feed";

type Start = fn(&TestDirectory) -> Option<WebServer>;

const NGINX: Start = |place| WebServer::nginx(place, "", "");
const BOTH: [Start; 2] = [NGINX, WebServer::lighttpd];

fn append(place: &TestDirectory, file: &str, text: &str) {
    let mut file = OpenOptions::new().append(true).open(place.path(file)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Status, content range and body of a response, as in the table of measurements.
fn told(answer: &Answer) -> (u16, Option<&str>, &str) {
    (answer.status, answer.header("content-range"), answer.text())
}

/// Checks the responses of web servers to requests for a growing file with its former entity tag.
#[test]
fn web_servers_answer_as_was_measured() {
    for start in BOTH {
        let place = TestDirectory::new();
        let Some(server) = start(&place) else { continue };
        place.write("www/x.jsonl", "123456789\n");
        let try_ask = |headers: &[&str]| {
            Application::direct().ask("GET", &server.url("x.jsonl"), headers, None)
        };
        let ask = |headers: &[&str]| try_ask(headers).unwrap();
        let whole = ask(&[]);
        let former = whole.header("etag").expect("a tag").to_owned();
        assert!(former.starts_with('"'), "a strong one: {former}");
        let (unless, only_if) = (format!("If-None-Match: {former}"), format!("If-Range: {former}"));
        let (behind, last) = ("Range: bytes=10-", "Range: bytes=9-");

        assert_eq!(told(&ask(&[&unless, behind])), (304, None, ""));
        for headers in [&[behind][..], &[&only_if, behind]] {
            let answer = ask(headers);
            assert_eq!(answer.status, 416);
            // Only nginx reports the length.
            let length = answer.header("content-range");
            assert_eq!(length, (server.program == "nginx").then_some("bytes */10"));
        }
        assert_eq!(told(&ask(&["Range: 10-"])), (200, None, "123456789\n"), "without its unit");

        append(&place, "www/x.jsonl", "abcd\n");
        // For a moment the server may answer with the state before the append and the former tag.
        let grown = until("the append is seen", || match ask(&[&unless, behind]) {
            answer if answer.status == 304 => {
                assert_eq!(answer.header("etag"), Some(&*former));
                Err("304".to_owned())
            }
            answer => Ok(answer),
        });
        assert_eq!(told(&grown), (206, Some("bytes 10-14/15"), "abcd\n"));
        assert_ne!(grown.header("etag"), Some(&*former));
        assert_eq!(told(&ask(&[&only_if, behind])), (200, None, "123456789\nabcd\n"));
        assert_eq!(told(&ask(&[last])), (206, Some("bytes 9-14/15"), "\nabcd\n"));

        place.write("www/x.jsonl", "12\n");
        // For a moment the server may announce the former length and then close the connection.
        let cut = until("the rewriting is seen", || match try_ask(&[&unless, behind]) {
            Some(answer) if answer.status == 416 => Ok(answer),
            other => Err(format!("{:?}", other.map(|answer| answer.status))),
        });
        let length = cut.header("content-range");
        assert_eq!(length, (server.program == "nginx").then_some("bytes */3"));
    }
}

/// A user who publishes the log of a device as a file.
struct Publisher<'p> {
    place: &'p TestDirectory,
    desk: TestEndpoint<'p>,
}

impl<'p> Publisher<'p> {
    fn new(place: &'p TestDirectory) -> Self {
        let desk = place.bare("writer");
        desk.ok(&["collection", "create", "reading"]);
        let publisher = Self { place, desk };
        publisher.does(&["subscribe", FEED, "--title", "News", "--folder", "Daily"]);
        publisher
    }

    /// Runs a `reader` command and publishes the log; returns the number of bytes by which the file grew.
    fn does(&self, words: &[&str]) -> usize {
        self.desk.ok(&[&["reader"], words].concat());
        self.desk.ok(&["reader", "sync", "reading"]);
        let file = self.place.path("www/reading.jsonl");
        let length = || std::fs::metadata(&file).map_or(0, |file| file.len());
        let before = length();
        self.desk.ok(&["log", "pull", "reading", file.to_str().unwrap()]);
        (length() - before).try_into().unwrap()
    }

    fn publishes_a_snapshot(&self) {
        let file = self.place.path("www/reading.jsonl").display().to_string();
        self.desk.ok(&["log", "snapshot", &file, "--output", &format!("{file}.snapshot")]);
    }

    /// Number of bytes at the end of the log that are read again to recognise it.
    fn compared(&self) -> usize {
        let text = self.place.read("www/reading.jsonl");
        text.split_inclusive('\n').next_back().unwrap().len().min(256)
    }
}

/// Complete state of a device.
fn known(desk: &TestEndpoint<'_>) -> String {
    desk.ok(&["reader", "export", "--all"])
}

#[test]
fn an_append_is_seen_in_one_request_of_the_new_bytes() {
    for start in BOTH {
        let place = TestDirectory::new();
        let Some(mut server) = start(&place) else { continue };
        let publisher = Publisher::new(&place);
        let phone = place.bare("phone");
        let url = server.url("reading.jsonl");
        phone.ok(&["reader", "sync", &url]);
        assert_eq!(known(&phone), known(&publisher.desk));
        server.asked();

        let compared = publisher.compared();
        let new = publisher.does(&["mark", FEED, "--read", "urn:x:1", "--read", "urn:x:2"]);
        let seen = until("the append is seen", || {
            let news = phone.json(&["reader", "sync"])["news"] == true;
            let asked = server.asked();
            // A cache may not have the append yet.
            let is_old = asked.len() == 1 && asked[0].status == 304 && asked[0].bytes == 0;
            assert_eq!(is_old, !news, "{asked:?}");
            if news { Ok(asked) } else { Err(format!("{asked:?}")) }
        });
        let path = "/reading.jsonl".to_owned();
        let one =
            RecordedRequest { method: "GET".to_owned(), path, status: 206, bytes: compared + new };
        assert_eq!(seen, [one], "{}", server.program);
        assert_eq!(known(&phone), known(&publisher.desk));

        assert_eq!(phone.json(&["reader", "sync"])["news"], false);
        let asked = server.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!((asked[0].status, asked[0].bytes), (304, 0));
    }
}

#[test]
fn a_new_device_begins_with_the_snapshot_beside_the_file() {
    for start in BOTH {
        let place = TestDirectory::new();
        let Some(mut server) = start(&place) else { continue };
        let publisher = Publisher::new(&place);
        for number in 0..40 {
            let article = format!("urn:x:{number}");
            publisher.desk.ok(&["reader", "mark", FEED, "--read", &article]);
        }
        publisher.does(&["mark", FEED, "--up-to", "now"]);
        publisher.publishes_a_snapshot();
        let compared = publisher.compared();
        let url = server.url("reading.jsonl");
        server.asked();
        let phone = place.bare("phone");
        phone.ok(&["reader", "sync", &url]);
        let asked = server.asked();
        // lighttpd serves the file itself for requests below its path.
        let [_, snapshot, log] = &asked[..] else { panic!("{asked:?}") };
        let size = place.read("www/reading.jsonl.snapshot").len();
        let path = "/reading.jsonl.snapshot";
        assert_eq!((&*snapshot.path, snapshot.status, snapshot.bytes), (path, 200, size));
        assert_eq!((&*log.path, log.status, log.bytes), ("/reading.jsonl", 206, compared));
        assert_eq!(known(&phone), known(&publisher.desk));
        // Changes after the snapshot are read on top of it.
        publisher.does(&["star", FEED, "urn:x:9"]);
        until("the append is seen", || {
            let tablet = place.path("tablet");
            let _ = std::fs::remove_dir_all(&tablet);
            let tablet = place.bare("tablet");
            tablet.ok(&["reader", "sync", &url]);
            let (mine, theirs) = (known(&tablet), known(&publisher.desk));
            if mine == theirs { Ok(()) } else { Err(format!("{mine} and not {theirs}")) }
        });
    }
}

/// One server or proxy does not support ranges, and one compresses its responses.
#[test]
fn whole_responses_are_accepted_and_compressed_ones_refused() {
    let place = TestDirectory::new();
    let Some(server) = WebServer::nginx(&place, "", "max_ranges 0;") else { return };
    let publisher = Publisher::new(&place);
    let phone = place.bare("phone");
    phone.ok(&["reader", "sync", &server.url("reading.jsonl")]);
    for number in 0..3 {
        publisher.does(&["mark", FEED, "--read", &format!("urn:x:{number}")]);
        phone.ok(&["reader", "sync"]);
        assert_eq!(known(&phone), known(&publisher.desk));
    }

    let place = TestDirectory::new();
    let server = WebServer::nginx(&place, "", "gzip_static always;").unwrap();
    let publisher = Publisher::new(&place);
    output("gzip", &["--keep", "--force", "reading.jsonl"], &place.path("www"));
    let phone = place.bare("phone");
    phone
        .run(&["reader", "sync", &server.url("reading.jsonl")])
        .fails(4, "it has a Content-Encoding");
    // No part of the log was accepted.
    assert_eq!(phone.ok(&["reader", "list"]), "no subscriptions\n");
    // A front end that compresses on request sends the log uncompressed, because the client does not ask for
    // compression.
    let place_of_hub = TestDirectory::new();
    let front = format!(
        "gzip on; gzip_types application/x-ndjson; gzip_min_length 1;\n    \
         location = /reading.jsonl {{ alias {}; }}",
        place.path("www/reading.jsonl").display()
    );
    let server = WebServer::nginx(&place_of_hub, "types { application/x-ndjson jsonl; }", &front);
    let url = server.as_ref().unwrap().url("reading.jsonl");
    let packed = Application::direct().ask("GET", &url, &["Accept-Encoding: gzip"], None).unwrap();
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    phone.ok(&["reader", "sync", &url, "--begin-again"]);
    assert_eq!(known(&phone), known(&publisher.desk));
}

/// The script that appends, behind nginx, which serves the file.
struct Appending {
    child: Child,
    port: u16,
}

impl Appending {
    fn start(place: &TestDirectory) -> Option<Self> {
        if !has("python3") {
            return None;
        }
        std::fs::create_dir_all(place.path("www")).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/append.py");
        let mut child = Command::new("python3")
            .arg(script)
            .arg(place.path("www"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim_end().strip_prefix("port ").and_then(|port| port.parse().ok());
        Some(Self { child, port: port.unwrap_or_else(|| panic!("{line}")) })
    }
}

impl Drop for Appending {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn devices_keep_in_step_through_a_script_that_knows_nothing_of_readers() {
    let place = TestDirectory::new();
    let Some(script) = Appending::start(&place) else { return };
    let post = format!(
        "location / {{ if ($request_method = POST) {{ proxy_pass http://127.0.0.1:{}; }} }}",
        script.port
    );
    let Some(server) = WebServer::nginx(&place, "", &post) else { return };
    let url = server.url("reading.jsonl");
    let devices = ["laptop", "phone", "tablet"].map(|name| place.bare(name));
    thread::scope(|scope| {
        for desk in &devices {
            let url = &url;
            scope.spawn(move || {
                for number in 0..10 {
                    let article = format!("urn:{}:{number}", desk.name);
                    let feed = format!("https://{}.example/{number}", desk.name);
                    desk.ok(&["reader", "subscribe", &feed]);
                    desk.ok(&["reader", "mark", &feed, "--read", &article]);
                    desk.ok(&["reader", "sync", url]);
                }
            });
        }
    });
    for desk in &devices {
        desk.ok(&["reader", "sync"]);
    }
    let [laptop, phone, tablet] = devices.each_ref().map(known);
    assert_eq!(laptop, phone);
    assert_eq!(laptop, tablet);
    let listed = devices[0].json(&["reader", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 30);
    let log = devices[0].json(&["log", "verify", &url]);
    assert_eq!(
        (&log["faults"], &log["records"], &log["devices"]),
        (&0.into(), &60.into(), &3.into())
    );
}
