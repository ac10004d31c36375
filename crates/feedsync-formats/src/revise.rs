//! Edits the title, content and date of an item's payload in place. Every other byte is preserved,
//! including foreign markup, order, comments and white space.

mod json;
mod xml;

use std::ops::Range;

use feedsync_core::{Format, Payload, Timestamp};

use crate::entry::ContentType;

/// Changes of an item. Absent fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Revision {
    /// The new title, plain text.
    pub title: Option<String>,
    /// The new content.
    pub content: Option<String>,
    /// Type of the new content.
    pub content_type: ContentType,
    /// The new date of change. It is always written in Atom, and in other formats only if the item
    /// has one.
    pub updated: Option<Timestamp>,
}

/// Reason why a payload cannot be revised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReviseError {
    /// The payload is not an item of its format.
    #[error("the item cannot be edited: {0}")]
    Payload(String),
    /// A text contains a character that XML 1.0 cannot hold.
    #[error("the {field} contains U+{:04X}, which is not allowed in XML", u32::from(*.character))]
    Character {
        /// `title` or `content`.
        field: &'static str,
        /// The character.
        character: char,
    },
    /// The content has a type that the format cannot hold.
    #[error("{format} does not support content of the type {content_type:?}")]
    ContentType {
        /// Format of the payload.
        format: Format,
        /// Type of the content.
        content_type: String,
    },
}

/// Returns the revised payload.
pub fn revise(payload: &Payload, revision: &Revision) -> Result<Payload, ReviseError> {
    let text = match payload.format() {
        Format::Json => json::revise(payload.text(), revision)?,
        _ => xml::revise(payload, revision)?,
    };
    Ok(payload.with_parsed_text(text))
}

/// Replacements in one text.
#[derive(Debug, Default)]
pub(crate) struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    pub(crate) fn replace(&mut self, range: Range<usize>, text: String) {
        self.0.push((range, text));
    }

    fn insert(&mut self, at: usize, text: String) {
        self.replace(at..at, text);
    }

    /// Applies all replacements. Those at the same offset keep the order in which they were added.
    pub(crate) fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = String::with_capacity(text.len());
        let mut end = 0;
        for (range, replacement) in &self.0 {
            out.push_str(&text[end..range.start]);
            out.push_str(replacement);
            end = range.end;
        }
        out.push_str(&text[end..]);
        out
    }
}

#[cfg(test)]
mod tests;
