//! Checks that a JSON text is well-formed (RFC 8259), in one pass with bounded depth.
//!
//! A text that breaks the grammar gives an error with its position. Duplicate member names and lone
//! surrogates (R-P9) are allowed by the grammar, but parsers disagree on them. These are reported
//! as flaws, so that only the item that contains them is refused.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use memchr::memchr2;

use super::string;

/// The text is not JSON, or is nested too deeply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Byte offset of the fault.
    pub offset: usize,
    /// Description of the problem.
    pub message: String,
}

/// A problem that the grammar allows and FeedSync does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flaw {
    /// A member name that occurs twice in its object.
    DuplicateName,
    /// `\uD800` to `\uDFFF` without the other half of the pair.
    LoneSurrogate,
}

impl Flaw {
    /// Returns a description of the problem.
    pub fn message(self) -> &'static str {
        match self {
            Self::DuplicateName => "this object already has a member of that name",
            Self::LoneSurrogate => "half of a surrogate pair is not a character",
        }
    }
}

/// Checks a whole text and returns its flaws, ordered by byte offset.
pub fn check(text: &str, depth: usize) -> Result<Vec<(usize, Flaw)>, Malformed> {
    let mut scanner = Scanner::of(text, depth);
    scanner.document()?;
    scanner.flaws.sort_unstable();
    Ok(scanner.flaws)
}

/// Checks a whole text and ignores its flaws. Names are not compared.
pub fn check_grammar(text: &str, depth: usize) -> Result<(), Malformed> {
    Scanner { compares_names: false, ..Scanner::of(text, depth) }.document()
}

/// An array or object that is still open.
enum Open {
    Array,
    /// An object, with the index of its first name in [`Scanner::names`].
    Object(usize),
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    open: Vec<Open>,
    compares_names: bool,
    names: Vec<(Cow<'a, str>, usize)>,
    flaws: Vec<(usize, Flaw)>,
}

impl<'a> Scanner<'a> {
    fn of(text: &'a str, depth: usize) -> Self {
        let (open, names, flaws) = (Vec::new(), Vec::new(), Vec::new());
        Self { text, at: 0, depth, open, compares_names: true, names, flaws }
    }

    fn document(&mut self) -> Result<(), Malformed> {
        loop {
            self.blank();
            // A value starts here. An empty container ends immediately.
            let complete = match self.peek() {
                Some(b'[') => {
                    self.enter(Open::Array)?;
                    self.take(b']')
                }
                Some(b'{') => {
                    self.enter(Open::Object(self.names.len()))?;
                    let empty = self.take(b'}');
                    if !empty {
                        self.name()?;
                    }
                    empty
                }
                _ => {
                    self.scalar()?;
                    self.next_in_container()?;
                    if self.open.is_empty() {
                        return self.finish();
                    }
                    continue;
                }
            };
            if complete {
                self.leave();
                self.next_in_container()?;
                if self.open.is_empty() {
                    return self.finish();
                }
            }
        }
    }

    /// Closes the containers that end after a value, and reads the comma before the next value.
    fn next_in_container(&mut self) -> Result<(), Malformed> {
        loop {
            self.blank();
            match self.open.last() {
                None => return Ok(()),
                Some(Open::Array) => {
                    if self.take(b',') {
                        return Ok(());
                    }
                    if !self.take(b']') {
                        return Err(self.unexpected("',' or ']'"));
                    }
                }
                Some(Open::Object(_)) => {
                    if self.take(b',') {
                        self.blank();
                        return self.name();
                    }
                    if !self.take(b'}') {
                        return Err(self.unexpected("',' or '}'"));
                    }
                }
            }
            self.leave();
        }
    }

    fn finish(&mut self) -> Result<(), Malformed> {
        self.blank();
        if self.at == self.text.len() { Ok(()) } else { Err(self.unexpected("the end")) }
    }

    fn enter(&mut self, container: Open) -> Result<(), Malformed> {
        if self.open.len() == self.depth {
            return Err(self.error(format!("nested deeper than {} levels", self.depth)));
        }
        self.at += 1;
        self.open.push(container);
        self.blank();
        Ok(())
    }

    /// Closes the innermost container. The names of an object are compared once it is complete.
    fn leave(&mut self) {
        if let Some(Open::Object(first)) = self.open.pop() {
            let names = &mut self.names[first..];
            names.sort_unstable();
            for pair in names.windows(2) {
                if pair[0].0 == pair[1].0 {
                    self.flaws.push((pair[1].1, Flaw::DuplicateName));
                }
            }
            self.names.truncate(first);
        }
    }

    /// Reads a member's name and its colon.
    fn name(&mut self) -> Result<(), Malformed> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a member name in double quotes"));
        }
        let start = self.at;
        self.string()?;
        if self.compares_names {
            self.names.push((string::decode(&self.text[start..self.at]), start));
        }
        self.blank();
        if self.take(b':') { Ok(()) } else { Err(self.unexpected("':'")) }
    }

    fn scalar(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                let rest = &self.text[self.at..];
                let word = ["true", "false", "null"].into_iter().find(|w| rest.starts_with(w));
                match word {
                    Some(word) => self.at += word.len(),
                    None => return Err(self.unexpected("a value")),
                }
                match self.peek() {
                    Some(byte) if byte.is_ascii_alphanumeric() => Err(self.unexpected("a value")),
                    _ => Ok(()),
                }
            }
        }
    }

    fn number(&mut self) -> Result<(), Malformed> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        match self.peek() {
            Some(b'0'..=b'9') => Err(self.error("a number has no leading zero".into())),
            _ => Ok(()),
        }
    }

    fn digits(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(self.unexpected("a digit")) }
    }

    fn string(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        self.at += 1;
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let plain = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
            // Finding the minimum of all bytes is faster than finding the first one that is too
            // small.
            if rest[..plain].iter().fold(u8::MAX, |least, byte| least.min(*byte)) < 0x20 {
                self.at += rest.iter().position(|byte| *byte < 0x20).unwrap_or(plain);
                return Err(self.unexpected("an escaped control character"));
            }
            self.at += plain;
            match self.peek() {
                None => {
                    self.at = start;
                    return Err(self.error("this string has no end".into()));
                }
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(_) => self.escape()?,
            }
        }
    }

    fn escape(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => match string::unicode_escape(&self.text.as_bytes()[start..]) {
                None => return Err(self.error("'\\u' needs four hexadecimal digits".into())),
                Some((character, length)) => {
                    if character.is_none() {
                        self.flaws.push((start, Flaw::LoneSurrogate));
                    }
                    self.at = start + length;
                }
            },
            _ => return Err(self.unexpected("one of \" \\ / b f n r t u after '\\'")),
        }
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn unexpected(&self, expected: &str) -> Malformed {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.error(match rest.chars().next() {
            None => format!("expected {expected}, found the end of the document"),
            Some(
                quote @ ('\u{2018}'..='\u{201f}' | '\u{ab}' | '\u{bb}' | '\u{2039}' | '\u{203a}'),
            ) => format!(
                "typographic quotation mark {quote}: JSON strings stand in straight double quotes"
            ),
            Some(found) => format!("expected {expected}, found {found:?}"),
        })
    }

    fn error(&self, message: String) -> Malformed {
        Malformed { offset: self.at, message }
    }
}
