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
///
/// **An application makes a payload by parsing**: `feedsync_formats::read_payload`, `read_item`, or a composed
/// entry. A text that is not well-formed would break each feed that contains it, for every peer. This crate has no
/// parser, so it cannot check a text itself. [`from_parsed`](Self::from_parsed),
/// [`with_parsed_text`](Self::with_parsed_text) and [`with_sync_foreign`](Self::with_sync_foreign) are therefore for the
/// parsers of `feedsync-formats` and for implementations of stores, whose rows hold what was parsed before. A test of
/// this project checks that no other code calls them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Payload {
    format: Format,
    text: Arc<str>,
    sync_foreign: Option<Arc<str>>,
}

impl Payload {
    /// Format of the text.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The element or object, in UTF-8.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Number of bytes of the text and of foreign markup of the `sx:sync` element.
    pub fn bytes(&self) -> usize {
        self.text.len() + self.sync_foreign().map_or(0, str::len)
    }

    /// The same text, shared and not copied.
    pub fn shared_text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// Foreign markup on `sx:sync` itself: attributes and children in XML, members in JSON. It is opaque here, and
    /// absent for nearly every item.
    pub fn sync_foreign(&self) -> Option<&str> {
        self.sync_foreign.as_deref()
    }

    /// Makes a payload of a text that a parser of this format produced, now or before the text was stored. Nothing
    /// is checked: see [`Payload`] for who may call this.
    pub fn from_parsed(format: Format, text: impl Into<Arc<str>>) -> Self {
        Self { format, text: text.into(), sync_foreign: None }
    }

    /// Returns the payload with another text, which is an item of the same format. Nothing is checked: see
    /// [`Payload`] for who may call this.
    #[must_use]
    pub fn with_parsed_text(&self, text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), ..self.clone() }
    }

    /// Returns the payload with foreign markup that a parser found on `sx:sync`. Nothing is checked: see [`Payload`]
    /// for who may call this.
    #[must_use]
    pub fn with_sync_foreign(self, foreign: Option<impl Into<Arc<str>>>) -> Self {
        Self { sync_foreign: foreign.map(Into::into), ..self }
    }

    /// Returns the payload with the foreign markup of another one, if both are XML or both are JSON. Otherwise the
    /// payload stays as it is, since the markup of one cannot be written into the other.
    #[must_use]
    pub fn with_sync_foreign_of(self, other: &Self) -> Self {
        match (self.format == Format::Json) == (other.format == Format::Json) {
            true => Self { sync_foreign: other.sync_foreign.clone(), ..self },
            false => self,
        }
    }
}
