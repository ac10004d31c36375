//! Logs: what reading and appending cost the hub, and how soon readers on several devices are in step.
//!
//! The hub is a process of its own. Devices are those of `feedsync_client`: readers in files of their own, each with
//! its own connections, signed in by a token. What is counted on the wire is counted by a relay between them and
//! the hub.

mod appends;
mod marks;
mod ranges;
mod replicas;

use std::process::Child;

use feedsync_client::fetch::{Fetcher, Login, LoginOrigin, Logins, Policy, Private, Url, address};
use feedsync_client::{ReaderFile, RemoteLog, StoredReader};
use feedsync_log::Millis;
use feedsync_reader::{Action, ArticleId, FeedAddress};
use feedsync_store::{Environment as _, SystemEnvironment};
use tempfile::TempDir;

use crate::memory::first_line;
use crate::process::child;
use crate::sample;

/// Subscriptions of somebody who reads much.
const FEEDS: usize = 500;

pub(crate) fn run() {
    ranges::run();
    let hub = Hub::start();
    let runtime = sample::runtime();
    runtime.block_on(appends::run(&hub));
    runtime.block_on(replicas::run(&hub));
    runtime.block_on(marks::run(&hub));
    hub.end();
}

/// A hub with a user, in a process of its own.
struct Hub {
    child: Child,
    address: String,
    token: String,
    _directory: TempDir,
}

impl Hub {
    fn start() -> Self {
        let directory = TempDir::new().expect("a directory");
        let token = sample::runtime().block_on(async {
            let endpoint = sample::create(directory.path(), "hub").await;
            sample::token(&endpoint).await
        });
        let place = directory.path().to_str().expect("UTF-8");
        let mut child = child(&["hub", place]).spawn().expect("a child");
        let address = first_line(&mut child);
        Self { child, address, token, _directory: directory }
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        self.child.wait().expect("a hub that ends");
    }

    /// The way to a log of the hub, over the address of the hub or of a relay before it.
    fn way(&self, address: &str, log: &str) -> Way {
        let url = url(&format!("http://{address}/logs/{log}"));
        let mut logins = Logins::default();
        let login = Login::token(self.token.clone()).expect("a token");
        logins.keep(LoginOrigin::of(&url).expect("an origin"), login);
        let fetcher = Fetcher::new(Policy::new(Private::Allowed)).expect("a client");
        let fetcher = fetcher.signed_in(logins).expect("a client");
        Way { log: RemoteLog::new(fetcher.clone(), url), fetcher }
    }
}

/// A way to a log.
struct Way {
    log: RemoteLog,
    /// What counts the requests.
    fetcher: Fetcher,
}

/// A device on which somebody reads.
struct Device {
    way: Way,
    reader: StoredReader,
    _directory: TempDir,
}

impl Device {
    fn new(way: Way) -> Self {
        let directory = TempDir::new().expect("a directory");
        let reader =
            ReaderFile::within(directory.path()).open(random, || {}).expect("a new reader");
        Self { way, reader, _directory: directory }
    }

    /// Does something now.
    fn act(&mut self, feed: &FeedAddress, action: &Action) {
        let now = SystemEnvironment.now().micros() / 1_000;
        assert!(self.reader.replica.act(feed, action, Millis::new(now)), "{action:?}: no news");
    }

    /// Subscribes to feeds.
    fn subscribe(&mut self, feeds: &[FeedAddress]) {
        for (number, feed) in feeds.iter().enumerate() {
            let title = format!("The news of the day, part {number}").parse().expect("a title");
            let subscribe = Action::Subscribe { title: Some(title), folder: None, position: None };
            self.act(feed, &subscribe);
        }
    }

    async fn synchronise(&mut self) {
        self.reader.synchronise(&self.way.log, false).await.expect("in step");
    }

    /// How many articles are marked here.
    fn marked(&self) -> usize {
        self.reader.replica.state().feeds().map(|(_, feed)| feed.marked()).sum()
    }
}

fn url(text: &str) -> Url {
    address(text).expect("an address")
}

fn random() -> u64 {
    SystemEnvironment.random()
}

/// The addresses of feeds.
fn feeds(count: usize) -> Vec<FeedAddress> {
    let feed = |number| format!("https://news-{number}.example/feeds/all.atom.xml");
    (0..count).map(|number| feed(number).parse().expect("a feed")).collect()
}

/// The id of an article, as long as they usually are.
fn article(feed: usize, number: usize) -> ArticleId {
    let id = format!("https://news-{feed}.example/2026/11/22/article-number-{number}");
    id.parse().expect("an id")
}

/// When an article was published: one an hour.
fn published(number: usize) -> Millis {
    Millis::new(1_795_000_000_000 + number as u64 * 3_600_000)
}
