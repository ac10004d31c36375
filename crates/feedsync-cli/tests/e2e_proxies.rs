//! A hub behind proxies that compress what it sends: nginx marks entity tags as weak then, Apache puts the coding
//! behind them, and neither heeds `no-transform`.

#![cfg(unix)]

mod support;

use support::application::{Answer, Application, entry};
use support::web::WebServer;
use support::{Desk, Hub, Place};

const PACKED: &str = "Accept-Encoding: gzip";
const RECORDS: &str = "Content-Type: application/x-ndjson";

/// nginx that compresses everything itself: what is behind it is not told that the client takes that.
fn nginx(place: &Place, behind: &str) -> Option<WebServer> {
    let gzip = "gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;";
    let pass = format!(
        "location / {{ proxy_pass {behind}; proxy_set_header Host $http_host; \
         proxy_set_header Accept-Encoding \"\"; }}"
    );
    WebServer::nginx(place, gzip, &pass)
}

/// Whether a tag has the mark of a proxy.
type IsMarked = fn(&str) -> bool;

/// Each proxy with the mark that it leaves on tags.
fn proxies(place: &Place, behind: &str) -> Vec<(WebServer, IsMarked)> {
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
    let place = Place::new();
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

#[test]
fn devices_sync_their_reading_through_proxies_that_compress() {
    let place = Place::new();
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
        let known = |desk: &Desk<'_>| desk.ok(&["reader", "export", "--all"]);
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
    let place = Place::new();
    let hub = Hub::start(&place, "hub");
    place.run(&["--data", "hub", "create", "notes"]);
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
