//! What all formats can say of an item, as one view.
//!
//! [`entry`] reads a payload of any format; `docs/mapping.md` says which field is found where and
//! what each format cannot hold. The view never fails: what is not there, or cannot be read, is
//! absent. Empty texts count as absent.

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
use crate::references::{Base, GAIN};
use crate::xml::{Element, Namespace, Namespaces, Tree};

/// What an item says, whatever its format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// `atom:id`, `guid` or the like: the item's name in its own format, never its sync id (2.4).
    pub id: Option<String>,
    /// The title as plain text.
    pub title: Option<String>,
    /// The content; what it is written in, [`Entry::content_type`] says.
    pub content: Option<String>,
    /// What the content is written in.
    pub content_type: ContentType,
    /// A short text beside the content, plain.
    pub summary: Option<String>,
    /// Who wrote it.
    pub author: Option<Person>,
    /// When it was published, to the second.
    pub published: Option<Timestamp>,
    /// When it last changed by its own account, to the second; no `when` of a history.
    pub updated: Option<Timestamp>,
    /// Links in document order.
    pub links: Vec<Link>,
    /// Categories in document order.
    pub categories: Vec<Category>,
}

impl Entry {
    /// Whether it has no text and no links, as an item that was deleted with its content.
    pub fn is_blank(&self) -> bool {
        let texts = [&self.title, &self.content, &self.summary];
        texts.into_iter().flatten().all(|text| text.trim().is_empty()) && self.links.is_empty()
    }

    /// The address of the item itself: of its `alternate` links the first to a page, else the first.
    pub fn link(&self) -> Option<&str> {
        let mut links = self.links.iter().filter(|link| link.rel == ALTERNATE);
        let first = links.clone().next();
        links.find(|link| link.is_page()).or(first).map(|link| link.href.as_str())
    }

    /// What stands for the item in a list: its title, else what it says.
    pub fn heading(&self) -> Option<String> {
        let said = || self.plain_content().or_else(|| self.summary.clone());
        self.title.clone().or_else(said)
    }

    /// The content as plain text, markup taken off; absent if it is no text at all.
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

/// What a content is written in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum ContentType {
    /// Plain text.
    #[default]
    Text,
    /// HTML, its tags not yet escaped for any format.
    Html,
    /// The inside of an XHTML `div`, as XML.
    Xhtml,
    /// A media type; the content is its text, base64 or an XML element as the media type demands.
    Other(String),
}

impl ContentType {
    /// `text`, `html`, `xhtml` or the media type, as `atom:content/@type` has it.
    pub fn name(&self) -> &str {
        match self {
            Self::Text => "text",
            Self::Html => "html",
            Self::Xhtml => "xhtml",
            Self::Other(media_type) => media_type,
        }
    }

    /// The type of that name; media types of the three kinds are the kinds.
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
    /// How the target is related: `alternate`, `enclosure`, `feed` (the feed that an outline
    /// subscribes to) or another relation.
    pub rel: String,
    /// The target as the item has it, not resolved.
    pub href: String,
    /// Its media type.
    pub media_type: Option<String>,
    /// Its name for people.
    pub title: Option<String>,
    /// Its length in bytes.
    pub length: Option<u64>,
    /// How long it plays, in seconds.
    pub duration: Option<u32>,
}

impl Link {
    /// A link of that relation and nothing else said.
    pub fn new(rel: &str, href: &str) -> Self {
        Self { rel: rel.to_owned(), href: href.to_owned(), ..Self::default() }
    }

    /// Whether its target is a page for people, as far as its media type tells.
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
    /// The category itself.
    pub term: String,
    /// The scheme or domain it belongs to.
    pub scheme: Option<String>,
    /// Its name for people.
    pub label: Option<String>,
}

pub(crate) const ALTERNATE: &str = "alternate";
pub(crate) const ENCLOSURE: &str = "enclosure";
pub(crate) const FEED: &str = "feed";
pub(crate) const RELATED: &str = "related";

/// The view of a payload.
pub fn entry(payload: &Payload) -> Entry {
    view(payload, &Base::KEPT, false)
}

/// The same for where its base does not go along: links, and references in HTML and XHTML, are absolute
/// as far as the payload tells against what. A base inside the content itself is not followed.
pub(crate) fn absolute(payload: &Payload) -> Entry {
    let spare = Cell::new(GAIN);
    view(payload, &Base::outside(&spare), false)
}

/// The same for newsreaders: with what Media RSS and iTunes say, and with links, and references in HTML and XHTML,
/// absolute. They count from `xml:base`, else from the entry's own link, else from the first address around it (the
/// site, the feed). A base inside the content itself is not followed.
pub(crate) fn shown(payload: &Payload, around: &[Option<&str>]) -> Entry {
    let spare = Cell::new(GAIN);
    let entry = view(payload, &Base::outside(&spare), true);
    settled(entry, around, &spare)
}

/// The entry with what is still relative resolved against its own link, else against the addresses around it.
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

/// The language that a payload says it is in.
pub(crate) fn language(payload: &Payload) -> Option<String> {
    if payload.format == Format::Json {
        return json::language(&payload.text);
    }
    let (tree, namespaces) = Tree::parse(&payload.text, Mode::Tolerant, &Limits::default()).ok()?;
    let said = tree
        .root()
        .children()
        .find(|child| child.local() == "language" && namespace(*child, &namespaces) == DUBLIN_CORE);
    let inherited = tree.root().attribute(Namespace::XML, "lang");
    said.and_then(text).or_else(|| present(&inherited?.value(&payload.text)))
}

fn view(payload: &Payload, outside: &Base<'_>, has_media: bool) -> Entry {
    if payload.format == Format::Json {
        return json::view(&payload.text);
    }
    let Ok((tree, namespaces)) = Tree::parse(&payload.text, Mode::Tolerant, &Limits::default())
    else {
        return Entry::default();
    };
    let base = outside.inside(tree.root());
    let mut entry = match payload.format {
        Format::Atom | Format::Rss => {
            let of_format = if payload.format == Format::Atom { atom::view } else { rss::view };
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
