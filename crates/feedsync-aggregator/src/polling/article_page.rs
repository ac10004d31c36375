//! Fetches the web pages of articles for users, and extracts the full texts.
//!
//! Only the link of a stored article is fetched, when a user asks for it. Nothing is written to the library: full
//! texts are cached in memory. The extraction is work for a processor, so few pages are processed at once.

use std::sync::Arc;
use std::time::Duration;

use feedsync_endpoint::Endpoint;
use feedsync_fetch::{FetchError, Fetched, Fetcher, Request, Url};
use feedsync_reading_state::FeedAddress;
use feedsync_store::StoreError;
use http::header::CONTENT_TYPE;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::fetch::{fault, short};
use super::web_cache::{CacheLimits, Cached, NoResult, WebCache};
use crate::full_text::{ExtractError, MAX_PAGE_BYTES, extract, is_page};

/// Limits of full texts: at most 4,096 results are cached.
const LIMITS: CacheLimits = CacheLimits {
    idle_timeout: Duration::from_secs(10),
    total_timeout: Duration::from_secs(20),
    max_concurrent: 8,
    bytes: 32 << 20,
    min_bytes: 8 << 10,
    lifetime: Duration::from_secs(24 * 3_600),
    failure_lifetime: Duration::from_secs(60),
};

/// Maximum number of pages that are processed concurrently.
const MAX_EXTRACTIONS: usize = 2;

/// Accepted media types. A server that ignores them is told by the media type of its response.
const ACCEPT: &str = "text/html, application/xhtml+xml, application/xml;q=0.5, */*;q=0.1";

/// Number of bytes of a document that is not declared as HTML, after which its kind is checked.
const FIRST_BYTES: usize = 4 << 10;

/// The full text of an article. It is cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullText {
    /// HTML that must be cleaned before it is shown.
    pub html: Arc<str>,
    /// Address of the page after redirects, the base of relative addresses.
    pub address: Arc<str>,
}

/// Reason why there is no full text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FullTextError {
    /// The hub must not fetch the address: it is private, or the page led to a private one.
    #[error("the hub does not fetch this address: {0}")]
    Refused(Arc<str>),
    /// The page cannot be fetched.
    #[error("the web page could not be fetched: {0}")]
    Fetch(Arc<str>),
    /// The document has no text of an article.
    #[error(transparent)]
    Extract(#[from] ExtractError),
    /// Too many pages are being fetched.
    #[error("too many web pages are being fetched; try again later")]
    Busy,
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(Arc<str>),
}

/// Full texts of articles: fetched under the policy of polling, and cached. It is cheap to clone; clones share the
/// cache.
#[derive(Clone)]
pub struct FullTexts {
    cache: Arc<WebCache<Result<FullText, FullTextError>>>,
    extractions: Arc<Semaphore>,
}

impl Cached for Result<FullText, FullTextError> {
    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, |text| text.html.len() + text.address.len())
    }

    fn is_failure(&self) -> bool {
        self.is_err()
    }
}

impl FullTexts {
    /// Creates an empty cache, with the policy of a fetcher. If the hub has users, only addresses that strangers may
    /// reach are fetched.
    pub fn new(endpoint: Endpoint, fetcher: Fetcher) -> Self {
        let cache = Arc::new(WebCache::new(endpoint, fetcher, LIMITS));
        Self { cache, extractions: Arc::new(Semaphore::new(MAX_EXTRACTIONS)) }
    }

    /// Returns the full text of an article of a feed with this link, if it is cached, or the cached failure.
    pub async fn cached(
        &self,
        feed: &FeedAddress,
        link: &str,
    ) -> Result<Option<FullText>, FullTextError> {
        self.cache.cached(feed, link).await?.transpose()
    }

    /// Returns the full text of an article of a feed with this link. Concurrent requests for one page fetch it once.
    pub async fn load(&self, feed: &FeedAddress, link: &str) -> Result<FullText, FullTextError> {
        let fetch = async |fetcher, url| self.fetch(fetcher, url).await;
        self.cache.load(feed, link, fetch).await?
    }

    async fn fetch(&self, fetcher: Fetcher, url: Url) -> Result<FullText, FullTextError> {
        let request = Request::read(url).accept(ACCEPT).within(MAX_PAGE_BYTES as u64);
        let mut response = match fetcher.fetch(request).await? {
            Fetched::Answer(response) => response,
            Fetched::NotModified => {
                return Err(FullTextError::Fetch(
                    "the server answered 304 to an unconditional request".into(),
                ));
            }
        };
        let content_type = response.header(CONTENT_TYPE).unwrap_or_default().to_owned();
        let address: Arc<str> = response.url().as_str().into();
        let mut bytes = Vec::new();
        let mut is_checked = false;
        while let Some(chunk) = response.chunk().await? {
            bytes.extend_from_slice(&chunk);
            // A film is refused after its first bytes.
            if !is_checked && bytes.len() >= FIRST_BYTES {
                is_page(&bytes, &content_type)?;
                is_checked = true;
            }
        }
        drop(response);
        let Ok(permit) = Arc::clone(&self.extractions).acquire_owned().await else {
            return Err(FullTextError::Busy);
        };
        let page = Arc::clone(&address);
        let extraction = spawn_blocking(move || {
            let _permit = permit;
            extract(&bytes, &content_type, &page)
        });
        match extraction.await {
            Ok(html) => Ok(FullText { html: html?.into(), address }),
            // The runtime ends.
            Err(_) => Err(FullTextError::Busy),
        }
    }
}

impl From<FetchError> for FullTextError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::TooLarge { .. } => Self::Extract(ExtractError::TooLarge),
            FetchError::Private { .. } => Self::Refused(short(fault(&error)).into()),
            error => Self::Fetch(short(fault(&error)).into()),
        }
    }
}

impl From<NoResult> for FullTextError {
    fn from(reason: NoResult) -> Self {
        match reason {
            NoResult::Busy => Self::Busy,
            NoResult::Address(error) => error.into(),
            NoResult::Store(error) => Self::store(&error),
        }
    }
}

impl FullTextError {
    fn store(error: &StoreError) -> Self {
        Self::Store(error.to_string().into())
    }
}
