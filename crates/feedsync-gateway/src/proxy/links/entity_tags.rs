//! Entity tags of documents whose addresses were replaced.
//!
//! Such a document has other bytes than the server's, and they depend on the mounts. Its tag is the server's with a
//! mark: `"1;links=0a1b2c3d"`. Servers and the store get the tag without it. A document that an application stored
//! before the mounts changed is outdated, but the version that it wants to replace is the same.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Text between the tag of the server and the fingerprint.
const MARK: &str = ";links=";

/// Marked tags of a request, without their marks.
#[derive(Debug, Default)]
pub(super) struct Tags(Vec<String>);

impl Tags {
    /// Replaces the marked tags in the conditions of a request by those of the server.
    pub(super) fn restore(headers: &mut HeaderMap, fingerprint: &str) -> Self {
        let mut current = Vec::new();
        replace(headers, header::IF_MATCH, |tag, _| Some(tag));
        replace(headers, header::IF_NONE_MATCH, |tag, of| {
            if of.is_some_and(|of| of != fingerprint) {
                return None;
            }
            current.extend(of.map(|_| tag.trim_start_matches("W/").to_owned()));
            Some(tag)
        });
        // No part of such a document was ever sent.
        let range = headers.get(header::IF_RANGE).and_then(|tag| tag.to_str().ok());
        if range.is_some_and(|tag| parted(tag).1.is_some()) {
            headers.remove(header::RANGE);
            headers.remove(header::IF_RANGE);
        }
        Self(current)
    }

    /// Marks the tag of a 304 response if it names a document that the application has with a marked tag.
    pub(super) fn show(&self, headers: &mut HeaderMap, fingerprint: &str) {
        let tag = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok());
        let opaque = tag.map(|tag| tag.trim_start_matches("W/"));
        if opaque.is_some_and(|opaque| self.0.iter().any(|own| own == opaque)) {
            mark(headers, fingerprint);
        }
    }
}

/// Marks the tag of a changed document.
pub(super) fn mark(headers: &mut HeaderMap, fingerprint: &str) {
    let tag = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok());
    let inside = tag.and_then(|tag| tag.strip_suffix('"'));
    let marked = inside.map(|inside| format!("{inside}{MARK}{fingerprint}\""));
    if let Some(marked) = marked.and_then(|marked| HeaderValue::from_str(&marked).ok()) {
        headers.insert(header::ETAG, marked);
    }
}

/// Replaces the tags of a list; `change` gets each tag without its mark, and the fingerprint of the mark.
fn replace(
    headers: &mut HeaderMap,
    name: HeaderName,
    mut change: impl FnMut(String, Option<&str>) -> Option<String>,
) {
    let values: Vec<&str> =
        headers.get_all(&name).iter().filter_map(|value| value.to_str().ok()).collect();
    if !values.iter().any(|value| value.contains(MARK)) {
        return;
    }
    let listed = values.join(", ");
    let mut tags = Vec::new();
    for tag in elements(&listed) {
        let (tag, of) = parted(tag);
        tags.extend(change(tag, of));
    }
    headers.remove(&name);
    if let Ok(value) = HeaderValue::from_str(&tags.join(", "))
        && !tags.is_empty()
    {
        headers.insert(name, value);
    }
}

/// Elements of a list; commas within quotes belong to a tag.
fn elements(list: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let parts = list.split(move |character| {
        is_quoted ^= character == '"';
        character == ',' && !is_quoted
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

/// A tag without its mark, and the fingerprint of the mark.
fn parted(tag: &str) -> (String, Option<&str>) {
    let inside = tag.strip_suffix('"').and_then(|inside| inside.rsplit_once(MARK));
    let is_mark = |of: &&str| of.len() == 8 && of.bytes().all(|byte| byte.is_ascii_hexdigit());
    match inside.filter(|(_, of)| is_mark(of)) {
        Some((tag, of)) => (format!("{tag}\""), Some(of)),
        None => (tag.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn marks_of_conditions_are_removed() {
        for (name, values, restored) in [
            (header::IF_MATCH, &["\"a;links=00000001\""][..], Some("\"a\"")),
            (header::IF_MATCH, &["\"a;links=00000002\""], Some("\"a\"")),
            (
                header::IF_NONE_MATCH,
                &["W/\"a,b;links=00000001\", \"c\"", "*"],
                Some("W/\"a,b\", \"c\", *"),
            ),
            (header::IF_NONE_MATCH, &["\"a;links=00000002\", \"c\""], Some("\"c\"")),
            (header::IF_NONE_MATCH, &["\"a;links=00000002\""], None),
            (header::IF_NONE_MATCH, &["\"a;links=x\" ,  \"b\""], Some("\"a;links=x\", \"b\"")),
            (header::IF_NONE_MATCH, &["\"a\" ,  \"b\""], Some("\"a\" ,  \"b\"")),
        ] {
            let mut headers = headers(name.clone(), values);
            Tags::restore(&mut headers, "00000001");
            let found = headers.get(&name).map(|value| value.to_str().unwrap());
            assert_eq!(found, restored, "{values:?}");
            assert!(headers.get_all(&name).iter().count() <= 1);
        }
    }

    #[test]
    fn a_304_has_the_tag_that_the_application_has() {
        for (sent, tag, shown) in [
            ("\"a;links=00000001\"", "\"a\"", "\"a;links=00000001\""),
            ("\"a;links=00000001\"", "W/\"a\"", "W/\"a;links=00000001\""),
            ("\"a\"", "\"a\"", "\"a\""),
            ("\"b;links=00000001\", \"a\"", "\"a\"", "\"a\""),
        ] {
            let tags = Tags::restore(&mut headers(header::IF_NONE_MATCH, &[sent]), "00000001");
            let mut response = headers(header::ETAG, &[tag]);
            tags.show(&mut response, "00000001");
            assert_eq!(response[header::ETAG], shown, "{sent}");
        }
    }

    #[test]
    fn a_range_of_a_changed_document_is_not_requested() {
        for (tag, has) in [("\"a\"", true), ("\"a;links=00000001\"", false)] {
            let mut headers = headers(header::IF_RANGE, &[tag]);
            headers.insert(header::RANGE, HeaderValue::from_static("bytes=0-1"));
            Tags::restore(&mut headers, "00000001");
            assert_eq!(headers.contains_key(header::RANGE), has);
        }
    }
}
