//! Header values with parameters (RFC 2045 5.1, RFC 2183, RFC 8187).

/// `essence; name=value; ...`: essence and names in lower case, values unquoted.
pub(super) struct Parameters {
    pub(super) essence: String,
    pub(super) pairs: Vec<(String, String)>,
}

/// A parameter of a header value: `error` of `application/json; error="true"`. The first one of a name
/// counts.
pub fn parameter(value: &str, name: &str) -> Option<String> {
    let pairs = parameters(value)?.pairs;
    pairs.into_iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Parses a header value. `None` if any part of it is invalid: a partial result would be a guess.
pub(super) fn parameters(value: &str) -> Option<Parameters> {
    let (essence, mut rest) = value.split_once(';').unwrap_or((value, ""));
    let mut pairs = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', ';']);
        if rest.is_empty() {
            return Some(Parameters { essence: essence.trim().to_ascii_lowercase(), pairs });
        }
        let (name, after) = rest.split_once('=')?;
        let name = name.trim_end_matches([' ', '\t']);
        if !is_token(name) {
            return None;
        }
        let after = after.trim_start_matches([' ', '\t']);
        let (value, after) = match after.strip_prefix('"') {
            Some(after) => quoted(after)?,
            None => plain(after)?,
        };
        rest = after.trim_start_matches([' ', '\t']);
        if !(rest.is_empty() || rest.starts_with(';')) {
            return None;
        }
        pairs.push((name.to_ascii_lowercase(), value));
    }
}

/// The text before the closing quote, with quoted pairs unescaped, and the text after it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.chars();
    loop {
        match characters.next()? {
            '"' => return Some((value, characters.as_str())),
            '\\' => value.push(characters.next()?),
            character => value.push(character),
        }
    }
}

/// A value without quotes. This accepts more than tokens, because boundaries with `/` or `=` are often sent
/// unquoted.
fn plain(text: &str) -> Option<(String, &str)> {
    let (value, rest) = text.split_at(text.find(';').unwrap_or(text.len()));
    let value = value.trim_end_matches([' ', '\t']);
    let is_plain = !value.is_empty() && !value.contains([' ', '\t', '"']);
    is_plain.then(|| (value.to_owned(), rest))
}

/// Whether a text is a token (RFC 9110 5.6.2).
pub(super) fn is_token(text: &str) -> bool {
    let is_mark = |byte| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
}

/// Decodes `UTF-8'language'percent-encoded` (RFC 8187 3.2). `None` for other charsets and malformed values.
pub(super) fn extended(value: &str) -> Option<String> {
    let (charset, rest) = value.split_once('\'')?;
    let (_language, encoded) = rest.split_once('\'')?;
    if !charset.eq_ignore_ascii_case("utf-8") {
        return None;
    }
    let mut bytes = encoded.bytes();
    let mut text = Vec::with_capacity(encoded.len());
    while let Some(byte) = bytes.next() {
        text.push(match byte {
            b'%' => digit(bytes.next()?)? << 4 | digit(bytes.next()?)?,
            byte => byte,
        });
    }
    String::from_utf8(text).ok()
}

/// Encodes a text in the same way.
pub(super) fn push_extended(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"UTF-8''");
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
}

fn digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}
