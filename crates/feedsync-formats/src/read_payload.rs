//! Reads the payload of one item from a text that an application made.
//!
//! This is how content enters a collection when it does not come from a feed. What is accepted here, every peer can
//! read in a feed: the text is parsed as strictly as a feed, and it contains nothing that FeedSync adds to an item.

use std::ops::Range;

use feedsync_core::{Format, Payload};

use crate::context::Context;
use crate::diagnostic::{Position, ReadError};
use crate::entry::is_rss;
use crate::json::{self, Malformed};
use crate::options::{Limits, Mode, ReadOptions};
use crate::payload::payload_of;
use crate::xml::check_is_xml;
use crate::xml::{Element, Namespace, Tree};

/// Members that a feed adds to an item.
const RESERVED_MEMBERS: [&str; 2] = ["sync", "fs:native"];

/// Reason why a text is not the payload of an item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// The text is not well-formed, or exceeds one of our limits.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The text is JSON, and not an object.
    #[error("an item must be a JSON object, such as {{\"title\": \"Milk\"}}")]
    NoObject,
    /// The text is an element that is an item of another format, or no item.
    #[error("the element `{found}` is not an item of the format {format}")]
    OtherFormat {
        /// The format that the caller named.
        format: Format,
        /// Name of the element.
        found: String,
    },
    /// The text is an outline with child outlines.
    #[error("an item is one outline: child outlines are items of their own")]
    ChildOutlines,
    /// The text contains a member or element that FeedSync adds to items.
    #[error("{0:?} is reserved for FeedSync: rename it, or leave it out")]
    Reserved(&'static str),
}

/// Reads the payload of an item: one JSON object, or one XML element that declares its namespaces, in strict mode and
/// with the limits of a feed. White space and declarations around it are left out. The result is canonical: a feed that
/// contains it reads back the same bytes.
pub fn read_payload(format: Format, text: &str) -> Result<Payload, PayloadError> {
    match format {
        Format::Json => Ok(Payload::from_parsed(Format::Json, object(text)?.raw())),
        _ => {
            let options = ReadOptions { limits: limits(), ..ReadOptions::strict() };
            element(format, text, |root| payload_of(format, root, &Context::outside(&options)))
        }
    }
}

/// Returns the byte range of the item in a text that [`read_payload`] accepts.
pub(crate) fn item_span(format: Format, text: &str) -> Result<Range<usize>, PayloadError> {
    match format {
        Format::Json => object(text).map(|root| root.span()),
        _ => element(format, text, |root| root.span()),
    }
}

/// Returns the item of a format that has no content yet, to be completed.
pub fn empty_payload(format: Format) -> Payload {
    let text = match format {
        Format::Atom => "<entry xmlns=\"http://www.w3.org/2005/Atom\"/>",
        Format::Rss | Format::Pox => "<item/>",
        Format::Opml => "<outline/>",
        Format::Json => "{}",
    };
    Payload::from_parsed(format, text)
}

/// Limits of the text of an item. In a document the text can be a conflict, which is up to 16 levels deeper.
fn limits() -> Limits {
    let limits = Limits::default();
    Limits { depth: limits.depth - 16, ..limits }
}

/// Parses a text as the object of an item.
fn object(text: &str) -> Result<json::Node<'_>, PayloadError> {
    let refused = |offset, message: &str| ReadError::Document {
        position: Position::of(text, offset),
        message: message.to_owned(),
    };
    let flaws = json::check(text, limits().depth)
        .map_err(|Malformed { offset, message, .. }| refused(offset, &message))?;
    if let Some((offset, flaw)) = flaws.first() {
        return Err(refused(*offset, flaw.message()).into());
    }
    let root = json::Node::root(text);
    if root.kind() != json::Kind::Object {
        return Err(PayloadError::NoObject);
    }
    match RESERVED_MEMBERS.iter().find(|name| root.member(name).is_some()) {
        Some(name) => Err(PayloadError::Reserved(name)),
        None => Ok(root),
    }
}

/// Parses a text as the element of an item, and passes the element on.
fn element<'a, R>(
    format: Format,
    text: &'a str,
    read: impl FnOnce(Element<'_, 'a>) -> R,
) -> Result<R, PayloadError> {
    check_is_xml(text)?;
    let parsed = Tree::parse(text, Mode::Strict, &limits());
    let (tree, _) = parsed.map_err(|error| error.into_read_error(text))?;
    let root = tree.root();
    let fits = match format {
        Format::Atom => root.is(Namespace::ATOM, "entry"),
        Format::Rss => is_rss(root.namespace()) && root.local() == "item",
        Format::Opml => root.local() == "outline",
        // Items of plain XML have any name.
        Format::Pox => true,
        Format::Json => false,
    };
    if !fits {
        return Err(PayloadError::OtherFormat { format, found: root.name().to_owned() });
    }
    if format == Format::Opml && root.child(Namespace::NONE, "outline").is_some() {
        return Err(PayloadError::ChildOutlines);
    }
    match reserved_element(root) {
        Some(name) => Err(PayloadError::Reserved(name)),
        None => Ok(read(root)),
    }
}

/// Returns the name of an element in an item that a feed adds to it.
fn reserved_element(item: Element<'_, '_>) -> Option<&'static str> {
    item.children().find_map(|child| match (child.namespace(), child.local()) {
        (Namespace::OWN, "native") => Some("fs:native"),
        (namespace, "sync") if namespace == Namespace::FEEDSYNC || namespace.is_sse() => {
            Some("sync")
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests;
