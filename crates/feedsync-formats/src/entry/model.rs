//! The fields that the items of all formats share.

use feedsync_core::Timestamp;

use crate::markup;

/// The fields of an item, independent of its format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// `atom:id`, `guid` or similar: the item's id in its own format, never its sync id (2.4).
    pub id: Option<String>,
    /// The title as plain text.
    pub title: Option<String>,
    /// The content, in the type that [`Entry::content_type`] names.
    pub content: Option<String>,
    /// Type of the content.
    pub content_type: ContentType,
    /// A short plain text in addition to the content.
    pub summary: Option<String>,
    /// Author of the item.
    pub author: Option<Person>,
    /// Date of publication, to the second.
    pub published: Option<Timestamp>,
    /// Date of the last change according to the item itself, to the second. It is not the `when` of a history.
    pub updated: Option<Timestamp>,
    /// Links in document order.
    pub links: Vec<Link>,
    /// Categories in document order.
    pub categories: Vec<Category>,
}

impl Entry {
    /// Whether the item has no text and no links, as after deletion with its content.
    pub fn is_blank(&self) -> bool {
        let texts = [&self.title, &self.content, &self.summary];
        texts.into_iter().flatten().all(|text| text.trim().is_empty()) && self.links.is_empty()
    }

    /// Returns the address of the item itself: its first `alternate` link to a page, or else its first `alternate`
    /// link.
    pub fn link(&self) -> Option<&str> {
        let mut links = self.links.iter().filter(|link| link.rel == ALTERNATE);
        let first = links.clone().next();
        links.find(|link| link.is_page()).or(first).map(|link| link.href.as_str())
    }

    /// Returns a text that represents the item in a list: its title, or else its content or summary.
    pub fn heading(&self) -> Option<String> {
        let said = || self.plain_content().or_else(|| self.summary.clone());
        self.title.clone().or_else(said)
    }

    /// Returns the content as plain text without markup. Returns `None` if it is not text.
    pub fn plain_content(&self) -> Option<String> {
        let content = self.content.as_deref()?;
        match &self.content_type {
            ContentType::Text => Some(content.to_owned()),
            ContentType::Html | ContentType::Xhtml => Some(markup::plain(content)),
            ContentType::Other(media_type) => {
                media_type.starts_with("text/").then(|| content.to_owned())
            }
        }
    }
}

/// Type of a content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum ContentType {
    /// Plain text.
    #[default]
    Text,
    /// HTML, not yet escaped for any format.
    Html,
    /// The content of an XHTML `div`, as XML.
    Xhtml,
    /// A media type. The content is text, base64 or an XML element, depending on the media type.
    Other(String),
}

impl ContentType {
    /// Returns `text`, `html`, `xhtml` or the media type, as in `atom:content/@type`.
    pub fn name(&self) -> &str {
        match self {
            Self::Text => "text",
            Self::Html => "html",
            Self::Xhtml => "xhtml",
            Self::Other(media_type) => media_type,
        }
    }

    /// Returns the type with the given name. The media types of text, HTML and XHTML give these types.
    pub fn named(name: &str) -> Self {
        match name.trim() {
            "" | "text" | "text/plain" => Self::Text,
            "html" | "text/html" => Self::Html,
            "xhtml" | "application/xhtml+xml" => Self::Xhtml,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// A person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Person {
    /// The name.
    pub name: Option<String>,
    /// An e-mail address.
    pub email: Option<String>,
    /// An IRI that belongs to the person.
    pub uri: Option<String>,
}

impl Person {
    pub(super) fn some(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

/// A link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Link {
    /// Relation of the target: `alternate`, `enclosure`, `feed` (the feed that an outline subscribes to) or another
    /// one.
    pub rel: String,
    /// Address of the target as written in the item, not resolved.
    pub href: String,
    /// Media type of the target.
    pub media_type: Option<String>,
    /// Title shown to people.
    pub title: Option<String>,
    /// Length of the target, in bytes.
    pub length: Option<u64>,
    /// Playing time, in seconds.
    pub duration: Option<u32>,
}

impl Link {
    /// Creates a link with the given relation and no other properties.
    pub fn new(rel: &str, href: &str) -> Self {
        Self { rel: rel.to_owned(), href: href.to_owned(), ..Self::default() }
    }

    /// Whether the target is a web page, according to its media type.
    fn is_page(&self) -> bool {
        let media_type = self.media_type.as_deref().unwrap_or("text/html");
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        ["text/html", "application/xhtml+xml"]
            .iter()
            .any(|page| page.eq_ignore_ascii_case(media_type))
    }
}

/// A category.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Category {
    /// The term that identifies the category.
    pub term: String,
    /// The scheme or domain of the category.
    pub scheme: Option<String>,
    /// Label shown to people.
    pub label: Option<String>,
}

pub(crate) const ALTERNATE: &str = "alternate";
pub(crate) const ENCLOSURE: &str = "enclosure";
pub(crate) const FEED: &str = "feed";
pub(crate) const RELATED: &str = "related";
