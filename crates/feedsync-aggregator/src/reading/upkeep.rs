//! Background work for the users of a hub: polling due feeds, detecting subscriptions by other devices, and
//! deleting articles past their retention time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::library::{Library, ReaderName, Retention};
use feedsync_endpoint::Endpoint;
use feedsync_log::Millis;
use feedsync_reader_api::FeedNumber;
use feedsync_reading_state::ArticleId;
use feedsync_store::CollectionName;
use tokio::time::interval;

use crate::Newsreading;
use crate::reading::person::ReadingError;

/// Interval of polling for subscriptions by other devices.
const POLL_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// Number of these polls between two sweeps: one day.
const POLLS_PER_SWEEP: u64 = 24 * 6;

/// Number of newest articles of a feed that are kept at any age.
const RETAINED_NEWEST: usize = 100;

/// Time after which a feed without subscriptions is deleted.
const ABANDONED_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Result of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepResult {
    /// Number of articles past their retention time that were deleted.
    pub articles: u64,
    /// Number of deleted feeds, which nobody was subscribed to for a month, with all their data.
    pub feeds: u64,
}

impl Newsreading {
    /// Runs all background work for as long as the future is polled. `kept` is the retention time of articles
    /// after their arrival; without it they are kept indefinitely.
    pub async fn run(self, endpoint: Endpoint, kept: Option<Duration>) {
        tokio::join!(self.schedule.clone().run(), self.run_maintenance(&endpoint, kept));
    }

    async fn run_maintenance(&self, endpoint: &Endpoint, kept: Option<Duration>) {
        let (mut pause, mut looks) = (interval(POLL_INTERVAL), 0);
        if let Err(error) = endpoint.secure_readings().await {
            tracing::warn!(%error, "cannot make the reading collections of an earlier version \
            private");
        }
        loop {
            pause.tick().await;
            if let Err(error) = self.poll_subscriptions(endpoint).await {
                tracing::warn!(%error, "cannot read the subscriptions of devices");
            }
            if looks % POLLS_PER_SWEEP == 0 {
                match self.sweep(endpoint, kept).await {
                    Ok(swept) if swept == SweepResult::default() => {}
                    Ok(SweepResult { articles, feeds }) => {
                        tracing::info!(articles, feeds, "deleted articles past their retention");
                    }
                    Err(error) => tracing::warn!(%error, "cannot delete old articles"),
                }
            }
            looks += 1;
        }
    }

    /// Applies subscriptions that devices added. A deleted user has no subscriptions. A reading that cannot be
    /// loaded does not delay the others.
    pub async fn poll_subscriptions(&self, endpoint: &Endpoint) -> Result<(), ReadingError> {
        for reader in self.library().readers().await? {
            if let Err(error) = self.poll_reader(endpoint, &reader).await {
                tracing::warn!(%error, %reader, "cannot read a reading state");
            }
        }
        Ok(())
    }

    async fn poll_reader(
        &self,
        endpoint: &Endpoint,
        reader: &ReaderName,
    ) -> Result<(), ReadingError> {
        let collection = match CollectionName::new(reader.as_str()) {
            Ok(name) => endpoint.find_collection(&name).await?,
            Err(_) => None,
        };
        match collection {
            Some(collection) => {
                self.readers.cached(endpoint, &collection).subscription_view().await?;
            }
            None => {
                let now = now(endpoint);
                self.library().set_subscriptions(reader, &BTreeSet::new(), now).await?;
            }
        }
        Ok(())
    }

    /// Deletes articles past their retention time, and feeds without subscriptions. Articles that the last
    /// document of their feed contains, the newest hundred of each feed, and starred or tagged ones stay. This
    /// also applies to feeds without subscriptions. If the reading of a user cannot be loaded, nothing is
    /// deleted, since its stars are unknown.
    pub async fn sweep(
        &self,
        endpoint: &Endpoint,
        kept: Option<Duration>,
    ) -> Result<SweepResult, ReadingError> {
        let ago = |period: Duration| {
            now(endpoint).before(u64::try_from(period.as_millis()).unwrap_or(u64::MAX))
        };
        let mut swept = SweepResult::default();
        let mut starred_or_tagged = self.starred_or_tagged(endpoint).await?;
        if let Some(kept) = kept {
            for (feed, names) in &starred_or_tagged {
                let names = names.clone();
                let keep = Retention { received_since: ago(kept), newest: RETAINED_NEWEST, names };
                swept.articles += self.library().sweep(*feed, keep).await?;
            }
        }
        starred_or_tagged.retain(|_, names| !names.is_empty());
        let spared = starred_or_tagged.into_keys().collect();
        swept.feeds = self.library().delete_abandoned_feeds(ago(ABANDONED_AFTER), &spared).await?;
        Ok(swept)
    }

    /// Returns all feeds that users are subscribed to or in which they starred or tagged articles, with those
    /// articles.
    async fn starred_or_tagged(
        &self,
        endpoint: &Endpoint,
    ) -> Result<BTreeMap<FeedNumber, BTreeSet<ArticleId>>, ReadingError> {
        let mut starred_or_tagged: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for name in self.reading_collections(endpoint).await? {
            let Some(collection) = endpoint.find_collection(&name).await? else { continue };
            let subscription_view =
                self.readers.cached(endpoint, &collection).subscription_view().await?;
            for feed in subscription_view.feeds().iter().chain(subscription_view.former()) {
                starred_or_tagged
                    .entry(feed.number())
                    .or_default()
                    .extend(feed.starred_or_tagged().cloned());
            }
        }
        Ok(starred_or_tagged)
    }

    /// Reading collections of all users, including users without subscriptions.
    async fn reading_collections(
        &self,
        endpoint: &Endpoint,
    ) -> Result<BTreeSet<CollectionName>, ReadingError> {
        let readers = self.library().readers().await?;
        let names = readers.iter().filter_map(|reader| CollectionName::new(reader.as_str()).ok());
        Ok(names.chain(endpoint.reading_collections().await?).collect())
    }

    fn library(&self) -> &dyn Library {
        &**self.readers.library()
    }
}

fn now(endpoint: &Endpoint) -> Millis {
    Millis::new(endpoint.environment().now().micros() / 1_000)
}
