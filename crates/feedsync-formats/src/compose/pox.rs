//! A POX element. POX has no vocabulary of its own, so it uses the names of Atom without a
//! namespace.

use super::{content_element, push_element, push_links_and_categories};
use crate::entry::Entry;

pub(super) fn text(entry: &Entry, extension: &str) -> String {
    let mut out = String::from("<item>");
    push_element(&mut out, "id", entry.id.as_deref());
    push_element(&mut out, "title", Some(entry.title.as_deref().unwrap_or_default()));
    if let Some(body) = &entry.content {
        content_element(&mut out, "content", body, &entry.content_type);
    }
    push_element(&mut out, "summary", entry.summary.as_deref());
    if let Some(author) = &entry.author {
        out.push_str("<author>");
        push_element(&mut out, "name", author.name.as_deref());
        push_element(&mut out, "email", author.email.as_deref());
        push_element(&mut out, "uri", author.uri.as_deref());
        out.push_str("</author>");
    }
    push_element(&mut out, "published", entry.published.map(|date| date.to_string()).as_deref());
    push_element(&mut out, "updated", entry.updated.map(|date| date.to_string()).as_deref());
    push_links_and_categories(&mut out, entry);
    out.push_str(extension);
    out.push_str("</item>");
    out
}
