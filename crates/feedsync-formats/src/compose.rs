//! Composes the payload of a new item from the fields that are common to all formats.
//!
//! The payload is valid in its format and canonical: it reads back byte for byte. Fields that the
//! format cannot hold are left out, as `docs/mapping.md` lists them. Characters that XML cannot
//! hold become U+FFFD.

mod atom;
mod json;
mod outline;
mod pox;
mod rss;

pub(crate) use rss::push_plain;

use feedsync_core::{Format, Payload};

use crate::entry::{ContentType, Entry, Link};
use crate::markup;
use crate::options::{Limits, Mode};
use crate::xml::{Tree, escape_attribute, escape_text};

/// Returns the payload of a new item in the given format.
pub fn compose(format: Format, entry: &Entry) -> Payload {
    compose_with(format, entry, "")
}

/// Like [`compose`], with an extension at the end: elements in XML, members in JSON.
pub(crate) fn compose_with(format: Format, entry: &Entry, extension: &str) -> Payload {
    let text = match format {
        Format::Atom => atom::text(entry, extension),
        Format::Rss => rss::text(entry, extension),
        Format::Opml => outline::text(entry, extension),
        Format::Json => json::text(entry, extension),
        Format::Pox => pox::text(entry, extension),
    };
    Payload::from_parsed(format, text)
}

/// Appends `<name>text</name>`, or nothing if the text is absent.
pub(crate) fn push_element(out: &mut String, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        out.push('<');
        out.push_str(name);
        out.push('>');
        escape_text(out, text);
        out.push_str("</");
        out.push_str(name);
        out.push('>');
    }
}

/// Appends ` name="value"`, or nothing if the value is absent.
pub(crate) fn push_attribute(out: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        out.push(' ');
        out.push_str(name);
        out.push_str("=\"");
        escape_attribute(out, value);
        out.push('"');
    }
}

/// Appends an element that holds content as Atom does (RFC 4287 4.1.3). XHTML that is not
/// well-formed on its own is written as HTML, and other XML that is not is written as text.
pub(crate) fn content_element(out: &mut String, name: &str, content: &str, kind: &ContentType) {
    let (kind, markup) = match kind {
        ContentType::Xhtml => match div(content) {
            Some(div) => ("xhtml", Some(div)),
            None => ("html", None),
        },
        ContentType::Other(media_type) if is_xml(media_type) => {
            if stands_alone(content) {
                (&**media_type, Some(content.to_owned()))
            } else {
                ("text", None)
            }
        }
        _ => (kind.name(), None),
    };
    out.push('<');
    out.push_str(name);
    push_attribute(out, "type", Some(kind).filter(|kind| *kind != "text"));
    out.push('>');
    match markup {
        Some(markup) => out.push_str(&markup),
        None => escape_text(out, content),
    }
    out.push_str("</");
    out.push_str(name);
    out.push('>');
}

/// Converts content to HTML. Returns `None` for content that is neither text nor markup.
pub(crate) fn html(content: &str, kind: &ContentType) -> Option<String> {
    match kind {
        ContentType::Text => Some(markup::escape(content).into_owned()),
        ContentType::Html | ContentType::Xhtml => Some(content.to_owned()),
        ContentType::Other(media_type) if media_type.starts_with("text/") => {
            Some(markup::escape(content).into_owned())
        }
        ContentType::Other(_) => None,
    }
}

/// Wraps XHTML in a `div`, if the result is well-formed on its own.
fn div(content: &str) -> Option<String> {
    let div = format!("<div xmlns=\"http://www.w3.org/1999/xhtml\">{content}</div>");
    stands_alone(&div).then_some(div)
}

/// Whether the text is one XML element that depends on no context.
pub(crate) fn stands_alone(xml: &str) -> bool {
    Tree::parse(xml, Mode::Strict, &Limits::default())
        .is_ok_and(|(tree, _)| tree.root().span() == (0..xml.len()))
}

/// Whether XML 1.0 can hold the character (2.2).
pub(crate) const fn fits_xml(character: char) -> bool {
    matches!(character,
        '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

fn is_xml(media_type: &str) -> bool {
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    media_type.ends_with("/xml") || media_type.ends_with("+xml")
}

/// Whether the text is an absolute IRI.
pub fn is_iri(text: &str) -> bool {
    iri_string::types::IriStr::new(text).is_ok()
}

/// Appends `link` and `category` elements as in Atom. POX uses the same elements.
fn push_links_and_categories(out: &mut String, entry: &Entry) {
    for link in &entry.links {
        push_link(out, "link", link);
    }
    for category in &entry.categories {
        out.push_str("<category");
        push_attribute(out, "term", Some(&category.term));
        push_attribute(out, "scheme", category.scheme.as_deref());
        push_attribute(out, "label", category.label.as_deref());
        out.push_str("/>");
    }
}

/// Appends a link as in Atom, with the given element name.
fn push_link(out: &mut String, name: &str, link: &Link) {
    out.push('<');
    out.push_str(name);
    push_attribute(out, "rel", Some(&link.rel));
    push_attribute(out, "href", Some(&link.href));
    push_attribute(out, "type", link.media_type.as_deref());
    push_attribute(out, "title", link.title.as_deref());
    push_attribute(out, "length", link.length.map(|length| length.to_string()).as_deref());
    out.push_str("/>");
}

#[cfg(test)]
mod tests;
