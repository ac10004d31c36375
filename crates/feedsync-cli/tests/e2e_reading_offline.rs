//! Reading without a network in a real browser: what it keeps, shows and marks while the hub does not run, and what
//! arrives afterwards.

#![cfg(unix)]

mod support;

use serde_json::Value;
use support::browser::{Browser, ENTER};
use support::web::WebServer;
use support::{Hub, TestDirectory, TestEndpoint};

const OFFLINE: &str = "/pages/reading/offline";

/// A picture of one pixel.
const PICTURE: &[u8] =
    b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\
    \x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\x0dIDATx\xdacd\xf8\xcfP\x0f\x00\x03\x86\x01\
    \x80Z4}k\x00\x00\x00\x00IEND\xaeB`\x82";

/// A feed whose articles have a picture of this address.
fn feed(titles: &[&str], picture: &str) -> String {
    let item = |(place, title): (usize, &&str)| {
        format!(
            "<item><title>{title}</title><guid isPermaLink=\"false\">urn:x:{title}</guid>\
             <link>https://example.org/{place}</link><author>Ada Ames</author>\
             <pubDate>Sat, 21 Nov 2026 1{place}:00:00 GMT</pubDate>\
             <description>&lt;p&gt;How to make {title}.&lt;/p&gt;\
             &lt;img src='{picture}' alt='A table'&gt;</description></item>"
        )
    };
    let items: String = titles.iter().enumerate().map(item).collect();
    format!("<rss version=\"2.0\"><channel><title>Kitchen news</title>{items}</channel></rss>")
}

/// Marks of an article on a device that synchronises with the log: whether it is read, and whether it is starred.
fn marks(device: &TestEndpoint<'_>, log: &str, article: &str) -> (bool, bool) {
    device.ok(&["reader", "sync", log]);
    let marked = device.json(&["reader", "articles"]);
    let of = |one: &&Value| one["article"] == format!("urn:x:{article}");
    let found = marked.as_array().unwrap().iter().find(of).cloned().unwrap_or_default();
    (found["read"] == true, found["starred"] == true)
}

#[test]
fn articles_are_read_and_marked_while_the_hub_does_not_run_and_the_marks_arrive() {
    let Some(browser) = Browser::start() else { return };
    let place = TestDirectory::new();
    let Some(web) = WebServer::nginx(&place, "", "default_type application/rss+xml;") else {
        return;
    };
    let titles = ["Bread", "Oats", "Milk", "Jam", "Tea"];
    place.write("www/kitchen.xml", &feed(&titles, &web.url("table.png")));
    std::fs::write(place.path("www/table.png"), PICTURE).unwrap();
    place.bare("hub");
    let device = place.bare("device");
    let mut hub = Hub::start(&place, "hub");
    let (home, log) = (format!("{}/pages/reading", hub.url), format!("{}/logs/reading", hub.url));
    let offline = format!("{}{OFFLINE}", hub.url);

    browser.go(&home);
    browser.tab_to("Address of a feed or a web page");
    browser.press(&web.url("kitchen.xml"));
    browser.press(ENTER);
    browser.sees("which has 5 articles.");
    browser.loads_until(&format!("{home}/articles"), "Tea");

    // Nothing is kept before somebody asks for it.
    browser.go(&offline);
    browser.sees("No articles are kept on this device yet.");
    browser.fits("offline-nothing");
    browser.names_are_complete();
    assert_eq!(browser.ask("navigator.serviceWorker.controller"), Value::Null);
    browser.tab_to("With pictures");
    browser.press(" ");
    browser.tab_to("Keep articles on this device");
    browser.press(ENTER);
    browser.sees("5 articles on this device");
    browser.sees("Unread articles: 5");
    browser.waits_for("navigator.serviceWorker.controller !== null");
    browser.fits("offline-feeds");
    browser.names_are_complete();

    hub.again(&place, "hub", || {
        // Every reading page shows what is kept.
        browser.go(&home);
        browser.sees("The hub cannot be reached. 5 articles on this device");
        browser.tab_to("Unread articles: 5");
        browser.press(ENTER);
        browser.sees("Mark all as read");
        browser.fits("offline-list");
        browser.names_are_complete();
        browser.tab_to("Tea");
        browser.press(ENTER);
        browser.sees("How to make Tea.");
        browser.sees("1 mark waits to be sent.");
        browser.waits_for("document.querySelector('.prose img').naturalWidth === 1");
        browser.fits("offline-article");
        browser.names_are_complete();
        browser.press("j");
        browser.sees("How to make Jam.");
        browser.press("s");
        browser.sees("3 marks wait to be sent.");
        browser.press("m");
        browser.sees("4 marks wait to be sent.");
        // A reload loses nothing. An address of an article shows that article.
        browser.go(&format!("{home}/articles/1"));
        browser.sees("How to make Bread.");
        browser.sees("5 marks wait to be sent.");
        browser.tab_to("Unread Bread");
        browser.press(ENTER);
        browser.sees("6 marks wait to be sent.");
    });
    browser.go(&offline);
    browser.sees("5 articles on this device");
    browser.waits_for("!document.body.innerText.includes('wait')");
    browser.sees("Unread articles: 4");
    let of = |article: &str| marks(&device, &log, article);
    assert_eq!(
        ["Tea", "Jam", "Bread", "Oats"].map(of),
        [(true, false), (false, true), (false, false), (false, false)]
    );

    // Marks of other devices are shown after the next update.
    browser.go(&format!("{home}/articles"));
    browser.press("jm");
    browser.sees("Marked as read.");
    browser.go(&offline);
    browser.sees("Unread articles: 3");

    // It is removed from the browser, which then keeps nothing.
    browser.ask("confirm = () => true");
    browser.tab_to("On this device");
    browser.press(ENTER);
    browser.tab_to("Remove from this device");
    browser.press(ENTER);
    browser.sees("No articles are kept on this device yet.");
    let kept = "(async () => (await caches.keys()).length + (await navigator.serviceWorker.getRegistrations()).length)()";
    assert_eq!(browser.ask(kept), Value::from(0));
    let complaints = browser.complaints();
    assert!(complaints.iter().all(|one| one.contains("ERR_CONNECTION_REFUSED")), "{complaints:?}");
}
