//! Attributes of one start tag.

use std::borrow::Cow;
use std::ops::Range;

use super::characters::{check_reference, is_space, name_length, normalise};
use super::error::XmlError;
use super::namespace::{Namespace, Namespaces};
use crate::options::{Limits, Mode};

/// An attribute as offsets into its text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attribute {
    start: u32,
    /// Offset of the local name. It equals `start` if there is no prefix.
    local: u32,
    name_end: u32,
    value_start: u32,
    value_end: u32,
    namespace: Namespace,
    /// Whether the value has references or white space other than blanks.
    special: bool,
}

impl Attribute {
    /// Offset of the name.
    pub(crate) fn start(&self) -> usize {
        self.start as usize
    }

    /// Returns the range from the name to the closing quote, inclusive.
    pub(crate) fn span(&self) -> Range<usize> {
        self.start()..self.value_end as usize + 1
    }

    /// Returns the range of the value between its quotes.
    pub(crate) fn value_span(&self) -> Range<usize> {
        self.value_start as usize..self.value_end as usize
    }

    /// Returns the namespace. An attribute without a prefix has none, and declarations have that of
    /// `xmlns`.
    pub(crate) fn namespace(&self) -> Namespace {
        self.namespace
    }

    /// Returns the prefix, or an empty string if there is none.
    pub(crate) fn prefix<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start()..(self.local as usize).saturating_sub(1).max(self.start())]
    }

    /// Returns the name without prefix.
    pub(crate) fn local<'a>(&self, text: &'a str) -> &'a str {
        &text[self.local as usize..self.name_end as usize]
    }

    /// Returns the normalized value.
    pub(crate) fn value<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let raw = &text[self.value_span()];
        if self.special { normalise(raw) } else { Cow::Borrowed(raw) }
    }

    /// Returns the declared prefix, which is empty for the default namespace. Returns `None` if
    /// this is no declaration.
    pub(crate) fn declared_prefix<'a>(&self, text: &'a str) -> Option<&'a str> {
        if self.namespace != Namespace::XMLNS {
            None
        } else if self.local == self.start {
            Some("")
        } else {
            Some(self.local(text))
        }
    }
}

/// Returns the length of a qualified name and the offset of its local part.
pub(crate) fn qualified_name(text: &str, offset: usize) -> Option<(usize, usize)> {
    let rest = &text[offset..];
    let first = name_length(rest);
    if first == 0 {
        return None;
    }
    if rest.as_bytes().get(first) != Some(&b':') {
        return Some((first, 0));
    }
    match name_length(&rest[first + 1..]) {
        0 => None,
        second if rest.as_bytes().get(first + 1 + second) == Some(&b':') => None,
        second => Some((first + 1 + second, first + 1)),
    }
}

/// Skips white space.
pub(super) fn skip_space(bytes: &[u8], mut offset: usize) -> usize {
    while bytes.get(offset).copied().is_some_and(is_space) {
        offset += 1;
    }
    offset
}

/// End of a start tag's attributes, at `>` or `/>`.
pub(super) struct TagEnd {
    pub(super) offset: usize,
    pub(super) empty: bool,
}

/// Reads the attributes from after the element's name to the end of the tag, appends them and adds
/// their declarations. [`resolve_all`] resolves the namespaces of prefixed attributes.
pub(super) fn read_all<'a>(
    text: &'a str,
    mut offset: usize,
    mode: Mode,
    limits: &Limits,
    namespaces: &mut Namespaces<'a>,
    attributes: &mut Vec<Attribute>,
) -> Result<TagEnd, XmlError> {
    let bytes = text.as_bytes();
    let first = attributes.len();
    loop {
        let name_start = skip_space(bytes, offset);
        match bytes.get(name_start) {
            Some(b'>') => return Ok(TagEnd { offset: name_start + 1, empty: false }),
            Some(b'/') if bytes.get(name_start + 1) == Some(&b'>') => {
                return Ok(TagEnd { offset: name_start + 2, empty: true });
            }
            None => return Err(XmlError::new(name_start, "the document ends inside a tag")),
            Some(_) if name_start == offset => {
                return Err(XmlError::new(offset, "white space, '>' or '/>' expected in a tag"));
            }
            Some(_) => {}
        }
        if attributes.len() - first >= limits.attributes {
            let limit = limits.attributes;
            let message = format!("an element has at most {limit} attributes");
            return Err(XmlError::new(name_start, message));
        }
        let attribute = read_one(text, name_start, mode)?;
        if attribute.namespace == Namespace::XMLNS {
            if namespaces.depth() >= limits.attributes {
                let limit = limits.attributes;
                let message = format!("at most {limit} namespace declarations are in scope");
                return Err(XmlError::new(name_start, message));
            }
            namespaces.declare(text, &attribute)?;
        }
        offset = attribute.value_end as usize + 1;
        attributes.push(attribute);
    }
}

/// Bytes at which an attribute value ends or needs a closer check.
const STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    let bytes = b"\"'<&\t\n\r";
    let mut index = 0;
    while index < bytes.len() {
        stops[bytes[index] as usize] = true;
        index += 1;
    }
    stops
};

fn read_one(text: &str, start: usize, mode: Mode) -> Result<Attribute, XmlError> {
    let bytes = text.as_bytes();
    let Some((length, local)) = qualified_name(text, start) else {
        return Err(XmlError::new(start, "the name of an attribute is expected"));
    };
    let name_end = start + length;
    let equals = skip_space(bytes, name_end);
    if bytes.get(equals) != Some(&b'=') {
        return Err(XmlError::new(equals, "'=' expected after the name of an attribute"));
    }
    let quote_offset = skip_space(bytes, equals + 1);
    let quote = match bytes.get(quote_offset) {
        Some(&quote @ (b'"' | b'\'')) => quote,
        _ => {
            let message = match text[quote_offset..].chars().next() {
                Some('\u{201c}'..='\u{201f}' | '\u{2018}'..='\u{201b}') => {
                    "the value of an attribute stands in straight quotes, not typographic ones"
                }
                _ => "the value of an attribute stands in quotes",
            };
            return Err(XmlError::new(quote_offset, message));
        }
    };
    let value_start = quote_offset + 1;
    let mut special = false;
    let mut offset = value_start;
    let value_end = loop {
        let rest = &bytes[offset..];
        offset += rest.iter().position(|&byte| STOPS[usize::from(byte)]).unwrap_or(rest.len());
        match bytes.get(offset) {
            Some(&byte) if byte == quote => break offset,
            Some(b'<') => {
                return Err(XmlError::new(offset, "'<' in the value of an attribute"));
            }
            Some(b'&') => {
                special = true;
                offset = check_reference(text, offset, mode)?;
            }
            Some(b'\t' | b'\n' | b'\r') => {
                special = true;
                offset += 1;
            }
            Some(_) => offset += 1,
            None => return Err(XmlError::new(quote_offset, "the value has no closing quote")),
        }
    };
    let name = &text[start..name_end];
    let declares = name == "xmlns" || (local == 6 && name.starts_with("xmlns:"));
    Ok(Attribute {
        start: start as u32,
        local: (start + local) as u32,
        name_end: name_end as u32,
        value_start: value_start as u32,
        value_end: value_end as u32,
        namespace: if declares { Namespace::XMLNS } else { Namespace::NONE },
        special,
    })
}

/// Resolves the prefixes of the attributes of one tag and checks that each attribute occurs once.
pub(super) fn resolve_all(
    text: &str,
    namespaces: &Namespaces<'_>,
    attributes: &mut [Attribute],
) -> Result<(), XmlError> {
    for attribute in attributes.iter_mut() {
        if attribute.namespace == Namespace::NONE && attribute.local != attribute.start {
            let prefix = attribute.prefix(text);
            attribute.namespace = namespaces.resolve(prefix).ok_or_else(|| {
                XmlError::new(attribute.start(), format!("the prefix {prefix:?} is not declared"))
            })?;
        }
    }
    let duplicate = if attributes.len() <= 16 {
        attributes.iter().enumerate().find_map(|(index, attribute)| {
            attributes[..index]
                .iter()
                .any(|earlier| {
                    earlier.namespace == attribute.namespace
                        && earlier.local(text) == attribute.local(text)
                        && (earlier.local == earlier.start) == (attribute.local == attribute.start)
                })
                .then_some(*attribute)
        })
    } else {
        let key = |attribute: &Attribute| {
            (attribute.namespace.0, attribute.local == attribute.start, attribute.local(text))
        };
        let mut sorted: Vec<Attribute> = attributes.to_vec();
        sorted.sort_by(|left, right| key(left).cmp(&key(right)));
        sorted
            .windows(2)
            .filter(|pair| key(&pair[0]) == key(&pair[1]))
            .map(|pair| pair[1])
            .min_by_key(|attribute| attribute.start)
    };
    match duplicate {
        Some(attribute) => {
            let name = attribute.local(text);
            let message = format!("the attribute {name:?} occurs twice in one tag");
            Err(XmlError::new(attribute.start(), message))
        }
        None => Ok(()),
    }
}
