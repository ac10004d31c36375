//! Tokenizer for markup that may not be well-formed. Every byte of the text belongs to one piece, and the pass takes
//! linear time.

use memchr::memmem;

use crate::xml::{is_space, qualified_name};

/// Maximum length of the rest of an attribute value after a `<`, in bytes.
const MAX_VALUE_BYTES: usize = 512;

/// A piece of markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Characters, with references as written.
    Text(&'a str),
    /// Content of a CDATA section.
    CData(&'a str),
    /// A comment, a processing instruction or a document type declaration.
    Other,
    /// A start tag.
    Start(Tag<'a>),
    /// An end tag, with its name.
    End(&'a str),
    /// Markup that is cut off at the end of the text.
    CutOff,
}

/// A start tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// The qualified name.
    pub(super) name: &'a str,
    /// Names and raw values of the attributes.
    pub(super) attributes: Vec<(&'a str, &'a str)>,
    /// Whether the tag ends in `/>`.
    pub(super) is_empty: bool,
}

/// Iterator over the pieces of a text, in order.
pub(super) struct Soup<'a> {
    text: &'a str,
    at: usize,
    /// Name in the last start tag.
    open: &'a str,
    comment_end: Finder,
    section_end: Finder,
    instruction_end: Finder,
    subset_end: Finder,
}

/// Finds occurrences of a delimiter at ascending offsets, in one pass over the text.
struct Finder {
    mark: &'static str,
    known: Option<Option<usize>>,
}

impl Finder {
    fn new(mark: &'static str) -> Self {
        Self { mark, known: None }
    }

    /// Returns the offset of the next occurrence.
    fn next(&mut self, text: &str, from: usize) -> Option<usize> {
        match self.known {
            Some(None) => None,
            Some(Some(at)) if at >= from => Some(at),
            _ => {
                let found = memmem::find(&text.as_bytes()[from..], self.mark.as_bytes());
                let found = found.map(|index| from + index);
                self.known = Some(found);
                found
            }
        }
    }
}

/// Result of trying to read a start tag.
enum StartTagResult {
    Tag,
    /// The `<` starts no tag.
    NoTag,
    CutOff,
}

impl<'a> Soup<'a> {
    /// Returns an iterator over the pieces from an offset.
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self {
            text,
            at,
            open: "",
            comment_end: Finder::new("-->"),
            section_end: Finder::new("]]>"),
            instruction_end: Finder::new("?>"),
            subset_end: Finder::new("]>"),
        }
    }

    /// Returns the offset of the next piece.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Continues at the end tag of an element that contains no markup. If there is none, does nothing and returns
    /// `false`.
    pub(super) fn skip_to_end_of(&mut self, name: &str) -> bool {
        let mut at = self.at;
        while let Some(index) = memmem::find(&self.text.as_bytes()[at..], b"</") {
            at += index;
            let found = self.text.as_bytes().get(at + 2..at + 2 + name.len());
            if found.is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes())) {
                self.at = at;
                return true;
            }
            at += 2;
        }
        false
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Consumes the text up to an offset.
    fn up_to(&mut self, end: usize) -> &'a str {
        let taken = &self.text[self.at..end];
        self.at = end;
        taken
    }

    fn cut_off(&mut self) -> Piece<'a> {
        self.at = self.text.len();
        Piece::CutOff
    }

    fn characters(&mut self, least: usize) -> Piece<'a> {
        let from = self.at + least;
        let length = memchr::memchr(b'<', &self.text.as_bytes()[from..]);
        Piece::Text(self.up_to(length.map_or(self.text.len(), |length| from + length)))
    }

    fn section(&mut self) -> Piece<'a> {
        const BEGIN: &str = "<![CDATA[";
        let start = self.at + BEGIN.len();
        let Some(end) = self.section_end.next(self.text, start) else { return self.cut_off() };
        // Another section starts before the end, so this section was not closed. It ends at its element's end tag.
        let inside = &self.text.as_bytes()[start..end];
        if let Some(other) = memmem::find(inside, BEGIN.as_bytes()) {
            let closed = format!("</{}>", self.open);
            if let Some(length) = memmem::find(&inside[..other], closed.as_bytes()) {
                self.at = start;
                return Piece::CData(self.up_to(start + length));
            }
        }
        self.at = end + "]]>".len();
        Piece::CData(&self.text[start..end])
    }

    /// Skips markup that ends with a delimiter.
    fn past(&mut self, end: Option<usize>, length: usize) -> Piece<'a> {
        match end {
            Some(end) => {
                self.at = end + length;
                Piece::Other
            }
            None => self.cut_off(),
        }
    }

    fn declaration(&mut self) -> Piece<'a> {
        let end = memchr::memchr2(b'>', b'[', &self.text.as_bytes()[self.at..]);
        match end.map(|index| self.at + index) {
            Some(bracket) if self.text.as_bytes()[bracket] == b'[' => {
                let end = self.subset_end.next(self.text, bracket);
                self.past(end, 2)
            }
            end => self.past(end, 1),
        }
    }

    fn end_tag(&mut self) -> Piece<'a> {
        let Some((length, _)) = qualified_name(self.text, self.at + 2) else {
            return self.characters(1);
        };
        let name = &self.text[self.at + 2..self.at + 2 + length];
        let after = self.at + 2 + length;
        match memchr::memchr2(b'>', b'<', &self.text.as_bytes()[after..]) {
            Some(index) => {
                let end = after + index;
                self.at = end + usize::from(self.text.as_bytes()[end] == b'>');
                Piece::End(name)
            }
            None => self.cut_off(),
        }
    }

    fn start_tag(&mut self) -> Piece<'a> {
        let Some((length, _)) = qualified_name(self.text, self.at + 1) else {
            return self.characters(1);
        };
        let start = self.at + 1;
        let mut tag = Tag {
            name: &self.text[start..start + length],
            attributes: Vec::new(),
            is_empty: false,
        };
        let mut at = start + length;
        match self.attributes(&mut tag, &mut at) {
            StartTagResult::Tag => {
                self.at = at;
                self.open = tag.name;
                Piece::Start(tag)
            }
            StartTagResult::NoTag => self.characters(1),
            StartTagResult::CutOff => self.cut_off(),
        }
    }

    /// Reads the attributes up to the end of the tag.
    fn attributes(&self, tag: &mut Tag<'a>, at: &mut usize) -> StartTagResult {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(*at) {
                None => return StartTagResult::CutOff,
                Some(b'>') => {
                    *at += 1;
                    return StartTagResult::Tag;
                }
                Some(b'/') if bytes.get(*at + 1) == Some(&b'>') => {
                    *at += 2;
                    tag.is_empty = true;
                    return StartTagResult::Tag;
                }
                // Either the end of the tag is missing, or this is no tag.
                Some(b'<') if tag.attributes.iter().any(|(_, value)| !value.is_empty()) => {
                    return StartTagResult::Tag;
                }
                Some(b'<') => return StartTagResult::NoTag,
                Some(_) => match qualified_name(self.text, *at) {
                    Some((length, _)) => {
                        let name = &self.text[*at..*at + length];
                        *at += length;
                        let value = self.value(at);
                        tag.attributes.push((name, value));
                    }
                    // Skip white space or a stray character.
                    None => *at += self.text[*at..].chars().next().map_or(1, char::len_utf8),
                },
            }
        }
    }

    /// Reads the value of an attribute whose name ends at this offset.
    fn value(&self, at: &mut usize) -> &'a str {
        let bytes = self.text.as_bytes();
        let skip = |mut at: usize| {
            while bytes.get(at).copied().is_some_and(is_space) {
                at += 1;
            }
            at
        };
        let equals = skip(*at);
        if bytes.get(equals) != Some(&b'=') {
            return "";
        }
        let start = skip(equals + 1);
        let quote = match bytes.get(start) {
            Some(&quote @ (b'"' | b'\'')) => quote,
            _ => {
                let ends = |byte: &u8| is_space(*byte) || matches!(byte, b'>' | b'<');
                let length = bytes[start..].iter().position(ends).unwrap_or(bytes.len() - start);
                let value = self.text[start..start + length].trim_end_matches('/');
                *at = start + value.len();
                return value;
            }
        };
        let start = start + 1;
        let Some(index) = memchr::memchr2(quote, b'<', &bytes[start..]) else {
            *at = bytes.len();
            return "";
        };
        let mut end = start + index;
        if bytes[end] == b'<' {
            let near = &bytes[end..bytes.len().min(end + MAX_VALUE_BYTES)];
            let is_open = memchr::memchr(b'>', &bytes[start..end]);
            end = match (is_open, memchr::memchr(quote, near)) {
                // In `a="b>text<` the closing quote is missing.
                (Some(index), _) => start + index,
                (None, Some(index)) => end + index,
                (None, None) => end,
            };
        }
        *at = end + usize::from(bytes[end] == quote);
        &self.text[start..end]
    }
}

impl<'a> Iterator for Soup<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let rest = self.rest();
        let piece = match rest.as_bytes().get(..2).unwrap_or(rest.as_bytes()) {
            [] => return None,
            b"</" => self.end_tag(),
            b"<?" => {
                let end = self.instruction_end.next(self.text, self.at + 2);
                self.past(end, 2)
            }
            b"<!" if rest.starts_with("<!--") => {
                let end = self.comment_end.next(self.text, self.at + 4);
                self.past(end, 3)
            }
            b"<!" if rest.starts_with("<![CDATA[") => self.section(),
            b"<!" => self.declaration(),
            [b'<', ..] => self.start_tag(),
            _ => self.characters(0),
        };
        Some(piece)
    }
}

#[cfg(test)]
mod tests;
