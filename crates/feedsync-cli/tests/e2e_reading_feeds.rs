//! Feeds of many kinds on the pages of a hub, in a real browser: each is shown or reported, and none has side
//! effects.

#![cfg(unix)]

mod support;

#[path = "support/awkward.rs"]
mod awkward;

use awkward::{ATTACKS, attack_feed, corpora};
use serde_json::Value;
use support::browser::{Browser, ENTER};
use support::web::WebServer;
use support::{Hub, TestDirectory, until};

const READING: &str = "/pages/reading";

/// Script that returns the trace which executed content of a feed would leave.
const EXECUTED: &str = "String(window.executed)";

/// Feeds of many kinds are shown, or reported with the reason. No content of a feed runs or is fetched, and
/// none covers or widens a page.
#[test]
fn feeds_of_any_content_are_shown_or_reported_without_side_effects() {
    let (place, canary) = (TestDirectory::new(), TestDirectory::new());
    let Some(web) = WebServer::nginx(&place, "", "default_type application/xml;") else { return };
    let Some(mut canary) = WebServer::nginx(&canary, "", "") else { return };
    let Some(browser) = Browser::knowing("canary.example", &canary.authority) else { return };
    place.bare("hub");
    let hub = Hub::start(&place, "hub");
    let home = format!("{}{READING}", hub.url);

    place.write("www/attacks.xml", &attack_feed());
    let feeds = corpora();
    let mut outlines = format!("<outline type=\"rss\" xmlUrl=\"{}\"/>", web.url("attacks.xml"));
    for (number, feed) in feeds.iter().enumerate() {
        std::fs::copy(&feed.path, place.path(&format!("www/{number}.xml"))).unwrap();
        outlines.push_str(&format!(
            "<outline type=\"rss\" xmlUrl=\"{}\"/>",
            web.url(&format!("{number}.xml"))
        ));
    }
    place.write(
        "list.opml",
        &format!("<opml version=\"2.0\"><head/><body>{outlines}</body></opml>"),
    );
    browser.go(&format!("{home}/transfer"));
    browser.choose_file("#file", &place.path("list.opml"));
    browser.tab_to("Import");
    browser.press(ENTER);
    browser.sees(&format!("Imported: {} feed", feeds.len() + 1));
    until("all feeds are asked", || {
        browser.go(&home);
        match browser.ask("document.body.innerText.split('Not fetched yet.').length - 1") {
            Value::Number(none) if none.as_u64() == Some(0) => Ok(()),
            left => Err(format!("{left} are left")),
        }
    });
    // Lists all resources that a page requested, whether they exist or not.
    let asked = "performance.getEntriesByType('resource').map(one => one.name)\
         .filter(name => ![location.origin + '/', 'data:'].some(own => name.startsWith(own))).join(' ')";
    let check = |what: &str| {
        assert_eq!(browser.ask(asked), "", "{what}: something was asked for");
        assert_eq!(browser.ask(EXECUTED), "undefined", "{what}: something ran");
        let wider = browser.ask("document.documentElement.scrollWidth - innerWidth");
        assert!(wider.as_i64().unwrap() <= 0, "{what}: {wider} too wide");
        let top = "(one => one === null || !!one.closest('header, main'))(document.elementFromPoint(9, 9))";
        assert_eq!(browser.ask(top), true, "{what}: something covers the page");
        let here = browser.ask("location.origin");
        assert_eq!(here, *hub.url, "{what}: it led elsewhere");
    };
    browser.looks(400, "light");
    browser.go(&home);
    check("subscriptions");
    browser.fits("awkward-home");

    // Reads the outcome for each feed.
    let rows = "[...document.querySelectorAll('.feeds > li')].map(row => ({\
        number: +row.querySelector('a[href*=\"feeds/\"]').href.split('/').pop(),\
        fault: row.querySelector('.error')?.innerText ?? ''}))";
    let rows = browser.ask(rows);
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), feeds.len() + 1);
    let (mut shown, mut faulty, mut empty, mut articles) = (0, 0, Vec::new(), 0);
    browser.looks(400, "dark");
    for row in rows {
        let number = &row["number"];
        browser.go(&format!("{home}/feeds/{number}"));
        check(&format!("feed {number}"));
        let address = browser.ask("document.querySelector('.facts code').innerText");
        let name = address.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let feed = name.trim_end_matches(".xml").parse::<usize>().ok().map(|at| &feeds[at]);
        browser.go(&format!("{home}/articles?feed={number}&show=all"));
        check(&format!("list {number}"));
        let links =
            browser.ask("[...document.querySelectorAll('[data-open]')].map(one => one.href)");
        let links = links.as_array().unwrap().clone();
        let most = if feed.is_none() { links.len() } else { 2 };
        for link in links.iter().take(most) {
            browser.go(link.as_str().unwrap());
            check(link.as_str().unwrap());
            articles += 1;
        }
        let fault = row["fault"].as_str().unwrap();
        match (links.is_empty(), fault.is_empty()) {
            (false, true) => shown += 1,
            // The reason names the missing parts.
            (false, false) if fault.starts_with("Read in part: ") => shown += 1,
            (true, false) => {
                assert!(fault.len() > "Could not be read: ".len(), "a reason: {fault}");
                faulty += 1;
            }
            (true, true) => empty.extend(feed),
            (false, false) => panic!("{name}: shown, and reported: {fault}"),
        }
        if feed.is_none() {
            assert_eq!(links.len(), ATTACKS.len(), "each attack is an article: {fault}");
        }
    }
    let untold: Vec<_> =
        empty.iter().filter(|feed| feed.has_entries()).map(|feed| &feed.path).collect();
    assert_eq!(untold, Vec::<&std::path::PathBuf>::new(), "neither shown nor reported");
    eprintln!(
        "{} feeds: {shown} shown, {faulty} reported, {} without articles; {articles} articles opened",
        rows.len(),
        empty.len()
    );
    assert_eq!(canary.asked(), [], "something was asked for");
    assert_eq!(browser.complaints(), Vec::<String>::new());

    // With pictures enabled, the browser loads pictures from the hub alone.
    browser.go(&format!("{home}/articles?q=attack&pictures=1&show=all"));
    let links = browser.ask("[...document.querySelectorAll('[data-open]')].map(one => one.href)");
    let mut pictures = Vec::new();
    for link in links.as_array().unwrap() {
        browser.go(link.as_str().unwrap());
        assert_eq!(browser.ask(EXECUTED), "undefined", "{link}: something ran");
        let shown =
            browser.ask("[...document.querySelectorAll('.prose img[src]')].map(one => one.src)");
        pictures.extend(shown.as_array().unwrap().clone());
    }
    assert!(pictures.len() >= 3, "{pictures:?}");
    let of_hub = format!("{home}/articles/");
    let is_own = |picture: &Value| picture.as_str().unwrap().starts_with(&of_hub);
    assert!(pictures.iter().all(is_own), "{pictures:?}");
    assert_eq!(canary.asked(), [], "something was asked for");
    browser.fits("awkward-article");
}
