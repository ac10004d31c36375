//! Small pictures of sites.

use std::fmt;
use std::str::FromStr;

use feedsync_log::Millis;
use feedsync_reader::{AddressError, FeedAddress};

/// The most bytes of a picture.
pub const MOST_ICON: usize = 256 * 1024;

/// The scheme, host and port of a site. Whatever address on the site it is read from, it is the same.
///
/// ```
/// # use feedsync_library::Origin;
/// let origin: Origin = "https://me:secret@Example.org:443/news?id=1".parse()?;
/// assert_eq!(origin.as_str(), "https://example.org");
/// # Ok::<(), feedsync_reader::AddressError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(String);

impl Origin {
    /// The origin as a text, without a slash at its end.
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

/// A small picture, as its site gave it: nothing in it is safe to be shown as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Icon {
    /// Its media type.
    pub media_type: String,
    /// At most [`MOST_ICON`].
    pub bytes: Vec<u8>,
}

/// What is known of the picture of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptIcon {
    /// When the site was asked for it last.
    pub checked: Millis,
    /// The picture, if the site has one.
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
