//! Unmodified newsboat of the distribution, in each mode of accessing servers. An action in one mode appears
//! in all others and on the pages, and is a record of the log.

#![cfg(unix)]

mod support;

#[path = "support/newsboat.rs"]
mod newsboat;

use newsboat::{Mode, Newsboat};
use support::application::{Application, Route};
use support::newsroom::{feed, known};
use support::web::WebServer;
use support::{Hub, TestDirectory, until};

#[test]
fn marks_in_one_mode_reach_all_modes_the_pages_and_the_log() {
    let place = TestDirectory::new();
    let Some(web) = WebServer::nginx(&place, "", "default_type application/rss+xml;") else {
        return;
    };
    place.write("www/one.xml", &feed("Alpha news", &["Apple", "Apricot", "Avocado"]));
    place.write("www/two.xml", &feed("Beta news", &["Banana", "Blackberry"]));
    place.bare("hub");
    let device = place.bare("device");
    let hub = Hub::start(&place, "hub");
    let log = format!("{}/logs/reading", hub.url);
    for name in ["one", "two"] {
        device.ok(&["reader", "subscribe", &format!("http://{}/{name}.xml", web.authority)]);
    }
    device.ok(&["reader", "sync", &log]);
    let newsboats = Mode::ALL.map(|mode| {
        let name = format!("{mode:?}");
        Newsboat::new(&place, &name, mode, &hub.url)
    });
    let Some(newsboats) = newsboats.into_iter().collect::<Option<Vec<_>>>() else { return };
    until("the feeds are fetched", || match newsboats[0].unread() {
        unread if unread == "5 unread articles" => Ok(()),
        unread => Err(unread),
    });
    let browser = Application::new(Route::Direct, None);
    let page = |path: &str| {
        let answer = browser.get(&format!("{}/pages/reading{path}", hub.url));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.text().to_owned()
    };
    let all = |expected: usize| {
        let said = if expected == 1 {
            "1 unread article<"
        } else {
            &format!("{expected} unread articles<")
        };
        let shown = page("");
        assert!(shown.contains(said), "{said} in {shown}");
        for newsboat in &newsboats {
            let unread = newsboat.unread();
            assert_eq!(unread, format!("{expected} unread articles"), "{:?}", newsboat.mode);
        }
    };
    all(5);

    let articles = ["Avocado", "Apricot", "Apple", "Blackberry"];
    for (left, (newsboat, article)) in (1..5).rev().zip(newsboats.iter().zip(articles)) {
        let title = if article.starts_with('A') { "Alpha news" } else { "Beta news" };
        let terminal = newsboat.open();
        terminal.press_until("R", title);
        terminal.open(title);
        terminal.open(article);
        terminal.sees(&format!("About {article}"));
        // newsboat reports an article as read when the user leaves it.
        terminal.press(&["q"]);
        let marked = || match known(&device, &log, article) {
            marked if marked.read => Ok(()),
            other => Err(format!("{other:?} {}", terminal.screen())),
        };
        until(&format!("{:?} has marked {article}", newsboat.mode), marked);
        // newsboat sends no stars to Miniflux.
        if newsboat.mode != Some(Mode::Miniflux) {
            terminal.press(&["C-e", "s", "Enter"]);
            until(&format!("{:?} has starred {article}", newsboat.mode), || {
                match known(&device, &log, article) {
                    marked if marked.starred => Ok(()),
                    other => Err(format!("{other:?} {}", terminal.screen())),
                }
            });
        }
        drop(terminal);
        all(left);
    }
    let starred = page("/articles?starred=1");
    for (mode, article) in Mode::ALL.into_iter().zip(articles) {
        let is_there = starred.contains(&format!("<bdi>{article}</bdi>"));
        assert_eq!(is_there, mode != Mode::Miniflux, "{article} in {starred}");
    }
    // An article marked as unread again is unread everywhere, and marking a whole feed is one record.
    let terminal = newsboats[0].open();
    terminal.open("Alpha news");
    terminal.go_to("Avocado");
    terminal.press(&["N"]);
    until("it is unread again", || match known(&device, &log, "Avocado") {
        marked if marked.read => Err(terminal.screen()),
        _ => Ok(()),
    });
    drop(terminal);
    all(2);
    let terminal = newsboats[3].open();
    terminal.press_until("R", "Alpha news");
    terminal.go_to("Alpha news");
    terminal.press(&["A"]);
    until("all of the first feed is read", || match newsboats[1].unread() {
        unread if unread == "1 unread articles" => Ok(()),
        unread => Err(unread),
    });
    drop(terminal);
    all(1);
}
