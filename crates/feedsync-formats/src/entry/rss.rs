//! The view of an RSS `item`, 0.9x, 1.0 or 2.0, and the modules that everybody uses.

use super::{
    ALTERNATE, Category, ContentType, ENCLOSURE, Entry, Link, Person, attribute, namespace,
    present, text,
};
use crate::date;
use crate::markup;
use crate::xml::{Element, Namespace, Namespaces};

/// The module that holds full content.
pub(crate) const CONTENT: &str = "http://purl.org/rss/1.0/modules/content/";
/// Dublin Core, of which `creator` and `date` are used.
pub(crate) const DUBLIN_CORE: &str = "http://purl.org/dc/elements/1.1/";

pub(super) fn view(element: Element<'_, '_>, namespaces: &Namespaces<'_>) -> Entry {
    let mut entry = Entry::default();
    let (mut description, mut full, mut creator) = (None, None, None);
    let mut is_link = false;
    for child in element.children() {
        match (namespace(child, namespaces), child.local()) {
            (CONTENT, "encoded") => full = text(child),
            (DUBLIN_CORE, "creator") => creator = text(child),
            (DUBLIN_CORE, "date") => entry.published = date::parse(&child.text()),
            _ if child.is(Namespace::ATOM, "updated") => entry.updated = date::parse(&child.text()),
            _ if child.is(Namespace::ATOM, "link") => entry.links.extend(atom_link(child)),
            _ if !is_rss(child.namespace()) => {}
            (_, "guid") => {
                entry.id = text(child);
                is_link = child.value("isPermaLink").as_deref() != Some("false");
            }
            (_, "title") => entry.title = text(child).map(|title| plain(&title)),
            (_, "description") => description = text(child),
            (_, "link") => {
                entry.links.extend(text(child).map(|href| Link::new(ALTERNATE, &href)));
            }
            (_, "author") => entry.author = text(child).as_deref().and_then(person),
            (_, "pubDate") => entry.published = date::parse(&child.text()),
            (_, "category") => entry.categories.extend(text(child).map(|term| Category {
                term,
                scheme: attribute(child, "domain"),
                label: None,
            })),
            (_, "enclosure") => entry.links.extend(attribute(child, "url").map(|href| Link {
                media_type: attribute(child, "type"),
                length: attribute(child, "length").and_then(|length| length.parse().ok()),
                ..Link::new(ENCLOSURE, &href)
            })),
            _ => {}
        }
    }
    if let Some(name) = creator {
        entry.author.get_or_insert_default().name = Some(name);
    }
    // A guid is the item's address unless it says that it is none.
    if let Some(id) = entry.id.as_ref().filter(|id| is_link && id.starts_with("http"))
        && entry.link().is_none()
    {
        entry.links.push(Link::new(ALTERNATE, id));
    }
    let content = match full {
        Some(full) => {
            entry.summary = description.as_deref().and_then(|text| present(&markup::plain(text)));
            Some(full)
        }
        None => description,
    };
    if let Some(content) = content {
        let html = markup::has_tags(&content);
        entry.content_type = if html { ContentType::Html } else { ContentType::Text };
        entry.content = Some(if html { content } else { markup::unescape(&content) });
    }
    entry
}

/// The namespaces that RSS's own elements have stood in.
pub(crate) fn is_rss(namespace: Namespace) -> bool {
    matches!(namespace, Namespace::NONE | Namespace::RSS1 | Namespace::RSS090 | Namespace::RSS2)
}

fn plain(title: &str) -> String {
    if markup::has_tags(title) { markup::plain(title) } else { markup::unescape(title) }
}

/// `address (name)`, an address, or, as many feeds have it, a name.
fn person(author: &str) -> Option<Person> {
    let mut person = Person::default();
    match author.split_once('(') {
        Some((address, rest)) => {
            person.email = present(address);
            person.name = present(rest.trim_end().trim_end_matches(')'));
        }
        None if author.contains('@') => person.email = present(author),
        None => person.name = present(author),
    }
    person.some()
}

fn atom_link(element: Element<'_, '_>) -> Option<Link> {
    Some(Link {
        media_type: attribute(element, "type"),
        title: attribute(element, "title"),
        length: attribute(element, "length").and_then(|length| length.parse().ok()),
        ..Link::new(
            &attribute(element, "rel").unwrap_or_else(|| ALTERNATE.to_owned()),
            &attribute(element, "href")?,
        )
    })
}
