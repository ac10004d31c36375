//! Characters, names and references of XML 1.0.

use std::borrow::Cow;

use super::error::XmlError;
use crate::html_names::named;
use crate::options::Mode;

/// Whether a byte is white space in XML.
pub(crate) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Whether a text consists of white space only or is empty.
pub(crate) fn is_white(text: &str) -> bool {
    text.bytes().all(is_space)
}

/// Replaces each run of white space by one blank and removes it at the ends.
pub(crate) fn collapse(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(|character: char| character.is_ascii() && is_space(character as u8)) {
        if !word.is_empty() {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
        }
    }
    out
}

/// Whether a character is a `Char` (2.2).
pub(crate) const fn is_char(character: char) -> bool {
    matches!(character,
        '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Returns an error for the first character that XML documents cannot contain.
pub(super) fn check_characters(text: &str) -> Result<(), XmlError> {
    let bytes = text.as_bytes();
    // The compiler vectorizes this pass. The position is searched only after a hit.
    let mut suspicious = false;
    for chunk in bytes.chunks(4096) {
        let mut hit = false;
        for &byte in chunk {
            hit |= (byte < b' ' && byte != b'\t' && byte != b'\n' && byte != b'\r') || byte == 0xef;
        }
        suspicious |= hit;
    }
    if suspicious
        && let Some((offset, character)) =
            text.char_indices().find(|&(_, character)| !is_char(character))
    {
        let code = u32::from(character);
        return Err(XmlError::new(offset, format!("the character U+{code:04X} is not allowed")));
    }
    Ok(())
}

/// Whether a character is a `NameStartChar` other than the colon (Namespaces 1.0 splits names at it).
fn is_name_start(character: char) -> bool {
    matches!(character,
        'A'..='Z' | '_' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}'
        | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}'
        | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}'
        | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

/// Whether a character is a `NameChar` other than the colon.
fn is_name_char(character: char) -> bool {
    is_name_start(character)
        || matches!(character,
            '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

const NAME: u8 = 1;
const NAME_START: u8 = 2;

/// ASCII classes of name characters.
const CLASS: [u8; 128] = {
    let mut class = [0; 128];
    let mut byte = 0u8;
    while byte < 128 {
        class[byte as usize] = if byte.is_ascii_alphabetic() || byte == b'_' {
            NAME | NAME_START
        } else if byte.is_ascii_digit() || matches!(byte, b'-' | b'.') {
            NAME
        } else {
            0
        };
        byte += 1;
    }
    class
};

/// Returns the length of the `NCName` at the start of the text, or 0 if there is none.
pub(super) fn name_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(&byte) if byte.is_ascii() && CLASS[usize::from(byte)] & NAME_START == 0 => return 0,
        Some(_) => {}
        None => return 0,
    }
    let ascii = bytes
        .iter()
        .position(|&byte| !byte.is_ascii() || CLASS[usize::from(byte)] & NAME == 0)
        .unwrap_or(bytes.len());
    if bytes.get(ascii).is_none_or(u8::is_ascii) {
        return ascii;
    }
    text.char_indices()
        .find(
            |&(index, character)| {
                if index == 0 { !is_name_start(character) } else { !is_name_char(character) }
            },
        )
        .map_or(text.len(), |(index, _)| index)
}

/// Parses a reference. Returns its length and its character, which is `None` for an entity other than the five
/// predefined ones.
pub(crate) fn reference(text: &str) -> Result<(usize, Option<char>), &'static str> {
    debug_assert!(text.starts_with('&'));
    let Some(end) = text.bytes().take(4096).position(|byte| byte == b';') else {
        return Err("'&' must begin a reference such as '&amp;'");
    };
    let name = &text[1..end];
    let character = match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match name.strip_prefix('#') {
            Some(number) => {
                let code = match number.strip_prefix('x') {
                    Some(hex) if !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
                        u32::from_str_radix(hex, 16).ok()
                    }
                    None if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
                        number.parse().ok()
                    }
                    _ => return Err("a character reference is '&#', digits and ';'"),
                };
                match code.and_then(char::from_u32).filter(|&character| is_char(character)) {
                    Some(character) => Some(character),
                    None => return Err("a reference to a character that is not allowed"),
                }
            }
            None if !name.is_empty() && name_length(name) == name.len() => None,
            None => return Err("'&' must begin a reference such as '&amp;'"),
        },
    };
    Ok((end + 1, character))
}

/// Checks the reference at `offset` and returns the offset after it.
pub(super) fn check_reference(text: &str, offset: usize, mode: Mode) -> Result<usize, XmlError> {
    match reference(&text[offset..]) {
        Ok((length, None)) if mode == Mode::Strict => {
            let name = &text[offset..offset + length];
            Err(XmlError::new(offset, format!("the reference {name} is not defined")))
        }
        Ok((length, _)) => Ok(offset + length),
        Err(message) => Err(XmlError::new(offset, message)),
    }
}

/// Decodes a checked raw text: references are replaced, and line ends become `\n`. References that XML does not
/// define are replaced if HTML defines them, and otherwise stay unchanged.
pub(crate) fn unescape(raw: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'&', b'\r', raw.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(index) = memchr::memchr2(b'&', b'\r', rest.as_bytes()) {
        out.push_str(&rest[..index]);
        rest = &rest[index..];
        rest = if let Some(after) = rest.strip_prefix('\r') {
            out.push('\n');
            after.strip_prefix('\n').unwrap_or(after)
        } else {
            take_reference(rest, &mut out)
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns the value of a checked attribute (3.3.3): like [`unescape`], and white space becomes blanks.
pub(super) fn normalise(raw: &str) -> Cow<'_, str> {
    let special = |byte: u8| matches!(byte, b'&' | b'\r' | b'\n' | b'\t');
    if !raw.bytes().any(special) {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(index) = rest.bytes().position(special) {
        out.push_str(&rest[..index]);
        rest = &rest[index..];
        rest = if rest.starts_with('&') {
            take_reference(rest, &mut out)
        } else {
            out.push(' ');
            rest.strip_prefix("\r\n").unwrap_or(&rest[1..])
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn take_reference<'a>(rest: &'a str, out: &mut String) -> &'a str {
    match reference(rest) {
        Ok((length, Some(character))) => {
            out.push(character);
            &rest[length..]
        }
        Ok((length, None)) => {
            match named(&rest[1..length - 1]) {
                Some(character) => out.push(character),
                None => out.push_str(&rest[..length]),
            }
            &rest[length..]
        }
        // A checked text has no invalid reference. In an unchecked text it stays unchanged.
        Err(_) => {
            out.push('&');
            &rest[1..]
        }
    }
}
