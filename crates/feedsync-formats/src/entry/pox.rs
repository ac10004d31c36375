//! The view of a POX element. Element names are not fixed (P5), so the common ones are tried in any
//! namespace. The first child with a name is used.

use super::{ALTERNATE, Category, ContentType, Entry, Link, Person, attribute, text};
use crate::date;
use crate::markup;
use crate::xml::Element;

/// Names of a title, in order of preference.
pub(crate) const TITLES: [&str; 3] = ["title", "subject", "name"];
/// Names of a content, in order of preference.
pub(crate) const CONTENTS: [&str; 4] = ["content", "body", "description", "text"];

/// Returns the first child element that has any of the names. Earlier names take precedence.
pub(crate) fn named<'t, 'a>(element: Element<'t, 'a>, names: &[&str]) -> Option<Element<'t, 'a>> {
    names.iter().find_map(|name| element.children().find(|child| child.local() == *name))
}

pub(super) fn view(element: Element<'_, '_>) -> Entry {
    let child = |names: &[&str]| named(element, names);
    let content = child(&CONTENTS);
    let all = |name: &'static str| element.children().filter(move |child| child.local() == name);
    let mut entry = Entry {
        id: child(&["id"]).and_then(text),
        title: child(&TITLES).and_then(text),
        summary: child(&["summary"]).and_then(text),
        author: child(&["author"]).and_then(person),
        published: child(&["published", "created"]).and_then(|date| date::parse(&date.text())),
        updated: child(&["updated", "modified"]).and_then(|date| date::parse(&date.text())),
        links: all("link").filter_map(link).collect(),
        categories: all("category").filter_map(category).collect(),
        ..Entry::default()
    };
    if let Some(content) = content {
        let kind = content_type(content);
        let body = match kind {
            ContentType::Xhtml => {
                let div = markup::div(content);
                div.document()[div.content_span()].to_owned()
            }
            _ if content.children().next().is_some() => {
                content.document()[content.content_span()].trim().to_owned()
            }
            _ => content.text().into_owned(),
        };
        if !body.trim().is_empty() {
            entry.content = Some(body);
            entry.content_type = kind;
        }
    }
    entry
}

/// Returns the type of a content if its `type` is defined by Atom. Any other value has another
/// meaning.
pub(crate) fn content_type(element: Element<'_, '_>) -> ContentType {
    match ContentType::named(&element.value("type").unwrap_or_default()) {
        ContentType::Other(name) if !name.contains('/') => ContentType::Text,
        kind => kind,
    }
}

fn person(element: Element<'_, '_>) -> Option<Person> {
    let part = |name| element.children().find(|child| child.local() == name).and_then(text);
    if element.children().next().is_none() {
        return Person { name: text(element), ..Person::default() }.some();
    }
    Person { name: part("name"), email: part("email"), uri: part("uri") }.some()
}

fn link(element: Element<'_, '_>) -> Option<Link> {
    Some(Link {
        rel: attribute(element, "rel").unwrap_or_else(|| ALTERNATE.to_owned()),
        href: attribute(element, "href").or_else(|| text(element))?,
        media_type: attribute(element, "type"),
        title: attribute(element, "title"),
        length: attribute(element, "length").and_then(|length| length.parse().ok()),
        duration: None,
    })
}

fn category(element: Element<'_, '_>) -> Option<Category> {
    Some(Category {
        term: attribute(element, "term").or_else(|| text(element))?,
        scheme: attribute(element, "scheme"),
        label: attribute(element, "label"),
    })
}
