//! Texts of elements and attributes.

use crate::xml::{Element, Namespaces};

/// The trimmed text, unless it is empty.
pub(super) fn present(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The text inside an element, unless it is blank.
pub(super) fn text(element: Element<'_, '_>) -> Option<String> {
    present(&element.text())
}

/// The value of an attribute without prefix, unless it is blank.
pub(super) fn attribute(element: Element<'_, '_>, name: &str) -> Option<String> {
    present(&element.value(name)?)
}

/// The IRI of an element's namespace.
pub(super) fn namespace<'n>(element: Element<'_, '_>, namespaces: &'n Namespaces<'_>) -> &'n str {
    namespaces.iri(element.namespace())
}
