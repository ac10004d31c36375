//! Makes references in an item absolute, for uses without its base (XML Base; JSON Feed and RSS have no base).
//!
//! Without an absolute base, a reference and the markup around it stay unchanged. A base is used only up to a maximum
//! length, and the number of bytes that an item may grow is limited. Beyond the limit, references stay unchanged,
//! too. This bounds the cost of a long base with many short references.

use std::borrow::Cow;
use std::cell::Cell;

use iri_string::types::IriString;

use crate::context::{MAX_BASE_BYTES, resolved};
use crate::html_references::references;
use crate::markup;
use crate::xml::{Element, Namespace, escape_attribute};

/// Maximum number of bytes by which an item may grow.
pub(crate) const MAX_GROWTH_BYTES: usize = 1 << 20;

/// Base of the references at one position in an item.
#[derive(Debug, Clone)]
pub(crate) struct Base<'s> {
    /// The absolute base, if there is one.
    base: Option<IriString>,
    /// Number of bytes by which the item may still grow. `None` if references stay unchanged.
    spare: Option<&'s Cell<usize>>,
}

impl<'s> Base<'s> {
    /// A base with which references stay unchanged.
    pub(crate) const NONE: Self = Self { base: None, spare: None };

    /// The base outside a self-contained item, which may grow by the given number of bytes.
    pub(crate) fn outside(spare: &'s Cell<usize>) -> Self {
        Self { base: None, spare: Some(spare) }
    }

    /// The base at an address. Any text other than a web address is no base.
    pub(crate) fn at(address: Option<&str>, spare: &'s Cell<usize>) -> Self {
        let is_web = |address: &&str| {
            let scheme = address.split(':').next().unwrap_or_default();
            ["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme))
        };
        let address = address.filter(|address| address.len() <= MAX_BASE_BYTES).filter(is_web);
        let base = address.and_then(|address| IriString::try_from(address.to_owned()).ok());
        Self { base, spare: Some(spare) }
    }

    /// Whether there is an address that references are resolved against.
    pub(crate) fn has_address(&self) -> bool {
        self.base.is_some()
    }

    /// Returns itself, or another base if it has no address.
    pub(crate) fn or(self, other: impl FnOnce() -> Self) -> Self {
        if self.has_address() { self } else { other() }
    }

    /// Returns the base inside an element.
    pub(crate) fn inside(&self, element: Element<'_, '_>) -> Cow<'_, Self> {
        match element.attribute(Namespace::XML, "base").filter(|_| self.spare.is_some()) {
            Some(attribute) => {
                let value = attribute.value(element.document());
                let base = (value.len() <= MAX_BASE_BYTES).then(|| self.absolute(&value));
                let base = base.filter(|base| base.len() <= MAX_BASE_BYTES);
                let base = base.and_then(|base| IriString::try_from(base.into_owned()).ok());
                Cow::Owned(Self { base, spare: self.spare })
            }
            None => Cow::Borrowed(self),
        }
    }

    /// Makes a reference absolute if possible.
    pub(crate) fn resolve(&self, reference: String) -> String {
        let (Some(_), Some(spare)) = (&self.base, self.spare.filter(|spare| spare.get() > 0))
        else {
            return reference;
        };
        let absolute = self.absolute(&encoded(reference.trim())).into_owned();
        match spare.get().checked_sub(absolute.len().saturating_sub(reference.len())) {
            Some(left) => {
                spare.set(left);
                absolute
            }
            None => {
                spare.set(0);
                reference
            }
        }
    }

    fn absolute<'r>(&self, reference: &'r str) -> Cow<'r, str> {
        resolved(self.base.as_deref(), reference)
    }

    /// Makes the references in attributes of HTML or XHTML absolute.
    pub(crate) fn resolve_markup(&self, html: String) -> String {
        if self.base.is_none() {
            return html;
        }
        let mut out = String::with_capacity(html.len());
        let mut from = 0;
        for found in references(&html) {
            let reference = markup::unescape(&html[found.value.clone()]);
            let absolute = if found.is_list {
                self.resolve_list(&reference)
            } else {
                self.resolve(reference.clone())
            };
            if absolute == reference {
                continue;
            }
            let mut escaped = String::new();
            escape_attribute(&mut escaped, &absolute);
            let escaped = escaped.replace('\'', "&#39;");
            let quote = if found.is_quoted { "" } else { "\"" };
            out.extend([&html[from..found.value.start], quote, &escaped, quote]);
            from = found.value.end;
        }
        out.push_str(&html[from..]);
        out
    }

    /// Resolves a `srcset`: references that are separated by commas, each followed by a descriptor.
    fn resolve_list(&self, list: &str) -> String {
        const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];
        let mut out = String::with_capacity(list.len());
        let mut rest = list;
        while !rest.is_empty() {
            let separators = rest.find(|c| c != ',' && !SPACE.contains(&c)).unwrap_or(rest.len());
            out.push_str(&rest[..separators]);
            rest = &rest[separators..];
            let end = rest.find(SPACE).unwrap_or(rest.len());
            let reference = rest[..end].trim_end_matches(',');
            if !reference.is_empty() {
                out.push_str(&self.resolve(reference.to_owned()));
            }
            let described = reference.len() == end;
            let after = &rest[end..];
            let description = if described { after.find(',').unwrap_or(after.len()) } else { 0 };
            out.push_str(&rest[reference.len()..end + description]);
            rest = &rest[end + description..];
        }
        out
    }
}

/// Percent-encodes characters that a reference cannot contain, as browsers do.
fn encoded(reference: &str) -> Cow<'_, str> {
    let stands = |byte: u8| {
        byte >= 0x80 || byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte)
    };
    if reference.bytes().all(stands) {
        return Cow::Borrowed(reference);
    }
    let mut out = String::with_capacity(reference.len() + 8);
    for character in reference.chars() {
        match u8::try_from(character) {
            Ok(byte) if byte.is_ascii() && !stands(byte) => out.push_str(&format!("%{byte:02X}")),
            _ => out.push(character),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
