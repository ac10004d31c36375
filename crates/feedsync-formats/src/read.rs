//! Reads any of the formats and detects the format by content.

use feedsync_core::Format;

use crate::diagnostic::ReadError;
use crate::feed;
use crate::json;
use crate::options::ReadOptions;
use crate::reading::Reading;
use crate::xml::{Reader, Token, check_is_xml, decode};

/// Reads a feed. For `None` the format is detected.
pub fn read(
    bytes: &[u8],
    format: Option<Format>,
    options: &ReadOptions<'_>,
) -> Result<Reading, ReadError> {
    if format == Some(Format::Json) || (format.is_none() && looks_like_json(bytes)) {
        return json::read(bytes, options);
    }
    let (text, _) = decode(bytes, options)?;
    check_is_xml(&text)?;
    Ok(feed::parse(&text, format, options)?.reading)
}

/// Detects the format from the first element or character. A plain XML collection is only detected
/// if it contains the FeedSync namespace.
pub fn detect(bytes: &[u8]) -> Option<Format> {
    if looks_like_json(bytes) {
        return Some(Format::Json);
    }
    let options = ReadOptions::tolerant();
    let (text, _) = decode(bytes, &options).ok()?;
    let mut reader = Reader::new(&text, options.mode, &options.limits).ok()?;
    let mut attributes = Vec::new();
    loop {
        match reader.token(&mut attributes).ok()? {
            Token::Start(root) => return feed::format_of(&text, &root, options.mode),
            Token::EndOfDocument => return None,
            _ => {}
        }
    }
}

/// Whether the bytes start like a JSON object or array.
pub(crate) fn looks_like_json(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    matches!(bytes.iter().find(|byte| !byte.is_ascii_whitespace()), Some(b'{' | b'['))
}
