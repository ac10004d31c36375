//! Keys of values: bytes whose order is the order of the values.
//!
//! A key begins with the tag of its kind. Strings end with a zero byte, which no sort key contains; arrays and
//! objects end with one, too, which is less than any tag. So no key is a prefix of another one, and the keys of
//! several values can be joined.

use std::convert::Infallible;

use feedsync_formats::json::{Kind, Node};
use thiserror::Error;

use super::{COLLATOR, Text, number};
use crate::json::MAX_DEPTH;

/// Maximum size of a key or of several joined keys, in bytes. CouchDB has no such limit.
pub const MAX_KEY_BYTES: usize = 64 << 10;

/// Version of the keys. It changes when the order of strings changes, which new versions of Unicode cause. Stored
/// keys of another version must be computed again.
pub const KEY_VERSION: u32 = 1;

const END: u8 = 0;
const NULL: u8 = 1;
const FALSE: u8 = 2;
const TRUE: u8 = 3;
pub(super) const NEGATIVE: u8 = 4;
pub(super) const ZERO: u8 = 5;
pub(super) const POSITIVE: u8 = 6;
const STRING: u8 = 7;
const ARRAY: u8 = 8;
const OBJECT: u8 = 9;

/// Why a value has no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key exceeds [`MAX_KEY_BYTES`].
    #[error("the key of an index can have at most {MAX_KEY_BYTES} bytes")]
    TooLong,
    /// The value exceeds [`MAX_DEPTH`].
    #[error("the value of an index can have at most {MAX_DEPTH} levels")]
    TooDeep,
}

/// Returns the key of a value of a checked text. Keys are in the order in which [`compare`](super::compare) has
/// the values, and are equal if it has them equal.
pub fn key(value: Node<'_>) -> Result<Vec<u8>, KeyError> {
    let mut out = Vec::new();
    push_key(&mut out, value)?;
    Ok(out)
}

/// Appends the key of a value to the keys before it. The limit applies to all of them together.
///
/// After an error the appended bytes are of no use.
pub fn push_key(out: &mut Vec<u8>, value: Node<'_>) -> Result<(), KeyError> {
    if value.is_deeper_than(MAX_DEPTH) {
        return Err(KeyError::TooDeep);
    }
    push_value(out, value)
}

/// Appends the key of a string.
pub(crate) fn push_text_key(out: &mut Vec<u8>, text: Text<'_>) -> Result<(), KeyError> {
    out.push(STRING);
    let text = text.decoded();
    if text.len() > MAX_KEY_BYTES {
        return Err(KeyError::TooLong);
    }
    let written: Result<(), Infallible> = COLLATOR.write_sort_key_to(&text, out);
    match written {
        Ok(()) => out.push(END),
    }
    check(out)
}

fn push_value(out: &mut Vec<u8>, value: Node<'_>) -> Result<(), KeyError> {
    match value.kind() {
        Kind::Null => out.push(NULL),
        Kind::Boolean => out.push(if value.raw() == "true" { TRUE } else { FALSE }),
        Kind::Number => number::push_key(out, value.raw()),
        Kind::String => push_text_key(out, Text::of(value))?,
        Kind::Array => {
            out.push(ARRAY);
            value.elements().try_for_each(|element| push_value(out, element))?;
            out.push(END);
        }
        Kind::Object => {
            out.push(OBJECT);
            for member in value.members() {
                push_text_key(out, Text::quoted(member.quoted()))?;
                push_value(out, member.value)?;
            }
            out.push(END);
        }
    }
    check(out)
}

fn check(out: &[u8]) -> Result<(), KeyError> {
    if out.len() > MAX_KEY_BYTES { Err(KeyError::TooLong) } else { Ok(()) }
}
