//! RSS 2.0 `item`, following the RSS Advisory Board's profile.
//!
//! An item has at least a title or a description, and `description` precedes `content:encoded`. Its `guid` is not a
//! permalink. It has one author (an address or a name) and at most one enclosure with a web address.

use super::{html, is_iri, push_attribute, push_element, push_link};
use crate::date;
use crate::entry::{AMPERSAND, CONTENT, DUBLIN_CORE, ENCLOSURE, Entry, LESS_THAN, Link, Person};
use crate::markup;
use crate::xml::escape_text;

pub(super) fn text(entry: &Entry, extension: &str) -> String {
    let content = entry.content.as_deref().and_then(|text| html(text, &entry.content_type));
    let full = entry.summary.is_some() && content.is_some();
    let (mail, creator) = author(entry.author.as_ref());
    let (enclosure, others) = enclosures(entry);
    let published = entry.published.or(entry.updated);
    let updated = entry.updated.filter(|updated| Some(*updated) != published);
    let mut out = String::from("<item");
    for (needed, prefix, namespace) in [
        (updated.is_some() || !others.is_empty(), "atom", "http://www.w3.org/2005/Atom"),
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
    // RSS requires a title or a description. An empty title is written only if there is no description.
    let title = entry.title.as_deref().filter(|title| !title.is_empty());
    let none = Some("").filter(|_| description.is_none());
    if let Some(title) = title.or(none) {
        out.push_str("<title>");
        push_plain(&mut out, title);
        out.push_str("</title>");
    }
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
    if let Some(link) = enclosure {
        out.push_str("<enclosure");
        push_attribute(&mut out, "url", Some(&link.href));
        push_attribute(&mut out, "length", Some(&link.length.unwrap_or(0).to_string()));
        let unknown = "application/octet-stream";
        push_attribute(&mut out, "type", Some(link.media_type.as_deref().unwrap_or(unknown)));
        out.push_str("/>");
    }
    for link in others {
        push_link(&mut out, "atom:link", link);
    }
    push_element(&mut out, "description", description);
    if full {
        push_element(&mut out, "content:encoded", content.as_deref());
    }
    out.push_str(extension);
    out.push_str("</item>");
    out
}

/// Appends plain text with the references that the profile recommends. Most readers interpret other references as
/// escaped markup.
pub(crate) fn push_plain(out: &mut String, text: &str) {
    let mut escaped = String::new();
    escape_text(&mut escaped, text);
    out.push_str(&escaped.replace("&amp;", AMPERSAND).replace("&lt;", LESS_THAN));
}

/// Returns `author`, an address followed by the name, or else `dc:creator`, a name. Never returns both.
fn author(author: Option<&Person>) -> (Option<String>, Option<&str>) {
    let Some(author) = author else { return (None, None) };
    let is_address = |mail: &&str| mail.contains('@') && !mail.contains(['(', ')']);
    match (author.email.as_deref().filter(is_address), author.name.as_deref()) {
        (Some(mail), Some(name)) if is_balanced(name) => (Some(format!("{mail} ({name})")), None),
        (Some(mail), None) => (Some(mail.to_owned()), None),
        (_, name) => (None, name),
    }
}

/// Whether all parentheses are balanced.
fn is_balanced(text: &str) -> bool {
    let depth = text.chars().try_fold(0_usize, |depth, character| match character {
        '(' => Some(depth + 1),
        ')' => depth.checked_sub(1),
        _ => Some(depth),
    });
    depth == Some(0)
}

/// Returns the first enclosure with a web address, and all other enclosures.
fn enclosures(entry: &Entry) -> (Option<&Link>, Vec<&Link>) {
    let is_web = |link: &Link| {
        is_iri(&link.href)
            && ["http://", "https://"].iter().any(|scheme| {
                link.href
                    .get(..scheme.len())
                    .is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
            })
    };
    let mut others: Vec<&Link> = entry.links.iter().filter(|link| link.rel == ENCLOSURE).collect();
    let first = others.iter().position(|link| is_web(link)).map(|index| others.remove(index));
    (first, others)
}
