//! Parts of responses: empty bodies, links, and header values.

use axum::body::{Body, Bytes};
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// An empty body without `Content-Length`: that of a 304 would have to be that of the 200.
pub(crate) fn nothing() -> Body {
    Body::from_stream(stream::empty::<Result<Bytes, std::io::Error>>())
}

/// Adds an absolute link (RFC 8288 3).
pub(crate) fn append_link(headers: &mut HeaderMap, target: &str, relation: &str) {
    if let Ok(value) = HeaderValue::from_str(&format!("<{target}>; rel=\"{relation}\"")) {
        headers.append(header::LINK, value);
    }
}

/// Sets a header, unless the value cannot be one.
pub(crate) fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
