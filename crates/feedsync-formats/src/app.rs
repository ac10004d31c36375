//! AtomPub documents about collections: the service document, the categories document, and the description of a
//! collection inside its feed (RFC 5023 7, 8).
//!
//! Addresses are absolute, since clients use them without resolving. Each media range is written unchanged, in an
//! `app:accept` element of its own (AP4, AP6).

use crate::atom::ATOM;
use crate::entry::Category;
use crate::payload::push_attribute;
use crate::server_parts::APP;
use crate::xml::escape_text;

/// The media type of a service document (RFC 5023 16.2).
pub const SERVICE_TYPE: &str = "application/atomsvc+xml";

/// The media type of a categories document (RFC 5023 16.1).
pub const CATEGORIES_TYPE: &str = "application/atomcat+xml";

/// Description of a collection for clients that create entries in it (RFC 5023 8.3.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppCollection {
    /// Its absolute address.
    pub href: String,
    /// Title shown to people.
    pub title: String,
    /// Media ranges that clients may create. If the list is empty, clients can create nothing (8.3.4).
    pub accept: Vec<String>,
    /// Categories offered to clients.
    pub categories: Option<AppCategories>,
}

/// Categories to choose from (RFC 5023 7.2).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppCategories {
    /// Whether clients may use only these categories.
    pub fixed: bool,
    /// Default scheme of categories that have no scheme of their own.
    pub scheme: Option<String>,
    /// The categories.
    pub list: Vec<Category>,
}

/// A service document with one workspace.
pub fn service_document(title: &str, collections: &[AppCollection]) -> String {
    let mut out = ServiceDocument::begin(title);
    for collection in collections {
        ServiceDocument::push(&mut out, collection);
    }
    out.push_str(ServiceDocument::END);
    out
}

/// A service document with one workspace, written piece by piece.
#[derive(Debug, Clone, Copy)]
pub struct ServiceDocument;

impl ServiceDocument {
    /// Text that follows the last collection.
    pub const END: &str = "</workspace>\n</service>\n";

    /// Returns the text that precedes the first collection.
    pub fn begin(title: &str) -> String {
        let mut out = begun("service");
        out.push_str(">\n<workspace>\n");
        push_title(&mut out, title);
        out
    }

    /// Writes a collection.
    pub fn push(out: &mut String, collection: &AppCollection) {
        push_collection(out, collection, "");
    }
}

/// Returns a categories document.
pub fn categories_document(categories: &AppCategories) -> String {
    let mut out = begun("categories");
    push_content(&mut out, categories);
    out
}

/// Returns an `app:collection` element for use inside a feed (RFC 5023 8.3.5).
pub(crate) fn in_feed(collection: &AppCollection) -> String {
    let mut out = String::new();
    push_collection(&mut out, collection, &namespaces());
    out
}

fn push_collection(out: &mut String, collection: &AppCollection, namespaces: &str) {
    out.push_str("<collection");
    out.push_str(namespaces);
    push_attribute(out, "href", &collection.href);
    out.push_str(">\n");
    push_title(out, &collection.title);
    if collection.accept.is_empty() {
        out.push_str("<accept/>\n");
    }
    for range in &collection.accept {
        out.push_str("<accept>");
        escape_text(out, range);
        out.push_str("</accept>\n");
    }
    if let Some(categories) = &collection.categories {
        out.push_str("<categories");
        push_content(out, categories);
    }
    out.push_str("</collection>\n");
}

fn namespaces() -> String {
    let mut out = String::new();
    push_attribute(&mut out, "xmlns", APP);
    push_attribute(&mut out, "xmlns:atom", ATOM);
    out
}

fn begun(root: &str) -> String {
    format!("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<{root}{}", namespaces())
}

fn push_title(out: &mut String, title: &str) {
    out.push_str("<atom:title>");
    escape_text(out, title);
    out.push_str("</atom:title>\n");
}

/// Appends the attributes and the content of a categories element, after the name of its start tag.
fn push_content(out: &mut String, categories: &AppCategories) {
    push_attribute(out, "fixed", if categories.fixed { "yes" } else { "no" });
    if let Some(scheme) = &categories.scheme {
        push_attribute(out, "scheme", scheme);
    }
    out.push_str(">\n");
    for category in &categories.list {
        out.push_str("<atom:category");
        push_attribute(out, "term", &category.term);
        for (name, value) in [("scheme", &category.scheme), ("label", &category.label)] {
            if let Some(value) = value {
                push_attribute(out, name, value);
            }
        }
        out.push_str("/>\n");
    }
    out.push_str("</categories>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Limits, Mode};
    use crate::xml::Tree;

    fn category(term: &str, scheme: Option<&str>, label: Option<&str>) -> Category {
        let [scheme, label] = [scheme, label].map(|text| text.map(str::to_owned));
        Category { term: term.to_owned(), scheme, label }
    }

    #[test]
    fn service_document_lists_each_collection_once_with_its_accepted_types() {
        let list = vec![category("a", None, Some("A & B")), category("<", Some("urn:t"), None)];
        let categories = AppCategories { fixed: true, scheme: Some("urn:s".to_owned()), list };
        let document = service_document(
            "Anna's <hub>",
            &[
                AppCollection {
                    href: "http://hub/collections/notes".to_owned(),
                    title: "Notes".to_owned(),
                    accept: ["application/atom+xml;type=entry", "image/*"]
                        .map(str::to_owned)
                        .into(),
                    categories: Some(categories),
                },
                AppCollection {
                    href: "http://hub/collections/read-only".to_owned(),
                    title: "Read & only".to_owned(),
                    accept: Vec::new(),
                    categories: None,
                },
            ],
        );
        let expected = r#"<?xml version="1.0" encoding="utf-8"?>
<service xmlns="http://www.w3.org/2007/app" xmlns:atom="http://www.w3.org/2005/Atom">
<workspace>
<atom:title>Anna's &lt;hub&gt;</atom:title>
<collection href="http://hub/collections/notes">
<atom:title>Notes</atom:title>
<accept>application/atom+xml;type=entry</accept>
<accept>image/*</accept>
<categories fixed="yes" scheme="urn:s">
<atom:category term="a" label="A &amp; B"/>
<atom:category term="&lt;" scheme="urn:t"/>
</categories>
</collection>
<collection href="http://hub/collections/read-only">
<atom:title>Read &amp; only</atom:title>
<accept/>
</collection>
</workspace>
</service>
"#;
        assert_eq!(document, expected);
        let (tree, _) = Tree::parse(&document, Mode::Strict, &Limits::default()).unwrap();
        assert_eq!(tree.root().local(), "service");
        let empty = service_document("", &[]);
        assert!(empty.contains("<workspace>\n<atom:title></atom:title>\n</workspace>"), "{empty}");
    }

    #[test]
    fn a_categories_document_stands_alone() {
        let list = vec![category("a", None, None)];
        let document = categories_document(&AppCategories { list, ..AppCategories::default() });
        let expected = r#"<?xml version="1.0" encoding="utf-8"?>
<categories xmlns="http://www.w3.org/2007/app" xmlns:atom="http://www.w3.org/2005/Atom" fixed="no">
<atom:category term="a"/>
</categories>
"#;
        assert_eq!(document, expected);
    }
}
