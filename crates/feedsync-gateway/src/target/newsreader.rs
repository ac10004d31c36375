//! A newsreader server: `google=https://example.org/reader/google`.

use std::str::FromStr;

use feedsync_bitsy::location::Location;
use feedsync_bitsy::newsreader::{Interface, InterfaceError};

use crate::target::mount::{Mount, MountError};

/// A server with a newsreader interface, mounted below a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newsreader {
    /// Interface of the server.
    pub interface: Interface,
    /// Address of the server, and its name at the gateway.
    pub mount: Mount,
}

/// Error for a text that is not a newsreader server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NewsreaderError {
    /// The text is not `INTERFACE=URL`.
    #[error(
        "{0:?} is not INTERFACE=URL or NAME:INTERFACE=URL, such as google=https://example.org/reader/google"
    )]
    Form(String),
    /// The interface is unknown.
    #[error("{0:?} is not a newsreader interface: {1}")]
    Interface(String, InterfaceError),
    /// The name or the address is invalid.
    #[error(transparent)]
    Mount(#[from] MountError),
}

impl Newsreader {
    /// Whether an address belongs to this server's interface.
    pub(crate) fn has(&self, location: &Location) -> bool {
        location.as_str().starts_with(self.mount.base().as_str())
    }
}

impl FromStr for Newsreader {
    type Err = NewsreaderError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || NewsreaderError::Form(text.to_owned());
        let (what, url) = text.split_once('=').ok_or_else(form)?;
        let (name, interface) = what.split_once(':').unwrap_or((what, what));
        let interface = interface
            .parse()
            .map_err(|error| NewsreaderError::Interface(interface.to_owned(), error))?;
        Ok(Self { interface, mount: Mount::new(name.parse()?, url)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_an_interface_and_a_name() {
        let read = |text: &str| text.parse::<Newsreader>();
        let one = read("google=https://example.org/reader/google").unwrap();
        assert_eq!((one.interface, one.mount.name()), (Interface::Google, "google"));
        assert!(one.has(&"https://example.org/reader/google/x".parse().unwrap()));
        assert!(!one.has(&"https://example.org/reader/googlex".parse().unwrap()));
        let other = read("work:ttrss=http://box.lan/tt-rss/?").unwrap_err();
        assert!(matches!(other, NewsreaderError::Mount(MountError::Query(_))), "{other}");
        let other = read("work:ttrss=http://box.lan/tt-rss").unwrap();
        assert_eq!((other.interface, other.mount.name()), (Interface::TinyTinyRss, "work"));
        assert!(matches!(read("google"), Err(NewsreaderError::Form(_))));
        assert!(matches!(read("x=http://a/"), Err(NewsreaderError::Interface(..))));
        assert!(matches!(read("X:google=http://a/"), Err(NewsreaderError::Mount(_))));
    }
}
