//! A hub behind proxies that compress its responses. nginx then marks entity tags as weak, Apache appends the
//! coding to them, and neither respects `no-transform`.

#![cfg(unix)]

mod support;

use support::application::{Answer, Application, entry};
use support::web::WebServer;
use support::{Hub, TestDirectory, TestEndpoint};

const PACKED: &str = "Accept-Encoding: gzip";
const RECORDS: &str = "Content-Type: application/x-ndjson";

/// nginx that compresses all responses itself and does not forward `Accept-Encoding`.
fn nginx(place: &TestDirectory, behind: &str) -> Option<WebServer> {
    let gzip = "gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;";
    let pass = format!(
        "location / {{ proxy_pass {behind}; proxy_set_header Host $http_host; \
         proxy_set_header Accept-Encoding \"\"; }}"
    );
    WebServer::nginx(place, gzip, &pass)
}

/// Whether a proxy has modified an entity tag.
type IsMarked = fn(&str) -> bool;

/// Starts each proxy; returns it with the check for its modification of entity tags.
fn proxies(place: &TestDirectory, behind: &str) -> Vec<(WebServer, IsMarked)> {
    let is_weak: IsMarked = |tag| tag.starts_with("W/");
    let is_suffixed: IsMarked = |tag| tag.ends_with("-gzip\"");
    let all = [(nginx(place, behind), is_weak), (WebServer::apache(place, behind), is_suffixed)];
    all.into_iter().filter_map(|(proxy, mark)| Some((proxy?, mark))).collect()
}

fn ask(method: &str, url: &str, headers: &[&str], body: Option<&str>) -> Answer {
    let answer = Application::direct().ask(method, url, headers, body.map(str::as_bytes));
    answer.unwrap_or_else(|| panic!("no answer to {method} {url}"))
}

fn tag(answer: &Answer) -> String {
    answer.header("etag").expect("a tag").to_owned()
}

fn record(number: usize) -> String {
    format!("{{\"n\":{number},\"text\":\"{}\"}}\n", "x".repeat(400))
}

#[test]
fn logs_are_read_and_appended_to_through_proxies_that_compress() {
    let place = TestDirectory::new();
    let hub = Hub::start(&place, "hub");
    for (proxy, is_marked) in proxies(&place, &hub.url) {
        let log = proxy.url(&format!("logs/{}", proxy.program));
        let begun = ask("POST", &log, &[RECORDS, "If-None-Match: *"], Some(&record(0)));
        assert_eq!(begun.status, 201, "{}", proxy.program);
        for number in 1..4 {
            let read = ask("GET", &log, &[PACKED], None);
            assert_eq!(read.header("content-encoding"), Some("gzip"), "{}", proxy.program);
            let tag = tag(&read);
            assert!(is_marked(&tag), "{tag}");
            let held = ask("GET", &log, &[PACKED, &format!("If-None-Match: {tag}")], None);
            assert_eq!(held.status, 304, "{}: {tag}", proxy.program);
            let condition = format!("If-Match: {tag}");
            let appended = ask("POST", &log, &[RECORDS, &condition], Some(&record(number)));
            assert_eq!(appended.status, 204, "{}: {}", proxy.program, appended.text());
            let late = ask("POST", &log, &[RECORDS, &condition], Some(&record(9)));
            assert_eq!(late.status, 412, "{}: the tag is no longer that of the log", proxy.program);
        }
        let whole: String = (0..4).map(record).collect();
        assert_eq!(ask("GET", &log, &[], None).text(), whole);
    }
}

/// Starts nginx with the `location` block of the how-to, in front of a hub.
fn documented(place: &TestDirectory, behind: &str) -> Option<WebServer> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/how-to/reverse-proxy.md")).unwrap();
    let (_, block) = text.split_once("    location / {").expect("a block for all addresses");
    let (block, _) = block.split_once("\n    }\n").expect("its end");
    let passed = block.replace("http://127.0.0.1:4287", behind);
    assert_ne!(passed, block, "the address of the hub");
    WebServer::nginx(place, "client_max_body_size 0;", &format!("location / {{{passed}\n}}"))
}

#[test]
fn documented_nginx_configuration_passes_names_events_and_uploads() {
    let place = TestDirectory::new();
    place.desk("hub");
    let add = ["--data", "hub", "user", "add", "anna", "--administrator", "--password-stdin"];
    assert_eq!(place.run_with(&add, "correct horse\n").code, 0);
    let hub = Hub::start_with(&place, "hub", |command| {
        command.args(["--trusted-proxies", "127.0.0.1"]);
    });
    let Some(proxy) = documented(&place, &hub.url) else { return };
    let (notes, events) = (proxy.url("collections/notes"), proxy.url("collections/notes/events"));
    assert_eq!(ask("GET", &notes, &[], None).status, 401);
    let anna = Application::new(support::application::Route::Direct, Some("anna:correct horse"));
    let here = place.path(".");
    let mut follower = std::process::Command::new("curl")
        .args(["--silent", "--no-buffer", "--max-time", "60", "-u", "anna:correct horse", &events])
        .stdout(std::process::Stdio::piped())
        .current_dir(&here)
        .spawn()
        .unwrap();
    let mut told = std::io::BufReader::new(follower.stdout.take().unwrap());
    // The stream stays open: its beginning and the event arrive before it ends.
    let mut await_line = |begin: &str| {
        let mut line = String::new();
        while !line.starts_with(begin) {
            line.clear();
            let length = std::io::BufRead::read_line(&mut told, &mut line).unwrap();
            assert_ne!(length, 0, "no line {begin}");
        }
    };
    await_line("retry:");
    assert_eq!(anna.post(&notes, &entry("Milk")).status, 201);
    await_line("data:");
    follower.kill().unwrap();
    follower.wait().unwrap();
    // The request body is larger than the default limit of nginx.
    let item = |number: usize| {
        format!(
            "<entry><id>urn:x:{number}</id><title>{number}</title>\
             <updated>2026-01-02T03:04:05Z</updated><content>{}</content>\
             <sx:sync id='x{number}' updates='1'>\
             <sx:history sequence='1' when='2026-01-02T03:04:05Z' by='b'/></sx:sync></entry>",
            "x".repeat(400_000)
        )
    };
    let feed = format!(
        "<feed xmlns='http://www.w3.org/2005/Atom' \
         xmlns:sx='http://feedsync.org/2007/feedsync'><id>urn:x</id><title>x</title>\
         <updated>2026-01-02T03:04:05Z</updated>{}</feed>",
        (0..4).map(item).collect::<String>()
    );
    let atom = ["Content-Type: application/atom+xml"];
    let changes = format!("{notes}/changes");
    let taken = anna.ask("POST", &changes, &atom, Some(feed.as_bytes())).unwrap();
    assert_eq!(taken.status, 200, "{}", taken.text());
    // Feeds contain the addresses of the proxy.
    let feed = anna.get(&notes);
    assert!(feed.text().contains(&proxy.url("collections/notes")), "{}", feed.text());
}

#[test]
fn devices_sync_their_reading_through_proxies_that_compress() {
    let place = TestDirectory::new();
    let hub = Hub::start(&place, "hub");
    for (proxy, _) in proxies(&place, &hub.url) {
        let url = proxy.url(&format!("logs/reading-of-{}", proxy.program));
        let names = if proxy.program == "nginx" { ["one", "two"] } else { ["three", "four"] };
        let [one, two] = names.map(|name| place.bare(name));
        let feed = "https://news.example/feed";
        one.ok(&["reader", "subscribe", feed]);
        one.ok(&["reader", "sync", &url]);
        two.ok(&["reader", "sync", &url]);
        two.ok(&["reader", "mark", feed, "--read", "urn:x:1"]);
        two.ok(&["reader", "sync"]);
        one.ok(&["reader", "sync"]);
        let known = |desk: &TestEndpoint<'_>| desk.ok(&["reader", "export", "--all"]);
        assert!(known(&one).contains("urn:x:1"), "{}", proxy.program);
        assert_eq!(known(&one), known(&two), "{}", proxy.program);
        let line = place.path("line.jsonl");
        place.write("line.jsonl", &record(0));
        let log = proxy.url(&format!("logs/plain-{}", proxy.program));
        one.ok(&["log", "create", &log]);
        one.ok(&["log", "append", &log, line.to_str().unwrap()]);
        let read = ask("GET", &log, &[], None);
        let (_, appended) = read.text().split_once('\n').expect("a first line that names the log");
        assert_eq!(appended, record(0));
    }
}

#[test]
fn feeds_that_did_not_change_are_not_sent_again_through_proxies_that_compress() {
    let place = TestDirectory::new();
    let hub = Hub::start(&place, "hub");
    place.run(&["--data", "hub", "collection", "create", "notes"]);
    for title in ["one", "two", "three"] {
        assert_eq!(Application::direct().post(&hub.notes(), &entry(title)).status, 201);
    }
    for (proxy, _) in proxies(&place, &hub.url) {
        for path in ["", ".rss", "/changes", "/complete", "/changes.json", "/settings"] {
            let url = proxy.url(&format!("collections/notes{path}"));
            let read = ask("GET", &url, &[PACKED], None);
            let condition = format!("If-None-Match: {}", tag(&read));
            let held = ask("GET", &url, &[PACKED, &condition], None);
            assert_eq!(held.status, 304, "{} {path}: {condition}", proxy.program);
        }
    }
}
