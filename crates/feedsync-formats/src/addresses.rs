//! Replaces the addresses that a document leads to, and leaves every other byte as it is.
//!
//! The formats are Atom, AtomPub service and category documents, RSS, OPML and JSON Feed. Identifiers (`atom:id`,
//! `guid`, `rdf:about`, schemes of categories) and the content of entries are not addresses in this sense. An item
//! with sync data keeps all addresses but those that its server owns, because equal versions must have equal payloads.
//!
//! A document in another format, or one that its own encoding would write with other bytes, stays as it is. In a
//! document that is not well-formed, the addresses before the fault are replaced.

mod json;
#[cfg(test)]
mod tests;
mod xml;

use std::borrow::Cow;
use std::ops::Range;

use crate::json::text_of;
use crate::options::{Limits, ReadOptions};
use crate::xml::{decode, unescape};

/// Notation in which a document contains an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Notation {
    /// An attribute or character data of XML, with references.
    Markup,
    /// A CDATA section, which has no references.
    CData,
    /// A string of JSON, with escapes.
    Json,
}

/// An address in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenAddress<'a> {
    /// The address as the document contains it, without quotes and without white space at its ends.
    pub raw: &'a str,
    /// Notation of `raw`.
    pub notation: Notation,
}

impl<'a> WrittenAddress<'a> {
    /// Returns the address without references and escapes.
    pub fn text(&self) -> Cow<'a, str> {
        match self.notation {
            Notation::Markup => unescape(self.raw),
            Notation::CData => Cow::Borrowed(self.raw),
            Notation::Json if self.raw.contains('\\') => {
                Cow::Owned(crate::json::unescape(self.raw))
            }
            Notation::Json => Cow::Borrowed(self.raw),
        }
    }
}

/// Returns the document with other addresses, or `None` if none changes. `change` returns the new address in the same
/// notation, or `None` for an address that stays.
///
/// Documents of more than [`Limits::bytes`] and those nested deeper than [`Limits::depth`] stay as they are.
pub fn with_addresses(
    document: &[u8],
    limits: &Limits,
    mut change: impl FnMut(WrittenAddress<'_>) -> Option<String>,
) -> Option<Vec<u8>> {
    let options = ReadOptions { limits: *limits, ..ReadOptions::tolerant() };
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let start = document.strip_prefix(b"\xef\xbb\xbf").unwrap_or(document);
    if start.iter().find(|byte| !is_space(byte)) == Some(&b'{') {
        let text = text_of(document, &options).ok()?;
        let mark = &document[..document.len() - text.len()];
        let changed = replaced(text, json::addresses(text, limits), &mut change)?;
        return Some([mark, changed.as_bytes()].concat());
    }
    let (text, encoding) = decode(document, &options).ok()?;
    let changed = replaced(&text, xml::addresses(&text, limits), &mut change)?;
    // A legacy encoding may have several spellings of one character.
    (encoding.encode(&text) == document).then(|| encoding.encode(&changed))
}

/// Returns the text with other addresses at these ranges, which are in order.
fn replaced(
    text: &str,
    found: Vec<(Range<usize>, Notation)>,
    change: &mut impl FnMut(WrittenAddress<'_>) -> Option<String>,
) -> Option<String> {
    let mut out = String::new();
    let mut from = 0;
    for (range, notation) in found {
        let raw = &text[range.clone()];
        if let Some(new) = change(WrittenAddress { raw, notation }).filter(|new| new != raw) {
            out.reserve(text.len() - from + new.len());
            out.push_str(&text[from..range.start]);
            out.push_str(&new);
            from = range.end;
        }
    }
    out.push_str(&text[from..]);
    (from > 0).then_some(out)
}
