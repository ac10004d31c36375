//! Small answers as they were sent last, by their entity tags.
//!
//! A tag is a hash of everything that the bytes of an answer depend on, so that an answer kept under it
//! can neither be wrong nor old: what has changed has another tag, and the former is forgotten when
//! others need its place. So a listing that many ask for is read and written once after each change,
//! and packed once.

use std::io::Write as _;
use std::sync::{Arc, OnceLock};

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, header};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::answers::SMALL;
use crate::compression;
use crate::validators::EntityTag;

/// So many bytes take all that are kept, at most.
const ROOM: u64 = 32 << 20;

/// About so many bytes takes an answer beside its body.
const OVERHEAD: u64 = 2 << 10;

/// What is kept. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Kept(Arc<Cache<EntityTag, Arc<Answer>, Weight>>);

/// An answer that was sent whole.
pub(crate) struct Answer {
    headers: HeaderMap,
    bytes: Bytes,
    packed: OnceLock<Option<Bytes>>,
}

#[derive(Clone)]
struct Weight;

impl Weighter<EntityTag, Arc<Answer>> for Weight {
    fn weight(&self, _: &EntityTag, answer: &Arc<Answer>) -> u64 {
        // Packed it is smaller.
        2 * answer.bytes.len() as u64 + OVERHEAD
    }
}

impl Kept {
    pub(crate) fn new() -> Self {
        let answers = usize::try_from(ROOM / OVERHEAD / 8).unwrap_or(usize::MAX);
        Self(Arc::new(Cache::with_weighter(answers, ROOM, Weight)))
    }

    pub(crate) fn get(&self, tag: &EntityTag) -> Option<Arc<Answer>> {
        self.0.get(tag)
    }

    /// Keeps an answer, if it is small.
    pub(crate) fn keep(&self, tag: EntityTag, headers: &HeaderMap, bytes: &Bytes) {
        if bytes.len() <= SMALL {
            let (headers, bytes) = (headers.clone(), bytes.clone());
            let answer = Answer { headers, bytes, packed: OnceLock::new() };
            self.0.insert(tag, Arc::new(answer));
        }
    }
}

impl Answer {
    /// The answer again, packed for a client that takes it, under the headers that were prepared for
    /// this request: to whom it may be handed on, and its date, are no matter of its bytes.
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

    /// The bytes packed with gzip; none if that is no gain.
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
