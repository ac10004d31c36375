//! Values of `sync` and `sharing`, which are read as such or as strings (R-P5, R-P6, R-P7).

use std::borrow::Cow;
use std::str::FromStr;

use feedsync_core::{CounterError, IdentifierError, Timestamp};

use super::node::{Kind, Member};
use super::read::Reader;
use crate::options::Mode;
use crate::remarks::Fault;

impl<'a> Reader<'a> {
    /// Reads a string that is not empty (2.1 rule 2). Returns `None` for `null`.
    pub(super) fn string(&mut self, member: &Member<'a>) -> Result<Option<Cow<'a, str>>, Fault> {
        if member.value.kind() == Kind::Null {
            self.warn_null(member);
            return Ok(None);
        }
        match member.value.string() {
            None => Err(bad(member, "FeedSync 2.1", "must be a string")),
            Some(text) if text.is_empty() => Err(bad(member, "FeedSync 2.1", "must not be empty")),
            text => Ok(text),
        }
    }

    pub(super) fn identifier<T>(
        &mut self,
        member: &Member<'a>,
        parse: impl Fn(&str) -> Result<T, IdentifierError>,
        has_reserved: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, Fault> {
        let Some(text) = self.string(member)? else { return Ok(None) };
        let identifier = parse(&text).map_err(|error| bad(member, "FeedSync 2.1", error))?;
        if has_reserved(&identifier) {
            let advice = "holds '/', '?' or '#', which RFC 2141 2.3.2 advises against";
            self.remarks.warn(bad(member, "FeedSync 2.1", advice));
        }
        Ok(Some(identifier))
    }

    /// Reads a counter: a string of digits or a JSON integer.
    pub(super) fn counter<T>(&mut self, member: &Member<'a>) -> Result<Option<T>, Fault>
    where
        T: FromStr<Err = CounterError>,
    {
        let text = match member.value.kind() {
            Kind::Number => Some(Cow::Borrowed(member.value.raw())),
            _ => self.string(member)?,
        };
        let Some(text) = text else { return Ok(None) };
        let mut parsed = text.parse();
        if parsed.is_err() && self.options.mode == Mode::Tolerant {
            parsed = text.trim_start_matches('0').parse();
            if parsed.is_ok() {
                self.remarks.warn(bad(member, "R-F2", "has leading zeros"));
            }
        }
        parsed.map(Some).map_err(|error| bad(member, "FeedSync 2.4", error))
    }

    /// Reads `true` or `false`, as a boolean or as a string.
    pub(super) fn boolean(&mut self, member: &Member<'a>) -> Result<Option<bool>, Fault> {
        let text = match member.value.kind() {
            Kind::Boolean => Some(Cow::Borrowed(member.value.raw())),
            _ => self.string(member)?,
        };
        match text.as_deref() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(bad(member, "FeedSync 2.4", "must be true or false")),
        }
    }

    pub(super) fn timestamp(&mut self, member: &Member<'a>) -> Result<Option<Timestamp>, Fault> {
        let Some(text) = self.string(member)? else { return Ok(None) };
        let when = match self.options.mode {
            Mode::Strict => Timestamp::parse(&text),
            Mode::Tolerant => Timestamp::parse_tolerant(&text),
        }
        .map_err(|error| bad(member, "FeedSync 2.1", error))?;
        if !when.is_strict() {
            self.remarks.warn(bad(member, "FeedSync 2.1", "has 't' or 'z' in lower case"));
        }
        Ok(Some(when))
    }

    pub(super) fn warn_null(&mut self, member: &Member<'a>) {
        self.remarks.warn(bad(member, "R-P7", "is null, which counts as absent"));
    }
}

/// Creates a fault of a member, positioned at its value.
pub(super) fn bad(member: &Member<'_>, clause: &'static str, what: impl ToString) -> Fault {
    let message = format!("{:?}: {}", member.name, what.to_string());
    Fault::new(member.value.start(), clause, message)
}
