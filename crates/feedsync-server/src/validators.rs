//! Entity tags and conditional requests (RFC 9110 8.8.3 and 13, AH1 to AH9).
//!
//! A tag is a hash of everything that an answer's bytes depend on, so that none is built for a 304.
//! Packed with gzip it is another representation and has the tag with `-gz` behind it; conditions
//! accept either, since both are current. There is no `Last-Modified`: two changes can lie within one
//! second, and a date would hide the second from who asks by it.

use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};

use crate::problem::Problem;

/// What marks the tag of a packed answer.
pub(crate) const PACKED: &str = "-gz";

/// A strong entity tag of an answer that is not packed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct EntityTag(String);

const HEX: &[u8; 16] = b"0123456789abcdef";

/// What a condition makes of a request for a current answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// It is answered.
    Proceed,
    /// The client has it, under this tag.
    NotModified(HeaderValue),
    /// The client wanted another one.
    Failed,
}

impl EntityTag {
    /// The tag of an answer that depends on these parts and nothing else.
    pub(crate) fn of(parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        hash.update(env!("CARGO_PKG_VERSION"));
        Self(self::hash(hash, parts))
    }

    /// The tag with this text, of letters, digits, dots and hyphens, which names the bytes.
    pub(crate) fn named(text: String) -> Self {
        Self(text)
    }

    /// The tag of a state that stays the same whichever version of this program writes it.
    pub(crate) fn of_state(parts: &[&str]) -> Self {
        Self(hash(Sha256::new(), parts))
    }

    /// Its text, without quotes.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// As the header has it.
    pub(crate) fn value(&self) -> HeaderValue {
        HeaderValue::from_str(&format!("\"{}\"", self.0))
            .unwrap_or_else(|_| unreachable!("letters and digits make a header value"))
    }

    /// Weighs `If-Match`, then `If-None-Match`, for a GET or HEAD (RFC 9110 13.2.2).
    pub(crate) fn weigh(&self, headers: &HeaderMap) -> Condition {
        if headers.contains_key(header::IF_MATCH)
            && !listed(headers, header::IF_MATCH).any(|tag| !tag.weak && self.is(&tag))
        {
            return Condition::Failed;
        }
        match listed(headers, header::IF_NONE_MATCH).find(|tag| self.is(tag)) {
            Some(Listed { opaque: None, .. }) => Condition::NotModified(self.value()),
            // The tag that matched is what the client holds: it must not be told another one.
            Some(Listed { opaque: Some(opaque), .. }) => {
                let value = HeaderValue::from_str(&format!("\"{opaque}\""));
                Condition::NotModified(value.unwrap_or_else(|_| self.value()))
            }
            None => Condition::Proceed,
        }
    }

    fn is(&self, tag: &Listed) -> bool {
        let Some(opaque) = &tag.opaque else { return true };
        opaque.strip_suffix(PACKED).unwrap_or(opaque) == self.0
    }
}

fn hash(mut hash: Sha256, parts: &[&str]) -> String {
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let half = hash.finalize().into_iter().take(16);
    half.flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(HEX[usize::from(digit)]))
        .collect()
}

/// The answer to a condition that failed: 412 with the current tag (AH12).
pub(crate) fn failed(tag: &EntityTag) -> Problem {
    Problem::new(
        StatusCode::PRECONDITION_FAILED,
        "precondition-failed",
        "Not the state you expect",
        "If-Match names another state than the current one, which ETag names",
    )
    .header(header::ETAG, tag.value())
}

/// The tag of the same answer packed with gzip.
pub(crate) fn packed(tag: &HeaderValue) -> Option<HeaderValue> {
    let opaque = tag.to_str().ok()?.strip_prefix('"')?.strip_suffix('"')?;
    HeaderValue::from_str(&format!("\"{opaque}{PACKED}\"")).ok()
}

/// One element of a list of tags; without a text it is `*`.
#[derive(Debug)]
pub struct Listed {
    /// Whether it is a weak one.
    pub weak: bool,
    /// Its text, without quotes.
    pub opaque: Option<String>,
}

/// The tags of a header, up to the first that cannot be read.
pub fn listed(headers: &HeaderMap, name: header::HeaderName) -> impl Iterator<Item = Listed> {
    let mut tags = Vec::new();
    for value in headers.get_all(name) {
        let mut rest = value.to_str().unwrap_or_default();
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            if let Some(after) = rest.strip_prefix('*') {
                tags.push(Listed { weak: false, opaque: None });
                rest = after;
                continue;
            }
            let weak = rest.starts_with("W/");
            let Some((opaque, after)) = rest
                .strip_prefix("W/")
                .unwrap_or(rest)
                .strip_prefix('"')
                .and_then(|quoted| quoted.split_once('"'))
            else {
                break;
            };
            tags.push(Listed { weak, opaque: Some(opaque.to_owned()) });
            rest = after;
        }
    }
    tags.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weigh(name: header::HeaderName, value: &str) -> Condition {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        EntityTag("abc".to_owned()).weigh(&headers)
    }

    #[test]
    fn if_none_match_is_a_list_compared_weakly_in_any_coding() {
        for held in ["\"abc\"", "\"x\", \"abc\"", "W/\"abc\"", "\"a,b\" ,, \"abc-gz\"", "*"] {
            let condition = weigh(header::IF_NONE_MATCH, held);
            assert!(matches!(condition, Condition::NotModified(_)), "{held}");
        }
        for other in ["\"abd\"", "abc", "", "\"abc", "\"abc-br\"", "x \"abc\""] {
            assert_eq!(weigh(header::IF_NONE_MATCH, other), Condition::Proceed, "{other}");
        }
    }

    #[test]
    fn a_client_is_told_the_tag_it_holds() {
        let held = Condition::NotModified(HeaderValue::from_static("\"abc-gz\""));
        assert_eq!(weigh(header::IF_NONE_MATCH, "\"abc-gz\""), held);
    }

    #[test]
    fn if_match_is_compared_strongly() {
        for held in ["\"abc\"", "\"abc-gz\"", "*"] {
            assert_eq!(weigh(header::IF_MATCH, held), Condition::Proceed, "{held}");
        }
        for other in ["W/\"abc\"", "\"abd\"", "abc"] {
            assert_eq!(weigh(header::IF_MATCH, other), Condition::Failed, "{other}");
        }
    }

    #[test]
    fn parts_do_not_run_into_one_another() {
        assert_ne!(EntityTag::of(&["ab", "c"]), EntityTag::of(&["a", "bc"]));
        assert_eq!(packed(&HeaderValue::from_static("\"x\"")).unwrap(), "\"x-gz\"");
        assert_eq!(packed(&HeaderValue::from_static("W/\"x\"")), None);
    }
}
