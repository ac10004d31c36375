//! Origins of pages in a browser that may use the gateway.

use std::fmt;
use std::str::FromStr;

use feedsync_bitsy::location::Location;

/// The origin of pages: `https://example.org`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOrigin(String);

/// Error for a text that is not an origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not an origin: use a scheme, a host and optionally a port, such as \
     https://example.org"
)]
pub struct PageOriginError(String);

impl FromStr for PageOrigin {
    type Err = PageOriginError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || PageOriginError(text.to_owned());
        let location: Location = text.parse().map_err(|_| error())?;
        let bare = text.trim_end_matches('/');
        let path =
            bare.split_once("://").is_none_or(|(_, rest)| rest.contains(['/', '?', '#', '\\']));
        if path { Err(error()) } else { Ok(Self(location.origin().to_owned())) }
    }
}

impl fmt::Display for PageOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PageOrigin {
    /// Whether this is the origin that a header field names.
    pub(crate) fn is(&self, origin: &str) -> bool {
        self.0 == origin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for (text, origin) in [
            ("https://Example.org", "https://example.org"),
            ("https://example.org:443/", "https://example.org"),
            ("http://localhost:3000", "http://localhost:3000"),
        ] {
            assert_eq!(text.parse::<PageOrigin>().unwrap().to_string(), origin);
        }
        for text in
            ["", "null", "*", "example.org", "https://example.org/a", "https://a/?b", "file:///"]
        {
            assert!(text.parse::<PageOrigin>().is_err(), "{text}");
        }
    }
}
