//! Requests to servers.

use bytes::Bytes;
use http::Method;
use http::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
};
use reqwest::Url;

use crate::response::Validators;

/// A request to a server.
#[derive(Debug, Clone)]
pub struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
    pub(crate) bytes: Option<u64>,
    pub(crate) endless: bool,
    pub(crate) wanted: ResponseMode,
}

/// Accepted responses, and their compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseMode {
    /// Successes only, compressed unless the server is this machine.
    Success,
    /// Any status, never compressed.
    Raw,
    /// Any status, compressed even from this machine.
    Packed,
}

impl Request {
    /// Creates a request for a document.
    pub fn read(url: Url) -> Self {
        Self::new(Method::GET, url, None)
    }

    /// Creates a request for the head of a response only.
    pub fn head(url: Url) -> Self {
        Self::new(Method::HEAD, url, None)
    }

    /// Creates a request that sends a document for processing.
    pub fn post(url: Url, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::new(Method::POST, url, Some(body.into()))
            .header(CONTENT_TYPE, HeaderValue::from_static(media_type))
    }

    /// Creates a request that sends a document for storage.
    pub fn put(url: Url, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::new(Method::PUT, url, Some(body.into()))
            .header(CONTENT_TYPE, HeaderValue::from_static(media_type))
    }

    pub(crate) fn new(method: Method, url: Url, body: Option<Bytes>) -> Self {
        let headers = HeaderMap::new();
        Self {
            method,
            url,
            headers,
            body,
            bytes: None,
            endless: false,
            wanted: ResponseMode::Success,
        }
    }

    /// Sets the accepted media types.
    #[must_use]
    pub fn accept(self, media_types: &'static str) -> Self {
        self.header(ACCEPT, HeaderValue::from_static(media_types))
    }

    /// Makes the request conditional: only if the document changed since the response with these validators.
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

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sets a lower limit for the body than the policy's, in bytes.
    #[must_use]
    pub fn within(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Accepts a response of any status, never compressed. The reader decides how much of its body is read,
    /// whatever its length.
    #[must_use]
    pub fn raw(mut self) -> Self {
        self.wanted = ResponseMode::Raw;
        self
    }

    /// Accepts a response of any status, and requests compression even from this machine, which may be a
    /// tunnel to another one. The body is decompressed. The reader decides how much of it is read, whatever
    /// its length.
    #[must_use]
    pub fn packed(mut self) -> Self {
        self.wanted = ResponseMode::Packed;
        self
    }

    /// Removes the overall timeout, for responses without an end or over slow connections. Each single wait
    /// is still bounded.
    #[must_use]
    pub fn endless(mut self) -> Self {
        self.endless = true;
        self
    }
}
