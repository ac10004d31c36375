//! RSS 2.0 `item`: at least a title or a description; the `guid` is no link unless it says so.

use super::{html, push_attribute, push_element};
use crate::date;
use crate::entry::{CONTENT, DUBLIN_CORE, ENCLOSURE, Entry};
use crate::markup;
use crate::xml::escape_text;

pub(super) fn text(entry: &Entry, extension: &str) -> String {
    let content = entry.content.as_deref().and_then(|text| html(text, &entry.content_type));
    let full = entry.summary.is_some() && content.is_some();
    let author = entry.author.clone().unwrap_or_default();
    // An address with a name holds both (RSS has no other place for a name that belongs to it).
    let is_simple = |text: &&str| !text.contains(['(', ')']);
    let mail = author.email.as_deref();
    let named = mail.filter(is_simple).zip(author.name.as_deref().filter(is_simple));
    let mail = named
        .map_or_else(|| mail.map(str::to_owned), |(mail, name)| Some(format!("{mail} ({name})")));
    let creator = author.name.as_deref().filter(|_| named.is_none());
    let published = entry.published.or(entry.updated);
    let updated = entry.updated.filter(|updated| Some(*updated) != published);
    let mut out = String::from("<item");
    for (needed, prefix, namespace) in [
        (updated.is_some(), "atom", "http://www.w3.org/2005/Atom"),
        (full, "content", CONTENT),
        (creator.is_some(), "dc", DUBLIN_CORE),
    ] {
        if needed {
            push_attribute(&mut out, &format!("xmlns:{prefix}"), Some(namespace));
        }
    }
    out.push('>');
    let summary = entry.summary.as_deref().map(markup::escape);
    let description = summary.as_deref().or(content.as_deref());
    // One of both is required, and an empty title says nothing beside the other.
    let title = entry.title.as_deref().filter(|title| !title.is_empty()).map(markup::escape);
    let none = Some("").filter(|_| description.is_none());
    push_element(&mut out, "title", title.as_deref().or(none));
    push_element(&mut out, "link", entry.link());
    if let Some(id) = &entry.id {
        out.push_str("<guid isPermaLink=\"false\">");
        escape_text(&mut out, id);
        out.push_str("</guid>");
    }
    push_element(&mut out, "pubDate", published.map(date::to_rfc822).as_deref());
    push_element(&mut out, "atom:updated", updated.map(|date| date.to_string()).as_deref());
    push_element(&mut out, "dc:creator", creator);
    push_element(&mut out, "author", mail.as_deref());
    for category in &entry.categories {
        out.push_str("<category");
        push_attribute(&mut out, "domain", category.scheme.as_deref());
        out.push('>');
        escape_text(&mut out, &category.term);
        out.push_str("</category>");
    }
    for link in entry.links.iter().filter(|link| link.rel == ENCLOSURE) {
        out.push_str("<enclosure");
        push_attribute(&mut out, "url", Some(&link.href));
        push_attribute(&mut out, "length", Some(&link.length.unwrap_or(0).to_string()));
        let unknown = "application/octet-stream";
        push_attribute(&mut out, "type", Some(link.media_type.as_deref().unwrap_or(unknown)));
        out.push_str("/>");
    }
    push_element(&mut out, "description", description);
    if full {
        push_element(&mut out, "content:encoded", content.as_deref());
    }
    out.push_str(extension);
    out.push_str("</item>");
    out
}
