//! Answers packed with gzip where the client takes it (RFC 9110 8.4, H17), each with a tag of its own.

use axum::response::Response;
use http::{HeaderValue, header};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{And, NotForContentType, Predicate as _, SizeAbove};

use crate::validators::packed;

/// What is packed: not the smallest bodies, not event streams, whose events must not wait, and not
/// blobs, which mostly are packed already.
type Worthwhile = And<And<SizeAbove, NotForContentType>, NotForContentType>;

/// Packs what is worth it.
pub(crate) fn layer() -> CompressionLayer<Worthwhile> {
    let worthwhile = SizeAbove::new(256)
        .and(NotForContentType::SSE)
        .and(NotForContentType::const_new("application/octet-stream"));
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worthwhile)
}

/// Gives what was packed the tag of a packed answer: it has other bytes (C-H1).
pub(crate) async fn distinct_tag(mut response: Response) -> Response {
    let coding = response.headers().get(header::CONTENT_ENCODING);
    if coding.map(HeaderValue::as_bytes) == Some(b"gzip")
        && let Some(tag) = response.headers().get(header::ETAG).and_then(packed)
    {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}
