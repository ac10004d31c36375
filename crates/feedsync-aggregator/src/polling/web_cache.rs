//! Cache of documents that articles name, such as pictures, and the permissions to fetch them.
//!
//! Documents are cached in memory, by their address and by what the fetch may reach. At a hub with users that is the
//! same for all feeds: public addresses, and those that the operator names. At a hub without users it depends on
//! the origin of the feed, whose address its only user gave. So nobody gets a document from the cache that a fetch
//! for the same feed could not reach.

use std::time::Duration;

use feedsync_endpoint::Endpoint;
use feedsync_fetch::{FetchError, Fetcher, Url, address};
use feedsync_reading_state::FeedAddress;
use feedsync_store::StoreError;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

/// Maximum time that a request waits for a permit, or for another request for the same document.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Limits of a cache.
pub(super) struct CacheLimits {
    /// Timeouts for a silent server, and for a whole document.
    pub(super) idle_timeout: Duration,
    pub(super) total_timeout: Duration,
    /// Maximum number of documents that are fetched concurrently.
    pub(super) max_concurrent: usize,
    /// Maximum size of all cached documents, in bytes.
    pub(super) bytes: u64,
    /// Size that a cached result counts at least, in bytes. It limits the number of results.
    pub(super) min_bytes: u64,
    /// Lifetimes of a document, and of a failure. A page with many broken pictures asks their servers once.
    pub(super) lifetime: Duration,
    pub(super) failure_lifetime: Duration,
}

/// A document or a failure that can be cached.
pub(super) trait Cached: Clone + Send + Sync + 'static {
    /// Size in memory, in bytes.
    fn bytes(&self) -> usize;
    /// Whether it is a failure.
    fn is_failure(&self) -> bool;
}

/// Reason why a cache has no result.
pub(super) enum NoResult {
    /// Too many documents are being fetched.
    Busy,
    /// The address of the feed or of the document is not valid.
    Address(FetchError),
    /// The store failed.
    Store(StoreError),
}

/// Digest of the permissions of a fetch and of the address.
type Key = [u8; 32];

#[derive(Clone)]
struct Entry<T> {
    result: T,
    expires: Instant,
}

#[derive(Clone)]
struct Weight {
    min_bytes: u64,
}

impl<T: Cached> Weighter<Key, Entry<T>> for Weight {
    fn weight(&self, _: &Key, entry: &Entry<T>) -> u64 {
        (entry.result.bytes() as u64).max(self.min_bytes)
    }
}

/// Documents that articles name: fetched under the policy of polling, and cached.
pub(super) struct WebCache<T: Cached> {
    endpoint: Endpoint,
    fetcher: Fetcher,
    limits: CacheLimits,
    permits: Semaphore,
    cache: Cache<Key, Entry<T>, Weight>,
}

impl<T: Cached> WebCache<T> {
    /// Creates an empty cache, with the policy of a fetcher. If the hub has users, only addresses that strangers may
    /// reach are fetched.
    pub(super) fn new(endpoint: Endpoint, fetcher: Fetcher, limits: CacheLimits) -> Self {
        let policy = fetcher.policy();
        let (idle, total) = (limits.idle_timeout, limits.total_timeout);
        let fetcher = fetcher.within(idle.min(policy.idle), total.min(policy.overall));
        let results = usize::try_from(limits.bytes / limits.min_bytes).unwrap_or(usize::MAX);
        // One shard, since a shard refuses a document that is larger than its part of the cache.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(results)
            .weight_capacity(limits.bytes)
            .build()
            .unwrap_or_else(|_| unreachable!("both capacities are set"));
        let weight = Weight { min_bytes: limits.min_bytes };
        let hashes = DefaultHashBuilder::default();
        let cache = Cache::with_options(options, weight, hashes, DefaultLifecycle::default());
        let permits = Semaphore::new(limits.max_concurrent);
        Self { endpoint, fetcher, limits, permits, cache }
    }

    /// Returns the cached result for an address that an article of a feed names.
    pub(super) async fn cached(
        &self,
        feed: &FeedAddress,
        address: &str,
    ) -> Result<Option<T>, NoResult> {
        let (_, _, key) = self.permitted(feed, address).await?;
        Ok(self.fresh(&key))
    }

    /// Returns the result for an address that an article of a feed names. Concurrent requests for one address fetch
    /// it once.
    pub(super) async fn load<F: Future<Output = T>>(
        &self,
        feed: &FeedAddress,
        address: &str,
        fetch: impl FnOnce(Fetcher, Url) -> F,
    ) -> Result<T, NoResult> {
        let Ok(Ok(_permit)) = timeout(MAX_WAIT, self.permits.acquire()).await else {
            return Err(NoResult::Busy);
        };
        // Users may have been added while the request waited.
        let (fetcher, url, key) = self.permitted(feed, address).await?;
        // Removes an expired result.
        let _ = self.fresh(&key);
        let guard = match timeout(MAX_WAIT, self.cache.get_value_or_guard_async(&key)).await {
            Ok(Ok(cached)) => return Ok(cached.result),
            Ok(Err(guard)) => guard,
            Err(_) => return Err(NoResult::Busy),
        };
        let result = fetch(fetcher, url).await;
        let lifetime = match result.is_failure() {
            true => self.limits.failure_lifetime,
            false => self.limits.lifetime,
        };
        // Requests that waited get the result in any case.
        let _ = guard.insert(Entry { result: result.clone(), expires: Instant::now() + lifetime });
        Ok(result)
    }

    /// Returns a cached result that has not expired. Removes an expired one.
    fn fresh(&self, key: &Key) -> Option<T> {
        let entry = self.cache.get(key)?;
        let is_expired = |entry: &Entry<T>| entry.expires <= Instant::now();
        if is_expired(&entry) {
            self.cache.remove_if(key, is_expired);
            return None;
        }
        Some(entry.result)
    }

    /// Returns the fetcher for documents that a feed names, the parsed address, and the key of the document in the
    /// cache.
    async fn permitted(
        &self,
        feed: &FeedAddress,
        document: &str,
    ) -> Result<(Fetcher, Url, Key), NoResult> {
        let parsed = |text: &str| address(text).map_err(NoResult::Address);
        // The feed names the document, so permissions depend on the address of the feed.
        let (given, url) = (parsed(feed.as_str())?, parsed(document)?);
        let has_users = self.endpoint.has_users().await.map_err(NoResult::Store)?;
        let (fetcher, origin) = match has_users {
            true => (self.fetcher.for_untrusted(), String::new()),
            false => (self.fetcher.clone(), given.origin().ascii_serialization()),
        };
        let mut digest = Sha256::new();
        digest.update(origin);
        digest.update("\n");
        digest.update(url.as_str());
        Ok((fetcher.given(given), url, digest.finalize().into()))
    }
}
