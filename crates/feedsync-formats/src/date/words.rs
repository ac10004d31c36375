//! Splits a date into words: numbers, names and signs.

use std::ops::Range;

/// A word of a date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// ASCII digits.
    Number(String),
    /// Letters, in lower case, without accents.
    Name(String),
    /// Any other character.
    Sign(char),
    /// White space.
    Space,
    /// A word that was already parsed.
    Taken,
}

impl Word {
    /// Returns the digits of a number.
    pub(super) fn digits(&self) -> Option<&str> {
        match self {
            Self::Number(digits) => Some(digits),
            _ => None,
        }
    }
}

/// Splits a text into words.
pub(super) fn split(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let characters = text.chars().flat_map(char::to_lowercase).filter(|c| !is_mark(*c));
    for character in characters.map(plain) {
        match (words.last_mut(), character) {
            (Some(Word::Number(digits)), '0'..='9') => digits.push(character),
            (Some(Word::Name(name)), _) if character.is_alphabetic() => name.push(character),
            (_, '0'..='9') => words.push(Word::Number(character.into())),
            (Some(Word::Space), _) if character.is_whitespace() => {}
            _ if character.is_alphabetic() => words.push(Word::Name(character.into())),
            _ if character.is_whitespace() => words.push(Word::Space),
            _ => words.push(Word::Sign(character)),
        }
    }
    words
}

/// Finds two or three numbers with the same sign between them. Returns their range, the sign and the digits.
pub(super) fn numbers(words: &[Word]) -> Option<(Range<usize>, char, Vec<String>)> {
    let starts = (0..words.len()).filter(|at| words[*at].digits().is_some());
    let found = starts.filter_map(|start| {
        let mut parts = vec![words[start].digits()?.to_owned()];
        let (mut end, mut between) = (start + 1, None);
        while parts.len() < 3 {
            let sign = match words.get(end) {
                Some(Word::Sign(sign @ ('-' | '/' | '.'))) => *sign,
                _ => break,
            };
            // Dates such as "6. 5. 2024" have a space after each dot.
            let is_spaced = sign == '.' && words.get(end + 1) == Some(&Word::Space);
            let next = end + 1 + usize::from(is_spaced);
            let Some(digits) = words.get(next).and_then(Word::digits) else { break };
            if between.is_some_and(|known| known != sign) {
                break;
            }
            between = Some(sign);
            parts.push(digits.to_owned());
            end = next + 1;
        }
        let is_date = parts.len() == 3 || parts[0].len() == 4;
        between.filter(|_| is_date).map(|sign| (start..end, sign, parts))
    });
    found.max_by_key(|(range, _, parts)| (parts.len(), std::cmp::Reverse(range.start)))
}

/// Whether the character is a combining mark that modifies the letter before it.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

/// Removes the accent of a letter, and maps a minus sign to a hyphen and the units of East Asian dates to separators.
fn plain(character: char) -> char {
    match character {
        'á' | 'à' | 'â' | 'ä' | 'ã' | 'å' | 'ą' | 'ă' => 'a',
        'ç' | 'č' | 'ć' => 'c',
        'ď' => 'd',
        'é' | 'è' | 'ê' | 'ë' | 'ě' | 'ę' => 'e',
        'ğ' => 'g',
        'í' | 'ì' | 'î' | 'ï' | 'ı' => 'i',
        'ł' => 'l',
        'ñ' | 'ň' | 'ń' => 'n',
        'ó' | 'ò' | 'ô' | 'ö' | 'õ' | 'ø' | 'ő' => 'o',
        'ř' => 'r',
        'š' | 'ś' | 'ş' => 's',
        'ť' => 't',
        'ú' | 'ù' | 'û' | 'ü' | 'ů' | 'ű' => 'u',
        'ý' => 'y',
        'ž' | 'ź' | 'ż' => 'z',
        'ё' => 'е',
        '\u{2212}' | '\u{2010}' | '\u{2011}' => '-',
        '年' | '년' | '月' | '월' => '.',
        '時' | '时' | '点' | '시' | '分' | '분' => ':',
        '日' | '일' | '秒' | '초' => ' ',
        _ => character,
    }
}
