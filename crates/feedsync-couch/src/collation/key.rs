//! Keys of values: bytes whose order is the order of the values.
//!
//! A key begins with the tag of its kind. Strings end with a zero byte, which no sort key contains; arrays and
//! objects end with one, too, which is less than any tag. So no key is a prefix of another one, and the keys of
//! several values can be joined.
//!
//! A key that exceeds [`MAX_KEY_BYTES`] is cut off there. Therefore two different values can have the same key if it
//! has this length, but keys are never in the opposite order of their values. The keys of views have no such limit when
//! they are computed; see [`view`](crate::view).

use feedsync_formats::json::{Kind, Node};
use icu_collator::CollationKeySink;

use super::{COLLATOR, Text, number};
use crate::json::MAX_DEPTH;

/// Maximum size of a key or of several joined keys, in bytes. CouchDB has no such limit.
pub const MAX_KEY_BYTES: usize = 1_024;

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

/// The key has its maximum size.
struct Full;

/// Returns the key of a value of a checked text. Keys are in the order in which [`compare`](super::compare) has
/// the values, and are equal if it has them equal.
pub fn key(value: Node<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    push_key(&mut out, value);
    out
}

/// Appends the key of a value to the keys before it. The limit applies to all of them together.
pub fn push_key(out: &mut Vec<u8>, value: Node<'_>) {
    cut_off(out, |out| push_value(out, value, MAX_DEPTH, MAX_KEY_BYTES));
}

/// Appends the key of a string.
pub(crate) fn push_text_key(out: &mut Vec<u8>, text: Text<'_>) {
    cut_off(out, |out| push_text(out, text, MAX_KEY_BYTES));
}

/// Returns the key of a value without a limit of its size, and whether it is complete. It is not if the value has more
/// than [`MAX_DEPTH`] levels.
pub(crate) fn unlimited_key(value: Node<'_>) -> (Vec<u8>, bool) {
    let mut out = Vec::new();
    let pushed = push_value(&mut out, value, MAX_DEPTH, usize::MAX);
    (out, pushed.is_ok())
}

/// Returns the bytes with which the keys of all arrays begin that have the first elements of this one, without a limit
/// of their size, and whether they are complete.
pub(crate) fn unlimited_prefix(array: Node<'_>, elements: usize) -> (Vec<u8>, bool) {
    let mut out = vec![ARRAY];
    let mut first = array.elements().take(elements);
    let pushed =
        first.try_for_each(|element| push_value(&mut out, element, MAX_DEPTH - 1, usize::MAX));
    (out, pushed.is_ok())
}

fn cut_off(out: &mut Vec<u8>, push: impl FnOnce(&mut Vec<u8>) -> Result<(), Full>) {
    if out.len() < MAX_KEY_BYTES {
        let (Ok(()) | Err(Full)) = push(out);
        out.truncate(MAX_KEY_BYTES);
    }
}

/// Appends the key of a value that has at most this number of levels, until all keys exceed a size. Deeper values are not
/// in documents.
fn push_value(out: &mut Vec<u8>, value: Node<'_>, levels: usize, most: usize) -> Result<(), Full> {
    let inner = levels.checked_sub(1).ok_or(Full);
    match value.kind() {
        Kind::Null => out.push(NULL),
        Kind::Boolean => out.push(if value.raw() == "true" { TRUE } else { FALSE }),
        Kind::Number => number::push_key(out, value.raw()),
        Kind::String => push_text(out, Text::of(value), most)?,
        Kind::Array => {
            out.push(ARRAY);
            let levels = inner?;
            value.elements().try_for_each(|element| push_value(out, element, levels, most))?;
            out.push(END);
        }
        Kind::Object => {
            out.push(OBJECT);
            let levels = inner?;
            for member in value.members() {
                push_text(out, Text::quoted(member.quoted()), most)?;
                push_value(out, member.value, levels, most)?;
            }
            out.push(END);
        }
    }
    if out.len() < most { Ok(()) } else { Err(Full) }
}

fn push_text(out: &mut Vec<u8>, text: Text<'_>, most: usize) -> Result<(), Full> {
    out.push(STRING);
    COLLATOR.write_sort_key_to(&text.decoded(), &mut Limited { out, most })?;
    out.push(END);
    Ok(())
}

/// Ends the computation of a sort key when all keys have their maximum size.
struct Limited<'a> {
    out: &'a mut Vec<u8>,
    most: usize,
}

impl CollationKeySink for Limited<'_> {
    type Error = Full;
    type State = ();
    type Output = ();

    fn write(&mut self, (): &mut (), bytes: &[u8]) -> Result<(), Full> {
        self.out.extend_from_slice(bytes);
        if self.out.len() < self.most { Ok(()) } else { Err(Full) }
    }

    fn finish(&mut self, (): ()) -> Result<(), Full> {
        Ok(())
    }
}
