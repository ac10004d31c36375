//! XML, strictly: what is well-formed and namespace-well-formed within [`Limits`](crate::Limits), and
//! nothing else.
//!
//! [`decode`] turns bytes into text, [`Reader`] walks the text token by token, and [`Tree`] holds one
//! element with everything in it as offsets into the text. Nothing is copied and nothing is allocated
//! per token; errors carry a byte offset, from which line and column are computed only when needed.
//!
//! Checked are: one root and no text outside it, names (XML 1.0, fifth edition), characters, `]]>` in
//! text, `<` in attribute values, quotes, duplicate attributes (also after namespace resolution),
//! references, prefixes, nesting. A document type is refused in strict mode and skipped in tolerant
//! mode, in which references that it may have defined are characters of HTML or text: no entity is ever
//! expanded.
//!
//! The scanner is our own: every rule above has to be checked on top of any event reader that we
//! know, and finding where a token ends is the small part of it.

mod attributes;
mod characters;
mod encode;
mod encoding;
mod error;
mod escape;
mod namespace;
mod reader;
#[cfg(test)]
mod tests;
mod tree;
mod undefined;

pub(crate) use attributes::{Attribute, qualified_name};
pub(crate) use characters::{collapse, is_char, is_space, is_white, reference, unescape};
pub(crate) use encoding::{Encoding, declared_encoding, declared_span, decode};
pub(crate) use error::XmlError;
pub use escape::{escape_attribute, escape_text};
pub(crate) use namespace::{Namespace, Namespaces};
pub(crate) use reader::{Reader, StartTag, Token};
pub(crate) use tree::{Element, Node, NodeKind, Tree};
pub(crate) use undefined::{define_references, undefined_references};
