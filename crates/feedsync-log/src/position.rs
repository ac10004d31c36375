//! How far a log was read.

use serde::{Deserialize, Serialize};

use crate::lines::Lines;

/// So much of the last line is compared when a log is read on (LR28).
const OVERLAP: usize = 256;

/// How far a replica has read a log, and how it knows the log again. Stored in one transaction with what was
/// read, so that nothing is applied twice or passed over (LR14).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Everything before this was read: whole lines.
    pub offset: u64,
    /// The entity tag of the log when it ended there; none if it did not, or is not known to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The generation, where the server tells generations apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<String>,
    /// What stands right before the offset: who finds something else there reads another log.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub overlap: String,
    /// Whether reading began in the middle: what was done before is not known, and this replica must not
    /// speak for the whole log (LR43).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// A later version of records that was met: from then on nothing is appended (LR48).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<u64>,
}

impl Position {
    /// How many bytes before the offset are asked for again. None where the server itself tells one
    /// generation from another.
    pub(crate) fn compared(&self) -> u64 {
        match self.generation {
            Some(_) => 0,
            None => self.overlap.len() as u64,
        }
    }

    /// What a server that tells generations apart calls this place: its entity tag when the log ended there.
    pub fn place(&self) -> Option<String> {
        Some(format!("{}-{}", self.generation.as_ref()?, self.offset))
    }

    /// Goes on behind these lines.
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

/// The end of the last line, as text. Where it is none, its line feed alone is compared.
pub(crate) fn overlap(lines: Lines<'_>) -> String {
    let mut last = lines.last(OVERLAP);
    // A text that was cut in the middle of a character begins with the next one.
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
    fn what_is_compared_is_the_end_of_the_last_line() {
        let mut position = Position { etag: Some("\"a\"".to_owned()), ..Position::default() };
        position.advance(Lines::of(b""));
        assert!(position.etag.is_some());
        position.advance(Lines::of("one\nzwö\n".as_bytes()));
        assert_eq!((position.offset, &*position.overlap, position.etag.take()), (9, "zwö\n", None));
        let long = format!("{}{}\n", "é", "é".repeat(OVERLAP));
        position.advance(Lines::of(long.as_bytes()));
        assert_eq!(position.overlap.len(), OVERLAP - 1);
        position.advance(Lines::of(b"\xff\n"));
        assert_eq!(position.overlap, "\n");
    }
}
