//! Writes details at the head of an XML feed.

use feedsync_core::Format;

use crate::compose::push_plain;
use crate::head::FeedHead;
use crate::payload::{Default, PayloadTag, push_attribute, write};
use crate::xml::escape_text;

/// Attribute that marks a placeholder author.
pub(super) const PLACEHOLDER_ATTRIBUTE: &str = "stand-in";

/// Appends an element with the author of a feed, between the given start tag and end tag. A placeholder author is
/// marked. The document must declare the prefix `fs`.
pub(crate) fn author_element(out: &mut String, head: &FeedHead<'_>, start: &str, end: &str) {
    let named = head.details.and_then(|details| details.author.as_deref());
    let first = start.find('>').unwrap_or(start.len());
    out.push_str(&start[..first]);
    if named.is_none() {
        push_attribute(out, &format!("fs:{PLACEHOLDER_ATTRIBUTE}"), "true");
    }
    out.push_str(&start[first..]);
    escape_text(out, named.unwrap_or(head.author));
    out.push_str(end);
    out.push('\n');
}

/// Appends `subtitle` and `rights` of Atom. `declaration` declares Atom's namespace, for use in other formats.
pub(crate) fn push_texts(out: &mut String, head: &FeedHead<'_>, declaration: &str) {
    let Some(details) = head.details else { return };
    for (name, text) in [("subtitle", &details.subtitle), ("rights", &details.rights)] {
        if let Some(text) = text {
            out.push_str(&format!("<{name}{declaration}>"));
            escape_text(out, text);
            out.push_str(&format!("</{name}>\n"));
        }
    }
}

/// Appends `description`, which RSS requires, `copyright`, and the author as `dc:creator`, since `managingEditor`
/// must be an e-mail address.
pub(crate) fn push_rss(out: &mut String, head: &FeedHead<'_>) {
    let details = head.details;
    let subtitle = details.and_then(|details| details.subtitle.as_deref());
    let rights = details.and_then(|details| details.rights.as_deref());
    for (name, text) in
        [("description", Some(subtitle.unwrap_or(head.title))), ("copyright", rights)]
    {
        if let Some(text) = text {
            out.push_str(&format!("<{name}>"));
            push_plain(out, text);
            out.push_str(&format!("</{name}>\n"));
        }
    }
    push_creator(out, head);
}

/// Appends the author as `dc:creator`.
fn push_creator(out: &mut String, head: &FeedHead<'_>) {
    if let Some(author) = head.details.and_then(|details| details.author.as_deref()) {
        out.push_str("<dc:creator xmlns:dc=\"http://purl.org/dc/elements/1.1/\">");
        escape_text(out, author);
        out.push_str("</dc:creator>\n");
    }
}

/// Appends the texts as attributes of the root of a POX collection.
pub(crate) fn push_pox_attributes(out: &mut String, head: &FeedHead<'_>) {
    let Some(details) = head.details else { return };
    for (name, text) in
        [("subtitle", &details.subtitle), ("rights", &details.rights), ("author", &details.author)]
    {
        if let Some(text) = text {
            push_attribute(out, name, text);
        }
    }
}

/// Appends the markup that a feed of the given format can hold, for a position with that default namespace.
pub(crate) fn push_markup(
    out: &mut String,
    head: &FeedHead<'_>,
    format: Format,
    default: &Default,
) {
    let markup = head.details.and_then(|details| details.markup.as_ref());
    for piece in markup.into_iter().flat_map(|markup| markup.pieces_for(format)) {
        write(out, piece, &PayloadTag::read(piece), default, |_, _| {});
        out.push('\n');
    }
}
