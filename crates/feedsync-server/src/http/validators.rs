//! Entity tags and conditional requests (RFC 9110 8.8.3 and 13, AH1 to AH9).
//!
//! A tag is a hash of everything that the bytes of a response depend on, so that no body is built for a 304.
//! A gzip response is another representation and has the tag with the suffix `-gz`; conditions accept either,
//! since both are current. Proxies that compress mark the tag in their own ways, by a suffix or as a weak
//! one. The hub never issues such tags, so that it recognizes all of them.
//!
//! `Last-Modified` is sent once its second is over, since two changes can happen within one second. Therefore
//! a condition on that date is exact.

use feedsync_core::Timestamp;
use feedsync_formats::http_date;
use feedsync_http::{ListedTag, listed_tags};
use feedsync_store::Moment;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};

use crate::http::problem::Problem;

/// Suffix of the tag of a response that the hub compressed.
const GZIP_SUFFIX: &str = "-gz";

/// Suffixes of tags of compressed responses: the hub's own, those of Apache and lighttpd (`-gzip`, `-br`,
/// `-deflate`), of Caddy and others (`-zstd`), and of Jetty (`--gzip`).
const CODING_SUFFIXES: [&str; 9] =
    [GZIP_SUFFIX, "--gzip", "-gzip", "--br", "-br", "--deflate", "-deflate", "--zstd", "-zstd"];

/// A strong entity tag of an uncompressed response.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct EntityTag(String);

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Result of evaluating the conditions of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// The request proceeds.
    Proceed,
    /// The client has the current response, under this tag.
    NotModified(HeaderValue),
    /// The client requires another response.
    Failed,
}

impl EntityTag {
    /// Tag of a response that depends on these parts and nothing else.
    pub(crate) fn of(parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        hash.update(env!("CARGO_PKG_VERSION"));
        Self(self::hash(hash, parts))
    }

    /// Tag with this text, of letters, digits, dots and hyphens, which identifies the bytes.
    pub(crate) fn named(text: String) -> Self {
        Self(text)
    }

    /// Tag of these bytes, the same for all versions of this program.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self(hash(Sha256::new().chain_update(bytes), &[]))
    }

    /// Tag of bytes with this SHA-256, equal to [`Self::of_bytes`].
    pub(crate) fn of_digest(digest: &[u8; 32]) -> Self {
        Self(half(digest))
    }

    /// Tag of a state, the same for all versions of this program.
    pub(crate) fn of_state(parts: &[&str]) -> Self {
        Self(hash(Sha256::new(), parts))
    }

    /// Its text, without quotes.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Value for the header.
    pub(crate) fn value(&self) -> HeaderValue {
        HeaderValue::from_str(&format!("\"{}\"", self.0))
            .unwrap_or_else(|_| unreachable!("letters and digits make a header value"))
    }

    /// Evaluates `If-Match`, then `If-None-Match`, for a GET or HEAD (RFC 9110 13.2.2).
    pub(crate) fn evaluate(&self, headers: &HeaderMap) -> Condition {
        self.evaluate_dated(headers, None, Moment::MAX)
    }

    /// Evaluates the conditions of a GET or HEAD whose response has this `Last-Modified`, if any. A date counts
    /// only where no tag is given (RFC 9110 13.2.2). An `If-Modified-Since` in the future does not count: the hub sent it
    /// while its clock was ahead, and later changes have earlier dates.
    pub(crate) fn evaluate_dated(
        &self,
        headers: &HeaderMap,
        modified: Option<Timestamp>,
        now: Moment,
    ) -> Condition {
        let is_after = |name| {
            let date = date(headers, name)?;
            Some(modified?.unix_seconds() > date)
        };
        if headers.contains_key(header::IF_MATCH) {
            if !listed_tags(headers, header::IF_MATCH).any(|tag| !tag.weak && self.is(&tag)) {
                return Condition::Failed;
            }
        } else if is_after(header::IF_UNMODIFIED_SINCE) == Some(true) {
            return Condition::Failed;
        }
        if !headers.contains_key(header::IF_NONE_MATCH) {
            let now = i64::try_from(now.micros() / 1_000_000).unwrap_or(i64::MAX);
            let is_past = date(headers, header::IF_MODIFIED_SINCE).is_some_and(|date| date <= now);
            return match is_after(header::IF_MODIFIED_SINCE) {
                Some(false) if is_past => Condition::NotModified(self.value()),
                _ => Condition::Proceed,
            };
        }
        match listed_tags(headers, header::IF_NONE_MATCH).find(|tag| self.is(tag)) {
            // The client's cached response has the tag that it sent, so the 304 repeats the tag with that
            // coding.
            Some(tag) => Condition::NotModified(tag.strong().unwrap_or_else(|| self.value())),
            None => Condition::Proceed,
        }
    }

    fn is(&self, tag: &ListedTag) -> bool {
        tag.opaque.as_deref().is_none_or(|opaque| without_coding(opaque) == self.0)
    }
}

/// Removes the suffix that servers append to a tag when they compress a response.
pub(crate) fn without_coding(opaque: &str) -> &str {
    CODING_SUFFIXES.iter().find_map(|suffix| opaque.strip_suffix(suffix)).unwrap_or(opaque)
}

/// Date of a conditional header, in seconds since 1970; none if it is not valid, which is no condition (RFC
/// 9110 13.1.3 and 13.1.4).
fn date(headers: &HeaderMap, name: HeaderName) -> Option<i64> {
    let date = httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()?;
    let since = date.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).ok()
}

/// Second of the last change, for `Last-Modified`, once that second is over and no other change can fall
/// into it (RFC 9110 8.8.2).
pub(crate) fn last_modified(edited: Moment, now: Moment) -> Option<Timestamp> {
    let seconds = |moment: Moment| Some(moment.timestamp()?.unix_seconds());
    edited.timestamp().filter(|_| seconds(edited) < seconds(now))
}

/// Adds `Last-Modified`, if there is one.
pub(crate) fn set_last_modified(headers: &mut HeaderMap, modified: Option<Timestamp>) {
    let value = modified.and_then(|date| HeaderValue::from_str(&http_date(date)).ok());
    if let Some(value) = value {
        headers.insert(header::LAST_MODIFIED, value);
    }
}

fn hash(mut hash: Sha256, parts: &[&str]) -> String {
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    half(&hash.finalize())
}

/// First half of a digest, in hexadecimal digits.
pub(crate) fn half(digest: &[u8]) -> String {
    let half = digest.iter().take(16);
    half.flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(HEX[usize::from(digit)]))
        .collect()
}

/// Response to a failed condition: 412 with the current tag (AH12).
pub(crate) fn failed(tag: &EntityTag) -> Problem {
    Problem::new(
        StatusCode::PRECONDITION_FAILED,
        "precondition-failed",
        "Precondition failed",
        "If-Match does not match the current state, which the ETag header names",
    )
    .header(header::ETAG, tag.value())
}

/// Tag of the same response compressed with gzip.
pub(crate) fn packed(tag: &HeaderValue) -> Option<HeaderValue> {
    let opaque = tag.to_str().ok()?.strip_prefix('"')?.strip_suffix('"')?;
    HeaderValue::from_str(&format!("\"{opaque}{GZIP_SUFFIX}\"")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(name: HeaderName, value: &str) -> Condition {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        EntityTag("abc".to_owned()).evaluate(&headers)
    }

    #[test]
    fn if_none_match_is_a_list_compared_weakly_in_any_coding() {
        for held in ["\"abc\"", "\"x\", \"abc\"", "W/\"abc\"", "\"a,b\" ,, \"abc-gz\"", "*"] {
            let condition = evaluate(header::IF_NONE_MATCH, held);
            assert!(matches!(condition, Condition::NotModified(_)), "{held}");
        }
        for other in ["\"abd\"", "abc", "", "\"abc", "\"abc-x\"", "\"-br\"", "x \"abc\""] {
            assert_eq!(evaluate(header::IF_NONE_MATCH, other), Condition::Proceed, "{other}");
        }
    }

    #[test]
    fn not_modified_repeats_the_tag_that_the_client_holds() {
        let suffixes = CODING_SUFFIXES.iter().copied().chain([""]);
        for suffix in suffixes {
            for weak in ["", "W/"] {
                let tag = format!("\"abc{suffix}\"");
                let held = Condition::NotModified(HeaderValue::from_str(&tag).unwrap());
                assert_eq!(evaluate(header::IF_NONE_MATCH, &format!("{weak}{tag}")), held);
            }
        }
    }

    #[test]
    fn if_match_is_compared_strongly() {
        for held in ["\"abc\"", "\"abc-gz\"", "\"abc-gzip\"", "\"abc-br\"", "*"] {
            assert_eq!(evaluate(header::IF_MATCH, held), Condition::Proceed, "{held}");
        }
        for other in ["W/\"abc\"", "W/\"abc-gzip\"", "\"abd\"", "abc"] {
            assert_eq!(evaluate(header::IF_MATCH, other), Condition::Failed, "{other}");
        }
    }

    #[test]
    fn dates_count_only_where_no_tag_is_given() {
        let (early, same, late) = (
            "Thu, 20 Nov 2025 19:46:39 GMT",
            "Thu, 20 Nov 2025 19:46:40 GMT",
            "Thu, 20 Nov 2025 19:46:41 GMT",
        );
        let modified = Timestamp::from_unix_seconds(1_763_668_000);
        let tag = EntityTag("abc".to_owned());
        let evaluate = |headers: &[(HeaderName, &str)], modified| {
            let value = |text: &str| HeaderValue::from_str(text).unwrap();
            let headers = headers.iter().map(|(name, text)| (name.clone(), value(text))).collect();
            match tag.evaluate_dated(&headers, modified, Moment::from_micros(1_763_668_100_000_000))
            {
                Condition::Proceed => 200,
                Condition::NotModified(told) => {
                    assert_eq!(told, "\"abc\"");
                    304
                }
                Condition::Failed => 412,
            }
        };
        use header::{IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE};
        for (headers, expected) in [
            (vec![(IF_MODIFIED_SINCE, same)], 304),
            (vec![(IF_MODIFIED_SINCE, late)], 304),
            (vec![(IF_MODIFIED_SINCE, "Fri, 20 Nov 2026 19:46:41 GMT")], 200),
            (vec![(IF_MODIFIED_SINCE, early)], 200),
            (vec![(IF_MODIFIED_SINCE, "yesterday")], 200),
            (vec![(IF_MODIFIED_SINCE, late), (IF_NONE_MATCH, "\"x\"")], 200),
            (vec![(IF_MODIFIED_SINCE, early), (IF_NONE_MATCH, "\"abc\"")], 304),
            (vec![(IF_UNMODIFIED_SINCE, early)], 412),
            (vec![(IF_UNMODIFIED_SINCE, same)], 200),
            (vec![(IF_UNMODIFIED_SINCE, early), (IF_MATCH, "\"abc\"")], 200),
            (vec![(IF_UNMODIFIED_SINCE, same), (IF_MODIFIED_SINCE, same)], 304),
        ] {
            assert_eq!(evaluate(&headers, modified), expected, "{headers:?}");
            let dateless =
                headers.iter().any(|(name, _)| *name == IF_NONE_MATCH && expected == 304);
            assert_eq!(evaluate(&headers, None), if dateless { 304 } else { 200 }, "{headers:?}");
        }
    }

    #[test]
    fn last_modified_is_sent_once_its_second_is_over() {
        let at = Moment::from_micros(1_763_668_000_500_000);
        let told = |now| last_modified(at, Moment::from_micros(now)).map(http_date);
        for too_early in [1_763_668_000_500_000, 1_763_668_000_999_999, 1_763_667_999_000_000] {
            assert_eq!(told(too_early), None);
        }
        let date = "Thu, 20 Nov 2025 19:46:40 GMT";
        assert_eq!(told(1_763_668_001_000_000).as_deref(), Some(date));
    }

    #[test]
    fn parts_do_not_run_into_one_another() {
        assert_ne!(EntityTag::of(&["ab", "c"]), EntityTag::of(&["a", "bc"]));
        assert_eq!(packed(&HeaderValue::from_static("\"x\"")).unwrap(), "\"x-gz\"");
        assert_eq!(packed(&HeaderValue::from_static("W/\"x\"")), None);
    }
}
