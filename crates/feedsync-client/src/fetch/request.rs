//! What is asked of a server.

use bytes::Bytes;
use http::Method;
use http::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
};

use super::{Url, Validators};

/// What is asked of a server.
#[derive(Debug, Clone)]
pub struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
    pub(super) bytes: Option<u64>,
    pub(super) endless: bool,
    pub(super) wanted: Wanted,
}

/// Which answers are wanted, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Successes, packed where that costs less than the way.
    Success,
    /// Of any status, never packed.
    AsItIs,
    /// Of any status, packed on any way.
    Packed,
}

impl Request {
    /// Asks for a document.
    pub fn read(url: Url) -> Self {
        Self::new(Method::GET, url, None)
    }

    /// Asks for the head of an answer only.
    pub fn head(url: Url) -> Self {
        Self::new(Method::HEAD, url, None)
    }

    /// Sends a document to be processed.
    pub fn post(url: Url, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::new(Method::POST, url, Some(body.into()))
            .header(CONTENT_TYPE, HeaderValue::from_static(media_type))
    }

    /// Sends a document to be stored.
    pub fn put(url: Url, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::new(Method::PUT, url, Some(body.into()))
            .header(CONTENT_TYPE, HeaderValue::from_static(media_type))
    }

    pub(super) fn new(method: Method, url: Url, body: Option<Bytes>) -> Self {
        let headers = HeaderMap::new();
        Self { method, url, headers, body, bytes: None, endless: false, wanted: Wanted::Success }
    }

    /// The media types that are understood.
    #[must_use]
    pub fn accept(self, media_types: &'static str) -> Self {
        self.header(ACCEPT, HeaderValue::from_static(media_types))
    }

    /// Only if it changed since the answer that had these validators.
    #[must_use]
    pub fn unless(mut self, known: &Validators) -> Self {
        for (name, value) in
            [(IF_NONE_MATCH, &known.etag), (IF_MODIFIED_SINCE, &known.last_modified)]
        {
            if let Some(value) = value.as_deref().and_then(|text| HeaderValue::from_str(text).ok())
            {
                self.headers.insert(name, value);
            }
        }
        self
    }

    /// A header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// A smaller bound for the body than the policy's.
    #[must_use]
    pub fn within(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// The answer is wanted as it is: of any status, never packed, and its body read as far as its reader
    /// wants, whatever its length.
    #[must_use]
    pub fn as_it_is(mut self) -> Self {
        self.wanted = Wanted::AsItIs;
        self
    }

    /// The answer is wanted of any status, and packed on its way even from this machine, which may be the near
    /// end of a long one. Its body is unpacked and read as far as its reader wants, whatever its length.
    #[must_use]
    pub fn packed(mut self) -> Self {
        self.wanted = Wanted::Packed;
        self
    }

    /// The answer has no end, or is as long in coming as its way is slow: only each wait is bounded, not the whole.
    #[must_use]
    pub fn endless(mut self) -> Self {
        self.endless = true;
        self
    }
}
