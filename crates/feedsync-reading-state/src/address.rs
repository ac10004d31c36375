//! Canonical address of a feed, which identifies it (LR7).

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Deserialize;
use url::Url;

/// Maximum size of an address, in bytes.
pub const MAX_ADDRESS_BYTES: usize = 4_096;

/// Canonical address of a feed, by which devices identify it (LR7).
///
/// Scheme and host are in lower case, a default port and a fragment are removed, and `feed:` is replaced by
/// the scheme that it stands for. An absent path is `/`, as in HTTP. Path and query are unchanged, because
/// only the server knows which of their spellings are equivalent.
///
/// ```
/// # use feedsync_reading_state::FeedAddress;
/// let address: FeedAddress = "feed://Example.ORG:80/News?id=A#top".parse()?;
/// assert_eq!(address.as_str(), "http://example.org/News?id=A");
/// # Ok::<(), feedsync_reading_state::AddressError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct FeedAddress(Arc<str>);

/// Why a text is not the address of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Too long.
    #[error("the address of a feed can have at most {MAX_ADDRESS_BYTES} bytes")]
    TooLong,
    /// Another scheme than http, https or feed, or none.
    #[error(
        "the address of a feed must begin with http:, https: or feed:, such as \
         https://example.org/feed"
    )]
    Scheme,
    /// No host, or an invalid one.
    #[error("the address of a feed must have a host")]
    Host,
    /// A blank, a control character, or a noncharacter.
    #[error("the address of a feed must not have blanks or control characters")]
    Character,
}

impl FeedAddress {
    /// The text of the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for FeedAddress {
    type Err = AddressError;
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        if text.len() > MAX_ADDRESS_BYTES {
            return Err(AddressError::TooLong);
        }
        let is_illegal = |character: char| {
            character.is_whitespace()
                || character.is_control()
                || matches!(character, '\u{fffe}' | '\u{ffff}')
        };
        if text.chars().any(is_illegal) {
            return Err(AddressError::Character);
        }
        let (scheme, rest) = scheme_and_rest(text).ok_or(AddressError::Scheme)?;
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        // Only the authority is parsed as a URL; a backslash would end it there.
        let url = Url::parse(&format!("{scheme}://{authority}/")).ok();
        let url = url.filter(|_| !authority.contains('\\')).ok_or(AddressError::Host)?;
        let server = url.as_str().strip_suffix('/').unwrap_or_default();
        let slash = if rest.starts_with('/') { "" } else { "/" };
        let address = format!("{server}{slash}{rest}");
        if address.len() > MAX_ADDRESS_BYTES {
            return Err(AddressError::TooLong);
        }
        Ok(Self(address.into()))
    }
}

/// The scheme of the feed, and the text after `//`.
fn scheme_and_rest(text: &str) -> Option<(&'static str, &str)> {
    if let Some(rest) = after(text, "feed:") {
        // Accepts feed://host/x and feed:http://host/x, but not a nested `feed:`.
        return web(rest).or_else(|| Some(("http", rest.strip_prefix("//")?)));
    }
    web(text)
}

fn web(text: &str) -> Option<(&'static str, &str)> {
    let http = after(text, "http://").map(|rest| ("http", rest));
    http.or_else(|| after(text, "https://").map(|rest| ("https", rest)))
}

fn after<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

impl TryFrom<String> for FeedAddress {
    type Error = AddressError;
    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl Borrow<str> for FeedAddress {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FeedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for FeedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Result<String, AddressError> {
        text.parse::<FeedAddress>().map(|address| address.to_string())
    }

    #[test]
    fn spellings_of_one_address_are_one() {
        for (text, address) in [
            ("http://example.org/feed", "http://example.org/feed"),
            ("HTTP://EXAMPLE.org/Feed", "http://example.org/Feed"),
            ("https://example.org:443/feed", "https://example.org/feed"),
            ("http://example.org:80", "http://example.org/"),
            ("http://example.org:443/", "http://example.org:443/"),
            ("https://example.org?a=b#c", "https://example.org/?a=b"),
            ("https://example.org/a/../b/%7Ex?Q=%41#f#g", "https://example.org/a/../b/%7Ex?Q=%41"),
            ("feed:https://example.org/f", "https://example.org/f"),
            ("feed:http://example.org/f", "http://example.org/f"),
            ("feed://example.org/f", "http://example.org/f"),
            ("FEED://example.org/f", "http://example.org/f"),
            (" https://example.org/f\n", "https://example.org/f"),
            ("https://b\u{fc}cher.example/\u{e4}", "https://xn--bcher-kva.example/\u{e4}"),
            ("https://[2001:DB8::1]:8443/f", "https://[2001:db8::1]:8443/f"),
            ("https://me:secret@example.org/f", "https://me:secret@example.org/f"),
        ] {
            assert_eq!(parsed(text).as_deref(), Ok(address), "{text}");
        }
    }

    #[test]
    fn invalid_feed_addresses_are_rejected() {
        for (text, error) in [
            ("", AddressError::Scheme),
            ("example.org/feed", AddressError::Scheme),
            ("/feed", AddressError::Scheme),
            ("ftp://example.org/", AddressError::Scheme),
            ("javascript:alert(1)", AddressError::Scheme),
            ("feed:feed://example.org/", AddressError::Scheme),
            ("feed:example.org", AddressError::Scheme),
            ("http:/example.org", AddressError::Scheme),
            ("http://", AddressError::Host),
            ("http:///feed", AddressError::Host),
            ("http://a\\b/feed", AddressError::Host),
            ("http://a b/feed", AddressError::Character),
            ("http://example.org/a b", AddressError::Character),
            ("http://example.org/\u{1}", AddressError::Character),
            ("http://example.org/\u{fffe}", AddressError::Character),
            ("http://example.org:99999/", AddressError::Host),
        ] {
            assert_eq!(parsed(text), Err(error), "{text}");
        }
        // The length is limited both before and after a slash is added.
        for (before, added) in [("http://example.org/", 0), ("http://example.org?", 1)] {
            let of = |length: usize| format!("{before}{}", "x".repeat(length - before.len()));
            let longest = parsed(&of(MAX_ADDRESS_BYTES - added));
            assert_eq!(longest.map(|address| address.len()), Ok(MAX_ADDRESS_BYTES));
            assert_eq!(parsed(&of(MAX_ADDRESS_BYTES - added + 1)), Err(AddressError::TooLong));
        }
    }

    proptest! {
        #[test]
        fn canonical_address_is_unchanged_when_parsed(
            scheme in "(http|https|feed|FEED:https)://", host in "[a-zA-Z\u{e4}.:@0-9\\[\\]-]{1,12}",
            rest in "[/?#a-zA-Z%\\\\ ]{0,12}",
        ) {
            if let Ok(address) = parsed(&format!("{scheme}{host}{rest}")) {
                prop_assert_eq!(parsed(&address), Ok(address));
            }
        }
    }
}
