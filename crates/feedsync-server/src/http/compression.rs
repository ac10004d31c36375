//! Gzip compression of responses for clients that accept it (RFC 9110 8.4, AH17), each with its own
//! entity tag.

use axum::response::Response;
use http::{Extensions, HeaderMap, HeaderValue, StatusCode, Version, header};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{And, NotForContentType, Predicate as _, SizeAbove};

use crate::http::validators::packed;

type CompressionPredicate =
    And<And<And<SizeAbove, NotForContentType>, NotForContentType>, HeadPredicate>;

/// Decides from a response's head whether it is compressed.
type HeadPredicate = fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool;

/// Marks a response that is sent unchanged, because its ranges and its tag refer to these bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoTransform;

/// Compresses responses where it pays off. It excludes very small bodies, event streams, whose events
/// must not wait, blobs, most of which are compressed already, and responses without a body.
pub(crate) fn layer() -> CompressionLayer<CompressionPredicate> {
    let whole: HeadPredicate = |status, _, _, extensions| {
        let has_body = status != StatusCode::NOT_MODIFIED && status != StatusCode::NO_CONTENT;
        has_body && extensions.get::<NoTransform>().is_none()
    };
    let worthwhile = SizeAbove::new(256)
        .and(NotForContentType::SSE)
        .and(NotForContentType::const_new("application/octet-stream"))
        .and(whole);
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worthwhile)
}

/// Whether a client accepts gzip and does not prefer the identity coding (RFC 9110 12.5.3).
pub(crate) fn takes_gzip(headers: &HeaderMap) -> bool {
    let quality = |name: &str| {
        let values = headers.get_all(header::ACCEPT_ENCODING).iter();
        let mut elements =
            values.filter_map(|value| value.to_str().ok()).flat_map(|t| t.split(','));
        elements.find_map(|element| {
            let (coding, parameters) = element.split_once(';').unwrap_or((element, "q=1"));
            if !coding.trim().eq_ignore_ascii_case(name) {
                return None;
            }
            parameters.trim().strip_prefix("q=").map_or(Some(1.0), |q| q.parse::<f32>().ok())
        })
    };
    let gzip = quality("gzip").or_else(|| quality("x-gzip")).unwrap_or(0.0);
    gzip > 0.0 && gzip >= quality("identity").unwrap_or(0.0)
}

/// Gives a compressed response a tag of its own, since its bytes differ (AH1).
pub(crate) fn distinguish(response: &mut Response) {
    let coding = response.headers().get(header::CONTENT_ENCODING);
    if coding.map(HeaderValue::as_bytes) == Some(b"gzip")
        && let Some(tag) = response.headers().get(header::ETAG).and_then(packed)
    {
        response.headers_mut().insert(header::ETAG, tag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_taken_by_who_says_so_and_does_not_prefer_none() {
        let takes = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            }
            takes_gzip(&headers)
        };
        for taken in [&["gzip"][..], &["br, GZIP;q=0.5"], &["x-gzip"], &["br", "gzip ; q=1"]] {
            assert!(takes(taken), "{taken:?}");
        }
        for not in [&[][..], &["br"], &["gzip;q=0"], &["identity, gzip;q=0.5"], &["gzip;q=x"]] {
            assert!(!takes(not), "{not:?}");
        }
    }
}
