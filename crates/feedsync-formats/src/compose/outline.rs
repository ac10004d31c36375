//! OPML `outline`: everything is an attribute, and `text` is required (OPML 2.0).

use super::push_attribute;
use crate::date;
use crate::entry::{Entry, FEED};

pub(super) fn text(entry: &Entry, extension: &str) -> String {
    let mut out = String::from("<outline");
    push_attribute(&mut out, "text", Some(entry.title.as_deref().unwrap_or_default()));
    let feed = entry.links.iter().find(|link| link.rel == FEED);
    if let Some(feed) = feed {
        push_attribute(&mut out, "type", Some("rss"));
        push_attribute(&mut out, "xmlUrl", Some(&feed.href));
    }
    push_attribute(&mut out, if feed.is_some() { "htmlUrl" } else { "url" }, entry.link());
    let content = entry.plain_content();
    let note = content.as_ref().filter(|_| entry.summary.is_some());
    push_attribute(
        &mut out,
        "description",
        entry.summary.as_ref().or(content.as_ref()).map(|s| &**s),
    );
    push_attribute(&mut out, "_note", note.map(|note| &**note));
    let terms: Vec<&str> = entry.categories.iter().map(|category| &*category.term).collect();
    push_attribute(&mut out, "category", Some(&*terms.join(",")).filter(|terms| !terms.is_empty()));
    let created = entry.published.or(entry.updated);
    push_attribute(&mut out, "created", created.map(date::to_rfc822).as_deref());
    if extension.is_empty() {
        out.push_str("/>");
    } else {
        out.push('>');
        out.push_str(extension);
        out.push_str("</outline>");
    }
    out
}
