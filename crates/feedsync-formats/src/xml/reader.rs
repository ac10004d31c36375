//! Reads a document token by token.

use super::attributes::{Attribute, qualified_name, read_all, resolve_all, skip_space};
use super::characters::{check_characters, check_reference, is_space, name_length};
use super::error::XmlError;
use super::namespace::{Mark, Namespace, Namespaces};
use crate::options::{Limits, Mode};

/// A token as offsets into the text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Token {
    /// A start tag, or the tag of an empty element.
    Start(StartTag),
    /// The end tag of the innermost open element.
    End {
        /// Offset of its `<`.
        start: usize,
        /// Offset after its `>`.
        end: usize,
    },
    /// Character data, including references. It is never empty.
    Text {
        /// Offset of the first byte.
        start: usize,
        /// Offset after the last byte.
        end: usize,
    },
    /// A CDATA section with its delimiters.
    CData {
        /// Offset of `<![CDATA[`.
        start: usize,
        /// Offset after `]]>`.
        end: usize,
    },
    /// A comment, a processing instruction, the XML declaration or a document type.
    Other {
        /// Offset of the first byte.
        start: usize,
        /// Offset after the last byte.
        end: usize,
    },
    /// The end of a well-formed document.
    EndOfDocument,
}

/// A start tag.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartTag {
    /// Offset of `<`.
    pub(crate) start: usize,
    /// Offset after `>`.
    pub(crate) end: usize,
    /// Length of the qualified name.
    pub(crate) name_length: u32,
    /// Offset of the local part in the name, 0 without a prefix.
    pub(crate) local: u32,
    /// Namespace of the element.
    pub(crate) namespace: Namespace,
    /// Whether the element has the form `<a/>`, without an end tag.
    pub(crate) empty: bool,
}

impl StartTag {
    /// Returns the name without prefix.
    pub(crate) fn local_name<'a>(&self, text: &'a str) -> &'a str {
        let name = self.start + 1;
        &text[name + self.local as usize..name + self.name_length as usize]
    }
}

struct Open {
    name_start: usize,
    name_length: usize,
    mark: Mark,
}

/// Reads a document from the first byte to the last.
pub(crate) struct Reader<'a> {
    text: &'a str,
    position: usize,
    mode: Mode,
    limits: Limits,
    namespaces: Namespaces<'a>,
    open: Vec<Open>,
    seen_root: bool,
    seen_document_type: bool,
}

impl<'a> Reader<'a> {
    /// Creates a reader at the start of a text, and checks the characters of the text.
    pub(crate) fn new(text: &'a str, mode: Mode, limits: &Limits) -> Result<Self, XmlError> {
        if text.len() > limits.bytes.min(u32::MAX as usize - 1) {
            return Err(XmlError::new(0, format!("more than {} bytes", limits.bytes)));
        }
        check_characters(text)?;
        Ok(Self {
            text,
            position: 0,
            mode,
            limits: *limits,
            namespaces: Namespaces::default(),
            open: Vec::new(),
            seen_root: false,
            seen_document_type: false,
        })
    }

    /// Returns the text that is read.
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the namespaces so far.
    pub(crate) fn namespaces(&self) -> &Namespaces<'a> {
        &self.namespaces
    }

    /// Returns the next token. The attributes of a start tag are appended to `attributes`.
    pub(crate) fn token(&mut self, attributes: &mut Vec<Attribute>) -> Result<Token, XmlError> {
        let bytes = self.text.as_bytes();
        let start = self.position;
        match bytes.get(start) {
            None => self.end_of_document(),
            Some(b'<') => match bytes.get(start + 1) {
                Some(b'/') => self.end_tag(),
                Some(b'!') => self.declaration(),
                Some(b'?') => self.instruction(),
                _ => self.start_tag(attributes),
            },
            Some(_) => self.character_data(),
        }
    }

    fn end_of_document(&self) -> Result<Token, XmlError> {
        let end = self.text.len();
        match self.open.last() {
            Some(open) => {
                let name = &self.text[open.name_start..open.name_start + open.name_length];
                Err(XmlError::new(end, format!("the document ends inside the element {name:?}")))
            }
            None if !self.seen_root => Err(XmlError::new(end, "the document has no root element")),
            None => Ok(Token::EndOfDocument),
        }
    }

    fn start_tag(&mut self, attributes: &mut Vec<Attribute>) -> Result<Token, XmlError> {
        let start = self.position;
        let Some((length, local)) = qualified_name(self.text, start + 1) else {
            return Err(XmlError::new(start, "'<' must begin a tag with a legal name"));
        };
        if self.open.is_empty() && self.seen_root {
            return Err(XmlError::new(start, "a document has one root element"));
        }
        if self.open.len() >= self.limits.depth {
            let limit = self.limits.depth;
            return Err(XmlError::new(start, format!("elements nest at most {limit} deep")));
        }
        self.seen_root = true;
        let mark = self.namespaces.mark();
        let first = attributes.len();
        let name_start = start + 1;
        let tag = read_all(
            self.text,
            name_start + length,
            self.mode,
            &self.limits,
            &mut self.namespaces,
            attributes,
        )?;
        resolve_all(self.text, &self.namespaces, &mut attributes[first..])?;
        let namespace = if local == 0 {
            self.namespaces.default_namespace()
        } else {
            let prefix = &self.text[name_start..name_start + local - 1];
            self.namespaces.resolve(prefix).ok_or_else(|| {
                XmlError::new(name_start, format!("the prefix {prefix:?} is not declared"))
            })?
        };
        self.position = tag.offset;
        if tag.empty {
            self.namespaces.restore(mark);
        } else {
            self.open.push(Open { name_start, name_length: length, mark });
        }
        Ok(Token::Start(StartTag {
            start,
            end: tag.offset,
            name_length: length as u32,
            local: local as u32,
            namespace,
            empty: tag.empty,
        }))
    }

    fn end_tag(&mut self) -> Result<Token, XmlError> {
        let start = self.position;
        let bytes = self.text.as_bytes();
        let Some(open) = self.open.pop() else {
            return Err(XmlError::new(start, "an end tag without a start tag"));
        };
        let name = &bytes[open.name_start..open.name_start + open.name_length];
        let name_end = start + 2 + open.name_length;
        let matches = bytes.get(start + 2..name_end) == Some(name);
        let close = skip_space(bytes, name_end);
        if !matches || bytes.get(close) != Some(&b'>') {
            let name = &self.text[open.name_start..open.name_start + open.name_length];
            return Err(XmlError::new(start, format!("the end tag </{name}> is expected")));
        }
        self.namespaces.restore(open.mark);
        self.position = close + 1;
        Ok(Token::End { start, end: self.position })
    }

    fn character_data(&mut self) -> Result<Token, XmlError> {
        let start = self.position;
        let bytes = self.text.as_bytes();
        if self.open.is_empty() {
            let end = skip_space(bytes, start);
            if bytes.get(end).is_some_and(|&byte| byte != b'<') {
                return Err(XmlError::new(end, "text outside the root element"));
            }
            self.position = end;
            return Ok(Token::Text { start, end });
        }
        let mut offset = start;
        loop {
            let rest = &bytes[offset..];
            let Some(index) = memchr::memchr3(b'<', b'&', b']', rest) else {
                offset = bytes.len();
                break;
            };
            offset += index;
            match bytes[offset] {
                b'<' => break,
                b'&' => offset = check_reference(self.text, offset, self.mode)?,
                _ if bytes[offset..].starts_with(b"]]>") => {
                    return Err(XmlError::new(offset, "']]>' in text"));
                }
                _ => offset += 1,
            }
        }
        self.position = offset;
        Ok(Token::Text { start, end: offset })
    }

    fn declaration(&mut self) -> Result<Token, XmlError> {
        let start = self.position;
        let rest = &self.text.as_bytes()[start..];
        if rest.starts_with(b"<!--") {
            self.comment()
        } else if rest.starts_with(b"<![CDATA[") {
            if self.open.is_empty() {
                return Err(XmlError::new(start, "text outside the root element"));
            }
            let Some(index) = crate::search::find(rest, b"]]>") else {
                return Err(XmlError::new(start, "a CDATA section without an end"));
            };
            self.position = start + index + 3;
            Ok(Token::CData { start, end: self.position })
        } else if rest.starts_with(b"<!DOCTYPE") {
            self.document_type()
        } else {
            Err(XmlError::new(start, "'<!' must begin a comment or a CDATA section"))
        }
    }

    fn comment(&mut self) -> Result<Token, XmlError> {
        let start = self.position;
        let body = start + 4;
        match crate::search::find(&self.text.as_bytes()[body..], b"--") {
            Some(index) if self.text.as_bytes().get(body + index + 2) == Some(&b'>') => {
                self.position = body + index + 3;
                Ok(Token::Other { start, end: self.position })
            }
            Some(index) => Err(XmlError::new(body + index, "'--' in a comment")),
            None => Err(XmlError::new(start, "a comment without an end")),
        }
    }

    fn instruction(&mut self) -> Result<Token, XmlError> {
        let start = self.position;
        let target = start + 2;
        let length = name_length(&self.text[target..]);
        let name = &self.text[target..target + length];
        let after = self.text.as_bytes().get(target + length).copied();
        let Some(index) = crate::search::find(&self.text.as_bytes()[target..], b"?>") else {
            return Err(XmlError::new(start, "a processing instruction without an end"));
        };
        let end = target + index;
        if length == 0 || !(end == target + length || after.is_some_and(is_space)) {
            return Err(XmlError::new(start, "'<?' must begin a processing instruction"));
        }
        if name.eq_ignore_ascii_case("xml") {
            if start != 0 || name != "xml" {
                let message = "an XML declaration stands at the very start, in lower case";
                return Err(XmlError::new(start, message));
            }
            check_xml_declaration(self.text, target + length, end)?;
        }
        self.position = end + 2;
        Ok(Token::Other { start, end: self.position })
    }

    /// Finds the end of a document type without interpreting its content.
    fn document_type(&mut self) -> Result<Token, XmlError> {
        let start = self.position;
        if self.mode == Mode::Strict {
            return Err(XmlError::new(start, "a document type (DTD) is not accepted"));
        }
        if self.seen_root || self.seen_document_type {
            return Err(XmlError::new(start, "a document type stands once, before the root"));
        }
        self.seen_document_type = true;
        let bytes = self.text.as_bytes();
        let unfinished = || XmlError::new(start, "a document type without an end");
        let mut offset = start + 2;
        let mut nested = 0usize;
        loop {
            let rest = &bytes[offset..];
            let after = |found: Option<usize>, length: usize| {
                found.map(|index| offset + index + length).ok_or_else(unfinished)
            };
            offset = match rest.first() {
                None => return Err(unfinished()),
                Some(&quote @ (b'"' | b'\'')) => after(memchr::memchr(quote, &rest[1..]), 2)?,
                Some(b'<') if rest.starts_with(b"<!--") => {
                    after(crate::search::find(&rest[4..], b"-->"), 7)?
                }
                Some(b'<') if rest.starts_with(b"<?") => {
                    after(crate::search::find(&rest[2..], b"?>"), 4)?
                }
                Some(b'<' | b'[') => {
                    nested += 1;
                    offset + 1
                }
                Some(b'>') if nested == 0 => break,
                Some(b'>' | b']') => {
                    nested = nested.saturating_sub(1);
                    offset + 1
                }
                Some(_) => offset + 1,
            };
        }
        self.position = offset + 1;
        Ok(Token::Other { start, end: self.position })
    }
}

/// Checks `VersionInfo EncodingDecl? SDDecl? S?` between `<?xml` and `?>`.
fn check_xml_declaration(text: &str, start: usize, end: usize) -> Result<(), XmlError> {
    let bytes = text.as_bytes();
    let mut offset = start;
    let mut part = |name: &str, legal: &dyn Fn(&str) -> bool| -> Result<bool, XmlError> {
        let at = skip_space(bytes, offset);
        if !text[at..end].starts_with(name) {
            return Ok(false);
        }
        let fault = || XmlError::new(at, format!("a faulty {name} in the XML declaration"));
        let equals = skip_space(bytes, at + name.len());
        let quote = skip_space(bytes, equals + 1);
        let value = text.get(quote + 1..end).unwrap_or_default();
        let mark = bytes.get(quote).copied().filter(|byte| matches!(byte, b'"' | b'\''));
        let length = mark.and_then(|mark| memchr::memchr(mark, value.as_bytes()));
        match length {
            Some(length) if at > offset && bytes[equals] == b'=' && legal(&value[..length]) => {
                offset = quote + 1 + length + 1;
                Ok(true)
            }
            _ => Err(fault()),
        }
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let version = part("version", &|value| value.strip_prefix("1.").is_some_and(digits))?;
    if !version {
        return Err(XmlError::new(start, "an XML declaration begins with the version"));
    }
    part("encoding", &|value| {
        value.starts_with(|character: char| character.is_ascii_alphabetic())
            && value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
    })?;
    part("standalone", &|value| matches!(value, "yes" | "no"))?;
    if skip_space(bytes, offset) == end {
        Ok(())
    } else {
        Err(XmlError::new(offset, "unknown content in the XML declaration"))
    }
}
