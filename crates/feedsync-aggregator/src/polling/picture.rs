//! Fetches the pictures of articles for users, so that their browsers load pictures from the hub alone.
//!
//! Pictures are cached in memory, by their address and by what the fetch may reach. At a hub with users that is the
//! same for all feeds: public addresses, and those that the operator names. At a hub without users it depends on
//! the origin of the feed, whose address its only user gave. So nobody gets a picture from the cache that a fetch
//! for the same feed could not reach.

use std::sync::Arc;
use std::time::Duration;

use feedsync_endpoint::Endpoint;
use feedsync_fetch::{Fetcher, Url, address};
use feedsync_reading_state::FeedAddress;
use feedsync_store::StoreError;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::fetch::{fault, short};
use super::raster::{RasterError, fetch_raster};

/// Maximum size of a picture, in bytes.
pub const MAX_PICTURE_BYTES: usize = 10 << 20;

/// Timeouts for a silent server, and for a whole picture.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum number of pictures that the hub fetches concurrently.
const MAX_CONCURRENT: usize = 16;

/// Maximum time that a request waits for a permit, or for another request for the same picture.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Maximum size of all cached pictures, in bytes.
const CACHE_BYTES: u64 = 64 << 20;

/// Size that a cached result counts at least, in bytes. It limits the number of results to 4,096.
const MIN_CACHED_BYTES: u64 = 16 << 10;

/// Lifetime of a cached picture.
const PICTURE_LIFETIME: Duration = Duration::from_secs(24 * 3_600);

/// Lifetime of a cached failure. A page with many broken pictures asks their servers once.
const FAILURE_LIFETIME: Duration = Duration::from_secs(60);

/// A picture in a raster format, with the bytes that its server sent. It is cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Media type of the format that the bytes have, see [`raster_type`](super::raster_type).
    pub media_type: &'static str,
    /// The bytes; at most [`MAX_PICTURE_BYTES`].
    pub bytes: Arc<[u8]>,
    /// SHA-256 of the bytes.
    pub digest: [u8; 32],
}

/// Reason why there is no picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// The picture cannot be fetched, or is not in a raster format.
    #[error("{0}")]
    Fetch(Arc<str>),
    /// Too many pictures are being fetched.
    #[error("too many pictures are being fetched; try again later")]
    Busy,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Digest of the permissions of a fetch and of the address.
type Key = [u8; 32];

/// Result of a fetch, as the cache stores it.
#[derive(Clone)]
struct CachedResult {
    result: Result<Picture, Arc<str>>,
    expires: Instant,
}

#[derive(Clone)]
struct Weight;

impl Weighter<Key, CachedResult> for Weight {
    fn weight(&self, _: &Key, cached: &CachedResult) -> u64 {
        let bytes = cached.result.as_ref().map_or(0, |picture| picture.bytes.len());
        (bytes as u64).max(MIN_CACHED_BYTES)
    }
}

/// Pictures of articles: fetched under the policy of polling, and cached. It is cheap to clone; clones share the
/// cache.
#[derive(Clone)]
pub struct Pictures(Arc<Shared>);

struct Shared {
    endpoint: Endpoint,
    fetcher: Fetcher,
    permits: Semaphore,
    cache: Cache<Key, CachedResult, Weight>,
}

impl Pictures {
    /// Creates an empty cache, with the policy of a fetcher. If the hub has users, only addresses that strangers may
    /// reach are fetched.
    pub fn new(endpoint: Endpoint, fetcher: Fetcher) -> Self {
        let policy = fetcher.policy();
        let fetcher =
            fetcher.within(IDLE_TIMEOUT.min(policy.idle), TOTAL_TIMEOUT.min(policy.overall));
        let results = usize::try_from(CACHE_BYTES / MIN_CACHED_BYTES).unwrap_or(usize::MAX);
        // One shard, since a shard refuses a picture that is larger than its part of the cache.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(results)
            .weight_capacity(CACHE_BYTES)
            .build()
            .unwrap_or_else(|_| unreachable!("both capacities are set"));
        let hashes = DefaultHashBuilder::default();
        let cache = Cache::with_options(options, Weight, hashes, DefaultLifecycle::default());
        let permits = Semaphore::new(MAX_CONCURRENT);
        Self(Arc::new(Shared { endpoint, fetcher, permits, cache }))
    }

    /// Returns the picture at an address that an article of a feed names, if it is cached, or the cached failure.
    pub async fn cached(
        &self,
        feed: &FeedAddress,
        picture: &str,
    ) -> Result<Option<Picture>, PictureError> {
        let (_, _, key) = self.permitted(feed, picture).await?;
        self.fresh(&key).map(CachedResult::into_result).transpose()
    }

    /// Returns the picture at an address that an article of a feed names. Concurrent requests for one picture fetch
    /// it once.
    pub async fn load(&self, feed: &FeedAddress, picture: &str) -> Result<Picture, PictureError> {
        let Ok(Ok(_permit)) = timeout(MAX_WAIT, self.0.permits.acquire()).await else {
            return Err(PictureError::Busy);
        };
        // Users may have been added while the request waited.
        let (fetcher, url, key) = self.permitted(feed, picture).await?;
        // Removes an expired result.
        let _ = self.fresh(&key);
        let guard = match timeout(MAX_WAIT, self.0.cache.get_value_or_guard_async(&key)).await {
            Ok(Ok(cached)) => return cached.into_result(),
            Ok(Err(guard)) => guard,
            Err(_) => return Err(PictureError::Busy),
        };
        let fetched = fetch_raster(&fetcher, url, MAX_PICTURE_BYTES).await;
        let cached = CachedResult::new(fetched.map_err(reason).map(|raster| {
            let digest = Sha256::digest(&raster.bytes).into();
            Picture { media_type: raster.media_type, bytes: raster.bytes.into(), digest }
        }));
        // Requests that waited get the result in any case.
        let _ = guard.insert(cached.clone());
        cached.into_result()
    }

    /// Returns a cached result that has not expired. Removes an expired one.
    fn fresh(&self, key: &Key) -> Option<CachedResult> {
        let cached = self.0.cache.get(key)?;
        let is_expired = |cached: &CachedResult| cached.expires <= Instant::now();
        if is_expired(&cached) {
            self.0.cache.remove_if(key, is_expired);
            return None;
        }
        Some(cached)
    }

    /// Returns the fetcher for the pictures of a feed, the parsed address, and the key of the picture in the cache.
    async fn permitted(
        &self,
        feed: &FeedAddress,
        picture: &str,
    ) -> Result<(Fetcher, Url, Key), PictureError> {
        let parsed = |text: &str| {
            address(text).map_err(|error| PictureError::Fetch(error.to_string().into()))
        };
        // The feed names the picture, so permissions depend on the address of the feed.
        let (given, url) = (parsed(feed.as_str())?, parsed(picture)?);
        let (fetcher, origin) = match self.0.endpoint.has_users().await? {
            true => (self.0.fetcher.for_untrusted(), String::new()),
            false => (self.0.fetcher.clone(), given.origin().ascii_serialization()),
        };
        let mut digest = Sha256::new();
        digest.update(origin);
        digest.update("\n");
        digest.update(url.as_str());
        Ok((fetcher.given(given), url, digest.finalize().into()))
    }
}

impl CachedResult {
    fn new(fetched: Result<Picture, String>) -> Self {
        let lifetime = if fetched.is_ok() { PICTURE_LIFETIME } else { FAILURE_LIFETIME };
        Self { result: fetched.map_err(Arc::from), expires: Instant::now() + lifetime }
    }

    fn into_result(self) -> Result<Picture, PictureError> {
        self.result.map_err(PictureError::Fetch)
    }
}

/// Reason for a failure, as people see it.
fn reason(error: RasterError) -> String {
    short(match error {
        RasterError::Fetch(error) => fault(&error),
        RasterError::Format => error.to_string(),
    })
}
