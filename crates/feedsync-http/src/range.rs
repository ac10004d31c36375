//! Byte ranges of a representation (RFC 9110 14, AH19): a single range is served; a request for several gets
//! everything.

use std::ops::Range;
use std::time::SystemTime;

#[cfg(feature = "server")]
use http::StatusCode;
use http::{HeaderMap, HeaderName, HeaderValue, header};

#[cfg(feature = "server")]
use crate::problem::Problem;

/// Header fields that describe the bytes of a complete response, and so are omitted from a partial one (RFC 9530
/// 2).
const COMPLETE_RESPONSE_HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("content-digest"), HeaderName::from_static("content-md5")];

/// Requested part of a representation.
#[derive(Debug, PartialEq, Eq)]
pub enum RequestedRange {
    /// The whole representation.
    Whole,
    /// A range of bytes, at least one.
    Part(Range<u64>),
    /// Bytes past the end.
    Nothing,
}

/// Validators of a representation, as `If-Range` compares them (RFC 9110 13.1.5).
#[derive(Debug, Clone, Copy, Default)]
pub struct Validators<'v> {
    /// The entity tag.
    pub tag: Option<&'v HeaderValue>,
    /// The date of the last change, if it is a strong validator (RFC 9110 8.8.2.2).
    pub modified: Option<SystemTime>,
}

/// Returns the part of so many bytes that `Range` requests. `If-Range` must name their strong tag, or the
/// exact date of their last change; else the range is ignored.
pub fn requested_range(
    headers: &HeaderMap,
    validators: Validators<'_>,
    length: u64,
) -> RequestedRange {
    let mut ranges = headers.get_all(header::RANGE).iter();
    let (Some(range), None) = (ranges.next(), ranges.next()) else { return RequestedRange::Whole };
    if headers.get_all(header::IF_RANGE).iter().any(|held| !validators.has(held)) {
        return RequestedRange::Whole;
    }
    parsed(range, length).unwrap_or(RequestedRange::Whole)
}

impl Validators<'_> {
    /// Validators of a representation without a date.
    pub fn tag(tag: &HeaderValue) -> Validators<'_> {
        Validators { tag: Some(tag), modified: None }
    }

    /// Whether `If-Range` names one of them.
    fn has(self, held: &HeaderValue) -> bool {
        if held.as_bytes().starts_with(b"\"") || is_weak(held) {
            return self.tag == Some(held) && !is_weak(held);
        }
        let date = held.to_str().ok().and_then(|date| httpdate::parse_http_date(date).ok());
        date.is_some() && date == self.modified
    }
}

/// Value of `Content-Range` for a part of so many bytes.
pub fn content_range(part: &Range<u64>, length: u64) -> HeaderValue {
    header_value(format!("bytes {}-{}/{length}", part.start, part.end.saturating_sub(1)))
}

/// Changes the headers of a complete response of so many bytes to those of its part.
pub fn part_headers(headers: &mut HeaderMap, range: &RequestedRange, length: u64) {
    let value = match range {
        RequestedRange::Whole => return,
        RequestedRange::Part(part) => content_range(part, length),
        RequestedRange::Nothing => unsatisfied(length),
    };
    for name in COMPLETE_RESPONSE_HEADERS {
        headers.remove(name);
    }
    headers.insert(header::CONTENT_RANGE, value);
}

fn unsatisfied(length: u64) -> HeaderValue {
    header_value(format!("bytes */{length}"))
}

/// Response to a request for bytes past the end: 416 with the length.
#[cfg(feature = "server")]
pub fn unsatisfiable(length: u64) -> Problem {
    Problem::new(
        StatusCode::RANGE_NOT_SATISFIABLE,
        "range",
        "Range not satisfiable",
        format!("the content has only {length} bytes"),
    )
    .header(header::CONTENT_RANGE, unsatisfied(length))
}

fn header_value(text: String) -> HeaderValue {
    HeaderValue::from_str(&text).unwrap_or_else(|_| unreachable!("numbers make a header value"))
}

fn is_weak(tag: &HeaderValue) -> bool {
    tag.as_bytes().starts_with(b"W/")
}

/// `None` unless it is a single range of bytes.
fn parsed(value: &HeaderValue, length: u64) -> Option<RequestedRange> {
    let (unit, set) = value.to_str().ok()?.split_once('=')?;
    let (first, last) = set.trim().split_once('-')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let number = |text: &str| -> Option<u64> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A number that does not fit exceeds any length.
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let range = match (first, last) {
        // A suffix of an empty representation is all of it.
        ("", last) if length == 0 && number(last)? > 0 => return None,
        ("", last) => length.saturating_sub(number(last)?)..length,
        (first, "") => number(first)?..length,
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return None;
            }
            first..last.saturating_add(1).min(length)
        }
    };
    Some(if range.start < range.end {
        RequestedRange::Part(range)
    } else {
        RequestedRange::Nothing
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_a_part_and_anything_else_is_all() {
        let tag = HeaderValue::from_static("\"abc\"");
        let ask = |range: &str, if_range: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RANGE, range.parse().unwrap());
            if let Some(held) = if_range {
                headers.insert(header::IF_RANGE, held.parse().unwrap());
            }
            requested_range(&headers, Validators::tag(&tag), 10)
        };
        for (range, part) in [
            ("bytes=0-0", RequestedRange::Part(0..1)),
            ("Bytes=2-", RequestedRange::Part(2..10)),
            ("bytes=2-99999999999999999999999", RequestedRange::Part(2..10)),
            ("bytes=-3", RequestedRange::Part(7..10)),
            ("bytes=-30", RequestedRange::Part(0..10)),
            ("bytes=10-", RequestedRange::Nothing),
            ("bytes=-0", RequestedRange::Nothing),
            ("bytes=99999999999999999999999-", RequestedRange::Nothing),
            ("bytes=3-2", RequestedRange::Whole),
            ("bytes=0-1,3-4", RequestedRange::Whole),
            ("bytes=a-b", RequestedRange::Whole),
            ("bytes=-", RequestedRange::Whole),
            ("lines=1-2", RequestedRange::Whole),
            ("bytes", RequestedRange::Whole),
        ] {
            assert_eq!(ask(range, None), part, "{range}");
        }
        assert_eq!(ask("bytes=0-0", Some("\"abc\"")), RequestedRange::Part(0..1));
        for other in ["\"abd\"", "W/\"abc\"", "Sat, 21 Nov 2026 12:00:00 GMT"] {
            assert_eq!(ask("bytes=0-0", Some(other)), RequestedRange::Whole, "{other}");
        }
        assert_eq!(
            requested_range(&HeaderMap::new(), Validators::tag(&tag), 10),
            RequestedRange::Whole
        );
        let mut headers = HeaderMap::new();
        for range in ["bytes=0-0", "bytes=1-1"] {
            headers.append(header::RANGE, HeaderValue::from_static(range));
        }
        assert_eq!(requested_range(&headers, Validators::tag(&tag), 10), RequestedRange::Whole);
        let mut suffix = HeaderMap::new();
        suffix.insert(header::RANGE, HeaderValue::from_static("bytes=-3"));
        assert_eq!(
            requested_range(&suffix, Validators::default(), 0),
            RequestedRange::Whole,
            "the end of nothing"
        );
    }

    #[test]
    fn if_range_takes_a_strong_tag_or_the_exact_date() {
        let (tag, weak) = (HeaderValue::from_static("\"a\""), HeaderValue::from_static("W/\"a\""));
        let date = "Sat, 21 Nov 2026 12:00:00 GMT";
        let modified = httpdate::parse_http_date(date).ok();
        let ask = |held: &str, validators| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RANGE, HeaderValue::from_static("bytes=1-"));
            headers.insert(header::IF_RANGE, held.parse().unwrap());
            requested_range(&headers, validators, 10) == RequestedRange::Part(1..10)
        };
        let both = Validators { tag: Some(&tag), modified };
        assert!(ask("\"a\"", both) && ask(date, both));
        // The same moment in an obsolete format.
        assert!(ask("Saturday, 21-Nov-26 12:00:00 GMT", both));
        let others = ["\"b\"", "W/\"a\"", "a", "", "*", "Sat, 21 Nov 2026 12:00:01 GMT", "soon"];
        for other in others {
            assert!(!ask(other, both), "{other}");
        }
        let is_weak = Validators { tag: Some(&weak), modified: None };
        assert!(!ask("W/\"a\"", is_weak) && !ask("\"a\"", is_weak) && !ask(date, is_weak));
        assert!(!ask("\"a\"", Validators::default()) && !ask("soon", Validators::default()));
    }

    #[test]
    fn beyond_four_gibibytes_places_are_what_they_say() {
        let length = (1_u64 << 32) + 10;
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, HeaderValue::from_static("bytes=4294967301-"));
        let RequestedRange::Part(part) = requested_range(&headers, Validators::default(), length)
        else {
            panic!("it is there")
        };
        assert_eq!(part, 4_294_967_301..length);
        assert_eq!(content_range(&part, length), "bytes 4294967301-4294967305/4294967306");
        headers.insert(header::RANGE, HeaderValue::from_static("bytes=4294967306-"));
        assert_eq!(
            requested_range(&headers, Validators::default(), length),
            RequestedRange::Nothing
        );
    }
}
