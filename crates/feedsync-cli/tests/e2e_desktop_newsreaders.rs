//! Unmodified Liferea and RSS Guard of the distribution, with the hub as their Google Reader. An action in
//! one of them becomes a record of the log, and appears in the other.

#![cfg(unix)]

mod support;

#[path = "support/desktop.rs"]
mod desktop;

use desktop::{Articles, Newsreader};
use support::newsroom::{Marks, feed, known};
use support::web::WebServer;
use support::{Hub, TestDirectory, has, output, until};

fn marks(read: bool, starred: bool) -> Marks {
    Marks { read, starred }
}

/// Title of an article that is read now and was not before.
fn newly_read(before: &Articles, now: &Articles) -> Option<String> {
    let mut read = now.iter().filter(|(title, marks)| marks.read && !before[*title].read);
    read.next().map(|(title, _)| title.clone())
}

#[test]
fn marks_of_one_desktop_newsreader_reach_the_log_and_the_other() {
    let place = TestDirectory::new();
    let Some(web) = WebServer::nginx(&place, "", "default_type application/rss+xml;") else {
        return;
    };
    if !has("curl") {
        return;
    }
    place.write("www/one.xml", &feed("Alpha news", &["Apple", "Apricot", "Avocado"]));
    place.write("www/two.xml", &feed("Beta news", &["Banana", "Blackberry"]));
    place.bare("hub");
    let device = place.bare("device");
    let hub = Hub::start(&place, "hub");
    let log = format!("{}/logs/reading", hub.url);
    let [one, two] = ["one.xml", "two.xml"].map(|file| web.url(file));
    device.ok(&["reader", "subscribe", &one]);
    device.ok(&["reader", "subscribe", &two]);
    device.ok(&["reader", "sync", &log]);
    let api = format!("{}/reader/google/reader/api/0", hub.url);
    let count = format!("{api}/stream/items/count?s=user/-/state/com.google/reading-list");
    until("the feeds are fetched", || match output("curl", &["-s", &count], &place.path("")) {
        count if count == "5" => Ok(()),
        count => Err(count),
    });
    let until_known = |article: &str, expected: Marks| {
        until(&format!("{article} is marked in the log"), || match known(&device, &log, article) {
            known if known == expected => Ok(()),
            known => Err(format!("{known:?}, not {expected:?}")),
        });
    };

    let Some(liferea) = Newsreader::liferea(&place, &hub.url) else { return };
    let all = |articles: &Articles| (articles.len() == 5).then(|| articles.clone());
    let before = liferea.until("it shows all articles", None, all);
    assert!(before.values().all(|found| *found == marks(false, false)), "{before:?}");
    // Opens the next unread article.
    liferea.press("ctrl+n");
    let first = liferea.until("an article is read", None, |now| newly_read(&before, now));
    until_known(&first, marks(true, false));
    liferea.press("ctrl+t");
    until_known(&first, marks(true, true));
    liferea.press("ctrl+m");
    until_known(&first, marks(false, true));
    liferea.press("ctrl+m");
    until_known(&first, marks(true, true));

    // Liferea gets marks of other devices at its next update, and keeps its own marks.
    let (feed, star) = if first.starts_with('A') { (&one, "Apple") } else { (&two, "Banana") };
    let star = if star == first { "Apricot" } else { star };
    device.ok(&["reader", "mark", &two, "--read", "urn:x:Blackberry"]);
    device.ok(&["reader", "star", feed, &format!("urn:x:{star}")]);
    device.ok(&["reader", "sync", &log]);
    let mut expected = before;
    expected.insert(first, marks(true, true));
    expected.insert("Blackberry".to_owned(), marks(true, false));
    expected.insert(star.to_owned(), marks(false, true));
    liferea.press("ctrl+u");
    let as_expected = |expected: &Articles, now: &Articles| (expected == now).then_some(());
    liferea.until("it learns what is marked", None, |now| as_expected(&expected, now));

    let Some(rss_guard) = Newsreader::rss_guard(&place, &hub.url) else { return };
    rss_guard.until("it shows what is marked", Some("F5"), |now| as_expected(&expected, now));
    // Selects the first feed, and in it the next unread article.
    rss_guard.press("F7 F8");
    let second = rss_guard.until("an article is read", None, |now| newly_read(&expected, now));
    let was_starred = expected[&second].starred;
    rss_guard.press("F6");
    rss_guard.until("its star is another", None, |now| {
        (now[&second].starred != was_starred).then_some(())
    });
    // RSS Guard sends its changes when it fetches news.
    let now = marks(true, !was_starred);
    rss_guard.until("it says what was done", Some("F5"), |_| {
        (known(&device, &log, &second) == now).then_some(())
    });
    expected.insert(second, now);
    liferea.press("ctrl+u");
    liferea.until("it learns from RSS Guard", None, |now| as_expected(&expected, now));
}
