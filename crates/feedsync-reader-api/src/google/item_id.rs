//! Spellings of article numbers.

use std::fmt;
use std::str::FromStr;

use percent_encoding::percent_decode_str;

use crate::shown::ArticleNumber;

const LONG: &str = "tag:google.com,2005:reader/item/";

/// An article as a newsreader names it.
///
/// The accepted forms are the long form (which is written here: a fixed prefix and up to sixteen hexadecimal
/// digits), those sixteen digits alone, and a decimal number with or without a sign. Sixteen digits that could be
/// decimal are parsed as decimal unless they begin with a zero. This agrees with all servers that derive article
/// numbers from the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemId(pub ArticleNumber);

/// Error for a text that names no article.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not the id of an item: use a number, 16 hexadecimal digits, or {LONG} and up to 16 \
     hexadecimal digits"
)]
pub struct ItemIdError;

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{LONG}{:016x}", self.0.get())
    }
}

impl FromStr for ItemId {
    type Err = ItemIdError;
    fn from_str(text: &str) -> Result<Self, ItemIdError> {
        let text = percent_decode_str(text).decode_utf8().map_err(|_| ItemIdError)?;
        let number = match text.strip_prefix(LONG) {
            Some(digits) => hexadecimal(digits),
            None if text.len() == 16 && !is_decimal(&text) => hexadecimal(&text),
            None => decimal(&text),
        };
        number.map(|number| Self(ArticleNumber::new(number))).ok_or(ItemIdError)
    }
}

fn is_decimal(text: &str) -> bool {
    !text.starts_with('0') && text.strip_prefix('-').unwrap_or(text).bytes().all(is_digit)
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

fn hexadecimal(digits: &str) -> Option<i64> {
    let is_legal =
        (1..=16).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u64::from_str_radix(digits, 16).ok().filter(|_| is_legal)?;
    Some(number.cast_signed())
}

fn decimal(text: &str) -> Option<i64> {
    if !text.strip_prefix('-').unwrap_or(text).bytes().all(is_digit) {
        return None;
    }
    text.parse::<i64>().ok().or_else(|| text.parse().ok().map(u64::cast_signed))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Option<i64> {
        text.parse().ok().map(|id: ItemId| id.0.get())
    }

    #[test]
    fn invalid_item_ids_are_rejected() {
        for other in [
            "",
            "-",
            "+1",
            "--1",
            "x",
            "1f",
            "0x1f",
            "18446744073709551616",
            "-9223372036854775809",
            "00000000000001g0",
            "+000000000000001",
            "tag:google.com,2005:reader/item/",
            "tag:google.com,2005:reader/item/00000000000000001",
            "tag:google.com,2005:reader/item/-1",
            "tag:google.com,2005:reader/item/+1",
            "%ff",
            "\u{661}",
        ] {
            assert_eq!(number(other), None, "{other}");
        }
    }

    #[test]
    fn sixteen_digits_are_decimal_unless_they_cannot_be() {
        assert_eq!(number("1795330800000000"), Some(1_795_330_800_000_000));
        assert_eq!(number("0000000000000010"), Some(16));
        assert_eq!(number("ffffffffffffffff"), Some(-1));
        assert_eq!(number("-123456789012345"), Some(-123_456_789_012_345));
        assert_eq!(number("tag:google.com,2005:reader/item/1f"), Some(31));
    }

    proptest! {
        #[test]
        fn every_spelling_is_the_same_article(id in prop_oneof![any::<i64>(), 0..100_000_i64]) {
            let long = ItemId(ArticleNumber::new(id)).to_string();
            let encoded = long.replace(':', "%3A").replace('/', "%2F").replace(',', "%2c");
            let mut spellings = vec![
                long.to_ascii_uppercase().replace(&LONG.to_ascii_uppercase(), LONG),
                encoded,
                format!("{LONG}{id:x}"),
                id.to_string(),
                id.cast_unsigned().to_string(),
                long,
            ];
            let short = format!("{id:016x}");
            if !is_decimal(&short) {
                spellings.extend([short.to_ascii_uppercase(), short]);
            }
            for spelling in spellings {
                prop_assert_eq!(number(&spelling), Some(id), "{}", spelling);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>(), hex in "[0-9a-f%-]{0,20}") {
            let _ = (number(&text), number(&hex), number(&format!("{LONG}{hex}")));
        }
    }
}
