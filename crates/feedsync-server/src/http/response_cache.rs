//! Cache of small responses by entity tag.
//!
//! A tag is a hash of everything that the bytes of a response depend on, so that a cached response can
//! be neither wrong nor stale. Changed content has another tag, and old responses are evicted for
//! space. So a listing with many readers is read, written and compressed once after each change.

use std::io::Write as _;
use std::sync::{Arc, OnceLock};

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, header};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::http::compression;
use crate::http::response_budget::MAX_UNCOUNTED_BYTES;
use crate::http::validators::EntityTag;

/// Maximum size of the cache, in bytes.
const MAX_CACHE_BYTES: u64 = 32 << 20;

/// Approximate overhead of a response beside its body, in bytes.
const OVERHEAD_BYTES: u64 = 2 << 10;

/// The cache. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ResponseCache(Arc<Cache<EntityTag, Arc<CachedResponse>, Weight>>);

/// A complete response.
pub(crate) struct CachedResponse {
    headers: HeaderMap,
    bytes: Bytes,
    packed: OnceLock<Option<Bytes>>,
}

#[derive(Clone)]
struct Weight;

impl Weighter<EntityTag, Arc<CachedResponse>> for Weight {
    fn weight(&self, _: &EntityTag, answer: &Arc<CachedResponse>) -> u64 {
        // The compressed copy is smaller than the original.
        2 * answer.bytes.len() as u64 + OVERHEAD_BYTES
    }
}

impl ResponseCache {
    pub(crate) fn new() -> Self {
        let answers = usize::try_from(MAX_CACHE_BYTES / OVERHEAD_BYTES / 8).unwrap_or(usize::MAX);
        Self(Arc::new(Cache::with_weighter(answers, MAX_CACHE_BYTES, Weight)))
    }

    pub(crate) fn get(&self, tag: &EntityTag) -> Option<Arc<CachedResponse>> {
        self.0.get(tag)
    }

    /// Stores a response if it is small.
    pub(crate) fn keep(&self, tag: EntityTag, headers: &HeaderMap, bytes: &Bytes) {
        if bytes.len() <= MAX_UNCOUNTED_BYTES {
            let (headers, bytes) = (headers.clone(), bytes.clone());
            let answer = CachedResponse { headers, bytes, packed: OnceLock::new() };
            self.0.insert(tag, Arc::new(answer));
        }
    }
}

impl CachedResponse {
    /// Returns the response again, compressed for a client that accepts it. It has the headers of this
    /// request: its caching and its date do not depend on its bytes.
    pub(crate) fn again(&self, asked: &HeaderMap, prepared: HeaderMap) -> Response {
        let mut headers = self.headers.clone();
        headers.remove(header::LAST_MODIFIED);
        for (name, value) in &prepared {
            headers.insert(name, value.clone());
        }
        let mut bytes = self.bytes.clone();
        if compression::takes_gzip(asked)
            && let Some(packed) = self.packed()
        {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            bytes = packed;
        }
        (headers, Body::from(bytes)).into_response()
    }

    /// The bytes compressed with gzip; none if that saves nothing.
    fn packed(&self) -> Option<Bytes> {
        let pack = || {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&self.bytes).ok()?;
            let packed = encoder.finish().ok()?;
            (packed.len() < self.bytes.len()).then(|| packed.into())
        };
        self.packed.get_or_init(pack).clone()
    }
}
