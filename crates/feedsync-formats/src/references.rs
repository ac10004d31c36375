//! References in what an item says, made absolute where it is shown without its base (XML Base; JSON Feed
//! and RSS know none).
//!
//! Without an absolute base a reference stays as it is, and so does all of the markup around it. A base
//! counts only up to a length, and what one item may gain is bounded: past that, references stay too, so
//! that a long base over many short references costs no more than its reader can bear.

use std::borrow::Cow;
use std::cell::Cell;

use iri_string::types::IriString;

use crate::context::{LONGEST, resolved};
use crate::html_references::references;
use crate::markup;
use crate::xml::{Element, Namespace, escape_attribute};

/// Bytes that one item may gain.
pub(crate) const GAIN: usize = 1 << 20;

/// What references count from at one place of an item.
#[derive(Debug, Clone)]
pub(crate) struct Base<'s> {
    /// An absolute one, if there is one.
    base: Option<IriString>,
    /// Bytes that the item may still gain; none if references are to stay as they are.
    spare: Option<&'s Cell<usize>>,
}

impl<'s> Base<'s> {
    /// References stay as they are.
    pub(crate) const KEPT: Self = Self { base: None, spare: None };

    /// Outside an item that is self-contained, which may gain so much.
    pub(crate) fn outside(spare: &'s Cell<usize>) -> Self {
        Self { base: None, spare: Some(spare) }
    }

    /// An address; any other text is no base.
    pub(crate) fn at(address: Option<&str>, spare: &'s Cell<usize>) -> Self {
        let is_web = |address: &&str| {
            let scheme = address.split(':').next().unwrap_or_default();
            ["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme))
        };
        let address = address.filter(|address| address.len() <= LONGEST).filter(is_web);
        let base = address.and_then(|address| IriString::try_from(address.to_owned()).ok());
        Self { base, spare: Some(spare) }
    }

    /// Whether there is an address that references count from.
    pub(crate) fn has_address(&self) -> bool {
        self.base.is_some()
    }

    /// Itself, or another where it has no address.
    pub(crate) fn or(self, other: impl FnOnce() -> Self) -> Self {
        if self.has_address() { self } else { other() }
    }

    /// What holds inside an element.
    pub(crate) fn inside(&self, element: Element<'_, '_>) -> Cow<'_, Self> {
        match element.attribute(Namespace::XML, "base").filter(|_| self.spare.is_some()) {
            Some(attribute) => {
                let value = attribute.value(element.document());
                let base = (value.len() <= LONGEST).then(|| self.absolute(&value));
                let base = base.filter(|base| base.len() <= LONGEST);
                let base = base.and_then(|base| IriString::try_from(base.into_owned()).ok());
                Cow::Owned(Self { base, spare: self.spare })
            }
            None => Cow::Borrowed(self),
        }
    }

    /// A reference, absolute if it can be.
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

    /// HTML, or XHTML, with the references of its attributes absolute.
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

    /// `srcset`: references with a description behind each, commas between.
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

/// What cannot stand in a reference, percent-encoded as browsers do.
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
