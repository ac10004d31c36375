//! Newsreading: the cost of polling many feeds, and response times with many articles.

mod lists;
mod pages;
mod polling;

use std::sync::Arc;

use feedsync_aggregator::{ArticleText, Library, NewArticle, Poll, PolledDocument};
use feedsync_aggregator::{
    FeedSchedule, FullTexts, Newsreading, Person, Pictures, Readers, WebFinder,
};
use feedsync_aggregator::{PostgresLibrary, SqliteLibrary};
use feedsync_endpoint::Endpoint;
use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_log::Millis;
use feedsync_reader_api::FeedNumber;
use tokio::sync::Notify;

use crate::backend::{self, Backend, StoreLocation};

pub(crate) use pages::run as run_pages;
pub(crate) use polling::{poll, serve_feeds};

pub(crate) fn run() {
    for backend in Backend::each() {
        polling::run(&backend);
    }
    for backend in Backend::each() {
        lists::run(&backend);
    }
}

/// A hub without users, with a library of articles.
struct Hub {
    endpoint: Endpoint,
    library: Arc<dyn Library>,
    newsreading: Newsreading,
}

impl Hub {
    async fn create(place: StoreLocation<'_>) -> Self {
        let endpoint = backend::create(place).await;
        let library: Arc<dyn Library> = match place {
            StoreLocation::Directory(directory) => {
                Arc::new(SqliteLibrary::open(directory).expect("a new library"))
            }
            StoreLocation::Database(url) => {
                Arc::new(PostgresLibrary::open(url).await.expect("a new library"))
            }
        };
        let notifier = Arc::new(Notify::new());
        let readers = Arc::new(Readers::new(Arc::clone(&library), Arc::clone(&notifier), 1 << 30));
        let fetcher = Fetcher::new(Policy::new(Private::Allowed)).expect("a client");
        let finder =
            Arc::new(WebFinder::new(Arc::clone(&library), endpoint.clone(), fetcher.clone()));
        let pictures = Pictures::new(endpoint.clone(), fetcher.clone());
        let full_texts = FullTexts::new(endpoint.clone(), fetcher.clone());
        let schedule = FeedSchedule::new(Arc::clone(&library), endpoint.clone(), fetcher, notifier);
        let newsreading = Newsreading { readers, schedule, finder, pictures, full_texts };
        Self { endpoint, library, newsreading }
    }

    async fn somebody(&self) -> Arc<Person> {
        self.newsreading.readers.person(&self.endpoint, None).await.expect("a reading").0
    }

    /// Subscribes to feeds; returns their numbers in the order of the addresses.
    async fn subscribe(&self, addresses: &[String]) -> Vec<FeedNumber> {
        let person = self.somebody().await;
        let feeds = addresses.iter().map(|address| feedsync_reading_state::ListedFeed {
            address: address.parse().expect("an address"),
            title: None,
            folder: Default::default(),
        });
        let list = feedsync_reading_state::SubscriptionList {
            feeds: feeds.collect(),
            ..Default::default()
        };
        person
            .subscribe(&list, feedsync_reading_state::ImportPolicy::KeepExisting)
            .await
            .expect("subscriptions");
        let subscription_view = person.subscription_view().await.expect("a shelf");
        let number = |address: &String| {
            let address = address.parse().expect("an address");
            subscription_view.feed_at(&address).expect("a subscription").number()
        };
        addresses.iter().map(number).collect()
    }

    /// Adds articles to a feed, at intervals of a minute.
    async fn publish(&self, feed: FeedNumber, count: usize) {
        let now = feedsync_store::Environment::now(&feedsync_store::SystemEnvironment);
        let now = now.micros() / 1_000;
        let article = |number: usize| NewArticle {
            name: format!("urn:example:{}:{number}", feed.get()).parse().expect("a name"),
            published: Some(Millis::new(now - (count - number) as u64 * 60_000)),
            text: ArticleText {
                title: Some(format!("The news of the day, part {number}")),
                link: Some(format!("https://news.example/{}/{number}", feed.get())),
                content: Some("<p>Nothing of note happened. More about it tomorrow.</p>".repeat(8)),
                ..ArticleText::default()
            },
            plain: "Nothing of note happened. More about it tomorrow.".to_owned(),
        };
        let numbers: Vec<usize> = (0..count).collect();
        for part in numbers.chunks(feedsync_aggregator::MAX_DOCUMENT_ARTICLES) {
            let articles = part.iter().map(|number| article(*number)).collect();
            let document = Some(PolledDocument { articles, ..PolledDocument::default() });
            let poll = Poll { document, ..Poll::default() };
            self.library.settle(feed, poll, Millis::new(now)).await.expect("kept");
        }
    }
}
