//! Answers packed with gzip where the client takes it (RFC 9110 8.4, AH17), each with a tag of its own.

use axum::response::Response;
use http::{Extensions, HeaderMap, HeaderValue, StatusCode, Version, header};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{And, NotForContentType, Predicate as _, SizeAbove};

use crate::validators::packed;

type Worthwhile = And<And<And<SizeAbove, NotForContentType>, NotForContentType>, Whole>;

/// Tells by a response's head whether it is packed.
type Whole = fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool;

/// Marks an answer that is sent as it is: its ranges and its tag are about these very bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AsSent;

/// Packs what is worth it: not the smallest bodies, not event streams, whose events must not wait,
/// not blobs, which mostly are packed already, and nothing that has no body.
pub(crate) fn layer() -> CompressionLayer<Worthwhile> {
    let whole: Whole = |status, _, _, extensions| {
        let has_body = status != StatusCode::NOT_MODIFIED && status != StatusCode::NO_CONTENT;
        has_body && extensions.get::<AsSent>().is_none()
    };
    let worthwhile = SizeAbove::new(256)
        .and(NotForContentType::SSE)
        .and(NotForContentType::const_new("application/octet-stream"))
        .and(whole);
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worthwhile)
}

/// Whether a client takes an answer packed with gzip, and would not rather have it as it is
/// (RFC 9110 12.5.3).
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

/// Gives what was packed the tag of a packed answer: it has other bytes (C-H1).
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
