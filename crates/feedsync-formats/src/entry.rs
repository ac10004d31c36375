//! One view of an item, with the fields that all formats share.
//!
//! [`entry`] reads a payload of any format. `docs/mapping.md` lists where each field is found and what each format
//! cannot hold. Reading never fails: fields that are missing, empty or unreadable are absent.

mod atom;
mod json;
mod media;
mod model;
mod outline;
mod pox;
mod rss;
mod text;

pub(crate) use atom::plain as atom_text;
pub(crate) use json::{links as links_of_object, named as named_member};
pub(crate) use media::{FEEDBURNER, ITUNES, MEDIA, seconds};
pub(crate) use model::{ALTERNATE, ENCLOSURE, FEED, RELATED};
pub use model::{Category, ContentType, Entry, Link, Person};
pub(crate) use pox::{CONTENTS, TITLES, content_type, named as named_element};
pub(crate) use rss::{AMPERSAND, CONTENT, DUBLIN_CORE, LESS_THAN, is_rss, title as rss_title};

use std::cell::Cell;

use feedsync_core::{Format, Payload};

use crate::options::{Limits, Mode};
use crate::references::{Base, MAX_GROWTH_BYTES};
use crate::xml::{Element, Namespace, Tree};

use self::text::{attribute, namespace, present, text};

/// Returns the view of a payload.
pub fn entry(payload: &Payload) -> Entry {
    view(payload, &Base::NONE, false)
}

/// Returns the links of an RSS item, without resolving references.
pub(crate) fn links_of_item(item: Element<'_, '_>) -> Vec<Link> {
    rss::links(item, &Base::NONE)
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

#[cfg(test)]
mod tests;
