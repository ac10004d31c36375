//! An edit of an item's payload: title, content and date change in their places, every other byte
//! stays: foreign markup, order, comments, spacing.

mod json;
mod xml;

use std::ops::Range;

use feedsync_core::{Format, Payload, Timestamp};

use crate::entry::ContentType;

/// What is to change; what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Revision {
    /// The new title, plain text.
    pub title: Option<String>,
    /// The new content.
    pub content: Option<String>,
    /// What the new content is written in.
    pub content_type: ContentType,
    /// The new date of change. Atom has one always; elsewhere it is set where the item has one.
    pub updated: Option<Timestamp>,
}

/// Why a payload cannot be revised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReviseError {
    /// The payload is not an item of its format.
    #[error("the item cannot be edited: {0}")]
    Payload(String),
    /// A character that XML 1.0 cannot hold.
    #[error("the {field} holds U+{:04X}, which no XML document may hold", u32::from(*.character))]
    Character {
        /// `title` or `content`.
        field: &'static str,
        /// The character.
        character: char,
    },
    /// Content of a type that the format has no place for.
    #[error("{format} cannot hold content of the type {content_type:?}")]
    ContentType {
        /// The payload's format.
        format: Format,
        /// The type.
        content_type: String,
    },
}

/// The payload with the revision made.
pub fn revise(payload: &Payload, revision: &Revision) -> Result<Payload, ReviseError> {
    let text = match payload.format {
        Format::Json => json::revise(&payload.text, revision)?,
        _ => xml::revise(payload, revision)?,
    };
    Ok(Payload { text: text.into(), ..payload.clone() })
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

    /// The text with all replacements made; those at one place in the order they were asked for.
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
