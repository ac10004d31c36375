//! Rows with keys that are alike, and their order as it is defined.

use std::cmp::Ordering;

use feedsync_formats::json::Node;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::collation::compare;
use crate::collation::tests::model::{Tree, any_tree, spell};
use crate::name::DocumentId;
use crate::view::position;

/// A row, without its value.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub key: String,
    pub document: String,
    pub nth: u32,
}

impl Row {
    pub(super) fn position(&self) -> Vec<u8> {
        position(Node::root(&self.key), &id(&self.document), self.nth)
    }

    /// The order as CouchDB defines it.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        order(&self.key, &other.key)
            .then_with(|| self.document.as_bytes().cmp(other.document.as_bytes()))
            .then_with(|| self.nth.cmp(&other.nth))
    }
}

pub(super) fn id(text: &str) -> DocumentId {
    text.parse().unwrap()
}

pub(super) fn order(one: &str, other: &str) -> Ordering {
    compare(Node::root(one), Node::root(other))
}

/// Keys of which many are equal, prefixes of others, or written differently.
pub(super) fn any_key() -> impl Strategy<Value = String> {
    let few = select(vec![
        "null",
        "false",
        "1",
        "1.0",
        "\"a\"",
        "\"\\u0061\"",
        "\"b\"",
        "[]",
        "{}",
        "{\"a\":1}",
    ]);
    let few = few.prop_map(str::to_owned).boxed();
    let array = vec(few.clone(), 0..4).prop_map(|it| format!("[{}]", it.join(" , "))).boxed();
    let nested = vec(array.clone(), 1..3).prop_map(|it| format!("[{}]", it.join(","))).boxed();
    let any = (any_tree(), any::<u64>()).prop_map(|(tree, seed)| spell(&tree, seed)).boxed();
    prop_oneof![3 => few, 3 => array, 1 => nested, 1 => any]
}

/// Ids of which some begin with others, and with the characters that are escaped.
pub(super) fn any_id() -> impl Strategy<Value = String> {
    let character = select(vec!['\0', '\u{1}', 'a', 'b', '\u{e4}', '\u{10ffff}']);
    vec(character, 1..4).prop_map(|text| text.into_iter().collect())
}

pub(super) fn any_row() -> impl Strategy<Value = Row> {
    let nth = select(vec![0, 1, 255, 256, u32::MAX]);
    (any_key(), any_id(), nth).prop_map(|(key, document, nth)| Row { key, document, nth })
}

/// A key that exceeds the limit: the same long text with an end.
pub(super) fn long_key(end: &str) -> String {
    spell(&Tree::Text("x".repeat(2_000).chars().chain(end.chars()).map(u32::from).collect()), 0)
}
