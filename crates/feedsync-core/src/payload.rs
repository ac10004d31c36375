//! Payload of an item in a feed: the bytes of its element or object, in the format in which it was
//! received.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Format of a feed, and of an item's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Atom 1.0: `entry`.
    Atom,
    /// RSS 2.0: `item`.
    Rss,
    /// OPML: `outline`.
    Opml,
    /// FeedSync JSON: an object.
    Json,
    /// Plain old XML: an element of any name.
    Pox,
}

/// Error for a name that is not one of the five formats.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown format {0:?}: use atom, rss, opml, json or pox")]
pub struct UnknownFormat(pub String);

impl Format {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Atom, Self::Rss, Self::Opml, Self::Json, Self::Pox];

    /// Name on the command line and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Atom => "atom",
            Self::Rss => "rss",
            Self::Opml => "opml",
            Self::Json => "json",
            Self::Pox => "pox",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

/// Payload of one version: one self-contained element or object, without `sx:sync` (or `sync`) and
/// without server-owned elements.
///
/// Self-contained means that its start tag has the namespace declarations, `xml:base`, `xml:lang`
/// and `xml:space` that it inherited from its feed. So it can be copied into any other document (2.1
/// rule 7).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Payload {
    /// Format of the bytes.
    pub format: Format,
    /// The element or object, in UTF-8.
    pub text: Arc<str>,
    /// Foreign markup on `sx:sync` itself: attributes and children in XML, members in JSON; opaque
    /// here, empty for nearly every item.
    pub sync_foreign: Option<Arc<str>>,
}

impl Payload {
    /// A payload without foreign markup on its `sx:sync`.
    pub fn new(format: Format, text: impl Into<Arc<str>>) -> Self {
        Self { format, text: text.into(), sync_foreign: None }
    }
}
