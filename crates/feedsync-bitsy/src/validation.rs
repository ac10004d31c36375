//! Validation of stored responses: the response that a 304 validates, and the header fields that it renews
//! (RFC 9111 3.2, 4.3.3, 4.3.4).
//!
//! One response is stored for each resource, and a request names its validators. A 304 without any validator
//! is about that response.

use http::header::{self, HeaderMap, HeaderName};

use crate::cache_headers::{self, Timing};
use crate::time::Time;

/// Fields that a 304 does not change. They describe coding, type and length of the stored bytes (RFC 9111
/// 3.2).
const NOT_RENEWED: [HeaderName; 6] = [
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
];

/// Minimum time between `Last-Modified` and `Date` for a strong validator, in milliseconds.
const STRONG_AFTER: u64 = 1_000;

/// Whether a 304 with these headers is about a stored response (RFC 9111 4.3.3). A strong validator must
/// match by strong comparison, a weak one by weak comparison.
pub fn validates(answer: &HeaderMap, stored: &HeaderMap) -> bool {
    let (told, known) = (tag(answer), tag(stored));
    let is_same_date = || modified(answer).is_some_and(|date| modified(stored) == Some(date));
    match (told, known) {
        (Some(told), Some(known)) if !is_weak(told) => told == known,
        (Some(told), Some(known)) => opaque(told) == opaque(known),
        (Some(told), None) if !is_weak(told) => {
            strong_last_modified(answer).is_some() && is_same_date()
        }
        (Some(_), None) => is_same_date(),
        (None, _) => modified(answer).is_none() || is_same_date(),
    }
}

/// Returns the headers of a stored response that a 304 has validated. Each field of the 304 replaces the
/// stored field; the stored entity tag stays.
pub fn renewed(mut stored: HeaderMap, answer: &HeaderMap, timing: Timing) -> HeaderMap {
    let told = cache_headers::stored_headers(answer, timing);
    // The age counts from the 304.
    stored.remove(header::AGE);
    for name in told.keys() {
        let is_known_tag = *name == header::ETAG && stored.contains_key(name);
        if NOT_RENEWED.contains(name) || is_known_tag {
            continue;
        }
        stored.remove(name);
        for value in told.get_all(name) {
            stored.append(name, value.clone());
        }
    }
    stored
}

/// `Last-Modified` of a response if it is a strong validator: the response was made at least one second later
/// (RFC 9110 8.8.2.2).
pub fn strong_last_modified(headers: &HeaderMap) -> Option<Time> {
    let (modified, date) = (modified(headers)?, date(headers, &header::DATE)?);
    (date.millis() >= modified.millis().saturating_add(STRONG_AFTER)).then_some(modified)
}

fn modified(headers: &HeaderMap) -> Option<Time> {
    date(headers, &header::LAST_MODIFIED)
}

fn date(headers: &HeaderMap, name: &HeaderName) -> Option<Time> {
    Time::of_date(headers.get(name)?.to_str().ok()?)
}

/// Entity tag in the headers of a response.
pub(crate) fn entity_tag(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::ETAG)?.to_str().ok()
}

fn tag(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(header::ETAG).map(|tag| tag.as_bytes().trim_ascii())
}

fn is_weak(tag: &[u8]) -> bool {
    tag.starts_with(b"W/")
}

fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::headers;

    const EARLY: &str = "Wed, 21 May 2008 00:00:00 GMT";
    const LATE: &str = "Wed, 21 May 2008 00:00:01 GMT";

    const NOW: Timing = Timing::at(Time::from_millis(1_211_328_000_000));

    fn is_valid(answer: &[(&'static str, &str)], stored: &[(&'static str, &str)]) -> bool {
        validates(&headers(answer), &headers(stored))
    }

    #[test]
    fn a_304_is_about_the_response_with_its_strong_tag() {
        let stored = [("etag", "\"1\""), ("last-modified", EARLY)];
        assert!(is_valid(&[("etag", "\"1\"")], &stored));
        assert!(is_valid(&[("etag", "\"1\""), ("last-modified", LATE)], &stored));
        assert!(!is_valid(&[("etag", "\"2\"")], &stored));
        assert!(!is_valid(&[("etag", "\"2\""), ("last-modified", EARLY)], &stored));
        assert!(!is_valid(&[("etag", "\"1\"")], &[("etag", "W/\"1\"")]), "it is not the same tag");
    }

    #[test]
    fn a_304_with_a_weak_tag_is_about_the_response_with_that_tag() {
        assert!(is_valid(&[("etag", "W/\"1\"")], &[("etag", "\"1\"")]));
        assert!(is_valid(&[("etag", "W/\"1\"")], &[("etag", "W/\"1\"")]));
        assert!(!is_valid(&[("etag", "W/\"2\"")], &[("etag", "W/\"1\"")]));
    }

    #[test]
    fn a_304_with_a_date_is_about_the_response_with_that_date() {
        let stored = [("last-modified", EARLY)];
        assert!(is_valid(&[("last-modified", EARLY)], &stored));
        assert!(!is_valid(&[("last-modified", LATE)], &stored));
        assert!(!is_valid(&[("last-modified", EARLY)], &[("etag", "\"1\"")]));
        // A new strong tag needs a strong date.
        let told = [("etag", "\"1\""), ("last-modified", EARLY)];
        assert!(!is_valid(&told, &stored));
        let dated = |date| [told[0], told[1], ("date", date)];
        assert!(is_valid(&dated(LATE), &stored));
        assert!(!is_valid(&dated(EARLY), &stored), "made in the second of the change");
    }

    #[test]
    fn a_304_without_validators_is_about_the_stored_response() {
        for stored in [&[("etag", "\"1\"")][..], &[("last-modified", EARLY)], &[]] {
            assert!(is_valid(&[("cache-control", "max-age=5")], stored));
        }
    }

    #[test]
    fn a_304_renews_all_fields_but_those_of_the_stored_bytes() {
        let stored = headers(&[
            ("content-type", "application/atom+xml"),
            ("content-encoding", "gzip"),
            ("content-digest", "sha-256=:AAAA:"),
            ("etag", "\"1\""),
            ("cache-control", "max-age=5"),
            ("cache-control", "private"),
            ("date", EARLY),
            ("age", "90"),
            ("x-kept", "1"),
        ]);
        let answer = headers(&[
            ("content-type", "text/html"),
            ("content-encoding", "br"),
            ("content-length", "0"),
            ("content-range", "bytes 0-0/1"),
            ("content-digest", "sha-256=:BBBB:"),
            ("connection", "x-hop"),
            ("keep-alive", "timeout=5"),
            ("x-hop", "1"),
            ("set-cookie", "a=1"),
            ("etag", "W/\"1\""),
            ("cache-control", "max-age=60"),
            ("expires", LATE),
            ("date", LATE),
            ("vary", "Accept"),
            ("x-new", "a"),
            ("x-new", "b"),
        ]);
        let expected = headers(&[
            ("content-type", "application/atom+xml"),
            ("content-encoding", "gzip"),
            ("content-digest", "sha-256=:AAAA:"),
            ("etag", "\"1\""),
            ("x-kept", "1"),
            ("cache-control", "max-age=60"),
            ("expires", LATE),
            ("date", LATE),
            ("vary", "Accept"),
            ("x-new", "a"),
            ("x-new", "b"),
        ]);
        assert_eq!(renewed(stored, &answer, NOW), expected);
    }

    #[test]
    fn a_tag_is_added_where_none_is_stored() {
        let answer = headers(&[("etag", "\"1\""), ("last-modified", EARLY), ("date", LATE)]);
        let stored = headers(&[("last-modified", EARLY)]);
        assert_eq!(renewed(stored, &answer, NOW)["etag"], "\"1\"");
    }

    proptest! {
        /// A response with a strong tag or without one validates itself, and a second renewal changes nothing.
        #[test]
        fn renewing_is_idempotent(
            fields in prop::collection::vec(
                (prop::sample::select(vec![
                    "cache-control", "expires", "etag", "vary", "age", "content-type", "warning",
                    "date", "last-modified", "connection", "x-a", "x-b",
                ]), "[ -~]{0,12}"),
                0..12,
            ),
            stored in prop::collection::vec(
                (prop::sample::select(vec!["cache-control", "etag", "age", "x-a", "x-c"]), "[ -~]{0,12}"),
                0..8,
            ),
        ) {
            let told = |fields: &[(&'static str, String)]| {
                let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.trim())).collect();
                headers(&fields)
            };
            let (answer, stored) = (told(&fields), told(&stored));
            let once = renewed(stored.clone(), &answer, NOW);
            prop_assert_eq!(&renewed(once.clone(), &answer, NOW), &once);
            for name in stored.keys().filter(|name| !answer.contains_key(*name)) {
                let is_kept = once.get(name) == stored.get(name);
                prop_assert!(is_kept || *name == header::AGE, "{name}");
            }
            prop_assert!(once.get_all(header::AGE).iter().count() <= 1);
            prop_assert!(validates(&stored, &stored) || tag(&stored).is_some_and(is_weak));
        }
    }
}
