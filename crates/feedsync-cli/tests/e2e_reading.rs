//! Articles on the pages of a hub in a real browser, read by the keyboard alone.

#![cfg(unix)]

mod support;

use serde_json::Value;
use support::browser::{Browser, ENTER};
use support::web::WebServer;
use support::{Hub, TestDirectory, TestEndpoint};

const READING: &str = "/pages/reading";

/// An article with many kinds of elements.
const LONG: &str = "<h1>Soaking</h1><p>Put the <b>oats</b> into <a href='https://example.org/water'>cold water</a> \
    for half an hour.</p><figure><img src='https://pictures.example/oats.jpg' alt='A bowl of oats' width='3000'>\
    <figcaption>Oats</figcaption></figure><pre>one very long line that goes on and on and on and on and on and on \
    and on and on and on and on and on</pre><blockquote>It was good.</blockquote><h2>What it takes</h2>\
    <table><tr><th>What</th><th>How much of it, which may be said at some length</th><th>Where from</th></tr><tr>\
    <td>Oats</td><td>100 g</td><td>https://a.very.long.address.example.org/with/a/path/that/does/not/end/at/all/\
    soon/enough/for/a/phone</td></tr></table><ol><li>One</li><li>Two</li></ol>";

fn feed(titles: &[&str]) -> String {
    let escaped = LONG.replace('&', "&amp;").replace('<', "&lt;");
    let item = |(place, title): (usize, &&str)| {
        format!(
            "<item><title>{title}</title><guid isPermaLink=\"false\">urn:x:{title}</guid>\
             <link>https://example.org/{place}</link><author>Ada Ames</author><category>Food</category>\
             <enclosure url=\"https://media.example/{place}.mp3\" length=\"5242880\" type=\"audio/mpeg\"/>\
             <pubDate>Sat, 21 Nov 2026 1{place}:00:00 GMT</pubDate><description>{escaped}</description></item>"
        )
    };
    let items: String = titles.iter().enumerate().map(item).collect();
    format!("<rss version=\"2.0\"><channel><title>Kitchen news</title>{items}</channel></rss>")
}

/// State of an article on a device that synchronises with the log.
fn known(device: &TestEndpoint<'_>, log: &str, article: &str) -> Value {
    device.ok(&["reader", "sync", log]);
    let marked = device.json(&["reader", "articles"]);
    let marked = marked.as_array().unwrap().iter();
    let mut of = marked.filter(|marked| marked["article"] == format!("urn:x:{article}"));
    of.next().cloned().unwrap_or_default()
}

const FOCUSED: &str = "document.activeElement.innerText";

#[test]
fn articles_are_read_marked_starred_and_found_by_the_keyboard_alone() {
    let Some(browser) = Browser::start() else { return };
    let place = TestDirectory::new();
    let Some(web) = WebServer::nginx(&place, "", "default_type application/rss+xml;") else {
        return;
    };
    place.write("www/kitchen.xml", &feed(&["Bread", "Oats", "Milk", "Jam", "Tea"]));
    place.bare("hub");
    let device = place.bare("device");
    let hub = Hub::start(&place, "hub");
    let (home, log) = (format!("{}{READING}", hub.url), format!("{}/logs/reading", hub.url));

    browser.go(&hub.url);
    browser.tab_to("Read articles");
    browser.press(ENTER);
    browser.sees("You have no subscriptions yet.");
    browser.fits("reading-nothing");
    browser.names_are_complete();
    browser.tab_to("Address of a feed or a web page");
    browser.press("kitchen");
    browser.press(ENTER);
    browser.sees("must begin with http");
    browser.fits("reading-refused");
    browser.tab_to("Address of a feed or a web page");
    browser.select_all();
    browser.press(&web.url("kitchen.xml"));
    browser.tab_to("Folder (optional)");
    browser.press("Food");
    browser.press(ENTER);
    browser.sees("which has 5 articles.");
    browser.loads_until(&home, "5 unread articles");
    browser.fits("reading-home");
    browser.names_are_complete();

    // Moves down and up the list, and marks and stars articles.
    browser.tab_to("5 unread articles");
    browser.press(ENTER);
    browser.sees("Mark all as read");
    browser.fits("reading-list");
    browser.names_are_complete();
    browser.fits("reading-list-unfolded");
    browser.go(&format!("{home}/articles"));
    browser.press("jj");
    assert_eq!(browser.ask(FOCUSED), "Jam");
    browser.press("k");
    assert_eq!(browser.ask(FOCUSED), "Tea");
    browser.press("m");
    browser.sees("Marked as read.");
    assert_eq!(browser.ask("document.querySelector('#said').getAttribute('role')"), "status");
    browser.press("s");
    browser.sees("Starred.");
    let tea = known(&device, &log, "Tea");
    assert_eq!((&tea["read"], &tea["starred"]), (&Value::Bool(true), &Value::Bool(true)));
    browser.press("ms");
    browser.sees("Star removed.");
    browser.waits_for("document.querySelectorAll('.articles > .unread').length === 5");
    assert_ne!(known(&device, &log, "Tea")["read"], Value::Bool(true));

    // An opened article is read. The keys move to the next article and back.
    browser.press("jo");
    browser.sees("Marked as read.");
    assert_eq!(browser.ask("document.querySelector('h1').innerText"), "Jam");
    assert_eq!(known(&device, &log, "Jam")["read"], Value::Bool(true));
    browser.fits("reading-article");
    browser.names_are_complete();
    let levels =
        "[...document.querySelectorAll('main :is(h1, h2, h3)')].map(one => one.tagName).join()";
    assert!(
        browser.ask(levels).as_str().unwrap().starts_with("H1,H2,H3"),
        "{}",
        browser.ask(levels)
    );
    assert_eq!(browser.ask("document.querySelectorAll('article img[src]').length"), 0);
    browser.press("j");
    browser.waits_for("document.querySelector('h1').innerText === 'Milk'");
    browser.sees("Marked as read.");
    browser.press("s");
    browser.sees("Starred.");
    browser.press("m");
    browser.sees("Marked as unread.");
    browser.press("k");
    browser.waits_for("document.querySelector('h1').innerText === 'Jam'");
    browser.press("k");
    browser.waits_for("document.querySelector('h1').innerText === 'Tea'");
    browser.sees("Marked as read.");
    browser.press("k");
    browser.sees("This is the first article.");
    let milk = known(&device, &log, "Milk");
    assert_eq!((&milk["read"], &milk["starred"]), (&Value::Bool(false), &Value::Bool(true)));
    browser.press("u");
    browser.waits_for("document.querySelectorAll('.articles > li').length === 3");

    // Finds articles by a search, and shows the list of keys.
    browser.press("/");
    browser.press("milk");
    browser.press(ENTER);
    browser.waits_for("location.search.includes('q=milk')");
    browser.waits_for("document.querySelectorAll('.articles > li').length === 1");
    browser.press("?");
    browser.waits_for("document.getElementById('keys').open");
    browser.fits("reading-keys");
    browser.press(ENTER);
    browser.press("gr");
    browser.sees("Refresh all feeds");
    browser.press("gh");
    browser.waits_for("location.pathname === '/'");

    // Marks all shown articles as read, which also works without a script.
    browser.go(&format!("{home}/articles?feed=1"));
    browser.tab_to("Mark all as read");
    browser.press(ENTER);
    browser.sees("No unread articles.");
    browser.fits("reading-all-read");
    browser.tab_to("Undo");
    browser.press(ENTER);
    browser.sees("unread again.");
    browser.waits_for("document.querySelectorAll('.articles > .unread').length === 3");
    browser.names_are_complete();
    browser.go(&format!("{home}/feeds/1"));
    browser.fits("reading-feed");
    browser.names_are_complete();
    browser.go(&format!("{home}/transfer"));
    browser.fits("reading-transfer");
    browser.names_are_complete();
    // The browser logs the address that was refused, and no other error.
    let complaints = browser.complaints();
    assert!(complaints.iter().all(|one| one.contains("status of 422")), "{complaints:?}");
}
