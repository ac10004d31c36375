//! What was wrong with a document, and where.

use std::fmt;

/// A place in a document, as a person counts: from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl Position {
    /// The position of a byte offset in a text; an offset past the end is the end.
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

/// How much a diagnostic weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Read all the same; worth knowing.
    Warning,
    /// Against the text: the item it names is refused, or `validate` fails.
    Fault,
}

/// One remark about a document that could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How much it weighs.
    pub severity: Severity,
    /// Where.
    pub position: Position,
    /// The clause that it breaks, such as `FeedSync 2.4`.
    pub clause: &'static str,
    /// What is wrong, in words.
    pub message: String,
    /// The id of the item it is about, as the document has it.
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

/// Why a document could not be read at all; nothing of it is used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Not well-formed, or a bound of ours was passed.
    #[error("{position}: {message}")]
    Document {
        /// Where.
        position: Position,
        /// What is wrong.
        message: String,
    },
    /// Larger than [`crate::Limits::bytes`].
    #[error("the document is larger than {limit} bytes")]
    TooLarge {
        /// The bound.
        limit: usize,
    },
    /// None of the formats.
    #[error("not a feed: {found}")]
    UnknownFormat {
        /// What the document looks like.
        found: String,
    },
    /// The encoding is not supported, or the bytes are not in it.
    #[error("byte {offset}: {message}")]
    Encoding {
        /// Offset in the original bytes.
        offset: usize,
        /// What is wrong.
        message: String,
    },
}
