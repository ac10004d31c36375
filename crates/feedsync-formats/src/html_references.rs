//! Finds the references in HTML: values of attributes such as `href` and `src`.
//!
//! One pass over the start tags, which are parsed as in browsers. A tag, comment or value without an end stops the
//! pass. The values that are found do not overlap, and they are in text order.

use std::ops::Range;

/// Attributes whose value is an address (HTML 4.01, HTML).
const ADDRESSES: [&str; 10] = [
    "href",
    "src",
    "action",
    "background",
    "cite",
    "data",
    "formaction",
    "longdesc",
    "poster",
    SOURCES,
];
/// Attribute whose value is a list of addresses.
const SOURCES: &str = "srcset";

/// An attribute value that refers to a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Byte range of the value, without quotes.
    pub(crate) value: Range<usize>,
    /// Whether the value is quoted.
    pub(crate) is_quoted: bool,
    /// Whether the value is a list of addresses, as in `srcset`.
    pub(crate) is_list: bool,
}

/// Returns all references, in text order.
pub(crate) fn references(html: &str) -> Vec<Reference> {
    let mut scan = Scan { html, at: 0, found: Vec::new() };
    while scan.tag().is_some() {}
    scan.found
}

struct Scan<'h> {
    html: &'h str,
    at: usize,
    found: Vec<Reference>,
}

impl<'h> Scan<'h> {
    /// Skips to the end of the next tag or comment. Returns `None` if there is none or if it has no end.
    fn tag(&mut self) -> Option<()> {
        self.at += self.rest().find('<')? + 1;
        if self.rest().starts_with("!--") {
            return self.past("-->");
        }
        if !self.rest().starts_with(|first: char| first.is_ascii_alphabetic()) {
            return Some(());
        }
        let name = self.while_is(|c| !c.is_ascii_whitespace() && c != '/' && c != '>');
        while self.attribute()? {}
        // The content of these elements is not markup.
        if name.eq_ignore_ascii_case("script") || name.eq_ignore_ascii_case("style") {
            while !self.ends(name)? {}
        }
        Some(())
    }

    /// Skips the next attribute and returns true, or skips the end of the tag and returns false.
    fn attribute(&mut self) -> Option<bool> {
        self.while_is(|c| c.is_ascii_whitespace() || c == '/');
        if self.rest().starts_with('>') {
            return Some(false);
        }
        // An equals sign at the start is part of the name.
        let first = self.rest().chars().next()?;
        let start = self.at;
        self.at += first.len_utf8();
        self.while_is(|c| !c.is_ascii_whitespace() && c != '/' && c != '>' && c != '=');
        let name = &self.html[start..self.at];
        self.while_is(|c| c.is_ascii_whitespace());
        if !self.rest().starts_with('=') {
            return Some(true);
        }
        self.at += 1;
        self.while_is(|c| c.is_ascii_whitespace());
        let quote = self.rest().chars().next().filter(|first| matches!(first, '"' | '\''));
        self.at += usize::from(quote.is_some());
        let start = self.at;
        match quote {
            Some(quote) => {
                self.at += self.rest().find(quote)? + 1;
            }
            None => {
                self.while_is(|c| !c.is_ascii_whitespace() && c != '>');
            }
        }
        if ADDRESSES.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            self.found.push(Reference {
                value: start..self.at - usize::from(quote.is_some()),
                is_quoted: quote.is_some(),
                is_list: name.eq_ignore_ascii_case(SOURCES),
            });
        }
        Some(true)
    }

    /// Skips the next `</`. Returns whether the name follows it.
    fn ends(&mut self, name: &str) -> Option<bool> {
        self.past("</")?;
        let found = self.rest().get(..name.len());
        Some(found.is_some_and(|found| found.eq_ignore_ascii_case(name)))
    }

    fn past(&mut self, text: &str) -> Option<()> {
        self.at += self.rest().find(text)? + text.len();
        Some(())
    }

    fn while_is(&mut self, is: impl Fn(char) -> bool) -> &'h str {
        let start = self.at;
        self.at += self.rest().find(|c| !is(c)).unwrap_or(self.rest().len());
        &self.html[start..self.at]
    }

    fn rest(&self) -> &'h str {
        &self.html[self.at..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(html: &str) -> Vec<&str> {
        references(html).into_iter().map(|found| &html[found.value]).collect()
    }

    #[test]
    fn addresses_are_found_in_start_tags_alone() {
        for (html, expected) in [
            ("<a href=\"a\" title=\"b\">href=c</a href=d><IMG SRC='e'/>", &["a", "e"][..]),
            ("<a href = x y=z><a\nhref=\n\"a>b\"><a href><a href=>", &["x", "a>b", ""]),
            ("<img srcset='a 1x, b 2x' src=c/d>", &["a 1x, b 2x", "c/d"]),
            ("<!-- <a href=x> --><!doctype x><a/href=y>", &["y"]),
            ("<script src=a>'<a href=b>'</scripts></SCRIPT><a href=c>", &["a", "c"]),
            ("a < b <a =href=x href=y>", &["y"]),
            ("<h:a href=\"é\">", &["é"]),
        ] {
            assert_eq!(found(html), expected, "{html}");
        }
    }

    #[test]
    fn unterminated_markup_stops_the_search() {
        for (html, expected) in [
            ("<a href=a><a href='x", &["a"][..]),
            ("<a href=x", &["x"]),
            ("<!-- <a href=x>", &[]),
            ("<a href=a><!-- <a href=x>", &["a"]),
            ("<", &[]),
            ("<a", &[]),
            ("<a href", &[]),
            ("<style><a href=x>", &[]),
            ("<style><a href=x></style", &[]),
            ("<style><a href=x></style><a href=y>", &["y"]),
        ] {
            assert_eq!(found(html), expected, "{html}");
        }
        // Each value begins where the previous one ended, so every second one is found. The last one has no end.
        let many = "<a href='".repeat(100_001);
        assert_eq!(found(&many).len(), 50_000);
    }
}
