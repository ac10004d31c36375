//! Checks of service documents and categories documents (RFC 5023 7, 8): required elements, and
//! values.
//!
//! [`super::placement`] checks the positions of elements.

use iri_string::types::IriReferenceStr;

use super::atom::{Checker, is_media_type};
use super::findings::quoted;
use crate::xml::{Element, Namespace, NodeKind, is_white};

/// Checks a service document. Returns the numbers of workspaces and collections.
pub(super) fn service(checker: &mut Checker<'_>, root: Element<'_, '_>) -> (usize, usize) {
    checker.no_text(root, "RFC 5023 8.3.1");
    let workspaces: Vec<_> =
        root.children().filter(|it| it.is(Namespace::APP, "workspace")).collect();
    if workspaces.is_empty() {
        checker.fault(
            root,
            "RFC 5023 8.3.1",
            "a service document needs at least one app:workspace",
        );
    }
    let mut collections = 0;
    for workspace in &workspaces {
        checker.no_text(*workspace, "RFC 5023 8.3.2");
        title(checker, *workspace, "RFC 5023 8.3.2.1");
        for child in workspace.children().filter(|it| it.is(Namespace::APP, "collection")) {
            collections += 1;
            collection(checker, child);
        }
    }
    (workspaces.len(), collections)
}

/// Checks the AtomPub values in a feed: those of the collection in its head, and those of its
/// entries.
pub(super) fn feed(checker: &mut Checker<'_>, feed: Element<'_, '_>) {
    for child in feed.children() {
        if child.is(Namespace::APP, "collection") {
            collection(checker, child);
        } else if child.is(Namespace::ATOM, "entry") {
            child.children().for_each(|part| entry_part(checker, part));
        }
    }
}

/// Checks `app:edited` and `app:control`.
pub(super) fn entry_part(checker: &mut Checker<'_>, part: Element<'_, '_>) {
    if part.is(Namespace::APP, "edited") {
        checker.date(part, "RFC 5023 10.2");
    } else if part.is(Namespace::APP, "control") {
        for draft in part.children().filter(|child| child.is(Namespace::APP, "draft")) {
            let text = draft.text();
            if !matches!(text.trim(), "yes" | "no") {
                let message = format!("app:draft is {}: must be \"yes\" or \"no\"", quoted(&text));
                checker.fault(draft, "RFC 5023 13.1.1", &message);
            }
        }
    }
}

/// Checks an `app:collection`.
fn collection(checker: &mut Checker<'_>, collection: Element<'_, '_>) {
    checker.no_text(collection, "RFC 5023 8.3.3");
    checker.reference(collection, "href", "RFC 5023 8.3.3.1");
    title(checker, collection, "RFC 5023 8.3.3.2");
    let accepts: Vec<_> =
        collection.children().filter(|it| it.is(Namespace::APP, "accept")).collect();
    for accept in &accepts {
        self::accept(checker, *accept, accepts.len() > 1);
    }
    for child in collection.children().filter(|it| it.is(Namespace::APP, "categories")) {
        categories(checker, child);
    }
}

/// Checks that there is exactly one title, in Atom's namespace.
fn title(checker: &mut Checker<'_>, parent: Element<'_, '_>, clause: &'static str) {
    let mut titles = parent.children().filter(|it| it.is(Namespace::ATOM, "title"));
    match (titles.next(), titles.next()) {
        (None, _) => {
            let other = parent.children().find(|child| child.local() == "title");
            let name = parent.name();
            match other {
                Some(other) => {
                    let message = format!("the title of {name} must be in the namespace of Atom");
                    checker.fault(other, clause, &message);
                }
                None => checker.fault(parent, clause, &format!("{name} lacks its atom:title")),
            }
        }
        (Some(title), second) => {
            checker.text_construct(title);
            if let Some(second) = second {
                let message = format!("a second {} in {}", second.name(), parent.name());
                checker.fault(second, clause, &message);
            }
        }
    }
}

fn accept(checker: &mut Checker<'_>, accept: Element<'_, '_>, is_one_of_several: bool) {
    const CLAUSE: &str = "RFC 5023 8.3.4";
    if let Some(child) = accept.children().next() {
        checker.fault(child, CLAUSE, "app:accept holds a media range and no elements");
        return;
    }
    let text = accept.text();
    let range = text.trim_matches([' ', '\t', '\r', '\n']);
    if range.is_empty() {
        if is_one_of_several {
            let message =
                "an empty app:accept beside others: alone it says that nothing can be created";
            checker.warn(accept, CLAUSE, message);
        }
    } else if range.contains(',') {
        let message =
            format!("{range:?}: app:accept holds one media range; several have an app:accept each");
        checker.fault(accept, CLAUSE, &message);
    } else if range == "entry" {
        let message = "\"entry\" of a draft: write application/atom+xml;type=entry";
        checker.fault(accept, CLAUSE, message);
    } else if !is_media_range(range) {
        checker.fault(accept, CLAUSE, &format!("{range:?} is not a media range"));
    }
}

/// Checks `app:categories`, in a collection or as a document. Returns the number of categories.
pub(super) fn categories(checker: &mut Checker<'_>, element: Element<'_, '_>) -> usize {
    let list: Vec<_> = element.children().filter(|it| it.is(Namespace::ATOM, "category")).collect();
    if element.value("href").is_some() {
        const CLAUSE: &str = "RFC 5023 8.3.6";
        checker.reference(element, "href", CLAUSE);
        for name in ["fixed", "scheme"] {
            if let Some(attribute) = element.attribute(Namespace::NONE, name) {
                let message = format!("app:categories with href has no {name}");
                checker.fault_at(attribute.start(), CLAUSE, &message);
            }
        }
        if let Some(child) = element.children().next() {
            checker.fault(child, CLAUSE, "app:categories with href must be empty");
        } else {
            checker.no_text(element, CLAUSE);
        }
        return list.len();
    }
    const CLAUSE: &str = "RFC 5023 7.2.1";
    if let Some(fixed) = element.attribute(Namespace::NONE, "fixed") {
        let value = fixed.value(element.document());
        if !matches!(&*value, "yes" | "no") {
            let message = format!("fixed={value:?}: must be \"yes\" or \"no\"");
            checker.fault_at(fixed.start(), "RFC 5023 7.2.1.1", &message);
        }
    }
    checker.iri(element, "scheme", "RFC 5023 7.2.1.2");
    for category in &list {
        checker.category(*category);
    }
    for other in element.children() {
        if other.local() == "category" && !other.is(Namespace::ATOM, "category") {
            let message = "the categories of app:categories must be in the namespace of Atom";
            checker.fault(other, CLAUSE, message);
        }
    }
    list.len()
}

/// Whether a text is `*/*`, `type/*` or a media type, with parameters.
fn is_media_range(range: &str) -> bool {
    let (kind, parameters) = range.split_once(';').unwrap_or((range, ""));
    let kind = kind.trim();
    let plain = match kind.strip_suffix("/*") {
        Some("*") => "x/x".to_owned(),
        Some(top) => format!("{top}/x"),
        None => kind.to_owned(),
    };
    let whole = if range.contains(';') { format!("{plain};{parameters}") } else { plain };
    is_media_type(&whole)
}

impl Checker<'_> {
    /// Checks that the element directly contains no text.
    pub(super) fn no_text(&mut self, element: Element<'_, '_>, clause: &'static str) {
        let text = element.nodes().find(|node| {
            matches!(node.kind(), NodeKind::Text | NodeKind::CData) && !is_white(&node.text())
        });
        if let Some(text) = text {
            let source = text.source();
            let blank = source.len() - source.trim_start().len();
            let message = format!("text directly in {}", element.name());
            self.fault_at(text.span().start + blank, clause, &message);
        }
    }

    /// Checks that a required attribute is a reference.
    pub(super) fn reference(&mut self, element: Element<'_, '_>, name: &str, clause: &'static str) {
        match element.attribute(Namespace::NONE, name) {
            None => {
                let message = format!("{} lacks the attribute {name:?}", element.name());
                self.fault(element, clause, &message);
            }
            Some(attribute) => {
                let value = attribute.value(element.document());
                if IriReferenceStr::new(&value).is_err() {
                    let message = format!("{name}={value:?} is not an IRI reference");
                    self.fault_at(attribute.start(), clause, &message);
                }
            }
        }
    }
}
