//! Feeds with the edits that they do not contain yet. Concurrent requests for one feed share the result. Few are
//! composed at a time, since each is read and written as a whole (BITSY 3.1.1).

use std::sync::Arc;

use bytes::Bytes;
use feedsync_bitsy::interceptor::Composed;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;

use crate::driver::{Driver, DriverError};

/// Maximum size of the cache, in bytes.
const MAX_CACHE_BYTES: u64 = 8 << 20;

/// Estimated overhead of a cache entry, and of each edit in it, in bytes.
const OVERHEAD: u64 = 512;

/// Number of feeds that are composed concurrently.
const MAX_CONCURRENT: usize = 2;

/// Cache of composed feeds.
#[derive(Debug)]
pub(super) struct Feeds {
    kept: Cache<Composed, Bytes, Weight>,
    room: Semaphore,
}

impl Default for Feeds {
    fn default() -> Self {
        let items = usize::try_from(MAX_CACHE_BYTES / OVERHEAD / 8).unwrap_or(usize::MAX);
        Self {
            kept: Cache::with_weighter(items, MAX_CACHE_BYTES, Weight),
            room: Semaphore::new(MAX_CONCURRENT),
        }
    }
}

impl Feeds {
    /// Returns the composed document of a feed.
    pub(super) async fn bytes(
        &self,
        driver: &Arc<Driver>,
        composed: &Composed,
    ) -> Result<Bytes, DriverError> {
        self.kept.get_or_insert_async(composed, self.made(driver, composed)).await
    }

    async fn made(&self, driver: &Arc<Driver>, composed: &Composed) -> Result<Bytes, DriverError> {
        // The semaphore is never closed; an error would only remove the limit.
        let _data_directory = self.room.acquire().await.ok();
        let (reader, composed) = (driver.reader(), composed.clone());
        // Takes time in proportion to the size of the feed.
        let made = tokio::task::spawn_blocking(move || composed.bytes(&reader));
        Ok(Bytes::from(made.await??))
    }
}

/// Estimates the size of cache entries.
#[derive(Debug, Clone)]
struct Weight;

impl Weighter<Composed, Bytes> for Weight {
    fn weight(&self, composed: &Composed, document: &Bytes) -> u64 {
        OVERHEAD * (1 + composed.edits.len() as u64) + document.len() as u64
    }
}
