//! Random JSON trees, written in every possible spelling.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// A value. Texts are code points, since JSON strings may contain half surrogate pairs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    Null,
    Boolean(bool),
    /// The first number times ten to the power of the second. It is written as an integer exactly if the
    /// power is zero.
    Number(i64, i32),
    Text(Vec<u32>),
    List(Vec<Tree>),
    Map(Vec<(Vec<u32>, Tree)>),
}

pub(crate) fn points(text: &str) -> Vec<u32> {
    text.chars().map(u32::from).collect()
}

pub(crate) fn text(text: &str) -> Tree {
    Tree::Text(points(text))
}

pub(crate) fn map<const N: usize>(members: [(&str, Tree); N]) -> Tree {
    Tree::Map(members.into_iter().map(|(name, value)| (points(name), value)).collect())
}

/// Writes the tree; the seed selects the spelling.
pub(crate) fn spell(tree: &Tree, seed: u64) -> String {
    let mut out = String::new();
    Speller { out: &mut out, seed }.value(tree);
    out
}

struct Speller<'a> {
    out: &'a mut String,
    seed: u64,
}

impl Speller<'_> {
    fn choice(&mut self, of: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.seed >> 33) % of
    }

    fn blank(&mut self) {
        let blank = ["", "", "", " ", "\n\t"][self.choice(5) as usize];
        self.out.push_str(blank);
    }

    fn value(&mut self, tree: &Tree) {
        self.blank();
        match tree {
            Tree::Null => self.out.push_str("null"),
            Tree::Boolean(boolean) => write!(self.out, "{boolean}").unwrap(),
            Tree::Number(number, 0) => write!(self.out, "{number}").unwrap(),
            Tree::Number(number, power) => match self.choice(if *number == 0 { 2 } else { 3 }) {
                0 => write!(self.out, "{number}e{power}").unwrap(),
                1 => write!(self.out, "{number}.00E{power:+}").unwrap(),
                _ => write!(self.out, "{number}000e{}", power - 3).unwrap(),
            },
            Tree::Text(text) => self.text(text),
            Tree::List(list) => self.parts('[', list, ']', Self::value),
            Tree::Map(map) => self.parts('{', map, '}', |speller, (name, value)| {
                speller.blank();
                speller.text(name);
                speller.blank();
                speller.out.push(':');
                speller.value(value);
            }),
        }
        self.blank();
    }

    fn parts<T>(&mut self, open: char, parts: &[T], close: char, write: impl Fn(&mut Self, &T)) {
        self.out.push(open);
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            write(self, part);
        }
        self.blank();
        self.out.push(close);
    }

    fn text(&mut self, text: &[u32]) {
        self.out.push('"');
        for point in text {
            match char::from_u32(*point) {
                Some(plain @ (' ' | '!' | '#'..='[' | ']'..)) if self.choice(3) > 0 => {
                    self.out.push(plain);
                }
                Some(short @ ('"' | '\\' | '/')) => self.out.extend(['\\', short]),
                Some(character) => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        write!(self.out, "\\u{unit:04X}").unwrap();
                    }
                }
                None => write!(self.out, "\\u{point:04x}").unwrap(),
            }
        }
        self.out.push('"');
    }
}

/// Names of fields; `\u{d800}` represents half a pair, which selectors cannot name.
pub(crate) const NAMES: [&str; 8] = ["a", "b", "type", "0", "a.b", "ü", "\u{fffd}", "😀"];

pub(crate) fn any_text() -> impl Strategy<Value = Vec<u32>> {
    prop_oneof![
        select(vec!["", "leaf", "le", "plain", "a", "h:1", "h;", "é\n", "😀"]).prop_map(points),
        vec(select(vec![0x61, 0x68, 0xd800, 0xdc00, 0xfffd, 0x1f600]), 0..3).prop_map(paired),
    ]
}

/// Two adjacent halves are one pair.
pub(crate) fn paired(points: Vec<u32>) -> Vec<u32> {
    let mut text: Vec<u32> = Vec::new();
    for point in points {
        match text.last_mut() {
            Some(last @ 0xd800) if point == 0xdc00 => *last = 0x10000,
            _ => text.push(point),
        }
    }
    text
}

pub(crate) fn any_number() -> impl Strategy<Value = (i64, i32)> {
    let number = select(vec![-7, -1, 0, 1, 2, 3, 10, 100, 9007199254740992, 9007199254740993]);
    (number, prop_oneof![3 => Just(0), 1 => -3..4])
}

fn any_scalar() -> impl Strategy<Value = Tree> {
    prop_oneof![
        1 => Just(Tree::Null),
        1 => any::<bool>().prop_map(Tree::Boolean),
        3 => any_number().prop_map(|(number, power)| Tree::Number(number, power)),
        4 => any_text().prop_map(Tree::Text),
    ]
}

/// A value whose members are named like fields.
pub(crate) fn any_tree() -> impl Strategy<Value = Tree> {
    any_scalar().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Tree::List),
            any_members(inner).prop_map(Tree::Map),
        ]
    })
}

fn any_members(inner: impl Strategy<Value = Tree>) -> impl Strategy<Value = Vec<(Vec<u32>, Tree)>> {
    let name = prop_oneof![
        6 => select(vec!["a", "b"]).prop_map(points),
        4 => select(NAMES.to_vec()).prop_map(points),
        1 => Just(vec![0xd800]),
    ];
    vec((name, inner), 0..5)
}

/// The fields of a document that are in its body.
pub(crate) fn any_body() -> impl Strategy<Value = Tree> {
    let kind = prop_oneof![
        2 => Just(None),
        3 => any_text().prop_map(|text| Some(Tree::Text(text))),
        1 => any_tree().prop_map(Some),
    ];
    (kind, any_members(any_tree())).prop_map(|(kind, mut members)| {
        members.extend(kind.map(|kind| (points("type"), kind)));
        Tree::Map(members)
    })
}
