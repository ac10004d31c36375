//! JSON strings, compared by code points or by the root collation.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::str::Chars;

use feedsync_formats::json::Node;

use super::COLLATOR;

/// A string: the text between the quotes, or a plain text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a> {
    text: &'a str,
    has_escapes: bool,
}

impl<'a> Text<'a> {
    /// A JSON string.
    pub(crate) fn of(string: Node<'a>) -> Self {
        Self::quoted(string.raw())
    }

    /// A JSON string as written, with its quotes.
    pub(crate) fn quoted(raw: &'a str) -> Self {
        let text = raw.strip_prefix('"').unwrap_or(raw);
        let text = text.strip_suffix('"').unwrap_or(text);
        Self { text, has_escapes: text.contains('\\') }
    }

    /// A plain text.
    pub(crate) fn plain(text: &'a str) -> Self {
        Self { text, has_escapes: false }
    }

    /// Compares by code points, which is the byte order of UTF-8.
    pub(crate) fn compare(self, other: Text<'_>) -> Ordering {
        if self.has_escapes || other.has_escapes {
            self.points().cmp(other.points())
        } else {
            self.text.cmp(other.text)
        }
    }

    /// Compares by the root collation; half of a surrogate pair counts as U+FFFD.
    pub(crate) fn collate(self, other: Text<'_>) -> Ordering {
        COLLATOR.compare(&self.decoded(), &other.decoded())
    }

    pub(crate) fn starts_with(self, prefix: Text<'_>) -> bool {
        let mut points = self.points();
        prefix.points().all(|point| points.next() == Some(point))
    }

    /// The decoded text; `None` for a string with half of a surrogate pair.
    pub(crate) fn to_text(self) -> Option<String> {
        self.points().map(char::from_u32).collect()
    }

    /// The decoded text, in which U+FFFD stands for half of a surrogate pair.
    pub(crate) fn decoded(self) -> Cow<'a, str> {
        if !self.has_escapes {
            return Cow::Borrowed(self.text);
        }
        let points = self.points();
        points.map(|point| char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    }

    /// Its code points, including halves of surrogate pairs.
    fn points(self) -> Points<'a> {
        Points { rest: self.text.chars(), has_escapes: self.has_escapes }
    }
}

struct Points<'a> {
    rest: Chars<'a>,
    has_escapes: bool,
}

impl Iterator for Points<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let next = self.rest.next()?;
        if next != '\\' || !self.has_escapes {
            return Some(next.into());
        }
        let point = match self.rest.next()? {
            'b' => 0x8,
            'f' => 0xc,
            'n' => 0xa,
            'r' => 0xd,
            't' => 0x9,
            'u' => return Some(self.escape()),
            other => other.into(),
        };
        Some(point)
    }
}

impl Points<'_> {
    /// Decodes the characters after `\u`.
    fn escape(&mut self) -> u32 {
        let first = hexadecimal(&mut self.rest);
        if !(0xd800..0xdc00).contains(&first) {
            return first;
        }
        let mut ahead = self.rest.clone();
        if (ahead.next(), ahead.next()) == (Some('\\'), Some('u')) {
            let second = hexadecimal(&mut ahead);
            if (0xdc00..0xe000).contains(&second) {
                self.rest = ahead;
                return 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            }
        }
        first
    }
}

fn hexadecimal(digits: &mut Chars<'_>) -> u32 {
    digits.take(4).fold(0, |number, digit| number * 16 + digit.to_digit(16).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_what_they_stand_for() {
        let points = |raw: &str| Text::of(Node::root(raw)).points().collect::<Vec<_>>();
        assert_eq!(
            points("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\""),
            points_of("\"\\/\u{8}\u{c}\n\r\té")
        );
        assert_eq!(points("\"\\ud83d\\ude00\""), points_of("😀"));
        assert_eq!(points("\"\\ud83d\\u0041\""), [0xd83d, 0x41]);
        assert_eq!(points("\"\\ud83d\\ud83d\\ude00\""), [0xd83d, 0x1f600]);
        assert_eq!(points("\"\\ude00\\ud83d\""), [0xde00, 0xd83d]);
        assert_eq!(Text::of(Node::root("\"\\ud83dx\"")).to_text(), None);
        assert_eq!(Text::plain("a\\n").to_text().as_deref(), Some("a\\n"));
    }

    #[test]
    fn order_is_that_of_bytes_however_spelt() {
        let order = ["", "\\u0000", "\\\"", "Z", "\\u007a", "\\u00e9", "\\ud800", "\u{ffff}", "😀"];
        for (at, one) in order.iter().enumerate() {
            for (other_at, other) in order.iter().enumerate() {
                let (one, other) = (format!("\"{one}\""), format!("\"{other}\""));
                let (one, other) = (Text::of(Node::root(&one)), Text::of(Node::root(&other)));
                assert_eq!(one.compare(other), at.cmp(&other_at), "{one:?} {other:?}");
                assert_eq!(one.starts_with(other), other_at == 0 || at == other_at);
            }
        }
    }

    fn points_of(text: &str) -> Vec<u32> {
        text.chars().map(u32::from).collect()
    }
}
