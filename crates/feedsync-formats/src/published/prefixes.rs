//! Prefixes that a feed uses and does not declare.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::entry::{CONTENT, DUBLIN_CORE};

/// What people mean by them.
const USUAL: [(&str, &str); 5] = [
    ("atom", "http://www.w3.org/2005/Atom"),
    ("content", CONTENT),
    ("dc", DUBLIN_CORE),
    ("itunes", "http://www.itunes.com/dtds/podcast-1.0.dtd"),
    ("media", "http://search.yahoo.com/mrss/"),
];

/// So many are declared at most.
const MOST: usize = 32;

/// The document with those of its elements declared that it declares nowhere.
pub(super) fn declared(text: &str) -> Cow<'_, str> {
    let missing = missing(text);
    let Some(end) = root_name_end(text).filter(|_| !missing.is_empty()) else { return text.into() };
    let declarations: String = missing
        .into_iter()
        .map(|prefix| {
            let usual = USUAL.iter().find(|(usual, _)| *usual == prefix).map(|(_, iri)| *iri);
            let iri = usual.map_or_else(|| format!("urn:undeclared:{prefix}"), str::to_owned);
            format!(" xmlns:{prefix}=\"{iri}\"")
        })
        .collect();
    [&text[..end], &declarations, &text[end..]].concat().into()
}

fn missing(text: &str) -> BTreeSet<&str> {
    let mut used = BTreeSet::new();
    for (at, _) in text.match_indices('<') {
        let name = &text[at + 1..];
        let length = name.bytes().take(64).take_while(u8::is_ascii_alphanumeric).count();
        if length > 0 && name[length..].starts_with(':') && used.len() < MOST {
            used.insert(&name[..length]);
        }
    }
    used.retain(|prefix| *prefix != "xml" && !text.contains(&format!("xmlns:{prefix}")));
    used
}

/// Where the name of the first element ends.
fn root_name_end(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].find('<')?;
        let markup = &text[at..];
        if markup.starts_with("<!--") {
            at += markup.find("-->")?;
        } else if markup[1..].starts_with(char::is_alphabetic) {
            let ends = |sign: char| sign.is_whitespace() || matches!(sign, '>' | '/');
            return markup.find(ends).map(|length| at + length);
        } else {
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_declared_at_the_root_and_nothing_else_changes() {
        for text in ["<rss xmlns:dc='x'><dc:date/></rss>", "<rss", "<a:b", "<!-- <a:b> "] {
            assert_eq!(declared(text), text);
        }
        let text = "<?x?><!-- <rss> --><rss\n><dc:date/><q:w/><xml:x/></rss>";
        let root =
            "<rss xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xmlns:q=\"urn:undeclared:q\"\n";
        assert_eq!(declared(text), text.replace("<rss\n", root));
    }
}
