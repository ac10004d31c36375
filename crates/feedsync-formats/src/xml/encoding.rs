//! Decodes bytes to text by byte order mark and declaration (XML 1.0, 4.3.3 and appendix F).

use std::borrow::Cow;
use std::ops::Range;

use super::attributes::skip_space;
use super::legacy::Legacy;
use crate::diagnostic::ReadError;
use crate::options::{Mode, ReadOptions};

/// The encoding of a document, with the details for writing it unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(super) scheme: Scheme,
    pub(super) mark: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Utf8,
    Utf16 {
        big_endian: bool,
    },
    /// ISO-8859-1 as defined by its standard. It is not treated as an alias of windows-1252.
    Latin1,
    Ascii,
    Other(Legacy),
}

impl Encoding {
    /// UTF-8 without a byte order mark.
    pub(crate) const UTF_8: Self = Self { scheme: Scheme::Utf8, mark: false };
}

/// Returns the text of a document, without its byte order mark, and its encoding.
pub(crate) fn decode<'a>(
    bytes: &'a [u8],
    options: &ReadOptions<'_>,
) -> Result<(Cow<'a, str>, Encoding), ReadError> {
    let limit = options.limits.bytes.min(u32::MAX as usize - 1);
    if bytes.len() > limit {
        return Err(ReadError::TooLarge { limit });
    }
    let (encoding, rest) = detect(bytes, options.mode)?;
    let skipped = bytes.len() - rest.len();
    let text = match encoding.scheme {
        Scheme::Utf8 => match std::str::from_utf8(rest) {
            Ok(text) => Cow::Borrowed(text),
            Err(error) => return Err(ill_encoded(skipped + error.valid_up_to(), "UTF-8")),
        },
        Scheme::Utf16 { big_endian } => Cow::Owned(decode_utf16(rest, skipped, big_endian)?),
        Scheme::Ascii => match rest.iter().position(|byte| !byte.is_ascii()) {
            Some(index) => return Err(ill_encoded(skipped + index, "US-ASCII")),
            None => latin1(rest),
        },
        Scheme::Latin1 => latin1(rest),
        Scheme::Other(other) => {
            let text = other.decode(rest);
            Cow::Owned(text.map_err(|offset| ill_encoded(skipped + offset, other.name()))?)
        }
    };
    if text.len() > limit {
        return Err(ReadError::TooLarge { limit });
    }
    Ok((text, encoding))
}

fn ill_encoded(offset: usize, name: &str) -> ReadError {
    ReadError::Encoding { offset, message: format!("not {name}, the encoding of the document") }
}

fn decode_utf16(bytes: &[u8], skipped: usize, big_endian: bool) -> Result<String, ReadError> {
    let name = if big_endian { "UTF-16BE" } else { "UTF-16LE" };
    let pairs = bytes.chunks_exact(2);
    let odd = !pairs.remainder().is_empty();
    let units = pairs.map(|pair| {
        let pair = [pair[0], pair[1]];
        if big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
    });
    let mut text = String::with_capacity(bytes.len());
    let mut offset = skipped;
    for unit in char::decode_utf16(units) {
        let character = unit.map_err(|_| ill_encoded(offset, name))?;
        offset += 2 * character.len_utf16();
        text.push(character);
    }
    if odd { Err(ill_encoded(offset, name)) } else { Ok(text) }
}

/// Decodes ISO-8859-1, whose bytes are the first characters of Unicode.
fn latin1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
    }
}

fn detect(bytes: &[u8], mode: Mode) -> Result<(Encoding, &[u8]), ReadError> {
    let unsupported = |name: &str| ReadError::Encoding {
        offset: 0,
        message: format!("the encoding {name} is not supported"),
    };
    let utf16 = |big_endian, mark| Encoding { scheme: Scheme::Utf16 { big_endian }, mark };
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => {
            let declared =
                declared_encoding(rest).filter(|name| !name.eq_ignore_ascii_case("utf-8"));
            if let (Some(name), Mode::Strict) = (declared, mode) {
                return Err(ReadError::Encoding {
                    offset: 0,
                    message: format!("the byte order mark says UTF-8, the declaration {name}"),
                });
            }
            Ok((Encoding { scheme: Scheme::Utf8, mark: true }, rest))
        }
        [0xff, 0xfe, 0, 0, ..]
        | [0, 0, 0xfe, 0xff, ..]
        | [0, 0, 0, b'<', ..]
        | [b'<', 0, 0, 0, ..] => Err(unsupported("UTF-32")),
        [0xff, 0xfe, rest @ ..] => Ok((utf16(false, true), rest)),
        [0xfe, 0xff, rest @ ..] => Ok((utf16(true, true), rest)),
        [0, b'<', 0, _, ..] => Ok((utf16(true, false), bytes)),
        [b'<', 0, _, 0, ..] => Ok((utf16(false, false), bytes)),
        _ => {
            let Some(name) = declared_encoding(bytes) else {
                return Ok((Encoding::UTF_8, bytes));
            };
            let scheme = match name.to_ascii_lowercase().as_str() {
                "utf-8" | "utf8" => Scheme::Utf8,
                "iso-8859-1" | "latin1" | "iso_8859-1" | "l1" => Scheme::Latin1,
                "us-ascii" | "ascii" => Scheme::Ascii,
                lower => match Legacy::of_label(lower) {
                    Some(other) => Scheme::Other(other),
                    // A declaration that could be read byte by byte cannot be in UTF-16.
                    None if mode == Mode::Tolerant && lower.starts_with("utf-16") => Scheme::Utf8,
                    None => return Err(unsupported(name)),
                },
            };
            Ok((Encoding { scheme, mark: false }, bytes))
        }
    }
}

/// Returns the encoding that the XML declaration at the start of the bytes names.
pub(crate) fn declared_encoding(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(&bytes[declared_span(bytes)?]).ok()
}

/// Returns the range of the encoding's name in the XML declaration at the start of the bytes.
pub(crate) fn declared_span(bytes: &[u8]) -> Option<Range<usize>> {
    let start = &bytes[..bytes.len().min(1024)];
    if !start.starts_with(b"<?xml") {
        return None;
    }
    let declaration = &start[..crate::search::find(start, b"?>")?];
    let after = crate::search::find(declaration, b"encoding")? + "encoding".len();
    let equals = skip_space(declaration, after);
    if declaration.get(equals) != Some(&b'=') {
        return None;
    }
    let quote = skip_space(declaration, equals + 1);
    let mark = *declaration.get(quote).filter(|byte| matches!(byte, b'"' | b'\''))?;
    let length = memchr::memchr(mark, &declaration[quote + 1..])?;
    Some(quote + 1..quote + 1 + length)
}

/// Returns an error if the text does not start like XML.
pub(crate) fn check_is_xml(text: &str) -> Result<(), ReadError> {
    match text.trim_start().chars().next() {
        Some('<') => Ok(()),
        None => Err(ReadError::UnknownFormat { found: "an empty document".into() }),
        Some(_) => {
            let start: String = text.trim_start().chars().take(20).collect();
            Err(ReadError::UnknownFormat { found: format!("a text that begins {start:?}") })
        }
    }
}
