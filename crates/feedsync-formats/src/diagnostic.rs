//! Faults and warnings about a document, with their positions.

use std::fmt;

/// Position in a document, counted from 1. Columns are counted in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl Position {
    /// Returns the position of a byte offset in a text. Offsets past the end give the position of
    /// the end.
    pub fn of(text: &str, offset: usize) -> Self {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        Self {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The part was read in spite of the problem.
    Warning,
    /// A violation of the specification: the item is refused, or `validate` fails.
    Fault,
}

/// A remark about a document that could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Severity of the remark.
    pub severity: Severity,
    /// Position of the problem.
    pub position: Position,
    /// Clause that is violated, such as `FeedSync 2.4`.
    pub clause: &'static str,
    /// Description of the problem.
    pub message: String,
    /// Id of the affected item, as written in the document.
    pub item: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Fault => "fault",
        };
        write!(f, "{}: {severity}: ", self.position)?;
        if let Some(item) = &self.item {
            write!(f, "item {item:?}: ")?;
        }
        write!(f, "{} ({})", self.message, self.clause)
    }
}

/// Reason why a document could not be read at all. No part of it is used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The document is not well-formed, or exceeds one of our limits.
    #[error("{position}: {message}")]
    Document {
        /// Position of the problem.
        position: Position,
        /// Description of the problem.
        message: String,
    },
    /// The document is larger than [`crate::Limits::bytes`].
    #[error("the document is larger than {limit} bytes")]
    TooLarge {
        /// Maximum size in bytes.
        limit: usize,
    },
    /// The document has none of the supported formats.
    #[error("not a feed: {found}")]
    UnknownFormat {
        /// Description of what the document looks like.
        found: String,
    },
    /// The encoding is not supported, or the bytes are not valid in it.
    #[error("byte {offset}: {message}")]
    Encoding {
        /// Offset in the original bytes.
        offset: usize,
        /// Description of the problem.
        message: String,
    },
}
