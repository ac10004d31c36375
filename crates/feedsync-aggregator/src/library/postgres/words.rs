//! The words of a text, as the index stores them and as a query names them.
//!
//! A word is a run of letters and digits. Case and accents are removed. A part of a query that consists of several words,
//! such as `e-mail`, is found where they follow each other.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// PostgreSQL stores no position beyond this one.
const MAX_POSITION: usize = 16_000;

/// PostgreSQL stores no more positions of one word.
const MAX_POSITIONS: usize = 255;

/// Longer words cannot be searched for, since a query is not longer than that.
const MAX_WORD_BYTES: usize = crate::library::listing::MAX_QUERY_BYTES;

/// Sum of the sizes of the distinct words of an article. PostgreSQL's limit is 1 MiB, with what it adds to each word.
const MAX_WORDS_BYTES: usize = 800_000;

/// The distinct words of an article with their positions.
pub(super) struct Words {
    /// Text form of a `tsvector`.
    pub(super) vector: String,
    /// Whether some positions or words are missing, so that words that follow each other may not be found as such.
    pub(super) is_long: bool,
}

impl Words {
    /// The words of a title and a text. No part of a query is found across the two.
    pub(super) fn of(title: &str, plain: &str) -> Self {
        let mut all: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let (mut is_long, mut position, mut size) = (false, 0, 0);
        for text in [title, plain] {
            position += 1;
            for word in words(text) {
                position += 1;
                if word.len() > MAX_WORD_BYTES {
                    continue;
                }
                if !all.contains_key(&word) {
                    size += word.len() + 8;
                    if size > MAX_WORDS_BYTES {
                        is_long = true;
                        break;
                    }
                }
                let positions = all.entry(word).or_default();
                if position <= MAX_POSITION && positions.len() < MAX_POSITIONS {
                    positions.push(position);
                } else {
                    is_long = true;
                }
            }
        }
        let mut vector = String::new();
        for (word, positions) in all {
            let _ = write!(vector, "'{word}'");
            for (place, position) in positions.iter().enumerate() {
                let _ = write!(vector, "{}{position}", if place == 0 { ':' } else { ',' });
            }
            vector.push(' ');
        }
        Self { vector, is_long }
    }
}

/// The text form of two queries.
pub(super) struct Query {
    /// All words, wherever they are.
    pub(super) words: String,
    /// All words, with those of one part next to each other.
    pub(super) parts: String,
}

/// Builds the queries for all parts of a text between white space. `None` if there are no words.
pub(super) fn query(text: &str) -> Option<Query> {
    let is_gap = |character: char| character.is_whitespace() || character.is_control();
    let parts: Vec<Vec<String>> = text
        .split(is_gap)
        .map(|part| words(part).map(|word| format!("'{word}'")).collect())
        .filter(|words: &Vec<String>| !words.is_empty())
        .collect();
    let together: Vec<String> =
        parts.iter().map(|words| format!("({})", words.join(" <-> "))).collect();
    (!parts.is_empty())
        .then(|| Query { words: parts.concat().join(" & "), parts: together.join(" & ") })
}

/// The words of a text in their order.
fn words(text: &str) -> impl Iterator<Item = String> {
    let is_part = |character: char| character.is_alphanumeric() || is_combining_mark(character);
    text.split(move |character| !is_part(character)).map(folded).filter(|word| !word.is_empty())
}

/// A word without case and accents.
fn folded(word: &str) -> String {
    let lower = word.nfd().flat_map(char::to_lowercase);
    // Some letters have accents only in lower case, and sigma has a form of its own at the end of a word.
    let plain = lower.nfd().map(|character| if character == 'ς' { 'σ' } else { character });
    plain
        .filter(|character| character.is_alphanumeric() && !is_combining_mark(*character))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_without_case_and_accents() {
        let told: Vec<String> =
            words("Ünï-cödé İstanbul, ΑΣ ας 日本語 e\u{301}a x\u{0}y '\\").collect();
        assert_eq!(told, ["uni", "code", "istanbul", "ασ", "ασ", "日本語", "ea", "x", "y"]);
    }

    #[test]
    fn a_part_of_a_query_consists_of_words_next_to_each_other() {
        let query = query("e-mail \t'now' -- ").unwrap();
        assert_eq!(query.words, "'e' & 'mail' & 'now'");
        assert_eq!(query.parts, "('e' <-> 'mail') & ('now')");
        assert!(super::query(" - ").is_none());
    }

    #[test]
    fn positions_of_the_title_and_the_text_do_not_touch() {
        let words = Words::of("a b", "c a");
        assert_eq!((&*words.vector, words.is_long), ("'a':2,6 'b':3 'c':5 ", false));
    }

    #[test]
    fn words_of_an_extreme_text_are_bounded() {
        let text: String = (0..300_000).map(|number| format!("{number} ")).collect();
        let words = Words::of("", &text);
        assert!(words.is_long && words.vector.len() < 1_200_000);
        let many = Words::of("", &"a ".repeat(300));
        assert_eq!((many.is_long, many.vector.matches(',').count()), (true, MAX_POSITIONS - 1));
    }
}
