//! Fetches the pictures of articles for users, so that their browsers load pictures from the hub alone.

use std::sync::Arc;
use std::time::Duration;

use feedsync_endpoint::Endpoint;
use feedsync_fetch::Fetcher;
use feedsync_reading_state::FeedAddress;
use feedsync_store::StoreError;
use sha2::{Digest as _, Sha256};

use super::fetch::{fault, short};
use super::raster::{RasterError, fetch_raster};
use super::web_cache::{CacheLimits, Cached, NoResult, WebCache};

/// Maximum size of a picture, in bytes.
pub const MAX_PICTURE_BYTES: usize = 10 << 20;

/// Limits of pictures: at most 4,096 results are cached.
const LIMITS: CacheLimits = CacheLimits {
    idle_timeout: Duration::from_secs(10),
    total_timeout: Duration::from_secs(20),
    max_concurrent: 16,
    bytes: 64 << 20,
    min_bytes: 16 << 10,
    lifetime: Duration::from_secs(24 * 3_600),
    failure_lifetime: Duration::from_secs(60),
};

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

/// Pictures of articles: fetched under the policy of polling, and cached. It is cheap to clone; clones share the
/// cache.
#[derive(Clone)]
pub struct Pictures(Arc<WebCache<Result<Picture, Arc<str>>>>);

impl Cached for Result<Picture, Arc<str>> {
    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, |picture| picture.bytes.len())
    }

    fn is_failure(&self) -> bool {
        self.is_err()
    }
}

impl Pictures {
    /// Creates an empty cache, with the policy of a fetcher. If the hub has users, only addresses that strangers may
    /// reach are fetched.
    pub fn new(endpoint: Endpoint, fetcher: Fetcher) -> Self {
        Self(Arc::new(WebCache::new(endpoint, fetcher, LIMITS)))
    }

    /// Returns the picture at an address that an article of a feed names, if it is cached, or the cached failure.
    pub async fn cached(
        &self,
        feed: &FeedAddress,
        picture: &str,
    ) -> Result<Option<Picture>, PictureError> {
        self.0.cached(feed, picture).await?.transpose().map_err(PictureError::Fetch)
    }

    /// Returns the picture at an address that an article of a feed names. Concurrent requests for one picture fetch
    /// it once.
    pub async fn load(&self, feed: &FeedAddress, picture: &str) -> Result<Picture, PictureError> {
        let fetch = async |fetcher: Fetcher, url| {
            let fetched = fetch_raster(&fetcher, url, MAX_PICTURE_BYTES).await;
            fetched.map_err(|error| Arc::from(reason(error))).map(|raster| {
                let digest = Sha256::digest(&raster.bytes).into();
                Picture { media_type: raster.media_type, bytes: raster.bytes.into(), digest }
            })
        };
        self.0.load(feed, picture, fetch).await?.map_err(PictureError::Fetch)
    }
}

impl From<NoResult> for PictureError {
    fn from(reason: NoResult) -> Self {
        match reason {
            NoResult::Busy => Self::Busy,
            NoResult::Address(error) => Self::Fetch(error.to_string().into()),
            NoResult::Store(error) => Self::Store(error),
        }
    }
}

/// Reason for a failure, as people see it.
fn reason(error: RasterError) -> String {
    short(match error {
        RasterError::Fetch(error) => fault(&error),
        RasterError::Format => error.to_string(),
    })
}
