//! Icons of sites.

use std::fmt;
use std::str::FromStr;

use feedsync_log::Millis;
use feedsync_reading_state::{AddressError, FeedAddress};

/// Maximum size of an icon, in bytes.
pub const MAX_ICON_BYTES: usize = 256 * 1024;

/// Scheme, host and port of a site. All addresses of a site have the same origin.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(String);

impl Origin {
    /// The origin as text, without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&FeedAddress> for Origin {
    fn from(address: &FeedAddress) -> Self {
        let (scheme, rest) = address.as_str().split_once("://").unwrap_or_default();
        let authority = rest.split('/').next().unwrap_or_default();
        let server = authority.rsplit('@').next().unwrap_or_default();
        Self(format!("{scheme}://{server}"))
    }
}

impl FromStr for Origin {
    type Err = AddressError;
    fn from_str(text: &str) -> Result<Self, AddressError> {
        text.parse().map(|address: FeedAddress| Self::from(&address))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// An icon with the bytes that its site sent. Whoever serves it must serve formats alone that cannot contain scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Icon {
    /// Media type of the icon.
    pub media_type: String,
    /// Data of the icon; at most [`MAX_ICON_BYTES`] bytes.
    pub bytes: Vec<u8>,
}

/// Stored result of a request for the icon of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredIcon {
    /// Time of the last request.
    pub checked: Millis,
    /// The icon, if the site has one.
    pub icon: Option<Icon>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_addresses_of_a_site_are_of_one_origin() {
        for (text, origin) in [
            ("http://example.org", "http://example.org"),
            ("http://example.org/a?b#c", "http://example.org"),
            ("http://example.org?@b", "http://example.org"),
            ("feed://me@EXAMPLE.org:8080/a@b", "http://example.org:8080"),
            ("https://[::1]:443/", "https://[::1]"),
        ] {
            let parsed: Origin = text.parse().unwrap();
            assert_eq!(parsed.as_str(), origin, "{text}");
            assert_eq!(parsed.as_str().parse(), Ok(parsed), "{text}");
        }
        assert_eq!("data:image/png,".parse::<Origin>(), Err(AddressError::Scheme));
    }
}
