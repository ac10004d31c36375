//! Walks a JSON text by spans, without building a tree.
//!
//! The text should have passed [`super::check`]. On any other text the walk ends early and never fails.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;

use super::string;

/// Type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An object.
    Object,
    /// An array.
    Array,
    /// A string.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// `null`.
    Null,
}

/// A value with its position in the text.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    text: &'a str,
    start: usize,
    end: usize,
}

/// A member of an object.
#[derive(Debug, Clone)]
pub struct Member<'a> {
    /// Name of the member, without escapes.
    pub name: Cow<'a, str>,
    /// Byte offset of the name.
    pub start: usize,
    /// Value of the member.
    pub value: Node<'a>,
}

impl<'a> Member<'a> {
    /// Returns the name as written in the text, with its quotes.
    pub fn quoted(&self) -> &'a str {
        &self.value.text[self.start..skip_string(self.value.text, self.start)]
    }

    /// Returns the text of the member, from its name to the end of its value.
    pub fn raw(&self) -> &'a str {
        &self.value.text[self.start..self.value.end]
    }
}

impl<'a> Node<'a> {
    /// Returns the value that the text consists of.
    pub fn root(text: &'a str) -> Self {
        let start = skip_blank(text, 0);
        Self { text, start, end: skip_value(text, start) }
    }

    /// Like [`Node::root`], for a text that has passed [`super::check`]. The end of the value is then known without
    /// scanning.
    pub fn of_checked(text: &'a str) -> Self {
        let blank = [' ', '\t', '\n', '\r'];
        Self { text, start: skip_blank(text, 0), end: text.trim_end_matches(blank).len() }
    }

    /// Returns the type of the value.
    pub fn kind(self) -> Kind {
        match self.text.as_bytes().get(self.start) {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            _ => Kind::Null,
        }
    }

    /// Returns the byte offset of the first character.
    pub fn start(self) -> usize {
        self.start
    }

    /// Returns the byte offset after the last character.
    pub fn end(self) -> usize {
        self.end
    }

    /// Returns the byte range in the text.
    pub fn span(self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns the value as written in the text.
    pub fn raw(self) -> &'a str {
        &self.text[self.start..self.end]
    }

    /// Whether objects and arrays are nested deeper than the given number of levels.
    pub fn is_deeper_than(self, levels: usize) -> bool {
        let mut depth = 0usize;
        let mut at = self.start;
        // A level takes at least two bytes, so most values need no scan.
        while at < self.end && self.end - self.start > 2 * levels {
            match self.text.as_bytes()[at] {
                b'"' => {
                    at = skip_string(self.text, at);
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > levels {
                return true;
            }
            at += 1;
        }
        false
    }

    /// Returns the decoded text of a string. Returns `None` for other types.
    pub fn string(self) -> Option<Cow<'a, str>> {
        (self.kind() == Kind::String).then(|| string::decode(self.raw()))
    }

    /// Returns the members of an object in order. Other types have none.
    pub fn members(self) -> impl Iterator<Item = Member<'a>> {
        let mut at = if self.kind() == Kind::Object { self.start + 1 } else { self.end };
        std::iter::from_fn(move || {
            let start = self.next_part(at);
            if start >= self.end || self.text.as_bytes()[start] != b'"' {
                return None;
            }
            let name_end = skip_string(self.text, start);
            let name = string::decode(&self.text[start..name_end]);
            let colon = skip_blank(self.text, name_end);
            if self.text.as_bytes().get(colon) != Some(&b':') {
                return None;
            }
            let value = self.value_at(skip_blank(self.text, colon + 1))?;
            at = value.end;
            Some(Member { name, start, value })
        })
    }

    /// Returns the member with the given name.
    pub fn member(self, name: &str) -> Option<Member<'a>> {
        self.members().find(|member| member.name == name)
    }

    /// Returns the elements of an array in order. Other types have none.
    pub fn elements(self) -> impl Iterator<Item = Node<'a>> {
        let mut at = if self.kind() == Kind::Array { self.start + 1 } else { self.end };
        std::iter::from_fn(move || {
            let value = self.value_at(self.next_part(at))?;
            at = value.end;
            Some(value)
        })
    }

    /// Returns the offset of the next part, after blanks and a comma, or of the end of the container.
    fn next_part(self, at: usize) -> usize {
        let start = skip_blank(self.text, at);
        match self.text.as_bytes().get(start) {
            Some(b',') => skip_blank(self.text, start + 1),
            _ => start,
        }
    }

    fn value_at(self, start: usize) -> Option<Self> {
        let end = skip_value(self.text, start).min(self.end);
        (start < end).then_some(Self { text: self.text, start, end })
    }
}

fn skip_blank(text: &str, mut at: usize) -> usize {
    while matches!(text.as_bytes().get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Returns the end of the string that starts here.
fn skip_string(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    while let Some(plain) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += plain;
        match bytes[at] {
            b'"' => return at + 1,
            _ => at += 2,
        }
    }
    text.len()
}

/// Returns the end of the value that starts here.
fn skip_value(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = skip_string(text, at);
                if depth == 0 {
                    return at;
                }
            }
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                if depth <= 1 {
                    return at + depth;
                }
                depth -= 1;
                at += 1;
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return at,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_keep_their_spans() {
        let text = " { \"a\" : [ 1, \"x,]\" ,{ } ] ,\"\\u0062\":null}";
        let root = Node::root(text);
        let members: Vec<_> = root.members().collect();
        assert_eq!(members.len(), 2);
        assert_eq!(members[0].raw(), "\"a\" : [ 1, \"x,]\" ,{ } ]");
        assert_eq!((&*members[1].name, members[1].value.kind()), ("b", Kind::Null));
        let elements: Vec<_> = members[0].value.elements().map(Node::raw).collect();
        assert_eq!(elements, ["1", "\"x,]\"", "{ }"]);
        assert_eq!(root.member("c").map(|member| member.start), None);
    }

    #[test]
    fn a_checked_text_is_walked_alike() {
        for text in ["1", " [1, {\"a\":\"\\\"\"} ]\r\n", "\t\"a\\\\\" ", "{ }"] {
            let (known, found) = (Node::of_checked(text), Node::root(text));
            assert_eq!((known.span(), known.kind()), (found.span(), found.kind()), "{text}");
        }
    }

    #[test]
    fn nesting_depth_is_compared_with_a_limit() {
        for (text, depth) in [("1", 0), ("[]", 1), ("{\"[[\":[1,{}]}", 3), ("[[],[[]]]", 3)] {
            let levels = (0..9).find(|levels| !Node::root(text).is_deeper_than(*levels));
            assert_eq!(levels, Some(depth), "{text}");
        }
    }

    #[test]
    fn a_walk_over_any_text_ends() {
        for text in
            ["", "{", "[", "{\"", "{\"a", "{\"a\"", "{\"a\":", "[,", "[1", "{a}", "]", "\u{201c}"]
        {
            let root = Node::root(text);
            assert!(root.members().count() < 2 && root.elements().count() < 2, "{text}");
            let _ = (root.kind(), root.raw(), root.string());
        }
    }
}
