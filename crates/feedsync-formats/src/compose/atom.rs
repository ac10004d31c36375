//! `atom:entry`: `id`, `title`, `updated` and `author` are required (RFC 4287 4.1.2).

use feedsync_core::ItemId;

use super::{content_element, is_iri, push_element, push_links_and_categories};
use crate::entry::Entry;

/// Placeholder for an unknown date, since Atom requires the element.
const NO_DATE: &str = "1970-01-01T00:00:00Z";

pub(super) fn text(entry: &Entry, extension: &str) -> String {
    let mut out = String::from("<entry xmlns=\"http://www.w3.org/2005/Atom\">");
    push_element(&mut out, "id", Some(&id(entry)));
    push_element(&mut out, "title", Some(entry.title.as_deref().unwrap_or_default()));
    let updated = entry.updated.or(entry.published);
    let updated = updated.map_or_else(|| NO_DATE.to_owned(), |date| date.to_string());
    push_element(&mut out, "updated", Some(&updated));
    if let (Some(published), Some(_)) = (entry.published, entry.updated) {
        push_element(&mut out, "published", Some(&published.to_string()));
    }
    let author = entry.author.clone().unwrap_or_default();
    out.push_str("<author>");
    push_element(&mut out, "name", Some(author.name.as_deref().unwrap_or_default()));
    push_element(&mut out, "email", author.email.as_deref().filter(|email| email.contains('@')));
    push_element(&mut out, "uri", author.uri.as_deref());
    out.push_str("</author>");
    push_links_and_categories(&mut out, entry);
    push_element(&mut out, "summary", entry.summary.as_deref());
    let body = entry.content.as_deref().unwrap_or_default();
    content_element(&mut out, "content", body, &entry.content_type);
    out.push_str(extension);
    out.push_str("</entry>");
    out
}

/// Returns the id of the entry if it is an IRI, otherwise a URN that is made from the id or the
/// title.
fn id(entry: &Entry) -> String {
    match entry.id.as_deref() {
        Some(id) if is_iri(id) => id.to_owned(),
        Some(id) => named("urn:feedsync:name:", id),
        None => named("urn:feedsync:title:", entry.title.as_deref().unwrap_or("untitled")),
    }
}

/// Makes a URN from any text. Text over 64 characters is cut, which is safe because this is no sync
/// id.
fn named(prefix: &str, text: &str) -> String {
    let short: String = text.chars().take(64).collect();
    let encoded = ItemId::encoded(&short).map(|id| id.to_string());
    format!("{prefix}{}", encoded.unwrap_or_else(|_| "untitled".to_owned()))
}
