//! Polls the feeds of a hub when they are due.
//!
//! Due feeds are claimed in the library, so that only one of several processes polls a feed. Each host gets one
//! request at a time. The requested intervals of publishers are respected (`pace`), and unchanged documents are
//! not parsed again. After a 429 or 503 with `Retry-After`, all feeds of the host are on hold for at most a
//! [day](MAX_POLL_INTERVAL).

mod article;
mod article_page;
mod fetch;
mod find;
pub(crate) mod icon;
mod pace;
mod page;
mod picture;
mod raster;
mod web_cache;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::library::{DueFeed, Library, LibraryError, Poll, PollChanges, PollState};
use feedsync_endpoint::Endpoint;
use feedsync_fetch::{Fetcher, shown_text};
use feedsync_log::Millis;
use feedsync_reader_api::FeedNumber;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::Instrument as _;

use crate::reading::ReadingError;

pub use article_page::{FullText, FullTextError, FullTexts};
pub use find::{FeedFinder, FeedKind, FindError, FoundFeed, MAX_FIND_TIME, NamedFeed, WebFinder};
pub use pace::{MAX_POLL_INTERVAL, MIN_POLL_INTERVAL};
pub use picture::{MAX_PICTURE_BYTES, Picture, PictureError, Pictures};
pub use raster::raster_type;

/// Duration of a claim.
const LEASE: Duration = Duration::from_secs(20 * 60);

/// Timeouts for a silent server, and for a whole request. Servers that are slow on purpose must not delay other
/// feeds.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(60);

/// Interval of polling the library for due feeds without a notification.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// Maximum number of concurrent polls.
const MAX_CONCURRENT: usize = 16;

/// Maximum number of claimed feeds that wait for others of their hosts. It is large, so that one slow host does
/// not delay other hosts.
const MAX_CLAIMED: usize = 4_096;

/// Polls the feeds of a library.
#[derive(Clone)]
pub struct FeedSchedule {
    library: Arc<dyn Library>,
    endpoint: Endpoint,
    fetcher: Fetcher,
    /// Notified when something may be due.
    notifier: Arc<Notify>,
}

/// Claimed feeds by host.
#[derive(Default)]
struct Waiting {
    /// Waiting feeds of hosts that are being polled.
    hosts: BTreeMap<String, VecDeque<Claimed>>,
    /// Feeds whose hosts are idle.
    free: VecDeque<Claimed>,
    count: usize,
}

/// A feed that must be polled before `until`, after which the claim may pass to another process.
struct Claimed {
    feed: DueFeed,
    until: Millis,
}

impl Waiting {
    fn add(&mut self, feed: DueFeed, until: Millis) {
        self.count += 1;
        let host = host(&feed);
        let claimed = Claimed { feed, until };
        match self.hosts.get_mut(&host) {
            Some(others) => others.push_back(claimed),
            None => {
                self.hosts.insert(host, VecDeque::new());
                self.free.push_back(claimed);
            }
        }
    }

    /// Returns the next feed whose host is idle.
    fn take(&mut self, now: Millis) -> Option<DueFeed> {
        loop {
            let Claimed { feed, until } = self.free.pop_front()?;
            self.count -= 1;
            if now < until {
                return Some(feed);
            }
            self.free(&host(&feed));
        }
    }

    /// Marks a host as idle; its next feed becomes available.
    fn free(&mut self, host: &str) {
        match self.hosts.get_mut(host).and_then(VecDeque::pop_front) {
            Some(next) => self.free.push_back(next),
            None => drop(self.hosts.remove(host)),
        }
    }
}

impl FeedSchedule {
    /// Creates the schedule of a hub's library. `notifier` is notified when something may be due. Private addresses
    /// and credentials are used only as long as the hub has no users, and so serves its own machine alone.
    pub fn new(
        library: Arc<dyn Library>,
        endpoint: Endpoint,
        fetcher: Fetcher,
        notifier: Arc<Notify>,
    ) -> Self {
        let policy = fetcher.policy();
        let fetcher =
            fetcher.within(IDLE_TIMEOUT.min(policy.idle), TOTAL_TIMEOUT.min(policy.overall));
        Self { library, endpoint, fetcher, notifier }
    }

    /// Polls due feeds for as long as the future is polled. It may be dropped at any time; settled results stay.
    pub async fn run(self) {
        let (mut waiting, mut polls) = (Waiting::default(), JoinSet::new());
        loop {
            let room = MAX_CLAIMED.saturating_sub(waiting.count + polls.len());
            match self.claim(room).await {
                Ok(due) => {
                    // Polling must end before the claim can pass to another process.
                    let until = self.now().after(pace::millis(LEASE / 2));
                    due.into_iter().for_each(|feed| waiting.add(feed, until));
                }
                Err(error) => tracing::warn!(%error, "cannot list the feeds that are due"),
            }
            self.begin(&mut waiting, &mut polls);
            // Finished polls are replaced at once; the library is only queried again when few feeds wait.
            loop {
                tokio::select! {
                    () = sleep(POLL_INTERVAL) => break,
                    () = self.notifier.notified() => break,
                    Some(done) = polls.join_next() => match done {
                        Ok(host) => waiting.free(&host),
                        Err(error) => tracing::error!(%error, "the poll of a feed failed"),
                    },
                }
                self.begin(&mut waiting, &mut polls);
                if waiting.count + polls.len() < MAX_CONCURRENT {
                    break;
                }
            }
        }
    }

    fn begin(&self, waiting: &mut Waiting, polls: &mut JoinSet<String>) {
        while polls.len() < MAX_CONCURRENT
            && let Some(feed) = waiting.take(self.now())
        {
            let schedule = self.clone();
            polls.spawn(async move {
                let host = host(&feed);
                schedule.poll_and_log(feed).await;
                host
            });
        }
    }

    /// Claims due feeds.
    pub async fn claim(&self, most: usize) -> Result<Vec<DueFeed>, LibraryError> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let now = self.now();
        let until = now.after(pace::millis(LEASE));
        self.library.claim(now, until, most).await
    }

    /// Polls a claimed feed and stores the result.
    pub async fn poll(&self, feed: DueFeed) -> Result<PollChanges, ReadingError> {
        let address = shown_text(feed.address.as_str());
        let span = tracing::info_span!("poll", feed = %feed.number, address);
        self.poll_within(feed).instrument(span).await
    }

    async fn poll_within(&self, feed: DueFeed) -> Result<PollChanges, ReadingError> {
        let (number, address) = (feed.number, feed.address.clone());
        let (now, chance) = (self.now(), self.endpoint.environment().random());
        if let Some(until) = self.library.host_hold(&host(&feed), now).await? {
            let state = PollState { due: until, ..feed.state.not_later_than(now) };
            let poll = Poll { state, document: None };
            return Ok(self.library.settle(number, poll, now).await?);
        }
        let has_strangers = self.endpoint.has_users().await?;
        let for_untrusted = has_strangers.then(|| self.fetcher.for_untrusted());
        let fetcher = for_untrusted.as_ref().unwrap_or(&self.fetcher);
        let poll = fetch::poll(fetcher, &*self.library, feed, now, chance).await?;
        tracing::debug!(
            has_document = poll.document.is_some(),
            failures = poll.state.failures,
            fault = poll.state.fault,
            "the feed was fetched"
        );
        let head = poll.document.as_ref().map(|document| document.head.clone());
        let settled = self.library.settle(number, poll, now).await?;
        if let Some(head) = head {
            icon::refresh_icon(fetcher, &*self.library, &address, &head, now).await?;
        }
        Ok(settled)
    }

    /// Makes feeds due now.
    pub async fn make_due(&self, feeds: &[FeedNumber]) -> Result<(), LibraryError> {
        self.library.make_due(feeds, self.now()).await?;
        self.notifier.notify_one();
        Ok(())
    }

    async fn poll_and_log(&self, feed: DueFeed) {
        let feed_number = feed.number;
        let address = shown_text(feed.address.as_str());
        match self.poll(feed).await {
            Ok(settled) if settled.added.is_empty() => {}
            Ok(settled) => {
                tracing::info!(%feed_number, address, added = settled.added.len(), "new articles");
            }
            Err(error) => {
                tracing::warn!(%error, %feed_number, address, "cannot store the result of a poll")
            }
        }
    }

    fn now(&self) -> Millis {
        Millis::new(self.endpoint.environment().now().micros() / 1_000)
    }
}

/// Host and port of the server that a poll of the feed contacts.
fn host(feed: &DueFeed) -> String {
    host_of(feed.state.redirect_target.as_ref().unwrap_or(&feed.address).as_str())
}

/// Host and port of an address, in lower case.
fn host_of(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    host.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(number: i64, address: &str, redirect_target: Option<&str>) -> DueFeed {
        let redirect_target = redirect_target.map(|address| address.parse().unwrap());
        let state = PollState { redirect_target, ..PollState::default() };
        DueFeed { number: FeedNumber::new(number), address: address.parse().unwrap(), state }
    }

    #[test]
    fn each_host_gets_one_request_at_a_time() {
        let mut waiting = Waiting::default();
        for feed in [
            due(1, "http://u:p@a.example/1", None),
            due(2, "http://A.example/2", None),
            due(3, "http://b.example/3", None),
            due(4, "http://b.example/4", Some("http://a.example/new")),
        ] {
            waiting.add(feed, Millis::new(9));
        }
        let take =
            |waiting: &mut Waiting| waiting.take(Millis::new(8)).map(|feed| feed.number.get());
        assert_eq!([take(&mut waiting), take(&mut waiting)], [Some(1), Some(3)]);
        assert_eq!((take(&mut waiting), waiting.count), (None, 2));
        waiting.free("b.example");
        assert_eq!(take(&mut waiting), None, "the others are of another host");
        waiting.free("a.example");
        assert_eq!([take(&mut waiting), take(&mut waiting)], [Some(2), None]);
        waiting.free("a.example");
        assert_eq!(take(&mut waiting), Some(4));
        waiting.free("a.example");
        assert!(waiting.hosts.is_empty() && waiting.count == 0);
    }

    #[test]
    fn feeds_with_expired_claims_are_not_polled() {
        let mut waiting = Waiting::default();
        for (number, until) in [(1, 5), (2, 5), (3, 9)] {
            waiting.add(due(number, "http://a.example/", None), Millis::new(until));
        }
        assert_eq!(waiting.take(Millis::new(5)).map(|feed| feed.number.get()), Some(3));
        waiting.free("a.example");
        assert!(waiting.hosts.is_empty() && waiting.count == 0);
    }
}
