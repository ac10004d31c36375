//! Lists of entity tags in conditional headers (RFC 9110 8.8.3 and 13.1).

use http::{HeaderMap, HeaderName, HeaderValue};

/// One element of a list of tags; `*` if it has no text.
#[derive(Debug)]
pub struct ListedTag {
    /// Whether the tag is weak.
    pub weak: bool,
    /// Its text, without quotes.
    pub opaque: Option<String>,
}

impl ListedTag {
    /// The tag in its strong form, with the coding that the client named; none for `*`.
    pub fn strong(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&format!("\"{}\"", self.opaque.as_ref()?)).ok()
    }
}

/// Tags of a header, up to the first that is not valid.
pub fn listed_tags(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = ListedTag> {
    let mut tags = Vec::new();
    for value in headers.get_all(name) {
        let mut rest = value.to_str().unwrap_or_default();
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            if let Some(after) = rest.strip_prefix('*') {
                tags.push(ListedTag { weak: false, opaque: None });
                rest = after;
                continue;
            }
            let weak = rest.starts_with("W/");
            let Some((opaque, after)) = rest
                .strip_prefix("W/")
                .unwrap_or(rest)
                .strip_prefix('"')
                .and_then(|quoted| quoted.split_once('"'))
            else {
                break;
            };
            tags.push(ListedTag { weak, opaque: Some(opaque.to_owned()) });
            rest = after;
        }
    }
    tags.into_iter()
}
