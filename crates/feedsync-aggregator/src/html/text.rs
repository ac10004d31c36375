//! Names and texts of documents within limits.

use std::borrow::Cow;

/// Maximum number of white space characters in a row on a web page.
const MAX_SPACES: usize = 64;

/// Maximum size of the name of an element or attribute, in bytes; longer names count as unknown.
const MAX_NAME: usize = 64;

/// Name of an element or attribute, in the lower case that the tokenizer gives it; empty if no name that matters has
/// such characters.
pub(super) fn known_name(name: &[u8]) -> String {
    let is_known = name.len() <= MAX_NAME
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte));
    if is_known { String::from_utf8_lossy(name).into_owned() } else { String::new() }
}

/// Text with at most [`MAX_SPACES`] white space characters in a row.
pub(super) fn spaced(text: &str) -> Cow<'_, str> {
    let is_space = |byte: u8| byte.is_ascii_whitespace();
    let is_long = |run: &[u8]| run.len() > MAX_SPACES && run.iter().copied().all(is_space);
    if !text.as_bytes().chunk_by(|one, next| is_space(*one) == is_space(*next)).any(is_long) {
        return text.into();
    }
    let (mut short, mut spaces) = (String::with_capacity(text.len()), 0);
    for character in text.chars() {
        spaces = if character.is_ascii_whitespace() { spaces + 1 } else { 0 };
        if spaces <= MAX_SPACES {
            short.push(character);
        }
    }
    short.into()
}

/// Appends a text to markup.
pub(super) fn escape(html: &mut String, text: &str, in_attribute: bool) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '"' if in_attribute => html.push_str("&quot;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            // A tokenizer would turn it into a line feed.
            '\r' => html.push_str("&#13;"),
            _ => html.push(character),
        }
    }
}
