//! The order of JSON values in CouchDB's views and selectors, and keys whose byte order is the same.
//!
//! Kinds are in this order: null, false, true, numbers, strings, arrays, objects. Within a kind:
//! - Numbers compare by their exact value. CouchDB compares integers exactly, too, and others as doubles.
//! - Strings compare by the root collation of Unicode (CLDR), at its third level, as ICU does. Different
//!   strings can be equal, such as a letter with its accent and the same two as one character. Half of a
//!   surrogate pair counts as U+FFFD.
//! - Arrays compare element by element. If one is a prefix of the other, the shorter one is less.
//! - Objects compare member by member in the order in which they are written, each by its name and then by its
//!   value. If one is a prefix of the other, the shorter one is less.
//!
//! Source: CouchDB's documentation, "Views Collation", and its comparison of view keys.

use std::cmp::Ordering;

use feedsync_formats::json::{Kind, Node};
use icu_collator::CollatorBorrowed;
use icu_collator::options::CollatorOptions;

pub(crate) use text::Text;

mod key;
pub(crate) mod number;
mod text;

#[cfg(test)]
pub(crate) mod tests;

pub use key::{KEY_VERSION, MAX_KEY_BYTES, key, push_key};
pub(crate) use key::{push_text_key, unlimited_key, unlimited_prefix};

/// The root collation. It is built from data in the program, without tailorings for languages.
pub(crate) static COLLATOR: CollatorBorrowed<'static> =
    CollatorBorrowed::new_root(CollatorOptions::default());

/// Compares two values of checked texts in CouchDB's order.
///
/// The recursion is as deep as the shallower value. Texts are checked to have at most
/// [`MAX_DEPTH`](crate::MAX_DEPTH) levels, or few more.
pub fn compare(one: Node<'_>, other: Node<'_>) -> Ordering {
    compare_by(one, other, |one, other| one.collate(other))
}

/// Compares two values in the same way, except that strings compare by code points.
pub(crate) fn compare_raw(one: Node<'_>, other: Node<'_>) -> Ordering {
    compare_by(one, other, |one, other| one.compare(other))
}

fn compare_by(
    one: Node<'_>,
    other: Node<'_>,
    texts: fn(Text<'_>, Text<'_>) -> Ordering,
) -> Ordering {
    rank(one).cmp(&rank(other)).then_with(|| match one.kind() {
        Kind::Null | Kind::Boolean => Ordering::Equal,
        Kind::Number => number::compare(one.raw(), other.raw()),
        Kind::String => texts(Text::of(one), Text::of(other)),
        Kind::Array => {
            each(one.elements(), other.elements(), |one, other| compare_by(one, other, texts))
        }
        Kind::Object => each(one.members(), other.members(), |member, other| {
            texts(Text::quoted(member.quoted()), Text::quoted(other.quoted()))
                .then_with(|| compare_by(member.value, other.value, texts))
        }),
    })
}

fn rank(node: Node<'_>) -> u8 {
    match node.kind() {
        Kind::Null => 0,
        Kind::Boolean if node.raw() == "false" => 1,
        Kind::Boolean => 2,
        Kind::Number => 3,
        Kind::String => 4,
        Kind::Array => 5,
        Kind::Object => 6,
    }
}

/// Lexicographic order; a proper prefix is less.
fn each<T>(
    one: impl IntoIterator<Item = T>,
    other: impl IntoIterator<Item = T>,
    compare: impl Fn(T, T) -> Ordering,
) -> Ordering {
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    loop {
        let order = match (one.next(), other.next()) {
            (Some(one), Some(other)) => compare(one, other),
            (one, other) => return one.is_some().cmp(&other.is_some()),
        };
        if order.is_ne() {
            return order;
        }
    }
}
