//! Decodes the bytes of a feed to text, also if the declared encoding is wrong.
//!
//! The first encoding that decodes without loss is used, in this order: the document's own declaration (or a byte
//! order mark, or UTF-8 without a declaration), the charset of the HTTP header, UTF-8. If all fail, the declared
//! encoding is used, and bytes that it does not define are decoded as Windows-1252. Therefore no character is
//! replaced by U+FFFD, except in broken UTF-16 or UTF-32. UTF-32 is detected by its byte order mark or by its first
//! character.

use std::borrow::Cow;

use encoding_rs::{DecoderResult, Encoding, UTF_8, WINDOWS_1252};

use crate::diagnostic::ReadError;
use crate::options::ReadOptions;
use crate::xml::{declared_encoding, decode, is_char};

/// Maximum length of an incomplete character at the end of a document, in bytes.
const MAX_CHARACTER_BYTES: usize = 4;

/// Returns the text, and the fault of its bytes if there is one.
pub(super) fn decoded<'a>(
    bytes: &'a [u8],
    charset: Option<&str>,
    options: &ReadOptions<'_>,
) -> Result<(Cow<'a, str>, Option<ReadError>), ReadError> {
    if let Some((text, fault)) = utf_32(bytes, options)? {
        return Ok((begun(text.into()), fault));
    }
    let labelled = |name: &str| Encoding::for_label(name.trim().as_bytes());
    let of_header = charset.and_then(labelled);
    let declared = declared_encoding(bytes);
    let (text, fault) = match decode(bytes, options) {
        Ok((text, _)) => match mislabelled(bytes, declared, of_header) {
            Some(better) => better,
            None => (text, None),
        },
        Err(fault @ ReadError::Encoding { .. }) => {
            let of_document = declared.and_then(labelled);
            // Without a declaration, the header defines the encoding, and this is not a fault.
            let lossless = |encoding: &'static Encoding| without_loss(encoding, bytes);
            if let Some(text) = of_header.filter(|_| declared.is_none()).and_then(lossless) {
                (text, None)
            } else if let Some(text) = cut_off(bytes, &fault, options) {
                (text, Some(fault))
            } else {
                let others = [of_header, Some(UTF_8)].into_iter().flatten();
                let text = others.filter_map(lossless).next();
                let usual = of_document.or(of_header).unwrap_or(UTF_8);
                (text.unwrap_or_else(|| mixed(usual, bytes).into()), Some(fault))
            }
        }
        Err(error) => return Err(error),
    };
    if text.len() > options.limits.bytes {
        return Err(ReadError::TooLarge { limit: options.limits.bytes });
    }
    Ok((begun(text), fault))
}

/// Returns the text of a UTF-32 document, and the fault of its bytes. Returns `None` for other encodings.
fn utf_32(
    bytes: &[u8],
    options: &ReadOptions<'_>,
) -> Result<Option<(String, Option<ReadError>)>, ReadError> {
    let limit = options.limits.bytes;
    let is_little = match bytes {
        [0xff, 0xfe, 0, 0, ..] => true,
        [0, 0, 0xfe, 0xff, ..] => false,
        [first, 0, 0, 0, ..] if first.is_ascii() && *first != 0 => true,
        [0, 0, 0, first, ..] if first.is_ascii() && *first != 0 => false,
        _ => return Ok(None),
    };
    let (mut text, mut fault) = (String::with_capacity(bytes.len() / 4), None);
    for (place, unit) in bytes.chunks(4).enumerate() {
        let code = <[u8; 4]>::try_from(unit).ok().map(|unit| match is_little {
            true => u32::from_le_bytes(unit),
            false => u32::from_be_bytes(unit),
        });
        let character = code.and_then(char::from_u32).unwrap_or_else(|| {
            fault.get_or_insert_with(|| ReadError::Encoding {
                offset: place * 4,
                message: "not UTF-32, the encoding of the document".to_owned(),
            });
            char::REPLACEMENT_CHARACTER
        });
        text.push(character);
        if text.len() > limit {
            return Err(ReadError::TooLarge { limit });
        }
    }
    Ok(Some((text, fault)))
}

/// Returns the text of a document that decodes as declared but evidently has another encoding.
fn mislabelled<'a>(
    bytes: &'a [u8],
    declared: Option<&str>,
    of_header: Option<&'static Encoding>,
) -> Option<(Cow<'a, str>, Option<ReadError>)> {
    let Some(name) = declared else {
        // Bytes of such encodings are valid ASCII.
        let told = of_header.filter(|encoding| !encoding.is_ascii_compatible())?;
        let is_marked = bytes.starts_with(b"<\0") || bytes.starts_with(b"\0<");
        let is_utf_16 = told.output_encoding() != told;
        return (!is_marked && !is_utf_16).then(|| Some((without_loss(told, bytes)?, None)))?;
    };
    // Bytes that are valid UTF-8 hardly occur in Western European text, but UTF-8 is often mislabelled as Western
    // European.
    let is_western = Encoding::for_label(name.as_bytes()) == Some(WINDOWS_1252);
    let offset = bytes.iter().position(|byte| !byte.is_ascii()).filter(|_| is_western)?;
    let text = std::str::from_utf8(bytes).ok()?;
    let message = format!("UTF-8, and not {name}, the encoding that the document declares");
    Some((text.into(), Some(ReadError::Encoding { offset, message })))
}

fn without_loss<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> Option<Cow<'a, str>> {
    // A byte order mark at the start is not part of the text.
    let bytes = if encoding == UTF_8 {
        bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
    } else {
        bytes
    };
    encoding.decode_without_bom_handling_and_without_replacement(bytes)
}

/// Returns the text before the incomplete character at the end of the document.
fn cut_off<'a>(
    bytes: &'a [u8],
    fault: &ReadError,
    options: &ReadOptions<'_>,
) -> Option<Cow<'a, str>> {
    let ReadError::Encoding { offset, .. } = fault else { return None };
    let is_near = *offset > 0 && bytes.len() - offset.min(&bytes.len()) < MAX_CHARACTER_BYTES;
    let whole = bytes.get(..*offset).filter(|_| is_near)?;
    // For example, "é" in Latin-1 before "</rss>" is not an incomplete character at the end.
    let is_end = !bytes[*offset..].contains(&b'>');
    decode(whole, options).ok().map(|(text, _)| text).filter(|_| is_end)
}

/// Decodes the bytes in an encoding. Bytes that it does not define are decoded as Windows-1252.
fn mixed(encoding: &'static Encoding, bytes: &[u8]) -> String {
    let utf_16 = [encoding_rs::UTF_16LE, encoding_rs::UTF_16BE];
    if let Some((marked, _)) = Encoding::for_bom(bytes).filter(|(it, _)| utf_16.contains(it)) {
        return marked.decode(bytes).0.into_owned();
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // A document whose start could be read is not UTF-16.
    let encoding = if utf_16.contains(&encoding) { UTF_8 } else { encoding };
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(bytes.len());
    let mut read = 0;
    loop {
        let (result, more) =
            decoder.decode_to_string_without_replacement(&bytes[read..], &mut text, true);
        read += more;
        match result {
            DecoderResult::InputEmpty => return text,
            DecoderResult::OutputFull => text.reserve(bytes.len().max(64)),
            DecoderResult::Malformed(length, after) => {
                let end = read - usize::from(after);
                let wrong = &bytes[end.saturating_sub(usize::from(length))..end];
                text.push_str(&WINDOWS_1252.decode_without_bom_handling(wrong).0);
                decoder = encoding.new_decoder_without_bom_handling();
            }
        }
    }
}

/// Removes text before the start of the document, and characters that XML does not have.
fn begun(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_begun = !text.starts_with(|first: char| first.is_whitespace() || first == '\u{feff}');
    if is_begun && text.chars().all(is_char) {
        return text;
    }
    let trimmed =
        text.trim_start_matches(|first: char| first.is_whitespace() || first == '\u{feff}');
    trimmed.chars().filter(|character| is_char(*character)).collect::<String>().into()
}

/// Whether the text is HTML.
pub(super) fn is_page(text: &str) -> bool {
    let begins_with = |name: &str| {
        let start = text.get(..name.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    ["<!doctype html", "<html"].into_iter().any(begins_with)
}

#[cfg(test)]
mod tests;
