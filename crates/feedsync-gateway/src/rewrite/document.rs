//! Reads the documents in which addresses are replaced.

use std::io::Read as _;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use futures_util::{StreamExt as _, stream};
use http::header::{self, HeaderMap};
use http_body_util::{BodyExt as _, BodyStream, StreamBody};
use hyper::body::Frame;

use crate::proxy::{Body, BodyError};

/// Type of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A feed, or XML that may be one.
    Feed,
    /// JSON that may be a JSON Feed. Much other JSON is streamed and must not be delayed.
    Json,
}

/// Media types of feeds, and those that may contain feeds.
const FEED_TYPES: [&str; 10] = [
    "application/atom+xml",
    "application/atomcat+xml",
    "application/atomsvc+xml",
    "application/feed+json",
    "application/rdf+xml",
    "application/rss+xml",
    "application/xml",
    "text/xml",
    "text/x-opml",
    "text/x-opml+xml",
];

/// Text that occurs at the beginning of a JSON Feed.
const JSON_FEED: &[u8] = b"jsonfeed.org";

/// Content coding of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Identity,
    Gzip,
}

impl Coding {
    pub(crate) fn is_packed(self) -> bool {
        self == Self::Gzip
    }
}

impl Kind {
    /// Returns the type of a message's document, if addresses may be replaced in it.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        let essence = value.split(';').next().unwrap_or_default().trim();
        let is = |known: &str| essence.eq_ignore_ascii_case(known);
        if FEED_TYPES.into_iter().any(is) {
            return Some(Self::Feed);
        }
        is("application/json").then_some(Self::Json)
    }
}

/// Returns the coding of a message, or `None` for one that the gateway does not read.
pub(crate) fn coding(headers: &HeaderMap) -> Option<Coding> {
    let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
    match (values.next(), values.next()) {
        (None, _) => Some(Coding::Identity),
        (Some(coding), None) => match &*coding.as_bytes().to_ascii_lowercase() {
            b"identity" => Some(Coding::Identity),
            b"gzip" | b"x-gzip" => Some(Coding::Gzip),
            _ => None,
        },
        _ => None,
    }
}

/// Reads a body to its end. A body that is too large, or does not begin as a document of this type, is returned with
/// what was read before it.
pub(crate) async fn read_begun(
    mut body: Body,
    kind: Kind,
    limit: usize,
) -> Result<Result<Bytes, Body>, BodyError> {
    let mut found = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame?.into_data() else { continue };
        let is_first = found.is_empty();
        found.extend_from_slice(&bytes);
        let is_packed = found.starts_with(b"\x1f\x8b");
        let is_other = kind == Kind::Json
            && is_first
            && !is_packed
            && !found.windows(JSON_FEED.len()).any(|part| part == JSON_FEED);
        if found.len() > limit || is_other {
            let begun = stream::iter([Ok(Frame::data(Bytes::from(found)))]);
            return Ok(Err(Body::new(StreamBody::new(begun.chain(BodyStream::new(body))))));
        }
    }
    Ok(Ok(Bytes::from(found)))
}

/// Returns a document without its coding, or `None` if it is damaged or too large.
pub(crate) fn unpacked(bytes: &Bytes, coding: Coding, limit: usize) -> Option<Bytes> {
    if coding == Coding::Identity {
        return Some(bytes.clone());
    }
    let mut document = Vec::new();
    let limit = limit as u64;
    MultiGzDecoder::new(&**bytes).take(limit + 1).read_to_end(&mut document).ok()?;
    (document.len() as u64 <= limit).then(|| Bytes::from(document))
}
