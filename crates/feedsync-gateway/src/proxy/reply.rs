//! Responses from the store: complete, partial, or 304 for an application that has the current version (RFC 9110
//! 13, 14, R-B28).

use std::ops::Range;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use feedsync_bitsy::interceptor::{Composed, Reply, ReplyBody};
use feedsync_bitsy::validation::strong_last_modified;
use feedsync_http::conditions::{Condition, condition, keep_not_modified};
use feedsync_http::range::{RequestedRange, Validators, part_headers, requested_range};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Response, StatusCode};

use super::body::Body;
use super::recode;
use crate::store::{Opened, Reader, StoreError, Unchecked};

/// A response, as far as it can be built without blocking.
pub(super) enum PreparedReply {
    /// A complete response.
    Whole(Response<Body>),
    /// A response whose bytes are in a file that must first be verified.
    NeedsCheck(PendingCheck),
    /// A response with a feed that must first be composed.
    NeedsComposition(PendingComposition),
}

/// A response with a part of a file.
pub(super) struct PendingCheck {
    pub(super) file: Unchecked,
    pub(super) response: Response<Body>,
    pub(super) part: Range<u64>,
}

/// A response with a feed to which pending edits are added.
pub(super) struct PendingComposition {
    pub(super) composed: Box<Composed>,
    headers: HeaderMap,
    status: StatusCode,
}

/// Builds the response to a request.
pub(super) fn prepared(
    reply: Reply,
    method: &Method,
    request: &HeaderMap,
    reader: &Reader,
) -> Result<PreparedReply, StoreError> {
    let Reply { status, mut headers, shows } = reply;
    if is_read(method) && status == StatusCode::OK {
        if recode::is_due(request, &headers) {
            // The conditions refer to the response that is sent.
            recode::weaken(&mut headers);
        }
        match condition(request, &headers) {
            Condition::Proceed => {}
            Condition::NotModified => return Ok(PreparedReply::Whole(not_modified(headers))),
            Condition::Failed => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::PRECONDITION_FAILED;
                return Ok(PreparedReply::Whole(response));
            }
        }
    }
    let entity = match shows {
        ReplyBody::Nothing => Opened::Bytes(Bytes::new()),
        ReplyBody::Text(text) => Opened::Bytes(Bytes::from(text)),
        ReplyBody::Content(content) => reader.open(&content)?,
        ReplyBody::Composed(composed) => {
            return Ok(PreparedReply::NeedsComposition(PendingComposition {
                composed,
                headers,
                status,
            }));
        }
    };
    Ok(replied(status, headers, entity, method, request))
}

impl PendingComposition {
    /// Completes the response with the feed.
    pub(super) fn with(self, feed: Bytes, method: &Method, request: &HeaderMap) -> Response<Body> {
        let (mut response, part) =
            described(self.status, self.headers, feed.len() as u64, method, request);
        *response.body_mut() = bytes_of(feed, part);
        response
    }
}

/// Builds a response with an entity, or with the requested part of it.
fn replied(
    status: StatusCode,
    headers: HeaderMap,
    entity: Opened,
    method: &Method,
    request: &HeaderMap,
) -> PreparedReply {
    let length = match &entity {
        Opened::Bytes(bytes) => bytes.len() as u64,
        Opened::File(file) => file.length(),
    };
    let (mut response, part) = described(status, headers, length, method, request);
    match entity {
        Opened::Bytes(bytes) => {
            *response.body_mut() = bytes_of(bytes, part);
            PreparedReply::Whole(response)
        }
        Opened::File(file) => PreparedReply::NeedsCheck(PendingCheck { file, response, part }),
    }
}

/// Builds a response without its bytes; also returns the range of bytes to send.
fn described(
    status: StatusCode,
    headers: HeaderMap,
    length: u64,
    method: &Method,
    request: &HeaderMap,
) -> (Response<Body>, Range<u64>) {
    let is_whole =
        *method != Method::GET || status != StatusCode::OK || recode::is_due(request, &headers);
    let wanted = if is_whole {
        RequestedRange::Whole
    } else {
        requested_range(request, validators(&headers), length)
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    part_headers(response.headers_mut(), &wanted, length);
    let part = match wanted {
        RequestedRange::Whole => 0..length,
        RequestedRange::Part(part) => {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            part
        }
        RequestedRange::Nothing => {
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            0..0
        }
    };
    let has_entity = !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let headers = response.headers_mut();
    if is_read(method) && status == StatusCode::OK {
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    }
    if has_entity {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(part.end - part.start));
    } else {
        headers.remove(header::CONTENT_LENGTH);
    }
    let sends = has_entity && *method != Method::HEAD;
    (response, if sends { part } else { 0..0 })
}

/// Validators to compare with `If-Range`.
fn validators(headers: &HeaderMap) -> Validators<'_> {
    let modified = strong_last_modified(headers);
    let modified =
        modified.map(|time| SystemTime::UNIX_EPOCH + Duration::from_millis(time.millis()));
    Validators { tag: headers.get(header::ETAG), modified }
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

fn bytes_of(bytes: Bytes, part: Range<u64>) -> Body {
    // The range lies within bytes in memory, so it fits a `usize`.
    let (start, end) = (part.start as usize, part.end as usize);
    if part.is_empty() { Body::empty() } else { Body::from(bytes.slice(start..end)) }
}

fn not_modified(mut headers: HeaderMap) -> Response<Body> {
    keep_not_modified(&mut headers);
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    *response.headers_mut() = headers;
    response
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    #[test]
    fn a_part_says_nothing_of_the_bytes_of_the_whole() {
        let digests = ["content-digest", "content-md5", "repr-digest"];
        let stored: HeaderMap = digests
            .map(|name| (HeaderName::from_static(name), HeaderValue::from_static("x")))
            .into_iter()
            .collect();
        let has = |range: &'static str| {
            let range = (header::RANGE, HeaderValue::from_static(range));
            let request = HeaderMap::from_iter([range]);
            let stored = stored.clone();
            let (reply, _) = described(StatusCode::OK, stored, 4, &Method::GET, &request);
            (reply.status().as_u16(), digests.map(|name| reply.headers().contains_key(name)))
        };
        assert_eq!(has("bytes=0-1"), (206, [false, false, true]));
        assert_eq!(has("bytes=9-"), (416, [false, false, true]));
        assert_eq!(has("lines=1"), (200, [true; 3]));
    }

    fn response(stored: &[(HeaderName, &str)], asked: &[(HeaderName, &str)]) -> Response<Body> {
        let headers = |fields: &[(HeaderName, &str)]| {
            let fields = fields.iter().map(|(name, value)| (name.clone(), value.parse().unwrap()));
            fields.collect::<HeaderMap>()
        };
        described(StatusCode::OK, headers(stored), 10, &Method::GET, &headers(asked)).0
    }

    #[test]
    fn if_range_takes_the_last_modified_of_a_response_that_is_a_second_younger() {
        let date = |second: u8| format!("Wed, 21 May 2008 00:00:0{second} GMT");
        let status = |made: u8, held: &str| {
            let (modified, made) = (date(1), date(made));
            let stored = [(header::LAST_MODIFIED, &*modified), (header::DATE, &*made)];
            let asked = [(header::RANGE, "bytes=-4"), (header::IF_RANGE, held)];
            response(&stored, &asked).status().as_u16()
        };
        assert_eq!(status(2, &date(1)), 206);
        assert_eq!(status(1, &date(1)), 200, "it may have changed in the same second");
        assert_eq!(status(2, &date(2)), 200);
        assert_eq!(status(2, "\"a\""), 200);
    }

    #[test]
    fn a_range_beyond_the_end_is_refused_with_the_length() {
        let of = |range| {
            let response = response(&[], &[(header::RANGE, range)]);
            let place = response.headers().get(header::CONTENT_RANGE);
            let place = place.map(|place| place.to_str().unwrap().to_owned());
            (response.status().as_u16(), place)
        };
        assert_eq!(of("bytes=10-"), (416, Some("bytes */10".to_owned())));
        assert_eq!(of("bytes=2-3"), (206, Some("bytes 2-3/10".to_owned())));
        assert_eq!(of("bytes=-3"), (206, Some("bytes 7-9/10".to_owned())));
        for ignored in ["bytes=3-2", "bytes=a-", "bytes=0-1,4-5", "bytes=-", "bytes"] {
            assert_eq!(of(ignored), (200, None), "{ignored}");
        }
    }

    #[test]
    fn a_response_that_is_recoded_has_no_ranges() {
        let stored = [(header::ETAG, "\"a\"")];
        let of = |accepted| {
            let asked = [(header::RANGE, "bytes=0-1"), (header::ACCEPT_ENCODING, accepted)];
            response(&stored, &asked).status().as_u16()
        };
        assert_eq!((of("gzip"), of("identity;q=0, gzip")), (206, 200));
    }
}
