//! Category documents (RFC 5023 7).

use crate::atom::ATOM;
use crate::diagnostic::ReadError;
use crate::entry::Category;
use crate::options::ReadOptions;
use crate::server_parts::APP;
use crate::xml::{Tree, XmlError, decode};

/// The content of a category document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CategoryList {
    /// Whether clients may use only these categories, if the document states it (7.2.1.1).
    pub fixed: Option<bool>,
    /// Default scheme of categories without a scheme (7.2.1.2).
    pub scheme: Option<String>,
    /// The categories.
    pub list: Vec<Category>,
}

/// Reads an `app:categories` document.
pub fn read_categories(bytes: &[u8]) -> Result<CategoryList, ReadError> {
    let options = ReadOptions::strict();
    let (text, _) = decode(bytes, &options)?;
    let fault = |error: XmlError| error.into_read_error(&text);
    let (tree, namespaces) = Tree::parse(&text, options.mode, &options.limits).map_err(fault)?;
    let root = tree.root();
    let at = |offset, message: &'static str| fault(XmlError::new(offset, message));
    if root.local() != "categories" || namespaces.iri(root.namespace()) != APP {
        return Err(at(root.span().start, "not app:categories (RFC 5023 7.2.1)"));
    }
    if root.value("href").is_some() {
        return Err(at(root.span().start, "the categories are elsewhere: give that document"));
    }
    let fixed = match root.value("fixed").as_deref() {
        None => None,
        Some("yes") => Some(true),
        Some("no") => Some(false),
        Some(_) => return Err(at(root.span().start, "fixed is yes or no (RFC 5023 7.2.1.1)")),
    };
    let mut list = Vec::new();
    for child in root.children() {
        if child.local() != "category" || namespaces.iri(child.namespace()) != ATOM {
            continue;
        }
        let value = |name| child.value(name).map(|value| value.into_owned());
        let term = value("term")
            .ok_or_else(|| at(child.span().start, "a category without term (RFC 4287 4.2.2.1)"))?;
        list.push(Category { term, scheme: value("scheme"), label: value("label") });
    }
    Ok(CategoryList { fixed, scheme: root.value("scheme").map(|value| value.into_owned()), list })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(attributes: &str, inside: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?><app:categories xmlns:app=\"http://www.w3.org/2007/app\" \
             xmlns=\"http://www.w3.org/2005/Atom\" {attributes}>{inside}</app:categories>"
        )
    }

    #[test]
    fn a_category_document_is_read() {
        let inside = "<category term=\"a&amp;b\" label=\"A\"/><x:category xmlns:x=\"urn:x\"/>\
                      <category term=\"c\" scheme=\"urn:t\"/>";
        let read = read_categories(document("fixed=\"yes\" scheme=\"urn:s\"", inside).as_bytes());
        let read = read.unwrap();
        assert_eq!((read.fixed, read.scheme.as_deref()), (Some(true), Some("urn:s")));
        let list: Vec<_> = read
            .list
            .iter()
            .map(|each| (&*each.term, each.scheme.as_deref(), each.label.as_deref()))
            .collect();
        assert_eq!(list, [("a&b", None, Some("A")), ("c", Some("urn:t"), None)]);
        let open = read_categories(document("", "").as_bytes()).unwrap();
        assert_eq!((open.fixed, open.list.len()), (None, 0));
    }

    #[test]
    fn invalid_category_documents_are_refused_with_the_position() {
        for (text, reason) in [
            ("<categories/>".to_owned(), "1:1: not app:categories"),
            (document("fixed=\"maybe\"", ""), "fixed is yes or no"),
            (document("href=\"urn:x\"", ""), "elsewhere"),
            (document("", "<category/>"), "without term"),
            (document("", "<category>"), "category"),
        ] {
            let error = read_categories(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
