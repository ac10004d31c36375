//! `Link` headers (RFC 8288), as far as this client needs them.

use http::header::{HeaderMap, LINK};
use reqwest::Url;

use crate::address::is_http;
use crate::redirect::reference;

/// Returns the target of the first link with a relation.
pub(crate) fn find(headers: &HeaderMap, base: &Url, relation: &str) -> Option<Url> {
    headers
        .get_all(LINK)
        .iter()
        .flat_map(|value| links(&reference(value.as_bytes())))
        .find(|(_, parameters)| has_relation(parameters, relation))
        .and_then(|(target, _)| base.join(&target).ok())
        .filter(is_http)
}

/// Parses the links of one header value: targets, each with its parameters.
fn links(mut rest: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut links = Vec::new();
    while let Some((target, after)) =
        rest.split_once('<').and_then(|(_, after)| after.split_once('>'))
    {
        let (parameters, after) = parameters(after);
        links.push((target.to_owned(), parameters));
        rest = after;
    }
    links
}

/// Parses `;name=value` up to the comma that ends a link; values may be quoted, with escapes.
fn parameters(text: &str) -> (Vec<(String, String)>, &str) {
    let mut found = Vec::new();
    let (mut name, mut value) = (String::new(), String::new());
    let (mut in_value, mut quoted, mut escaped) = (false, false, false);
    let mut finish = |name: &mut String, value: &mut String| {
        let name = std::mem::take(name).trim().to_ascii_lowercase();
        let value = std::mem::take(value).trim().to_owned();
        if !name.is_empty() {
            found.push((name, value));
        }
    };
    for (place, letter) in text.char_indices() {
        match letter {
            _ if escaped => {
                value.push(letter);
                escaped = false;
            }
            '\\' if quoted => escaped = true,
            '"' if in_value => quoted = !quoted,
            ',' if !quoted => {
                finish(&mut name, &mut value);
                return (found, &text[place + 1..]);
            }
            ';' if !quoted => {
                finish(&mut name, &mut value);
                in_value = false;
            }
            '=' if !in_value => in_value = true,
            _ if in_value => value.push(letter),
            _ => name.push(letter),
        }
    }
    finish(&mut name, &mut value);
    (found, "")
}

/// Whether the first `rel` lists the relation; links with another context are ignored.
fn has_relation(parameters: &[(String, String)], relation: &str) -> bool {
    let value = |wanted: &str| {
        parameters.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    };
    value("anchor").is_none()
        && value("rel").is_some_and(|listed| {
            listed.split_ascii_whitespace().any(|one| one.eq_ignore_ascii_case(relation))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_in(value: &str, relation: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(LINK, value.parse().unwrap());
        let base = Url::parse("http://a.example/collections/notes").unwrap();
        find(&headers, &base, relation).map(Into::into)
    }

    #[test]
    fn the_link_of_a_relation_is_found_and_resolved() {
        let value = "</x>; rel=self, <notes/changes?since=1,2>; title=\"a; b, <c>\\\"\"; \
                     rel=\"alternate urn:feedsync:1:changes\", </z>;rel=next";
        let found = find_in(value, "urn:feedsync:1:changes");
        assert_eq!(found.as_deref(), Some("http://a.example/collections/notes/changes?since=1,2"));
        assert_eq!(find_in(value, "next").as_deref(), Some("http://a.example/z"));
        assert_eq!(find_in(value, "prev"), None);
        let mut headers = HeaderMap::new();
        let raw = "</caf\u{e9}>; rel=next; title=\"\u{e9}\"".as_bytes();
        headers.insert(LINK, raw.try_into().unwrap());
        let base = Url::parse("http://a.example/").unwrap();
        assert_eq!(find(&headers, &base, "next").unwrap().as_str(), "http://a.example/caf%C3%A9");
    }

    #[test]
    fn a_link_about_something_else_or_to_another_scheme_does_not_count() {
        assert_eq!(find_in("</x>; rel=next; anchor=\"/other\"", "next"), None);
        assert_eq!(find_in("<file:///x>; rel=next", "next"), None);
        assert_eq!(find_in("<x; rel=next", "next"), None);
        assert_eq!(find_in("", "next"), None);
    }
}
