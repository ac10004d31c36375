//! Logs: costs of reading and appending for the hub, and the time until readers on several devices are
//! synchronised.
//!
//! The hub is a separate process. The devices use `feedsync_client`: each has its own reader file and
//! connections, and signs in with a token. A relay between them and the hub counts the bytes.

mod appends;
mod marks;
mod ranges;
mod replicas;

use std::process::Child;

use feedsync_client::{ReaderFile, RemoteLog, StoredReader};
use feedsync_fetch::{Fetcher, Login, LoginOrigin, Logins, Policy, Private, Url, address};
use feedsync_log::Millis;
use feedsync_reading_state::{Action, ArticleId, FeedAddress};
use feedsync_store::{Environment as _, SystemEnvironment};
use tempfile::TempDir;

use crate::memory::first_line;
use crate::process::child;
use crate::sample;

/// Number of subscriptions of an intensive reader.
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

/// A hub with a user, in a separate process.
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

    /// Access to a log of the hub, at the address of the hub or of a relay in front of it.
    fn log_access(&self, address: &str, log: &str) -> LogAccess {
        let url = url(&format!("http://{address}/logs/{log}"));
        let mut logins = Logins::default();
        let login = Login::token(self.token.clone()).expect("a token");
        logins.keep(LoginOrigin::of(&url).expect("an origin"), login);
        let fetcher = Fetcher::new(Policy::new(Private::Allowed)).expect("a client");
        let fetcher = fetcher.with_logins(logins).expect("a client");
        LogAccess { log: RemoteLog::new(fetcher.clone(), url), fetcher }
    }
}

/// Access to a log.
struct LogAccess {
    log: RemoteLog,
    /// HTTP client, which counts the requests.
    fetcher: Fetcher,
}

/// A device of a reader.
struct Device {
    log_access: LogAccess,
    reader: StoredReader,
    _directory: TempDir,
}

impl Device {
    fn new(log_access: LogAccess) -> Self {
        let directory = TempDir::new().expect("a directory");
        let reader =
            ReaderFile::within(directory.path()).open(random, || {}).expect("a new reader");
        Self { log_access, reader, _directory: directory }
    }

    /// Performs an action now.
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
        self.reader.synchronise(&self.log_access.log, false).await.expect("in step");
    }

    /// Number of marked articles.
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

/// Addresses of feeds.
fn feeds(count: usize) -> Vec<FeedAddress> {
    let feed = |number| format!("https://news-{number}.example/feeds/all.atom.xml");
    (0..count).map(|number| feed(number).parse().expect("a feed")).collect()
}

/// Identifier of an article, with a typical length.
fn article(feed: usize, number: usize) -> ArticleId {
    let id = format!("https://news-{feed}.example/2026/11/22/article-number-{number}");
    id.parse().expect("an id")
}

/// Publication date of an article: one per hour.
fn published(number: usize) -> Millis {
    Millis::new(1_795_000_000_000 + number as u64 * 3_600_000)
}
