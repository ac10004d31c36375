//! Laws of the order and of keys, and the published order of CouchDB.

use std::cmp::Ordering;

use feedsync_formats::json::Node;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use sha2::{Digest, Sha256};

use super::{KEY_VERSION, MAX_KEY_BYTES, Text, compare, key, push_key, push_text_key};
use crate::json::MAX_DEPTH;
use model::{Tree, any_tree, spell};

pub(crate) mod model;

/// Characters of one order in three levels, ignorable ones, contractions, and halves of surrogate pairs.
const POINTS: [u32; 24] = [
    0x0, 0x1, 0x20, 0x2d, 0x30, 0x61, 0x41, 0xe4, 0xc4, 0x308, 0x301, 0x62, 0x68, 0xdf, 0x73,
    0x4e00, 0xac00, 0x1100, 0x1161, 0xfffd, 0xfffe, 0xffff, 0xd800, 0x1f600,
];

/// A value with texts that are alike.
fn any_value() -> impl Strategy<Value = Tree> {
    let text = || vec(select(POINTS.to_vec()), 0..4).prop_map(model::paired);
    let leaf = prop_oneof![2 => text().prop_map(Tree::Text), 1 => any_tree()];
    leaf.prop_recursive(2, 8, 3, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Tree::List),
            vec((text(), inner), 0..3).prop_map(Tree::Map),
        ]
    })
}

fn order(one: &str, other: &str) -> Ordering {
    compare(Node::root(one), Node::root(other))
}

fn key_of(text: &str) -> Vec<u8> {
    key(Node::root(text))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn keys_have_the_order_of_values(one in any_value(), other in any_value(), seed: u64) {
        for (one, other) in [(&one, &other), (&one, &one)] {
            let (one, other) = (spell(one, seed), spell(other, !seed));
            let by_key = key_of(&one).cmp(&key_of(&other));
            prop_assert_eq!(order(&one, &other), by_key, "{} {}", one, other);
        }
    }

    #[test]
    fn the_order_is_total(values in vec(any_value(), 3), seed: u64) {
        let values: Vec<_> = values.iter().map(|value| spell(value, seed)).collect();
        let [one, two, three] = values.as_slice() else { unreachable!() };
        prop_assert!(order(one, one).is_eq());
        prop_assert_eq!(order(one, two), order(two, one).reverse());
        if order(one, two).is_le() && order(two, three).is_le() {
            prop_assert!(order(one, three).is_le());
        }
    }

    #[test]
    fn joined_keys_have_the_order_of_lists_of_values(
        one in vec(any_value(), 0..4),
        other in vec(any_value(), 0..4),
        seed: u64,
    ) {
        let joined = |values: &[Tree]| {
            let mut out = Vec::new();
            for value in values {
                push_key(&mut out, Node::root(&spell(value, seed)));
            }
            out
        };
        let (keys, other_keys) = (joined(&one), joined(&other));
        let (one, other) = (spell(&Tree::List(one), seed), spell(&Tree::List(other), seed));
        prop_assert_eq!(order(&one, &other), keys.cmp(&other_keys), "{} {}", one, other);
    }

    /// Keys that are cut off are not in the opposite order.
    #[test]
    fn long_keys_have_the_order_of_values(
        one in vec(any_value(), 1..4),
        other in vec(any_value(), 1..4),
        repeated in 1..400_usize,
        seed: u64,
    ) {
        let long = |values: Vec<Tree>, last: Tree| {
            let count = values.len() * repeated;
            let values = values.into_iter().cycle().take(count).chain([last]).collect();
            spell(&Tree::List(values), seed)
        };
        let last = |values: &[Tree]| values[0].clone();
        let texts = [
            long(one.clone(), last(&other)), long(one.clone(), last(&one)), long(other.clone(), last(&one)),
        ];
        for (one, other) in [(&texts[0], &texts[1]), (&texts[1], &texts[2])] {
            let (by_key, by_value) = (key_of(one).cmp(&key_of(other)), order(one, other));
            let is_cut_off = key_of(one).len() == MAX_KEY_BYTES;
            prop_assert!(by_key == by_value || by_key.is_eq() && is_cut_off, "{} {}", one, other);
        }
    }

    #[test]
    fn a_zero_byte_ends_the_key_of_a_string_and_is_not_in_it(
        text in vec(select(POINTS.to_vec()), 0..9).prop_map(model::paired),
        seed: u64,
    ) {
        let key = key_of(&spell(&Tree::Text(text), seed));
        prop_assert_eq!(key.iter().position(|byte| *byte == 0), Some(key.len() - 1));
    }

    #[test]
    fn no_key_begins_another_key(one in any_value(), other in any_value(), seed: u64) {
        let (one, other) = (key_of(&spell(&one, seed)), key_of(&spell(&other, seed)));
        prop_assert!(one == other || !one.starts_with(&other));
    }

    #[test]
    fn keys_of_numbers_have_their_order(
        one in "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?(e[+-]?[0-9]{1,40})?",
        other in "-?(0|[1-9][0-9]{0,2})(\\.[0-9]{1,3})?(e[+-]?[0-9]{1,3})?",
    ) {
        let nearby = one.replacen('1', "2", 1);
        for other in [&other, &nearby] {
            prop_assert_eq!(order(&one, other), key_of(&one).cmp(&key_of(other)), "{} {}", one, other);
        }
    }
}

/// The order in CouchDB's documentation ("Collation Specification").
#[test]
fn values_have_the_order_of_couchdb() {
    let published = [
        "null",
        "false",
        "true",
        "1",
        "2",
        "3.0",
        "4",
        "\"a\"",
        "\"A\"",
        "\"aa\"",
        "\"b\"",
        "\"B\"",
        "\"ba\"",
        "\"bb\"",
        "[\"a\"]",
        "[\"b\"]",
        "[\"b\",\"c\"]",
        "[\"b\",\"c\",\"a\"]",
        "[\"b\",\"d\"]",
        "[\"b\",\"d\",\"e\"]",
        "{\"a\":1}",
        "{\"a\":2}",
        "{\"b\":1}",
        "{\"b\":2}",
        "{\"b\":2,\"a\":1}",
        "{\"b\":2,\"c\":2}",
    ];
    assert_increasing(&published);
    // "Key ranges" and the notes before it, and the bounds that applications use.
    assert_increasing(&["\"abc\"", "\"Abc\"", "\"ABC\"", "\"abc1\"", "\"AbcZZZZZ\""]);
    assert_increasing(&["\"~\"", "\"0\"", "\"a\"", "\"A\"", "\"aa\"", "\"Aa\"", "\"\\ufff0\""]);
    assert_increasing(&[
        "-12.3", "-12", "-1.1", "-1", "-0.1", "0", "0.1", "1", "1.1", "12", "12.3",
    ]);
    assert_increasing(&["[]", "[null]", "[{}]", "[{},null]", "{}", "{\"\":null}"]);
}

fn assert_increasing(values: &[&str]) {
    for (at, one) in values.iter().enumerate() {
        for (other_at, other) in values.iter().enumerate() {
            assert_eq!(order(one, other), at.cmp(&other_at), "{one} {other}");
            assert_eq!(key_of(one).cmp(&key_of(other)), at.cmp(&other_at), "{one} {other}");
        }
    }
}

#[test]
fn values_that_are_written_differently_can_be_equal() {
    for (one, other) in [
        ("1", "1.0"),
        ("-0", "0e5"),
        ("9007199254740993", "9007199254740993.0"),
        ("\"\u{e4}\"", "\"a\u{308}\""),
        ("\"a\\u0000\"", "\"a\""),
        ("\"\\ud800\"", "\"\u{fffd}\""),
        ("{\"\u{e4}\":1}", "{\"a\\u0308\":1e0}"),
    ] {
        assert!(order(one, other).is_eq(), "{one} {other}");
        assert_eq!(key_of(one), key_of(other), "{one} {other}");
    }
    assert!(order("9007199254740992", "9007199254740993").is_lt());
}

#[test]
fn long_keys_are_cut_off() {
    let text = |length: usize, last: &str| format!("\"{}{last}\"", "\u{3042}".repeat(length));
    let list = |length: usize, last: &str| format!("[{}{last}]", "1,".repeat(length));
    let number = |length: usize, last: &str| format!("{}{last}", "1".repeat(2 * length));
    for long in [text, list, number] {
        let [one, other] = [long(MAX_KEY_BYTES, "1"), long(MAX_KEY_BYTES, "2")];
        assert!(order(&one, &other).is_lt());
        assert_eq!(key_of(&one), key_of(&other));
        assert_eq!(key_of(&one).len(), MAX_KEY_BYTES);
        let [one, other] = [long(MAX_KEY_BYTES / 8, "1"), long(MAX_KEY_BYTES / 8, "2")];
        assert!(key_of(&one) < key_of(&other));
    }
    let ignorable = format!("\"{}a\"", "\\u0000".repeat(MAX_KEY_BYTES));
    assert_eq!(key_of(&ignorable), key_of("\"a\""));
    let zeros = "0".repeat(2 * MAX_KEY_BYTES);
    assert_eq!(key_of(&format!("1{zeros}e-{}", zeros.len())), key_of("1"));
    let mut joined = vec![0; MAX_KEY_BYTES - 1];
    for _ in 0..2 {
        push_key(&mut joined, Node::root("null"));
        assert_eq!(joined.len(), MAX_KEY_BYTES);
    }
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    assert!(key_of(&deep(MAX_DEPTH - 1)) < key_of(&deep(MAX_DEPTH)));
    assert!(key_of(&deep(MAX_DEPTH + 1_000_000)).len() <= MAX_KEY_BYTES);
}

/// If this fails after an update of the collation, stored keys are out of date: increment [`KEY_VERSION`] and
/// write the new digest.
#[test]
fn order_of_characters_belongs_to_the_version_of_keys() {
    let mut all = Sha256::new();
    for character in (0..=0x10_ffff).step_by(3).filter_map(char::from_u32) {
        let mut out = Vec::new();
        push_text_key(&mut out, Text::plain(character.encode_utf8(&mut [0; 4])));
        all.update(&out);
    }
    all.update(key_of("[null,false,true,-12.5,0,1e300,\"a\",{\"a\":[]}]"));
    let digest: String = all.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!((KEY_VERSION, &*digest), (1, "4b803733726c7b3e"));
}
