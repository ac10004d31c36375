//! Checks of Atom entry documents (RFC 4287 4.1.2, 4.1.3) as AtomPub clients and servers exchange
//! them.

use std::collections::HashSet;

use iri_string::types::IriReferenceStr;

use super::app;
use super::atom::{Checker, is_media_type};
use super::findings::quoted;
use crate::xml::{Element, Namespace, is_white};

/// Atom elements in an entry: whether one is required, whether at most one is allowed, and the
/// clause.
const CHILDREN: [(&str, bool, bool, &str); 8] = [
    ("id", true, true, "RFC 4287 4.2.6"),
    ("title", true, true, "RFC 4287 4.2.14"),
    ("updated", true, true, "RFC 4287 4.2.15"),
    ("content", false, true, "RFC 4287 4.1.3"),
    ("published", false, true, "RFC 4287 4.2.9"),
    ("rights", false, true, "RFC 4287 4.2.10"),
    ("source", false, true, "RFC 4287 4.2.11"),
    ("summary", false, true, "RFC 4287 4.2.13"),
];

/// Atom elements that are never direct children of an entry.
const ELSEWHERE: [&str; 9] =
    ["feed", "entry", "subtitle", "generator", "icon", "logo", "name", "uri", "email"];

const ENTRY: &str = "RFC 4287 4.1.2";

/// Checks an entry, except for the checks of [`super::placement`] and of reading.
pub(super) fn check(checker: &mut Checker<'_>, entry: Element<'_, '_>) {
    checker.no_text(entry, ENTRY);
    for (local, is_required, is_single, clause) in CHILDREN {
        let mut found = entry.children().filter(|child| child.is(Namespace::ATOM, local));
        if found.next().is_none() && is_required {
            checker.fault(entry, ENTRY, &format!("the entry lacks its atom:{local}"));
        }
        if let (Some(second), true) = (found.next(), is_single) {
            let message = format!("a second {} in {}", second.name(), entry.name());
            checker.fault(second, clause, &message);
        }
    }
    author(checker, entry);
    links(checker, entry);
    for child in entry.children() {
        if child.is(Namespace::ATOM, "content") {
            let has_summary = entry.child(Namespace::ATOM, "summary").is_some();
            if let (Some(why), false) = (content(checker, child), has_summary) {
                checker.fault(child, ENTRY, &format!("an entry {why} needs an atom:summary"));
            }
        } else if child.namespace() == Namespace::ATOM {
            atom_child(checker, child);
        } else {
            app::entry_part(checker, child);
        }
    }
}

fn atom_child(checker: &mut Checker<'_>, child: Element<'_, '_>) {
    match child.local() {
        "id" => checker.iri_text(child, true, "RFC 4287 4.2.6"),
        "title" | "rights" | "summary" => checker.text_construct(child),
        "updated" => checker.date(child, "RFC 4287 4.2.15"),
        "published" => checker.date(child, "RFC 4287 4.2.9"),
        "author" | "contributor" => checker.person(child),
        "category" => checker.category(child),
        "link" => checker.link(child),
        "source" => source(checker, child),
        local if ELSEWHERE.contains(&local) => {
            let message = format!("{} does not belong in an entry", child.name());
            checker.fault(child, ENTRY, &message);
        }
        _ => {
            let message = format!("Atom defines no element {}", quoted(child.name()));
            checker.warn(child, "RFC 4287 6.2", &message);
        }
    }
}

/// Checks that the entry document or its source has an author.
fn author(checker: &mut Checker<'_>, entry: Element<'_, '_>) {
    let has = |element: Element<'_, '_>| element.child(Namespace::ATOM, "author").is_some();
    if !has(entry) && !entry.child(Namespace::ATOM, "source").is_some_and(has) {
        checker.fault(entry, ENTRY, "neither the entry nor its source has an atom:author");
    }
}

/// Checks for required links, and for links that may occur only once.
fn links(checker: &mut Checker<'_>, entry: Element<'_, '_>) {
    let links = || entry.children().filter(|child| child.is(Namespace::ATOM, "link"));
    let relation = |link: Element<'_, '_>| {
        let value = link.value("rel").unwrap_or("alternate".into());
        let name = value.strip_prefix("http://www.iana.org/assignments/relation/");
        name.unwrap_or(&value).to_owned()
    };
    let has_content = entry.child(Namespace::ATOM, "content").is_some();
    if !has_content && !links().any(|link| relation(link) == "alternate") {
        let message = "an entry without atom:content needs a link rel=\"alternate\"";
        checker.fault(entry, ENTRY, message);
    }
    let mut seen = HashSet::new();
    for link in links() {
        let relation = relation(link);
        let (clause, is_by_type) = match &*relation {
            "alternate" => (ENTRY, true),
            "edit" => ("RFC 5023 11.1", false),
            "edit-media" => ("RFC 5023 11.2", true),
            _ => continue,
        };
        let part =
            |name| link.value(name).filter(|_| is_by_type).unwrap_or_default().to_lowercase();
        if !seen.insert((relation.clone(), part("type"), part("hreflang"))) {
            let of = if is_by_type { " of the same type and hreflang" } else { "" };
            checker.fault(link, clause, &format!("a second link rel=\"{relation}\"{of}"));
        }
    }
}

/// Checks `atom:content` (4.1.3). Returns the reason why the entry requires a summary, if it does.
fn content(checker: &mut Checker<'_>, content: Element<'_, '_>) -> Option<&'static str> {
    let kind = content.attribute(Namespace::NONE, "type");
    let value = kind.map(|kind| kind.value(content.document()).into_owned());
    let value = value.as_deref();
    let is_word = matches!(value, None | Some("text" | "html" | "xhtml"));
    let top = value.unwrap_or_default().trim().to_ascii_lowercase();
    if !is_word {
        checker.media_type(content, kind, "RFC 4287 4.1.3.1");
        if (top.starts_with("multipart/") || top.starts_with("message/"))
            && let Some(kind) = kind
        {
            let message = "the type of content must not be a composite one";
            checker.fault_at(kind.start(), "RFC 4287 4.1.3.1", message);
        }
    }
    if let Some(src) = content.attribute(Namespace::NONE, "src") {
        const CLAUSE: &str = "RFC 4287 4.1.3.2";
        let address = src.value(content.document());
        if IriReferenceStr::new(&address).is_err() {
            let message = format!("src={} is not an IRI reference", quoted(&address));
            checker.fault_at(src.start(), CLAUSE, &message);
        }
        if !is_white(&content.text()) || content.children().next().is_some() {
            checker.fault(content, CLAUSE, "content with src must be empty");
        }
        match kind {
            None => checker.warn(content, CLAUSE, "content with src should say its type"),
            Some(kind) if is_word => {
                let message = "the type of content with src must be a media type";
                checker.fault_at(kind.start(), CLAUSE, message);
            }
            Some(_) => {}
        }
        return Some("whose content is elsewhere");
    }
    let plain = top.split(';').next().unwrap_or_default().trim_end();
    let is_xml = plain.ends_with("+xml") || plain.ends_with("/xml");
    const CLAUSE: &str = "RFC 4287 4.1.3.3";
    match value {
        None | Some("text" | "html") => checker.no_elements(content, CLAUSE),
        Some("xhtml") => checker.one_div(content, CLAUSE),
        Some(kind) if !is_media_type(kind) => {}
        Some(_) if is_xml => {
            if content.children().count() != 1 {
                let message = "content of an XML type should hold one element";
                checker.warn(content, CLAUSE, message);
            }
        }
        Some(_) if plain.starts_with("text/") => checker.no_elements(content, CLAUSE),
        Some(_) => {
            if let Some(child) = content.children().next() {
                let message = "content of this type is Base64 and holds no elements";
                checker.fault(child, CLAUSE, message);
            } else if !is_base64(&content.text()) {
                checker.fault(content, CLAUSE, "content of this type must be Base64");
            }
            return Some("whose content is Base64");
        }
    }
    None
}

fn source(checker: &mut Checker<'_>, source: Element<'_, '_>) {
    for local in ["id", "title", "updated"] {
        let mut found = source.children().filter(|child| child.is(Namespace::ATOM, local));
        let first = found.next();
        if let Some(second) = found.next() {
            let message = format!("a second {} in {}", second.name(), source.name());
            checker.fault(second, "RFC 4287 4.2.11", &message);
        }
        match (first, local) {
            (None, _) => {
                let message = format!("atom:source should have the atom:{local} of its feed");
                checker.warn(source, "RFC 4287 4.2.11", &message);
            }
            (Some(first), "id") => checker.iri_text(first, true, "RFC 4287 4.2.6"),
            (Some(first), "title") => checker.text_construct(first),
            (Some(first), _) => checker.date(first, "RFC 4287 4.2.15"),
        }
    }
    for child in source.children().filter(|child| child.namespace() == Namespace::ATOM) {
        match child.local() {
            "author" | "contributor" => checker.person(child),
            "category" => checker.category(child),
            "link" => checker.link(child),
            "icon" => checker.iri_text(child, false, "RFC 4287 4.2.5"),
            "logo" => checker.iri_text(child, false, "RFC 4287 4.2.8"),
            "rights" | "subtitle" => checker.text_construct(child),
            "entry" | "feed" | "content" | "summary" | "published" | "source" => {
                let message = format!("{} does not belong in atom:source", child.name());
                checker.fault(child, "RFC 4287 4.2.11", &message);
            }
            _ => {}
        }
    }
}

/// Whether a text is Base64. White space is ignored.
fn is_base64(text: &str) -> bool {
    let (mut digits, mut padding) = (0usize, 0usize);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        match byte {
            b'=' => padding += 1,
            _ if padding > 0 => return false,
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => digits += 1,
            _ => return false,
        }
    }
    padding <= 2 && (digits + padding).is_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::is_base64;

    #[test]
    fn base64_has_digits_and_at_most_two_signs_of_padding_in_groups_of_four() {
        for text in ["", "QUJD", "QUI=", "QQ==", "Q U\nJ\tD", "+/09azAZ"] {
            assert!(is_base64(text), "{text:?}");
        }
        for text in
            ["Q", "QQ", "QQ=", "QUJ", "Q===", "====", "QUI=QUJD", "QU-D", "QU_D", "QUJ\u{e9}"]
        {
            assert!(!is_base64(text), "{text:?}");
        }
    }
}
