//! A strict XML parser: it accepts only documents that are well-formed and namespace-well-formed within
//! [`Limits`](crate::Limits).
//!
//! [`decode`] converts bytes to text, [`Reader`] returns the tokens of the text, and [`Tree`] holds one element with
//! its content as offsets into the text. Nothing is copied, and nothing is allocated per token. Errors contain a byte
//! offset, from which line and column are computed only when needed.
//!
//! The parser checks: one root and no text outside it, names (XML 1.0, fifth edition), characters, `]]>` in text, `<`
//! in attribute values, quotes, duplicate attributes (also after namespace resolution), references, prefixes,
//! nesting. A document type is refused in strict mode and skipped in tolerant mode. In tolerant mode, references that
//! it may have defined are read as HTML characters or as text: no entity is ever expanded.
//!
//! The crate has its own scanner because the event readers that we know do not check these rules. Each rule would
//! have to be implemented on top of them, and finding the end of a token is only the smaller part of the work.

mod attributes;
mod characters;
mod encode;
mod encoding;
mod error;
mod escape;
mod legacy;
mod namespace;
mod reader;
#[cfg(test)]
mod tests;
mod tree;
mod undefined;

pub(crate) use attributes::{Attribute, qualified_name};
pub(crate) use characters::{collapse, is_char, is_space, is_white, reference, unescape};
pub(crate) use encoding::{Encoding, check_is_xml, declared_encoding, declared_span, decode};
pub(crate) use error::XmlError;
pub use escape::{escape_attribute, escape_text};
pub(crate) use namespace::{Namespace, Namespaces};
pub(crate) use reader::{Reader, StartTag, Token};
pub(crate) use tree::{Element, Node, NodeKind, Tree};
pub(crate) use undefined::{define_references, undefined_references};
