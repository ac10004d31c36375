//! The view of an OPML `outline`: its attributes (OPML 2.0), and `_note`, which outliners use for
//! longer text.

use super::{ALTERNATE, Category, Entry, FEED, Link, attribute};
use crate::date;
use crate::xml::Element;

pub(super) fn view(element: Element<'_, '_>) -> Entry {
    let value = |name| attribute(element, name);
    let note = value("_note");
    let description = value("description");
    let mut links = Vec::new();
    if let Some(href) = value("xmlUrl") {
        let media_type = match value("type").as_deref() {
            Some("rss") => Some("application/rss+xml".to_owned()),
            Some("atom") => Some("application/atom+xml".to_owned()),
            _ => None,
        };
        links.push(Link { media_type, ..Link::new(FEED, &href) });
    }
    for name in ["htmlUrl", "url"] {
        links.extend(value(name).map(|href| Link::new(ALTERNATE, &href)));
    }
    let categories = value("category").unwrap_or_default();
    Entry {
        title: value("text").or_else(|| value("title")),
        summary: note.as_ref().and(description.clone()),
        content: note.or(description),
        published: value("created").as_deref().and_then(date::parse),
        links,
        categories: categories
            .split(',')
            .filter_map(super::present)
            .map(|term| Category { term, ..Category::default() })
            .collect(),
        ..Entry::default()
    }
}
