//! The view of a JSON object. Member names are not fixed (P9), so the common ones are tried.

use super::{ALTERNATE, CONTENTS, Category, ContentType, Entry, Link, Person, TITLES, present};
use crate::date;
use crate::json::{Kind, Member, Node};

/// Returns the first member that has any of the names. Earlier names take precedence.
pub(crate) fn named<'a>(object: Node<'a>, names: &[&str]) -> Option<Member<'a>> {
    names.iter().find_map(|name| object.member(name))
}

pub(super) fn view(text: &str) -> Entry {
    let object = Node::root(text);
    let string = |names: &[&str]| named(object, names).and_then(|member| scalar(member.value));
    let mut entry = Entry {
        id: string(&["id"]),
        title: string(&TITLES),
        summary: string(&["summary"]),
        author: named(object, &["author"]).and_then(|author| person(author.value)),
        published: string(&["published", "created"]).as_deref().and_then(date::parse),
        updated: string(&["updated", "modified"]).as_deref().and_then(date::parse),
        links: links(object),
        categories: elements(object, &["categories", "tags"]).filter_map(category).collect(),
        ..Entry::default()
    };
    // Structured content is shown as JSON.
    let content = named(object, &CONTENTS).map(|member| match member.value.kind() {
        Kind::String => member.value.string().unwrap_or_default().into_owned(),
        Kind::Null => String::new(),
        _ => member.value.raw().to_owned(),
    });
    if let Some(content) = content.filter(|content| !content.trim().is_empty()) {
        entry.content = Some(content);
        entry.content_type = ContentType::named(&string(&["content_type"]).unwrap_or_default());
    }
    entry
}

/// Links of an object.
pub(crate) fn links(object: Node<'_>) -> Vec<Link> {
    let listed = elements(object, &["links"]).filter_map(link);
    let own = ["url", "link"].into_iter().filter_map(|name| part(object, name));
    listed.chain(own.map(|href| Link::new(ALTERNATE, &href))).collect()
}

/// Elements of the first member that has any of the names, or its value.
fn elements<'a>(object: Node<'a>, names: &[&str]) -> impl Iterator<Item = Node<'a>> {
    named(object, names).into_iter().flat_map(|member| match member.value.kind() {
        Kind::Array => member.value.elements().collect::<Vec<_>>(),
        _ => vec![member.value],
    })
}

pub(super) fn language(text: &str) -> Option<String> {
    present(&Node::root(text).member("language")?.value.string()?)
}

/// Returns a string that is not blank, or a number as written.
fn scalar(value: Node<'_>) -> Option<String> {
    match value.kind() {
        Kind::String => present(&value.string()?),
        Kind::Number => Some(value.raw().to_owned()),
        _ => None,
    }
}

fn part(object: Node<'_>, name: &str) -> Option<String> {
    scalar(object.member(name)?.value)
}

fn person(value: Node<'_>) -> Option<Person> {
    if value.kind() != Kind::Object {
        return Person { name: scalar(value), ..Person::default() }.some();
    }
    let part = |name| part(value, name);
    Person { name: part("name"), email: part("email"), uri: part("uri") }.some()
}

fn link(value: Node<'_>) -> Option<Link> {
    if value.kind() != Kind::Object {
        return scalar(value).map(|href| Link::new(ALTERNATE, &href));
    }
    Some(Link {
        rel: part(value, "rel").unwrap_or_else(|| ALTERNATE.to_owned()),
        href: part(value, "href")?,
        media_type: part(value, "type"),
        title: part(value, "title"),
        length: part(value, "length").and_then(|length| length.parse().ok()),
        duration: None,
    })
}

fn category(value: Node<'_>) -> Option<Category> {
    if value.kind() != Kind::Object {
        return scalar(value).map(|term| Category { term, ..Category::default() });
    }
    let part = |name| part(value, name);
    Some(Category { term: part("term")?, scheme: part("scheme"), label: part("label") })
}
