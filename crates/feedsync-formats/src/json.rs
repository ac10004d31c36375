//! FeedSync JSON: `{"sharing": {...}, "items": [{..., "sync": {...}}]}`.
//!
//! The published specification contains one example, a newly created item (3.1). It does not define collections,
//! conflicts or sharing. These follow by analogy with XML (R-P3 to R-P10): an attribute becomes a member, and a
//! repeated child becomes an array named after the child. Guarantees:
//! - A payload is its object without `sync`; every other byte is preserved (P6, R-P10).
//! - Numbers and booleans are read as such or as strings, and written as strings (P8, R-P5, R-P6).
//! - Unknown members keep their position (R-P9).
//! - A fault in an item refuses that item and gives line and column. A text that is not well-formed is refused as a
//!   whole.
//!
//! The payload is cut out by one rule: `sync` is removed with the comma and the white space before it. If it is the
//! first member, it is removed with the comma after it. On writing, `sync` follows the last member. Therefore a
//! payload that is written reads back byte for byte.

mod document;
mod node;
mod payload;
mod read;
mod scan;
mod sharing;
mod string;
mod value;
mod write;

#[cfg(test)]
mod tests;

pub use document::Document;
pub use node::{Kind, Member, Node};
pub(crate) use read::text_of;
pub use read::{read, read_unmapped};
pub use scan::{Flaw, Malformed, check, check_grammar};
pub use string::push as push_string;
pub use write::{Writer, push_unmapped};

pub(crate) use payload::{push_with, without};
pub(crate) use string::{push_escape, unescape};
pub(crate) use write::{close, push_text};
