//! A hub that stores articles, with feeds whose content is set without fetching.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use feedsync_aggregator::{ArticleText, Library, NewArticle, Poll, PollState, PolledDocument};
use feedsync_aggregator::{
    FeedFinder, FeedKind, FeedSchedule, FindError, FoundFeed, FullTexts, NamedFeed, Newsreading,
    Pictures, Readers,
};
use feedsync_endpoint::{Endpoint, NewUser, Password};
use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_formats::ContentType;
use feedsync_log::Millis;
use feedsync_reader_api::ArticleNumber;
use feedsync_reading_state::FeedAddress;
use feedsync_server::{Config, HubParts, Limits, router};
use tempfile::TempDir;
use tokio::sync::Notify;

use crate::access::world::user;

pub(crate) const PASSWORD: &str = "correct horse battery";

/// Default arrival time of articles.
pub(crate) const ARRIVAL_TIME: u64 = 1_763_600_000_000;

pub(crate) struct Newsroom {
    pub(crate) endpoint: Endpoint,
    pub(crate) library: Arc<dyn Library>,
    pub(crate) router: Router,
    pub(crate) directory: TempDir,
}

/// Finder that accepts each address as a feed.
struct AnyAddress;

#[async_trait]
impl FeedFinder for AnyAddress {
    async fn all(&self, address: &FeedAddress) -> Result<Vec<NamedFeed>, FindError> {
        let (address, kind) = (address.clone(), FeedKind::Rss);
        Ok(vec![NamedFeed { address, title: None, kind, article_count: Some(3) }])
    }

    async fn first(&self, address: &FeedAddress) -> Result<FoundFeed, FindError> {
        Ok(FoundFeed { address: address.clone(), title: None })
    }
}

impl Newsroom {
    /// A hub with users, or without any.
    pub(crate) async fn of(names: &[&str]) -> Self {
        Self::over(Self::endpoint_of(names).await)
    }

    /// The endpoint of a hub with users.
    pub(crate) async fn endpoint_of(names: &[&str]) -> Endpoint {
        let endpoint = crate::hub::endpoint("hub");
        for name in names {
            let password = Some(Password::new(PASSWORD).unwrap());
            let administrator = *name == "anna";
            let new = NewUser { name: user(name), password, administrator, databases_only: false };
            endpoint.add_user(new).await.unwrap();
        }
        endpoint
    }

    /// A hub without a limit on requests. Each address counts as a feed, and is not fetched.
    pub(crate) fn over(endpoint: Endpoint) -> Self {
        Self::finding(endpoint, |_| Arc::new(AnyAddress))
    }

    /// A hub with this finder. It fetches pictures from 127.0.0.1 as from public addresses.
    pub(crate) fn finding(
        endpoint: Endpoint,
        finder: impl FnOnce(Arc<dyn Library>) -> Arc<dyn FeedFinder>,
    ) -> Self {
        let directory = TempDir::new().unwrap();
        let library = crate::hub::library(directory.path());
        let finder = finder(Arc::clone(&library));
        let notifier = Arc::new(Notify::new());
        let readers = Arc::new(Readers::new(Arc::clone(&library), Arc::clone(&notifier), 1 << 30));
        let fetcher = Fetcher::new(Policy::new(Private::Refused)).unwrap();
        let of_schedule = fetcher.clone();
        let schedule =
            FeedSchedule::new(Arc::clone(&library), endpoint.clone(), of_schedule, notifier);
        let networks = ["127.0.0.1/32".parse().unwrap()];
        let fetcher = fetcher.with_networks(&networks).unwrap();
        let full_texts = FullTexts::new(endpoint.clone(), fetcher.clone());
        let pictures = Pictures::new(endpoint.clone(), fetcher);
        let newsreading = Some(Newsreading { readers, schedule, finder, pictures, full_texts });
        let served = HubParts { newsreading, ..HubParts::from(endpoint.clone()) };
        let limits = Limits { client_requests: 0, ..Limits::default() };
        let router = router(served, Config { limits, ..Config::default() });
        Self { endpoint, library, router, directory }
    }

    /// Publishes articles in a subscribed feed; new ones get the next numbers.
    pub(crate) async fn publish(&self, feed: &str, articles: Vec<NewArticle>, came: u64) {
        let document = PolledDocument { articles, ..PolledDocument::default() };
        self.settle(feed, Poll { document: Some(document), ..Poll::default() }, came).await;
    }

    /// Marks a feed as unreadable.
    pub(crate) async fn fail(&self, feed: &str, fault: &str, failures: u32) {
        let fault = Some(fault.to_owned());
        let state = PollState {
            fault,
            failures,
            checked: Some(Millis::new(ARRIVAL_TIME)),
            ..PollState::default()
        };
        self.settle(feed, Poll { state, document: None }, ARRIVAL_TIME).await;
    }

    pub(crate) async fn settle(&self, feed: &str, poll: Poll, now: u64) {
        let feed = self.library.feed_at(&feed.parse().unwrap()).await.unwrap().unwrap();
        self.library.settle(feed.number, poll, Millis::new(now)).await.unwrap();
    }

    /// Identifier of an article in its feed.
    pub(crate) async fn name(&self, number: i64) -> String {
        let named = self.library.named(&[ArticleNumber::new(number)]).await.unwrap();
        named[0].name.to_string()
    }
}

/// An article that is so many seconds later than the first.
pub(crate) fn article(name: &str, title: &str, content: &str, seconds: u64) -> NewArticle {
    NewArticle {
        name: name.parse().unwrap(),
        published: Some(Millis::new(1_763_000_000_000 + seconds * 1_000)),
        text: ArticleText {
            title: Some(title.to_owned()),
            content: Some(content.to_owned()),
            content_type: ContentType::Html,
            link: Some(format!("https://news.example/{name}")),
            ..ArticleText::default()
        },
        plain: format!("{title} {content}"),
    }
}
