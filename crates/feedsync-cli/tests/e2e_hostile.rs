//! Hostile content at every kind of address, in Chromium and Firefox: no script in it runs in the hub's
//! origin.
//!
//! Request from another origin shows each address of the hub in a frame, as a link would open it. Every script
//! that runs reports its location to a server. One document of that server has the same script without a
//! policy. It shows that the browser runs such scripts, and that the server receives their reports.

mod support;

#[path = "support/firefox.rs"]
mod firefox;

use std::time::Duration;

use firefox::Firefox;
use serde_json::Value;
use support::browser::Browser;
use support::origin::Origin;
use support::{Hub, TestDirectory, output, until};

const XHTML: &str = "http://www.w3.org/1999/xhtml";

/// A script that reports its location to a server, as XHTML and as XML in a document of another kind.
fn script(server: &Origin) -> String {
    format!(
        "<h:script xmlns:h=\"{XHTML}\">fetch('http://127.0.0.1:{}/ran?'+encodeURIComponent(location.href),\
         {{mode:'no-cors'}})</h:script>",
        server.port
    )
}

fn atom(script: &str) -> String {
    format!(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x:feed</id><title>Feed</title>\
         <updated>2026-11-20T10:00:00Z</updated>{script}<entry><id>urn:x:entry</id><title>Entry</title>\
         <updated>2026-11-20T10:00:00Z</updated>{script}<content type=\"xhtml\">\
         <div xmlns=\"{XHTML}\">Words{script}</div></content></entry></feed>"
    )
}

fn rss(script: &str) -> String {
    format!(
        "<rss version=\"2.0\"><channel><title>Feed</title><link>http://x.example/</link>\
         <description>Feed</description>{script}<item><guid isPermaLink=\"false\">urn:x:item</guid>\
         <title>Item</title>{script}</item></channel></rss>"
    )
}

fn opml(script: &str) -> String {
    format!(
        "<opml version=\"2.0\"><head><title>Outlines</title></head><body>\
         <outline text=\"Outline\" xmlUrl=\"http://x.example/feed\">{script}</outline></body></opml>"
    )
}

/// Sends a request to the hub with curl; returns the headers of the response, which must be a success.
fn send(place: &TestDirectory, method: &str, url: &str, kind: &str, body: &str) -> String {
    place.write("body", body);
    let kind = format!("Content-Type: {kind}");
    let arguments = [
        "--silent",
        "--show-error",
        "--fail-with-body",
        "--include",
        "--request",
        method,
        "--header",
        &kind,
        "--header",
        "If-None-Match: *",
        "--data-binary",
        "@body",
        url,
    ];
    output("curl", &arguments, &place.path(""))
}

/// Starts a hub with hostile content; returns it with the addresses that a browser could open.
fn hub(place: &TestDirectory, server: &Origin) -> (Hub, Vec<String>) {
    let script = script(server);
    let desk = place.desk("desk");
    let mut paths = vec!["/nowhere/%3Cscript%3Ealert(1)%3C/script%3E".to_owned()];
    for (name, format, feed) in [
        ("news", "atom", atom(&script)),
        ("casts", "rss", rss(&script)),
        ("list", "opml", opml(&script)),
    ] {
        desk.ok(&["collection", "create", name, "--format", format]);
        place.write("feed.xml", &feed);
        desk.ok(&["import", name, "feed.xml"]);
        let items = desk.json(&["ls", name]);
        let id = items[0]["id"].as_str().unwrap().to_owned();
        for suffix in ["", ".atom", ".rss", ".opml", ".json", ".xml"] {
            for view in ["", "/changes", "/complete"] {
                paths.push(format!("/collections/{name}{view}{suffix}"));
            }
        }
        paths.push(format!("/collections/{name}.feed.json"));
        for part in ["", "/conflicts"] {
            paths.push(format!("/collections/{name}/items/{id}{part}"));
        }
    }
    desk.ok(&[
        "collection",
        "create",
        "pictures",
        "--accept",
        "image/*",
        "--accept",
        "text/html",
        "--accept",
        "application/*",
    ]);
    let hub = Hub::start(place, "desk");
    let svg =
        format!("<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:h=\"{XHTML}\">{script}</svg>");
    let xhtml = format!("<html xmlns=\"{XHTML}\"><body>{script}</body></html>");
    let html = format!("<!DOCTYPE html>{}", script.replace("h:script", "script"));
    let kinds = [
        ("image/svg+xml", &svg),
        ("text/html", &html),
        ("application/xhtml+xml", &xhtml),
        ("application/xml", &xhtml),
    ];
    send(place, "PUT", &format!("{}/couch/files", hub.url), "application/json", "");
    for (number, (kind, text)) in kinds.into_iter().enumerate() {
        let path = format!("/couch/files/d{number}/a");
        send(place, "PUT", &format!("{}{path}", hub.url), kind, text);
        paths.push(path);
        let made = send(place, "POST", &format!("{}/collections/pictures", hub.url), kind, text);
        let (_, media) = made.split_once("src=\"").expect("an entry that names its media");
        let media = media.split('"').next().unwrap();
        paths.push(media.strip_prefix(&*hub.url).expect("media of this hub").to_owned());
        let log = format!("/logs/log{number}");
        desk.ok(&["collection", "create", &format!("log{number}")]);
        send(place, "POST", &format!("{}{log}", hub.url), kind, &format!("{text}\n"));
        paths.push(log);
    }
    (hub, paths)
}

/// Shows all addresses in a browser, and checks that scripts ran only in the server's own document.
fn check(show: impl FnOnce(&str, &TestDirectory) -> Option<Box<dyn std::any::Any>>) {
    let (place, server) = (TestDirectory::new(), Origin::start());
    let (hub, paths) = hub(&place, &server);
    let control = format!("http://127.0.0.1:{}/control", server.port);
    let kind = "Content-Type: application/xml\r\n";
    server.answers("GET", "/control", 200, kind, &atom(&script(&server)));
    let frame = |url: &str| format!("<iframe src=\"{url}\"></iframe>");
    let frames: String = paths.iter().map(|path| frame(&format!("{}{path}", hub.url))).collect();
    let page = format!(
        "<!DOCTYPE html><body onload=\"fetch('/shown')\">{}{frames}</body>",
        frame(&control)
    );
    server.answers("GET", "/frames", 200, "Content-Type: text/html\r\n", &page);
    let url = format!("http://127.0.0.1:{}/frames", server.port);
    let Some(browser) = show(&url, &place) else { return };
    until("all frames are shown", || match server.asked("GET", "/shown").len() {
        0 => Err("not yet".to_owned()),
        _ => Ok(()),
    });
    let ran = until("a script without a policy runs", || {
        let ran = server.asked_below("/ran?");
        if ran.is_empty() { Err("it did not".to_owned()) } else { Ok(ran) }
    });
    // Other scripts may run later.
    std::thread::sleep(Duration::from_secs(2));
    let ran = [ran, server.asked_below("/ran?")].concat();
    let own = format!("/ran?{}", control.replace(':', "%3A").replace('/', "%2F"));
    let foreign: Vec<_> = ran.iter().filter(|path| **path != own).collect();
    assert!(foreign.is_empty(), "scripts ran: {foreign:?}");
    assert!(paths.len() > 60, "{}", paths.len());
    drop(browser);
}

#[test]
fn no_script_of_others_runs_in_the_hubs_origin_in_chromium() {
    check(|url, _| {
        let browser = Browser::start()?;
        browser.go(url);
        // A frame of the hub has another origin than the page.
        assert_eq!(browser.ask("frames.length > 60"), Value::Bool(true));
        Some(Box::new(browser))
    });
}

#[test]
fn no_script_of_others_runs_in_the_hubs_origin_in_firefox() {
    check(|url, place| Some(Box::new(Firefox::show(url, &place.path("profile"))?)));
}
