//! Decodes and encodes JSON strings.

use std::borrow::Cow;

/// Decodes a quoted string. U+FFFD replaces each part that is not valid according to RFC 8259.
pub(crate) fn decode(quoted: &str) -> Cow<'_, str> {
    let inner = quoted.strip_prefix('"').unwrap_or(quoted);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    if inner.contains('\\') { Cow::Owned(unescape(inner)) } else { Cow::Borrowed(inner) }
}

/// Decodes the escapes in a text.
pub(crate) fn unescape(escaped: &str) -> String {
    let mut text = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(backslash) = rest.find('\\') {
        text.push_str(&rest[..backslash]);
        rest = &rest[backslash..];
        let (character, length) = match rest.as_bytes().get(1) {
            Some(b'b') => ('\u{8}', 2),
            Some(b'f') => ('\u{c}', 2),
            Some(b'n') => ('\n', 2),
            Some(b'r') => ('\r', 2),
            Some(b't') => ('\t', 2),
            Some(&byte @ (b'"' | b'\\' | b'/')) => (char::from(byte), 2),
            _ => match unicode_escape(rest.as_bytes()) {
                Some((character, length)) => (character.unwrap_or('\u{fffd}'), length),
                None => ('\u{fffd}', 1),
            },
        };
        text.push(character);
        rest = &rest[length..];
    }
    text.push_str(rest);
    text
}

/// Decodes `\uXXXX`, or a surrogate pair of them, at the start. Returns the character, which is
/// absent for a lone surrogate, and the length in bytes. Returns `None` if the text does not start
/// with such an escape.
pub(super) fn unicode_escape(bytes: &[u8]) -> Option<(Option<char>, usize)> {
    let unit = |at: usize| -> Option<u32> {
        let escape = bytes.get(at..at + 6)?;
        if !escape.starts_with(b"\\u") {
            return None;
        }
        escape[2..]
            .iter()
            .try_fold(0, |number, &digit| Some(number * 16 + char::from(digit).to_digit(16)?))
    };
    let first = unit(0)?;
    if !(0xd800..0xdc00).contains(&first) {
        return Some((char::from_u32(first), 6));
    }
    match unit(6) {
        Some(second @ 0xdc00..0xe000) => {
            let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            Some((char::from_u32(code), 12))
        }
        _ => Some((None, 6)),
    }
}

/// Appends the text as a quoted string with the necessary escapes.
pub fn push(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut rest = text;
    // The text between escapes, which is nearly all of it, is copied.
    while let Some(at) = rest.bytes().position(may_begin_escaped) {
        out.push_str(&rest[..at]);
        let mut characters = rest[at..].chars();
        if let Some(character) = characters.next() {
            push_character(out, character);
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Whether a byte is, or starts in UTF-8, a character that may have to be escaped.
fn may_begin_escaped(byte: u8) -> bool {
    // U+2028 and U+2029 start with 0xe2, and U+FFFE and U+FFFF with 0xef.
    matches!(byte, b'"' | b'\\' | 0..=0x1f | 0x7f | 0xe2 | 0xef)
}

fn push_character(out: &mut String, character: char) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        // Older JavaScript treats U+2028 and U+2029 as line ends. JSON requires the escapes of
        // control characters.
        '\0'..='\u{1f}' | '\u{7f}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}' => {
            push_escape(out, character);
        }
        _ => out.push(character),
    }
}

/// Appends `\uXXXX` for a character of the Basic Multilingual Plane, and a surrogate pair
/// otherwise.
pub(crate) fn push_escape(out: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        out.push_str(&format!("\\u{unit:04x}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_survives_writing_and_reading() {
        for character in (0..=0x11_0000).filter_map(char::from_u32) {
            let text = character.to_string();
            let mut quoted = String::new();
            push(&mut quoted, &text);
            assert_eq!(decode(&quoted), text);
            let mut escaped = String::new();
            push_escape(&mut escaped, character);
            assert_eq!(unescape(&escaped), text);
        }
    }

    #[test]
    fn characters_that_need_escapes_are_escaped_within_other_text() {
        let written = |text: &str| {
            let mut out = String::new();
            push(&mut out, text);
            out
        };
        let text = "a\"b\\c\n\r\t\u{1}\u{7f}\u{2027}\u{2028}\u{2029}\u{fffd}\u{fffe}\u{ffff}\u{e4}\u{1f600}z";
        let escaped = "a\\\"b\\\\c\\n\\r\\t\\u0001\\u007f\u{2027}\\u2028\\u2029\u{fffd}\\ufffe\\uffff\u{e4}\u{1f600}z";
        assert_eq!(written(text), format!("\"{escaped}\""));
        assert_eq!((&*written(""), &*written("plain")), ("\"\"", "\"plain\""));
    }

    #[test]
    fn invalid_escapes_decode_to_the_replacement_character() {
        assert_eq!(decode("\"a\\ud800b\""), "a\u{fffd}b");
        assert_eq!(decode("\"a\\"), "a\u{fffd}");
        assert_eq!(decode("\"\\u12"), "\u{fffd}u12");
        assert_eq!(decode("\""), "");
    }
}
