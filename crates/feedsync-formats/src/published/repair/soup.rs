//! Markup as it comes, cut into pieces: whatever the text is, every byte of it belongs to one piece, and the pass is
//! linear.

use memchr::memmem;

use crate::xml::{is_space, qualified_name};

/// Bytes of a value of an attribute in which `<` stands.
const LONGEST_VALUE: usize = 512;

/// A piece of markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Characters, with the references in them as they stand.
    Text(&'a str),
    /// The inside of a CDATA section.
    CData(&'a str),
    /// A comment, a processing instruction, a document type.
    Other,
    /// A start tag.
    Start(Tag<'a>),
    /// The name in an end tag.
    End(&'a str),
    /// Markup that the end of the text cuts off.
    CutOff,
}

/// A start tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// The qualified name.
    pub(super) name: &'a str,
    /// Names and values, as they stand between the quotes.
    pub(super) attributes: Vec<(&'a str, &'a str)>,
    /// Whether it ends in `/>`.
    pub(super) is_empty: bool,
}

/// The pieces of a text, in order.
pub(super) struct Soup<'a> {
    text: &'a str,
    at: usize,
    /// The name in the last start tag.
    open: &'a str,
    comment_end: Finder,
    section_end: Finder,
    instruction_end: Finder,
    subset_end: Finder,
}

/// Occurrences of a mark, looked up at ascending offsets in one pass over the text.
struct Finder {
    mark: &'static str,
    known: Option<Option<usize>>,
}

impl Finder {
    fn new(mark: &'static str) -> Self {
        Self { mark, known: None }
    }

    /// The offset of the next mark.
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

/// The end of an attempt to read a start tag.
enum Ended {
    Tag,
    /// `<` begins no tag.
    NoTag,
    CutOff,
}

impl<'a> Soup<'a> {
    /// The pieces from an offset on.
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

    /// The offset of the next piece.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Goes on at the end tag of an element that holds no markup; if there is none, goes on as it is and gives `false`.
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

    /// Takes everything up to an offset.
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
        // Another section begins first: this one was not closed, and ends with its element.
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

    /// Goes past markup that ends with a mark.
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
            Ended::Tag => {
                self.at = at;
                self.open = tag.name;
                Piece::Start(tag)
            }
            Ended::NoTag => self.characters(1),
            Ended::CutOff => self.cut_off(),
        }
    }

    /// Reads attributes up to the end of the tag.
    fn attributes(&self, tag: &mut Tag<'a>, at: &mut usize) -> Ended {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(*at) {
                None => return Ended::CutOff,
                Some(b'>') => {
                    *at += 1;
                    return Ended::Tag;
                }
                Some(b'/') if bytes.get(*at + 1) == Some(&b'>') => {
                    *at += 2;
                    tag.is_empty = true;
                    return Ended::Tag;
                }
                // The tag lacks its end, or it is none.
                Some(b'<') if tag.attributes.iter().any(|(_, value)| !value.is_empty()) => {
                    return Ended::Tag;
                }
                Some(b'<') => return Ended::NoTag,
                Some(_) => match qualified_name(self.text, *at) {
                    Some((length, _)) => {
                        let name = &self.text[*at..*at + length];
                        *at += length;
                        let value = self.value(at);
                        tag.attributes.push((name, value));
                    }
                    // White space, or a sign that belongs to nothing.
                    None => *at += self.text[*at..].chars().next().map_or(1, char::len_utf8),
                },
            }
        }
    }

    /// The value of an attribute, whose name ends here.
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
            let near = &bytes[end..bytes.len().min(end + LONGEST_VALUE)];
            let is_open = memchr::memchr(b'>', &bytes[start..end]);
            end = match (is_open, memchr::memchr(quote, near)) {
                // `a="b>text<`: the quote is missing.
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
