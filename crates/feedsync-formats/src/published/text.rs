//! The text of a feed, whatever its bytes are.

use std::borrow::Cow;

use crate::diagnostic::ReadError;
use crate::options::ReadOptions;
use crate::xml::{declared_encoding, decode, is_char};

/// The text, and what was wrong with its bytes.
pub(super) fn decoded<'a>(
    bytes: &'a [u8],
    charset: Option<&str>,
    options: &ReadOptions<'_>,
) -> Result<(Cow<'a, str>, Option<ReadError>), ReadError> {
    let named = charset.and_then(|name| encoding_rs::Encoding::for_label(name.trim().as_bytes()));
    let told =
        declared_encoding(bytes).and_then(|name| encoding_rs::Encoding::for_label(name.as_bytes()));
    let (text, fault) = match decode(bytes, options) {
        Ok((text, _)) => (text, None),
        Err(fault @ ReadError::Encoding { .. }) => {
            // Without a word of the document, that of the server counts, and nothing is wrong with that.
            let is_told = told.is_none() && named.is_some();
            let encoding = told.or(named).unwrap_or(encoding_rs::UTF_8);
            let (text, _, has_lost) = encoding.decode(bytes);
            (text, (has_lost || !is_told).then_some(fault))
        }
        Err(error) => return Err(error),
    };
    if text.len() > options.limits.bytes {
        return Err(ReadError::TooLarge { limit: options.limits.bytes });
    }
    Ok((begun(text), fault))
}

/// A text that begins where its document does, without what XML has no characters for.
fn begun(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_begun = !text.starts_with(|first: char| first.is_whitespace() || first == '\u{feff}');
    if is_begun && text.chars().all(is_char) {
        return text;
    }
    let trimmed =
        text.trim_start_matches(|first: char| first.is_whitespace() || first == '\u{feff}');
    trimmed.chars().filter(|character| is_char(*character)).collect::<String>().into()
}

/// Whether it is HTML.
pub(super) fn is_page(text: &str) -> bool {
    let begins_with = |name: &str| {
        let start = text.get(..name.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    ["<!doctype html", "<html"].into_iter().any(begins_with)
}
