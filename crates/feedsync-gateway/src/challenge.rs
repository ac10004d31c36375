//! Parses the challenges of a server in `WWW-Authenticate` (RFC 9110 11.6.1) as a browser does.

use http::header::HeaderValue;

/// A scheme and its parameters, or its token68.
pub(crate) struct Challenge {
    pub(crate) scheme: String,
    pub(crate) parameters: Vec<String>,
}

impl Challenge {
    /// Parses the challenges of a field; returns `None` if the field is no list of challenges. Bytes that are not
    /// UTF-8 are replaced.
    pub(crate) fn of(field: &HeaderValue) -> Option<Vec<Self>> {
        let text = String::from_utf8_lossy(field.as_bytes());
        let mut challenges: Vec<Self> = Vec::new();
        for part in listed(&text).into_iter().map(str::trim).filter(|part| !part.is_empty()) {
            // A scheme is followed by a space, the name of a parameter by an equals sign.
            let (first, rest) = part.split_once([' ', '\t']).unwrap_or((part, ""));
            let rest = rest.trim_start();
            if first.contains('=') || rest.starts_with('=') {
                challenges.last_mut()?.parameters.push(part.to_owned());
            } else if first.bytes().all(is_of_token) {
                let parameters = Some(rest.to_owned()).filter(|rest| !rest.is_empty());
                let parameters = parameters.into_iter().collect();
                challenges.push(Self { scheme: first.to_owned(), parameters });
            } else {
                return None;
            }
        }
        Some(challenges)
    }

    /// Whether the challenge has this scheme.
    pub(crate) fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// Formats the challenge for a field.
    pub(crate) fn text(&self) -> String {
        format!("{} {}", self.scheme, self.parameters.join(", ")).trim_end().to_owned()
    }
}

/// Formats challenges as a field; returns `None` if there are none.
pub(crate) fn field(challenges: &[Challenge]) -> Option<HeaderValue> {
    let texts: Vec<_> = challenges.iter().map(Challenge::text).collect();
    let field = HeaderValue::from_bytes(texts.join(", ").as_bytes()).ok();
    field.filter(|_| !challenges.is_empty())
}

const fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// Splits a list at commas outside of quoted strings.
fn listed(text: &str) -> Vec<&str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(|character| {
        let is_comma = character == ',' && !is_quoted;
        is_quoted ^= character == '"' && !is_escaped;
        is_escaped = character == '\\' && is_quoted && !is_escaped;
        is_comma
    })
    .collect()
}
