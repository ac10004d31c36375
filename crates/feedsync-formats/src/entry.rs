//! One view of an item, with the fields that all formats share.
//!
//! [`entry`] reads a payload of any format. `docs/mapping.md` lists where each field is found and what each format
//! cannot hold. Reading never fails: fields that are missing, empty or unreadable are absent.

mod atom;
mod json;
mod media;
mod outline;
mod pox;
mod rss;

pub(crate) use atom::plain as atom_text;
pub(crate) use json::named as named_member;
pub(crate) use media::{FEEDBURNER, ITUNES, MEDIA, seconds};
pub(crate) use pox::{CONTENTS, TITLES, content_type, named as named_element};
pub(crate) use rss::{AMPERSAND, CONTENT, DUBLIN_CORE, LESS_THAN, is_rss, title as rss_title};

use std::cell::Cell;

use feedsync_core::{Format, Payload, Timestamp};

use crate::markup;
use crate::options::{Limits, Mode};
use crate::references::{Base, MAX_GROWTH_BYTES};
use crate::xml::{Element, Namespace, Namespaces, Tree};

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
    fn some(self) -> Option<Self> {
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

/// Returns the view of a payload.
pub fn entry(payload: &Payload) -> Entry {
    view(payload, &Base::NONE, false)
}

/// Like [`entry`], for uses outside the payload's base. Links, and references in HTML and XHTML, are made absolute as
/// far as the payload defines their base. A base inside the content itself is ignored.
pub(crate) fn absolute(payload: &Payload) -> Entry {
    let spare = Cell::new(MAX_GROWTH_BYTES);
    view(payload, &Base::outside(&spare), false)
}

/// Like [`entry`], for newsreaders. It includes the fields of Media RSS and iTunes. Links, and references in HTML and
/// XHTML, are made absolute. Their base is `xml:base`, or else the entry's own link, or else the first of the
/// surrounding addresses (the site, the feed). A base inside the content itself is ignored.
pub(crate) fn shown(payload: &Payload, around: &[Option<&str>]) -> Entry {
    let spare = Cell::new(MAX_GROWTH_BYTES);
    let entry = view(payload, &Base::outside(&spare), true);
    settled(entry, around, &spare)
}

/// Resolves the references of an entry that are still relative, against its own link or else the surrounding
/// addresses.
pub(crate) fn settled(mut entry: Entry, around: &[Option<&str>], spare: &Cell<usize>) -> Entry {
    let mut addresses = around.iter().map(|address| Base::at(*address, spare));
    let around = addresses.find(Base::has_address).unwrap_or_else(|| Base::outside(spare));
    for link in &mut entry.links {
        // RFC 4287 4.2.7.2: a registered relation may be written as an IRI.
        if let Some(rel) = link.rel.strip_prefix("http://www.iana.org/assignments/relation/") {
            link.rel = rel.to_owned();
        }
    }
    for link in entry.links.iter_mut().filter(|link| link.rel == ALTERNATE) {
        link.href = around.resolve(std::mem::take(&mut link.href));
    }
    let base = Base::at(entry.link(), spare).or(|| around);
    for link in &mut entry.links {
        link.href = base.resolve(std::mem::take(&mut link.href));
    }
    if let Some(uri) = entry.author.as_mut().and_then(|author| author.uri.as_mut()) {
        *uri = base.resolve(std::mem::take(uri));
    }
    if matches!(entry.content_type, ContentType::Html | ContentType::Xhtml) {
        entry.content = entry.content.map(|content| base.resolve_markup(content));
    }
    entry
}

/// Returns the language that a payload declares.
pub(crate) fn language(payload: &Payload) -> Option<String> {
    if payload.format() == Format::Json {
        return json::language(payload.text());
    }
    let (tree, namespaces) =
        Tree::parse(payload.text(), Mode::Tolerant, &Limits::default()).ok()?;
    let said = tree
        .root()
        .children()
        .find(|child| child.local() == "language" && namespace(*child, &namespaces) == DUBLIN_CORE);
    let inherited = tree.root().attribute(Namespace::XML, "lang");
    said.and_then(text).or_else(|| present(&inherited?.value(payload.text())))
}

fn view(payload: &Payload, outside: &Base<'_>, has_media: bool) -> Entry {
    if payload.format() == Format::Json {
        return json::view(payload.text());
    }
    let Ok((tree, namespaces)) = Tree::parse(payload.text(), Mode::Tolerant, &Limits::default())
    else {
        return Entry::default();
    };
    let base = outside.inside(tree.root());
    let mut entry = match payload.format() {
        Format::Atom | Format::Rss => {
            let of_format = if payload.format() == Format::Atom { atom::view } else { rss::view };
            let mut entry = of_format(tree.root(), &namespaces, &base);
            if has_media {
                media::add(&mut entry, tree.root(), &namespaces, &base);
            }
            return entry;
        }
        Format::Opml => outline::view(tree.root()),
        Format::Pox | Format::Json => pox::view(tree.root()),
    };
    for link in &mut entry.links {
        link.href = base.resolve(std::mem::take(&mut link.href));
    }
    if matches!(entry.content_type, ContentType::Html | ContentType::Xhtml) {
        entry.content = entry.content.map(|content| base.resolve_markup(content));
    }
    entry
}

/// The trimmed text, unless it is empty.
fn present(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The text inside an element, unless it is blank.
fn text(element: Element<'_, '_>) -> Option<String> {
    present(&element.text())
}

/// The value of an attribute without prefix, unless it is blank.
fn attribute(element: Element<'_, '_>, name: &str) -> Option<String> {
    present(&element.value(name)?)
}

/// The IRI of an element's namespace.
fn namespace<'n>(element: Element<'_, '_>, namespaces: &'n Namespaces<'_>) -> &'n str {
    namespaces.iri(element.namespace())
}

#[cfg(test)]
mod tests;
