//! The view of an `atom:entry` (RFC 4287 4.1.2), also of one of Atom 0.3 or in an unknown namespace.

use super::{
    ALTERNATE, Category, ContentType, DUBLIN_CORE, ENCLOSURE, Entry, Link, Person, attribute,
    namespace, text,
};
use crate::date;
use crate::markup;
use crate::references::Base;
use crate::xml::{Element, Namespace, Namespaces};

pub(super) fn view(
    element: Element<'_, '_>,
    namespaces: &Namespaces<'_>,
    base: &Base<'_>,
) -> Entry {
    let mut entry = Entry::default();
    let mut usual = None;
    for child in element.children() {
        let base = base.inside(child);
        let date = || date::parse(&child.text());
        let is_own = [Namespace::ATOM, element.namespace()].contains(&child.namespace());
        match child.local() {
            "date" if namespace(child, namespaces) == DUBLIN_CORE => usual = usual.or_else(date),
            _ if !is_own => {}
            "id" => entry.id = text(child),
            "title" => entry.title = plain(child),
            "summary" => entry.summary = plain(child),
            "content" => content(child, &base, &mut entry),
            "author" if entry.author.is_none() => entry.author = person(child, &base),
            "published" | "issued" => entry.published = date().or(entry.published),
            "updated" | "modified" => entry.updated = date().or(entry.updated),
            "pubDate" | "created" => usual = usual.or_else(date),
            "link" => entry.links.extend(link(child, &base)),
            "category" => entry.categories.extend(attribute(child, "term").map(|term| Category {
                term,
                scheme: attribute(child, "scheme"),
                label: attribute(child, "label"),
            })),
            _ => {}
        }
    }
    entry.published = entry.published.or(usual);
    entry
}

fn content_type(element: Element<'_, '_>) -> ContentType {
    ContentType::named(&element.value("type").unwrap_or_default())
}

/// Returns a text construct as plain text (3.1).
pub(crate) fn plain(element: Element<'_, '_>) -> Option<String> {
    match content_type(element) {
        ContentType::Html => super::present(&markup::plain(&element.text())),
        _ => text(element),
    }
}

/// Reads `atom:content` (4.1.3). Content at another address becomes a link.
fn content(element: Element<'_, '_>, base: &Base<'_>, entry: &mut Entry) {
    let kind = content_type(element);
    if let Some(href) = attribute(element, "src") {
        let media_type = attribute(element, "type");
        entry.links.push(Link { media_type, ..Link::new(ENCLOSURE, &base.resolve(href)) });
        return;
    }
    let body = match &kind {
        ContentType::Html => base.resolve_markup(element.text().into_owned()),
        ContentType::Xhtml => {
            let div = markup::div(element);
            base.inside(div).resolve_markup(div.document()[div.content_span()].to_owned())
        }
        // Content with an XML media type is an element. Its markup is the text.
        ContentType::Other(_) if element.children().next().is_some() => {
            element.document()[element.content_span()].trim().to_owned()
        }
        _ => element.text().into_owned(),
    };
    if !body.trim().is_empty() {
        entry.content = Some(body);
        entry.content_type = kind;
    }
}

fn person(element: Element<'_, '_>, base: &Base<'_>) -> Option<Person> {
    let child = |name| element.child(element.namespace(), name);
    let part = |name| child(name).and_then(text);
    let uri = child("uri").and_then(|uri| Some(base.inside(uri).resolve(text(uri)?)));
    Person { name: part("name"), email: part("email"), uri }.some()
}

fn link(element: Element<'_, '_>, base: &Base<'_>) -> Option<Link> {
    Some(Link {
        rel: attribute(element, "rel").unwrap_or_else(|| ALTERNATE.to_owned()),
        href: base.resolve(attribute(element, "href")?),
        media_type: attribute(element, "type"),
        title: attribute(element, "title"),
        length: attribute(element, "length").and_then(|length| length.parse().ok()),
        duration: None,
    })
}
