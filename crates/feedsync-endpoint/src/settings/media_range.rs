//! Media ranges (RFC 5023 8.3.4, RFC 9110 12.5.1).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A media range that a collection accepts: `image/*`, `*/*`, `application/atom+xml;type=entry`. It is stored
/// as written; types and names of parameters are compared without case (AP7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MediaRange(String);

/// A text that is not a media range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a media range such as image/*, */* or application/atom+xml;type=entry")]
pub struct MediaRangeError(String);

impl MediaRange {
    /// Returns the range of Atom entries, with the text that AtomPub clients compare (AP6).
    pub fn entry() -> Self {
        Self("application/atom+xml;type=entry".to_owned())
    }

    /// Returns the text as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the range is that of Atom entries, which become members without media.
    pub fn is_entry(&self) -> bool {
        parts(&self.0).is_some_and(|(essence, parameters)| {
            essence == "application/atom+xml"
                && parameters.iter().all(|(name, value)| name != "type" || value == "entry")
        })
    }

    /// Whether a media type is in the range: it must have all parameters of the range.
    pub fn takes(&self, media_type: &str) -> bool {
        let (Some((range, wanted)), Some((essence, given))) = (parts(&self.0), parts(media_type))
        else {
            return false;
        };
        let fits = match range.strip_suffix("/*") {
            Some("*") => true,
            Some(kind) => essence.split_once('/').is_some_and(|(given, _)| given == kind),
            None => range == essence,
        };
        fits && !essence.contains('*') && wanted.iter().all(|parameter| given.contains(parameter))
    }
}

impl FromStr for MediaRange {
    type Err = MediaRangeError;
    fn from_str(text: &str) -> Result<Self, MediaRangeError> {
        let is_range = text.len() <= 255 && parts(text).is_some();
        if is_range { Ok(Self(text.to_owned())) } else { Err(MediaRangeError(text.to_owned())) }
    }
}

impl fmt::Display for MediaRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for MediaRange {
    type Error = MediaRangeError;
    fn try_from(text: String) -> Result<Self, MediaRangeError> {
        text.parse()
    }
}

impl From<MediaRange> for String {
    fn from(range: MediaRange) -> Self {
        range.0
    }
}

/// Splits a text into `type/subtype` in lower case and the parameters: names in lower case, values without
/// quotes. Values of `charset` and `type` are in lower case too.
fn parts(text: &str) -> Option<(String, Vec<(String, String)>)> {
    let mut pieces = text.split(';');
    let essence = pieces.next()?.trim_matches([' ', '\t']).to_ascii_lowercase();
    let (kind, subtype) = essence.split_once('/')?;
    let is_wild = subtype == "*" && (kind == "*" || is_token(kind));
    let is_type = is_token(kind) && is_token(subtype);
    if !(is_wild || is_type) {
        return None;
    }
    let mut parameters = Vec::new();
    for piece in pieces {
        let (name, value) = piece.trim_matches([' ', '\t']).split_once('=')?;
        let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        let name = name.to_ascii_lowercase();
        let value = quoted.unwrap_or(value);
        if !is_token(&name) || !(is_token(value) || quoted.is_some()) || value.contains('"') {
            return None;
        }
        let value = if matches!(&*name, "charset" | "type") {
            value.to_ascii_lowercase()
        } else {
            value.to_owned()
        };
        parameters.push((name, value));
    }
    Some((essence, parameters))
}

/// Whether a text is a token (RFC 9110 5.6.2), without the wildcard.
fn is_token(text: &str) -> bool {
    let is_mark = |byte| b"!#$%&'+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_takes_what_falls_into_it() {
        for (range, media_type, taken) in [
            ("image/*", "image/png", true),
            ("IMAGE/*", "Image/PNG", true),
            ("image/*", "imagery/png", false),
            ("image/png", "image/png;q=1", true),
            ("*/*", "text/plain; charset=\"utf-8\"", true),
            ("*/*", "*/*", false),
            ("*/*", "nonsense", false),
            ("text/plain;charset=utf-8", "text/plain", false),
            ("text/plain; charset=utf-8", "text/plain;x=1;Charset=\"UTF-8\"", true),
            ("application/atom+xml;type=entry", "application/atom+xml; type=\"entry\"", true),
            ("application/atom+xml;type=entry", "application/atom+xml", false),
            ("application/atom+xml;type=entry", "application/atom+xml;type=feed", false),
        ] {
            assert_eq!(range.parse::<MediaRange>().unwrap().takes(media_type), taken, "{range}");
        }
        for text in ["", "image", "image/", "*/png", "image/png;", "image/png;q", "a b/c", "a/b/c"]
        {
            assert!(text.parse::<MediaRange>().is_err(), "{text}");
        }
    }

    #[test]
    fn entries_are_known() {
        assert!(MediaRange::entry().is_entry());
        let is_entry = |text: &str| text.parse::<MediaRange>().unwrap().is_entry();
        assert!(is_entry("application/atom+xml") && is_entry("Application/Atom+XML; Type=Entry"));
        assert!(!is_entry("application/atom+xml;type=feed") && !is_entry("*/*"));
    }
}
