//! Position up to which a log was read.

use serde::{Deserialize, Serialize};

use crate::lines::Lines;

/// Maximum number of bytes of the last line that are compared when reading continues (LR28).
const MAX_OVERLAP_BYTES: usize = 256;

/// Position up to which a replica has read a log, with the data to recognize the log. It is stored in one
/// transaction with the data that was read, so that nothing is applied twice or skipped (LR14).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Everything before this offset was read; it is the end of a line.
    pub offset: u64,
    /// The entity tag of the log if it ended at the offset; `None` if it did not, or if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The generation, if the server supports generations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<String>,
    /// The bytes before the offset; if they differ in a log, it is another log.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub overlap: String,
    /// Whether reading began in the middle. Earlier changes are then unknown, and this replica must neither
    /// make a snapshot of the log nor compact it (LR43).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The latest version of records that was found, if it is newer than this program; then nothing is
    /// appended (LR48).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<u64>,
}

impl Position {
    /// Number of bytes before the offset that are requested again. Zero if the server itself distinguishes
    /// generations.
    pub(crate) fn compared(&self) -> u64 {
        match self.generation {
            Some(_) => 0,
            None => self.overlap.len() as u64,
        }
    }

    /// Name of this position on a server that supports generations: its entity tag when the log ended here.
    pub fn place(&self) -> Option<String> {
        Some(format!("{}-{}", self.generation.as_ref()?, self.offset))
    }

    /// Moves the position to the end of these lines.
    pub(crate) fn advance(&mut self, lines: Lines<'_>) {
        let bytes = lines.bytes();
        if bytes.is_empty() {
            return;
        }
        self.offset += bytes.len() as u64;
        self.etag = None;
        self.overlap = overlap(lines);
    }
}

/// The end of the last line, as text. If it is not UTF-8, only its line feed is compared.
pub(crate) fn overlap(lines: Lines<'_>) -> String {
    let mut last = lines.last(MAX_OVERLAP_BYTES);
    // A text that was split within a character begins with the next one.
    while let Some((first, rest)) = last.split_first()
        && first & 0xc0 == 0x80
    {
        last = rest;
    }
    str::from_utf8(last).unwrap_or("\n").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_the_last_line_is_compared() {
        let mut position = Position { etag: Some("\"a\"".to_owned()), ..Position::default() };
        position.advance(Lines::of(b""));
        assert!(position.etag.is_some());
        position.advance(Lines::of("one\nzwö\n".as_bytes()));
        assert_eq!((position.offset, &*position.overlap, position.etag.take()), (9, "zwö\n", None));
        let long = format!("{}{}\n", "é", "é".repeat(MAX_OVERLAP_BYTES));
        position.advance(Lines::of(long.as_bytes()));
        assert_eq!(position.overlap.len(), MAX_OVERLAP_BYTES - 1);
        position.advance(Lines::of(b"\xff\n"));
        assert_eq!(position.overlap, "\n");
    }
}
