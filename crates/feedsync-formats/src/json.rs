//! FeedSync JSON: `{"sharing": {...}, "items": [{..., "sync": {...}}]}`.
//!
//! The published text has one example, an item as created (3.1), and no word about collections,
//! conflicts or sharing; all else is by analogy (R-P3 to R-P10): an attribute is a member, a repeated
//! child an array named after the child. Promises:
//! - a payload is its object without `sync`, every other byte as it was (P6, R-P10);
//! - numbers and booleans are read as such or as strings, and written as strings (P8, R-P5, R-P6);
//! - unknown members stay where they are (R-P9);
//! - a fault in one item refuses that item and names line and column; a fault of well-formedness
//!   refuses the document.
//!
//! A payload is cut out by one rule: `sync` goes with the comma and the white space before it, and,
//! where it is the first member, with the comma after it. Written, it follows the last member. So
//! what was written reads back as the same payload, byte for byte.

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
pub use read::read;
pub(crate) use read::text_of;
pub use scan::{Flaw, Malformed, check, check_grammar};
pub use string::push as push_string;
pub use write::Writer;

pub(crate) use payload::{push_with, without};
pub(crate) use string::{push_escape, unescape};
pub(crate) use write::{close, push_text};
