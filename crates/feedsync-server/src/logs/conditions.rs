//! Expected position of a log in a request (LR22, LR32, LR34 to LR36, LR45).
//!
//! A tag that this hub never issued names no position: it never matches, and the response contains the
//! current position (LR29). The hub issues no weak tags, and none with the name of a coding as suffix. If a
//! client sends one, a proxy compressed the response that the client read. It names exactly one position, so
//! it matches although it is weak; otherwise no client could append behind such a proxy.

use std::str::FromStr;

use feedsync_http::{ListedTag, listed_tags};
use feedsync_store::{Expected, LogPosition};
use http::{HeaderMap, StatusCode, header};

use super::position::COVERS;
use crate::http::problem::Problem;
use crate::http::validators::without_coding;

/// Position of the log that a change expects: `If-Match`, or `If-None-Match: *` for no log.
pub(super) fn expected(headers: &HeaderMap) -> Result<Expected, Problem> {
    let any = |tag: &ListedTag| tag.opaque.is_none();
    let absent = listed_tags(headers, header::IF_NONE_MATCH).any(|tag| any(&tag));
    let tags: Vec<_> = listed_tags(headers, header::IF_MATCH).collect();
    match (headers.contains_key(header::IF_MATCH), absent) {
        (true, _) if headers.contains_key(header::IF_NONE_MATCH) => {
            Err(Problem::bad_request("If-Match and If-None-Match cannot be used together"))
        }
        (true, _) if tags.iter().any(any) && tags.len() > 1 => {
            Err(Problem::bad_request("If-Match must be a list of entity tags, or *"))
        }
        (true, _) if tags.iter().any(any) => Ok(Expected::Present),
        (true, _) => Ok(Expected::At(tags.iter().filter_map(place).collect())),
        (false, true) => Ok(Expected::Absent),
        (false, false) => Err(required()),
    }
}

/// Position in a tag of a log, also if a proxy modified the tag.
fn place(tag: &ListedTag) -> Option<LogPosition> {
    without_coding(tag.opaque.as_deref()?).parse().ok()
}

/// Problem 428 for a missing condition (RFC 6585 3).
pub(super) fn required() -> Problem {
    Problem::new(
        StatusCode::PRECONDITION_REQUIRED,
        "precondition-required",
        "Precondition required",
        "a change of a log must name its current state: send If-Match with the ETag of the log, or \
         If-Match: * for any state; to create a log, send POST with If-None-Match: *",
    )
    .with("header", "If-Match")
}

/// `Content-Range: bytes START-LAST/*`, or with the resulting length (RFC 9110 14.4, 14.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContentRange {
    /// Offset of its first byte.
    pub(super) start: u64,
    /// Number of its bytes.
    pub(super) length: u64,
}

/// Error for a text that does not describe a part at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "Content-Range does not describe an append: use bytes START-LAST/* or bytes START-LAST/LENGTH, \
     where LENGTH is LAST + 1"
)]
pub(super) struct ContentRangeError;

impl FromStr for ContentRange {
    type Err = ContentRangeError;
    fn from_str(text: &str) -> Result<Self, ContentRangeError> {
        let parts = || {
            let (unit, rest) = text.trim().split_once(' ')?;
            let (part, complete) = rest.trim_start().split_once('/')?;
            let (start, last) = part.split_once('-')?;
            let (start, last) = (number(start)?, number(last)?);
            let length = last.checked_sub(start)?.checked_add(1)?;
            let end = last.checked_add(1)?;
            let fits = complete == "*" || number(complete) == Some(end);
            (unit.eq_ignore_ascii_case("bytes") && fits).then_some(Self { start, length })
        };
        parts().ok_or(ContentRangeError)
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

impl ContentRange {
    /// Reads the header of a request, if it has one.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        let mut given = headers.get_all(header::CONTENT_RANGE).iter();
        let text = match (given.next(), given.next()) {
            (None, _) => return Ok(None),
            (Some(one), None) => one.to_str().unwrap_or_default(),
            (Some(_), Some(_)) => "",
        };
        let range = text.parse::<Self>();
        range.map(Some).map_err(|error| Problem::bad_request(error.to_string()))
    }
}

/// Part of a log that a snapshot covers: `Log-Covers`, with a tag of the log (LR45).
pub(super) fn covered(headers: &HeaderMap) -> Result<LogPosition, Problem> {
    if !headers.contains_key(&COVERS) {
        return Err(Problem::new(
            StatusCode::PRECONDITION_REQUIRED,
            "precondition-required",
            "Precondition required",
            "a snapshot needs the header Log-Covers: the ETag of the log whose content it replaces",
        )
        .with("header", COVERS.as_str()));
    }
    let mut tags = listed_tags(headers, COVERS);
    let only = tags.next().filter(|_| tags.next().is_none());
    only.as_ref().and_then(place).ok_or_else(|| {
        Problem::bad_request("Log-Covers is not the ETag of a log, such as \"3.1a2b3c4d-4096\"")
            .with("header", COVERS.as_str())
    })
}

/// Key by which a repeated append is recognized: `Idempotency-Key` (LR38).
pub(super) fn key(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut given = headers.get_all("idempotency-key").iter();
    let text = match (given.next(), given.next()) {
        (None, _) => return Ok(None),
        (Some(one), None) => one.to_str().unwrap_or_default(),
        (Some(_), Some(_)) => "",
    };
    if (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(Some(text));
    }
    let detail = "Idempotency-Key must occur once and have 1 to 255 visible ASCII characters";
    Err(Problem::bad_request(detail).with("header", "Idempotency-Key"))
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;
    use http::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    use super::*;

    fn with(headers: &[(HeaderName, &str)]) -> HeaderMap {
        let values = headers
            .iter()
            .map(|(name, text)| (name.clone(), HeaderValue::from_bytes(text.as_bytes()).unwrap()));
        values.collect()
    }

    fn text() -> impl Strategy<Value = String> {
        let pieces = [
            "bytes ",
            "0",
            "7",
            "18446744073709551615",
            "-",
            "/",
            "*",
            "\"",
            "W/",
            ",",
            " ",
            "é",
            "1.0000000a",
        ];
        prop::collection::vec(prop::sample::select(Vec::from(pieces)), 0..8)
            .prop_map(|pieces| pieces.concat())
    }

    /// Proxies that compress responses mark tags as weak (nginx) or append the coding (Apache, lighttpd).
    #[test]
    fn tags_marked_by_proxies_name_the_same_place() {
        let at = "3.1a2b3c4d-4096";
        let named: LogPosition = at.parse().unwrap();
        for tag in ["\"{}\"", "W/\"{}\"", "\"{}-gzip\"", "\"{}-br\"", "W/\"{}--gzip\"", "\"{}-gz\""]
        {
            let tag = tag.replace("{}", at);
            let found = expected(&with(&[(header::IF_MATCH, &tag)])).ok();
            assert_eq!(found, Some(Expected::At(vec![named])), "{tag}");
            assert_eq!(covered(&with(&[(COVERS, &tag)])).ok(), Some(named), "{tag}");
        }
        for other in ["\"3.1a2b3c4d-4096-x\"", "\"3.1a2b3c4d\"", "\"-gzip\""] {
            let found = expected(&with(&[(header::IF_MATCH, other)])).ok();
            assert_eq!(found, Some(Expected::At(vec![])), "{other}");
        }
    }

    proptest! {
        /// LR34: every part at the end parses back to itself, and its length matches.
        #[test]
        fn a_part_comes_back(start in 0..u64::MAX / 2, length in 1..u64::MAX / 2, told: bool) {
            let end = start + length;
            let complete = if told { end.to_string() } else { "*".to_owned() };
            let text = format!("bytes {start}-{}/{complete}", end - 1);
            prop_assert_eq!(text.parse(), Ok(ContentRange { start, length }));
            let beyond = format!("bytes {start}-{}/{}", end - 1, end + 1);
            prop_assert_eq!(beyond.parse::<ContentRange>(), Err(ContentRangeError));
        }

        /// LR35, LR36, LR45: any text parses as a position or is refused with a reason; none is taken for
        /// another position.
        #[test]
        fn any_text_is_understood_or_refused(text in text()) {
            if let Ok(ContentRange { start, length }) = text.parse() {
                let end = start.checked_add(length).unwrap();
                prop_assert!(length > 0);
                let written = [format!("{start}-{}/*", end - 1), format!("{start}-{}/{end}", end - 1)];
                prop_assert!(written.iter().any(|written| text.replace(' ', "").ends_with(written)));
            }
            match expected(&with(&[(header::IF_MATCH, &text)])) {
                Ok(Expected::At(places)) => for place in places {
                    prop_assert!(text.contains(&format!("\"{place}\"")), "{place}");
                },
                Ok(Expected::Present) => prop_assert!(text.contains('*')),
                Ok(Expected::Absent) => prop_assert!(false, "If-Match never begins a log"),
                Err(problem) => prop_assert_eq!(problem.into_response().status(), StatusCode::BAD_REQUEST),
            }
            if let Ok(place) = covered(&with(&[(COVERS, &text)])) {
                prop_assert!(text.contains(&format!("\"{place}\"")), "{place}");
            }
        }
    }
}
