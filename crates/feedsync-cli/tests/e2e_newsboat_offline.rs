//! Unmodified newsboat of the distribution while its server is unavailable. Through a gateway it continues in
//! each mode of accessing servers, and the marks and stars arrive later. Without a gateway it does not start,
//! and the marks are lost.

#![cfg(unix)]

mod support;

#[path = "support/newsboat.rs"]
mod newsboat;

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use newsboat::{Mode, Newsboat};
use support::application::{Application, Route};
use support::newsroom::{feed, known};
use support::web::WebServer;
use support::{Hub, TestDirectory, until};

/// A gateway between newsreaders and a hub, which is killed as by `kill -9` and restarted at the same
/// address.
struct Gateway<'p> {
    place: &'p TestDirectory,
    hub: String,
    child: Option<Child>,
    address: String,
}

impl<'p> Gateway<'p> {
    fn start(place: &'p TestDirectory, hub: &Hub) -> Self {
        let (hub, address) = (hub.url.clone(), "127.0.0.1:0".to_owned());
        let mut gateway = Self { place, hub, child: None, address };
        gateway.wake();
        gateway
    }

    fn wake(&mut self) {
        let mut command = self.place.command(&["--data", "gateway", "gateway"]);
        command.args(["--listen", &self.address, "--control", "127.0.0.1:0"]);
        for mode in Mode::ALL {
            let name = mode.path();
            command.args(["--newsreader", &format!("{name}={}/reader/{name}", self.hub)]);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.strip_prefix("listening on http://")?.to_owned()));
        self.address = address.expect("it says where it listens").trim_end_matches('/').to_owned();
        self.child = Some(child);
    }

    fn kill(&mut self) {
        let mut child = self.child.take().expect("a gateway that runs");
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn newsboat(&self, mode: Mode) -> Option<Newsboat> {
        let url = format!("http://{}/{}", self.address, mode.path());
        Newsboat::at(self.place, &format!("{mode:?}"), mode, &url)
    }
}

impl Drop for Gateway<'_> {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.kill();
        }
    }
}

/// Reads an article, and stars it in the modes in which newsboat sends stars to its server.
fn read(newsboat: &Newsboat, feed: &str, article: &str) {
    let terminal = newsboat.open();
    terminal.press_until("R", feed);
    terminal.open(feed);
    terminal.open(article);
    terminal.sees(&format!("About {article}"));
    if newsboat.mode != Some(Mode::Miniflux) {
        terminal.press(&["C-e"]);
        terminal.press(&["s", "Enter"]);
    }
    terminal.press(&["q"]);
    terminal.sees("Articles in feed");
}

#[test]
fn marks_made_offline_arrive_when_the_server_is_back() {
    let place = TestDirectory::new();
    let Some(web) = WebServer::nginx(&place, "", "default_type application/rss+xml;") else {
        return;
    };
    place.write("www/one.xml", &feed("Alpha news", &["Apple", "Apricot", "Avocado"]));
    place.write("www/two.xml", &feed("Beta news", &["Banana", "Blackberry"]));
    let desk = place.bare("hub");
    let mut hub = Hub::start(&place, "hub");
    let feeds = ["one", "two"].map(|name| format!("http://{}/{name}.xml", web.authority));
    // The hub fetches feeds of this machine only while it has no users.
    let alone = place.bare("alone");
    feeds.iter().for_each(|feed| drop(alone.ok(&["reader", "subscribe", feed])));
    alone.ok(&["reader", "sync", &format!("{}/logs/reading", hub.url)]);
    let Some(first) = Newsboat::new(&place, "first", Mode::Miniflux, &hub.url) else { return };
    until("the feeds are fetched", || match first.unread() {
        unread if unread == "5 unread articles" => Ok(()),
        unread => Err(unread),
    });
    // Through a gateway, the user has to sign in, so the hub gets a user.
    let add = ["--data", "hub", "user", "add", "anna", "--administrator", "--password-stdin"];
    assert_eq!(place.run_with(&add, "correct horse").code, 0);
    let token = desk.ok(&["user", "token", "create", "--user", "anna"]).trim_end().to_owned();
    let anna = Application::new(Route::Direct, Some("anna:correct horse"));
    let nobody = Application::new(Route::Direct, None);
    until("one has to sign in", || {
        match nobody.get(&format!("{}/reader/miniflux/v1/me", hub.url)) {
            answer if answer.status == 401 => Ok(()),
            answer => Err(answer.text().to_owned()),
        }
    });
    let device = place.bare("device");
    let login = ["--data", "device", "remote", "login", "--stdin", &hub.url];
    assert_eq!(place.run_with(&login, &token).code, 0);
    let log = format!("{}/logs/reading-anna", hub.url);
    feeds.iter().for_each(|feed| drop(device.ok(&["reader", "subscribe", feed])));
    device.ok(&["reader", "sync", &log]);
    let gateway = RefCell::new(Gateway::start(&place, &hub));
    let newsboats = Mode::ALL.map(|mode| gateway.borrow().newsboat(mode));
    let direct =
        Mode::ALL.map(|mode| Newsboat::new(&place, &format!("direct-{mode:?}"), mode, &hub.url));
    let Some(newsboats) = newsboats.into_iter().collect::<Option<Vec<_>>>() else { return };
    let Some(direct) = direct.into_iter().collect::<Option<Vec<_>>>() else { return };
    let unread = |newsboat: &Newsboat, expected: usize| {
        assert_eq!(newsboat.unread(), format!("{expected} unread articles"), "{:?}", newsboat.mode);
    };
    newsboats.iter().chain(&direct).for_each(|newsboat| unread(newsboat, 5));

    let articles = ["Avocado", "Apricot", "Apple", "Blackberry"];
    let title = |article: &str| if article.starts_with('B') { "Beta news" } else { "Alpha news" };
    let without = direct[0].open();
    without.press_until("R", "Beta news");
    hub.again(&place, "hub", || {
        // Without a gateway, the marks are lost, and newsboat does not start.
        without.open("Beta news");
        without.open("Banana");
        without.sees("About Banana");
        without.press(&["q"]);
        without.sees("Articles in feed");
        drop(without);
        for newsboat in &direct {
            let started = newsboat.execute("print-unread");
            assert!(!started.status.success(), "{:?}: {started:?}", newsboat.mode);
        }
        for (newsboat, article) in newsboats.iter().zip(articles) {
            read(newsboat, title(article), article);
            unread(newsboat, 4);
        }
        // Marks all articles of a feed at once.
        let terminal = newsboats[3].open();
        terminal.press_until("R", "Alpha news");
        terminal.go_to("Alpha news");
        terminal.press(&["A"]);
        terminal.sees("(0/3)");
        drop(terminal);
        unread(&newsboats[3], 1);
        gateway.borrow_mut().kill();
        gateway.borrow_mut().wake();
        newsboats[..3].iter().for_each(|newsboat| unread(newsboat, 4));
        unread(&newsboats[3], 1);
    });
    for article in articles {
        until(&format!("{article} has arrived"), || match known(&device, &log, article) {
            marked if marked.read => Ok(()),
            other => Err(format!("{other:?}")),
        });
    }
    for article in ["Avocado", "Apple", "Blackberry"] {
        until(&format!("the star of {article} has arrived"), || {
            match known(&device, &log, article) {
                marked if marked.starred => Ok(()),
                other => Err(format!("{other:?}")),
            }
        });
    }
    // The article that was read without a gateway is unread in all modes.
    newsboats.iter().chain(&direct).for_each(|newsboat| unread(newsboat, 1));
    let told = anna.get(&log);
    for article in articles {
        let about = |line: &&str| {
            line.contains(&format!("urn:x:{article}")) && line.contains("\"act\":\"read\"")
        };
        let times = told.text().lines().filter(about).count();
        assert_eq!(times, 1, "{article} in {}", told.text());
    }
}
