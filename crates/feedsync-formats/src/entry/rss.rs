//! The view of an RSS `item` of version 0.9x, 1.0 or 2.0, with the modules in common use.

use super::{
    ALTERNATE, Category, ContentType, ENCLOSURE, Entry, Link, Person, attribute, namespace,
    present, text,
};
use crate::date;
use crate::markup;
use crate::references::Base;
use crate::xml::{Element, Namespace, Namespaces};

/// Namespace of the module for full content.
pub(crate) const CONTENT: &str = "http://purl.org/rss/1.0/modules/content/";
/// Namespace of Dublin Core, of which `creator` and `date` are used.
pub(crate) const DUBLIN_CORE: &str = "http://purl.org/dc/elements/1.1/";

/// References that the RSS profile prescribes for the two characters in plain text.
pub(crate) const AMPERSAND: &str = "&#x26;";
pub(crate) const LESS_THAN: &str = "&#x3C;";

pub(super) fn view(
    element: Element<'_, '_>,
    namespaces: &Namespaces<'_>,
    base: &Base<'_>,
) -> Entry {
    let mut entry = Entry { links: links(element, base), ..Entry::default() };
    let (mut description, mut full, mut creator, mut usual) = (None, None, None, None);
    for child in element.children() {
        let base = base.inside(child);
        let date = || date::parse(&child.text());
        let markup = |text: String| base.resolve_markup(text);
        let is_atom = child.namespace() == Namespace::ATOM;
        match (namespace(child, namespaces), child.local()) {
            (CONTENT, "encoded") => full = text(child).map(markup),
            (DUBLIN_CORE, "creator") => creator = text(child),
            (DUBLIN_CORE, "date") => usual = usual.or_else(date),
            (_, "updated") if is_atom => entry.updated = date().or(entry.updated),
            (_, "published") if is_atom => usual = usual.or_else(date),
            _ if !is_own(child, element) => {}
            (_, "guid") => entry.id = text(child),
            (_, "title") => entry.title = title(child),
            (_, "description") => description = text(child).map(markup),
            (_, "author") => entry.author = text(child).as_deref().and_then(person),
            (_, "pubDate" | "pubdate") => entry.published = date().or(entry.published),
            (_, "date" | "published") => usual = usual.or_else(date),
            (_, "category") => entry.categories.extend(text(child).map(|term| Category {
                term,
                scheme: attribute(child, "domain"),
                label: None,
            })),
            _ => {}
        }
    }
    entry.published = entry.published.or(usual);
    if let Some(name) = creator {
        entry.author.get_or_insert_default().name = Some(name);
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

/// Links of an item in document order.
pub(super) fn links(element: Element<'_, '_>, base: &Base<'_>) -> Vec<Link> {
    let (mut links, mut id) = (Vec::new(), None);
    for child in element.children() {
        let base = base.inside(child);
        let is_atom = child.namespace() == Namespace::ATOM;
        match child.local() {
            "link" if is_atom && child.value("href").is_some() => {
                links.extend(atom_link(child, &base));
            }
            _ if !is_own(child, element) => {}
            "guid" => {
                let is_link = child.value("isPermaLink").as_deref() != Some("false");
                id = text(child).filter(|id| is_link && id.starts_with("http"));
            }
            "link" => {
                let link = |href| Link::new(ALTERNATE, &base.resolve(href));
                links.extend(text(child).or_else(|| attribute(child, "href")).map(link));
            }
            "enclosure" => links.extend(attribute(child, "url").map(|href| Link {
                media_type: attribute(child, "type"),
                length: attribute(child, "length").and_then(|length| length.parse().ok()),
                ..Link::new(ENCLOSURE, &base.resolve(href))
            })),
            _ => {}
        }
    }
    // A guid is the item's address unless `isPermaLink` is false.
    if let Some(id) = id.filter(|_| links.iter().all(|link| link.rel != ALTERNATE)) {
        links.push(Link::new(ALTERNATE, &id));
    }
    links
}

/// Whether an element counts as one of RSS. If the item itself is in an unknown namespace, or in Atom's, then elements
/// in that namespace do, too.
fn is_own(child: Element<'_, '_>, item: Element<'_, '_>) -> bool {
    is_rss(child.namespace()) || child.namespace() == item.namespace()
}

/// Whether RSS elements occur in this namespace.
pub(crate) fn is_rss(namespace: Namespace) -> bool {
    matches!(namespace, Namespace::NONE | Namespace::RSS1 | Namespace::RSS090 | Namespace::RSS2)
}

/// Reads a title. It is plain text if `&` and `<` are always written as the profile prescribes, otherwise HTML.
pub(crate) fn title(element: Element<'_, '_>) -> Option<String> {
    let title = text(element)?;
    let written = &element.document()[element.content_span()];
    let profiled = written.contains(AMPERSAND) || written.contains(LESS_THAN);
    if profiled && !["&amp;", "&lt;", "<![CDATA["].iter().any(|other| written.contains(other)) {
        return Some(title);
    }
    Some(if markup::has_tags(&title) { markup::plain(&title) } else { markup::unescape(&title) })
}

/// Parses `address (name)`, an address, or, as in many feeds, a name.
fn person(author: &str) -> Option<Person> {
    let mut person = Person::default();
    match author.split_once('(') {
        Some((address, rest)) => {
            person.email = present(address);
            let rest = rest.trim_end();
            person.name = present(rest.strip_suffix(')').unwrap_or(rest));
        }
        None if author.contains('@') => person.email = present(author),
        None => person.name = present(author),
    }
    person.some()
}

fn atom_link(element: Element<'_, '_>, base: &Base<'_>) -> Option<Link> {
    Some(Link {
        media_type: attribute(element, "type"),
        title: attribute(element, "title"),
        length: attribute(element, "length").and_then(|length| length.parse().ok()),
        ..Link::new(
            &attribute(element, "rel").unwrap_or_else(|| ALTERNATE.to_owned()),
            &base.resolve(attribute(element, "href")?),
        )
    })
}
