//! Finds the feeds at an address that a user wants to subscribe to.
//!
//! The address is fetched under the policy and limits of polling, and within [`MAX_FIND_TIME`], because a person
//! waits for the result. No request is needed for a feed that the hub polls successfully.

use std::sync::Arc;
use std::time::Duration;

use crate::library::{Library, LibraryError, PollState};
use async_trait::async_trait;
use feedsync_core::Format;
use feedsync_endpoint::Endpoint;
use feedsync_fetch::{Fetcher, Private};
use feedsync_log::Millis;
use feedsync_reading_state::{FeedAddress, IdentificationState};
use feedsync_store::StoreError;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::fetch::{self, FetchResult, NotAFeed};
use super::host_of;

/// Time limit for finding a feed, including the wait for other requests.
pub const MAX_FIND_TIME: Duration = Duration::from_secs(20);

/// Timeout for a silent server.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of addresses that are fetched concurrently.
const MAX_CONCURRENT: usize = 8;

/// Time after a successful poll during which a feed needs no request, in milliseconds.
const FRESH: u64 = 24 * 3_600 * 1_000;

/// A readable feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFeed {
    /// Address to subscribe to.
    pub address: FeedAddress,
    /// Title of the feed, if it has one.
    pub title: Option<String>,
}

/// A feed at an address, or one that a web page names and that was not fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFeed {
    /// Address of the feed.
    pub address: FeedAddress,
    /// Title of the feed or of the link to it, if there is one.
    pub title: Option<String>,
    /// Format of the feed, or the one that the link declares.
    pub kind: FeedKind,
    /// Number of articles in the feed, if it was fetched.
    pub article_count: Option<usize>,
}

/// Format of a feed, as far as newsreaders distinguish formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedKind {
    /// RSS, in all its versions.
    Rss,
    /// Atom.
    Atom,
    /// JSON Feed.
    Json,
}

/// Reason why no feed was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// The address cannot be fetched.
    #[error("{0}")]
    Fetch(String),
    /// The server requested a pause.
    #[error("the server asked not to be contacted for {} s", .0.as_secs())]
    Held(Duration),
    /// The response did not arrive in time.
    #[error("no response within {} s", MAX_FIND_TIME.as_secs())]
    Timeout,
    /// The document is a web page that names no feed.
    #[error("the address leads to a web page that does not link to a feed")]
    NoFeed,
    /// The document is neither a feed nor a web page.
    #[error("{0}")]
    Unreadable(String),
    /// The library of feeds and articles failed.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Finds the feeds of addresses.
#[async_trait]
pub trait FeedFinder: Send + Sync + 'static {
    /// Returns the feed at an address, or the feeds that a web page there names, the best first. The result is
    /// never empty. Feeds that a page names are not fetched.
    async fn all(&self, address: &FeedAddress) -> Result<Vec<NamedFeed>, FindError>;

    /// Returns the feed at an address, or the first readable feed that a web page there names, with the address
    /// to subscribe to.
    async fn first(&self, address: &FeedAddress) -> Result<FoundFeed, FindError>;
}

/// Finds feeds by fetching addresses like [`FeedSchedule`](super::FeedSchedule). If the hub has users, only
/// addresses that strangers may reach are fetched.
#[derive(Clone)]
pub struct WebFinder {
    library: Arc<dyn Library>,
    endpoint: Endpoint,
    fetcher: Fetcher,
    permits: Arc<Semaphore>,
}

/// Document at an address.
enum Found {
    Feed(NamedFeed),
    Page(Vec<NamedFeed>),
}

impl WebFinder {
    /// Creates a finder with the policy of a fetcher.
    pub fn new(library: Arc<dyn Library>, endpoint: Endpoint, fetcher: Fetcher) -> Self {
        let policy = fetcher.policy();
        let fetcher =
            fetcher.within(IDLE_TIMEOUT.min(policy.idle), MAX_FIND_TIME.min(policy.overall));
        Self { library, endpoint, fetcher, permits: Arc::new(Semaphore::new(MAX_CONCURRENT)) }
    }

    /// Returns the fetcher to use now: one for strangers if the hub has users. It must be called with a permit,
    /// since users may be added while a request waits for one.
    async fn fetcher(&self) -> Result<Fetcher, FindError> {
        let has_strangers = self.endpoint.has_users().await?;
        Ok(if has_strangers { self.fetcher.for_untrusted() } else { self.fetcher.clone() })
    }

    /// Returns the feed at an address, if it was polled successfully within the last day.
    async fn known(&self, address: &FeedAddress) -> Result<Option<FoundFeed>, FindError> {
        let since = self.now().before(FRESH);
        let kept = self.library.feed_at(address).await?.filter(|kept| {
            let state = &kept.state;
            let is_fresh = state.checked.is_some_and(|checked| checked >= since);
            is_fresh && state.changed.is_some() && state.failures == 0 && !state.gone
        });
        Ok(kept.map(|kept| FoundFeed { address: kept.address, title: kept.head.title }))
    }

    /// Fetches the address that a user gave, or one that a page at that address names.
    async fn fetch(
        &self,
        fetcher: &Fetcher,
        given: &FeedAddress,
        named: Option<&FeedAddress>,
    ) -> Result<Found, FindError> {
        let address = named.unwrap_or(given);
        let now = self.now();
        if let Some(until) = self.library.host_hold(&host_of(address.as_str()), now).await? {
            let millis = until.get().saturating_sub(now.get());
            return Err(FindError::Held(Duration::from_millis(millis)));
        }
        let state = PollState { redirect_target: named.cloned(), ..PollState::default() };
        let answer = match fetch::ask(fetcher, given, &state).await {
            Ok(answer) => answer,
            Err(error) => {
                if let Some((host, until)) = fetch::host_hold(&error, now) {
                    self.library.hold(&host, until, now).await?;
                }
                return Err(FindError::Fetch(fetch::short(fetch::fault(&error))));
            }
        };
        let FetchResult::Changed { bytes, response_head, .. } = answer else {
            return Err(FindError::Fetch(
                "the server answered 304 to an unconditional request".into(),
            ));
        };
        match fetch::read(bytes, &response_head, IdentificationState::default()).await {
            Ok(document) => {
                let kind = match document.feed.format {
                    Some(Format::Atom) => FeedKind::Atom,
                    Some(Format::Json) => FeedKind::Json,
                    _ => FeedKind::Rss,
                };
                let title = document.feed.title.map(fetch::short);
                let (address, article_count) = (address.clone(), Some(document.feed.entries.len()));
                Ok(Found::Feed(NamedFeed { address, title, kind, article_count }))
            }
            Err(NotAFeed { named: Some(feeds), .. }) => match feeds.is_empty() {
                true => Err(FindError::NoFeed),
                false => Ok(Found::Page(feeds)),
            },
            Err(NotAFeed { reason, named: None }) => {
                Err(FindError::Unreadable(fetch::short(reason)))
            }
        }
    }

    async fn find_all(&self, address: &FeedAddress) -> Result<Vec<NamedFeed>, FindError> {
        let Ok(_permit) = self.permits.acquire().await else { return Err(FindError::Timeout) };
        Ok(match self.fetch(&self.fetcher().await?, address, None).await? {
            Found::Feed(feed) => vec![feed],
            Found::Page(named) => named,
        })
    }

    async fn find_first(&self, address: &FeedAddress) -> Result<FoundFeed, FindError> {
        if let Some(known) = self.known(address).await? {
            return Ok(known);
        }
        let Ok(_permit) = self.permits.acquire().await else { return Err(FindError::Timeout) };
        let fetcher = self.fetcher().await?;
        let named = match self.fetch(&fetcher, address, None).await? {
            Found::Feed(NamedFeed { address, title, .. }) => {
                return Ok(FoundFeed { address, title });
            }
            Found::Page(named) => named,
        };
        let mut failure = None;
        for feed in named {
            match self.fetch(&fetcher, address, Some(&feed.address)).await {
                Ok(Found::Feed(found)) => return Ok(settled(&fetcher, address, found)),
                Ok(Found::Page(_)) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.unwrap_or(FindError::NoFeed))
    }

    fn now(&self) -> Millis {
        Millis::new(self.endpoint.environment().now().micros() / 1_000)
    }
}

/// Feed of a page, with the address to subscribe to. If private addresses are reachable, the author of a page
/// must not choose one. A feed on another server is then subscribed to at the address of the page, which the user
/// gave.
fn settled(fetcher: &Fetcher, page: &FeedAddress, feed: NamedFeed) -> FoundFeed {
    let NamedFeed { address, title, .. } = feed;
    let is_elsewhere = host_of(page.as_str()) != host_of(address.as_str());
    match is_elsewhere && fetcher.policy().private == Private::Allowed {
        true => FoundFeed { address: page.clone(), title },
        false => FoundFeed { address, title },
    }
}

#[async_trait]
impl FeedFinder for WebFinder {
    async fn all(&self, address: &FeedAddress) -> Result<Vec<NamedFeed>, FindError> {
        timeout(MAX_FIND_TIME, self.find_all(address)).await.unwrap_or(Err(FindError::Timeout))
    }

    async fn first(&self, address: &FeedAddress) -> Result<FoundFeed, FindError> {
        timeout(MAX_FIND_TIME, self.find_first(address)).await.unwrap_or(Err(FindError::Timeout))
    }
}
