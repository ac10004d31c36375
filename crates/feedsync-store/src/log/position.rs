//! Generations of a log, and positions in them.

use std::fmt;
use std::str::FromStr;

/// One sequence of bytes of a log, between two compactions. Later generations of a log have greater numbers,
/// and no two are the same.
///
/// ```
/// # use feedsync_store::{Generation, LogPosition};
/// let place: LogPosition = "3.1a2b3c4d-4096".parse()?;
/// assert_eq!(place, LogPosition { generation: Generation::new(3, 0x1a2b_3c4d), length: 4096 });
/// assert_eq!(place.to_string(), "3.1a2b3c4d-4096");
/// # Ok::<(), feedsync_store::LogPositionError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation {
    number: u64,
    tail: u32,
}

/// A text that is not a generation, or not a position in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a position in a log: a number, '.', 8 hexadecimal digits, '-', a length")]
pub struct LogPositionError;

impl Generation {
    /// The greatest number, 2^53 - 1.
    pub const MAX: u64 = (1 << 53) - 1;

    /// The generation of a number, from 1, with a random part.
    pub const fn new(number: u64, tail: u32) -> Self {
        Self { number, tail }
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        self.number
    }

    /// Its random part.
    pub const fn tail(self) -> u32 {
        self.tail
    }

    /// The one after it.
    pub const fn next(self, tail: u32) -> Self {
        Self { number: self.number + 1, tail }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:08x}", self.number, self.tail)
    }
}

impl FromStr for Generation {
    type Err = LogPositionError;
    fn from_str(text: &str) -> Result<Self, LogPositionError> {
        let (number, tail) = text.split_once('.').ok_or(LogPositionError)?;
        let lower_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if tail.len() != 8 || !tail.bytes().all(lower_hex) {
            return Err(LogPositionError);
        }
        let tail = u32::from_str_radix(tail, 16).map_err(|_| LogPositionError)?;
        match decimal(number)? {
            number @ 1..=Self::MAX => Ok(Self { number, tail }),
            _ => Err(LogPositionError),
        }
    }
}

/// A length of a generation; the entity tag of a log states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition {
    /// The generation.
    pub generation: Generation,
    /// Number of its bytes.
    pub length: u64,
}

impl fmt::Display for LogPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.generation, self.length)
    }
}

impl FromStr for LogPosition {
    type Err = LogPositionError;
    fn from_str(text: &str) -> Result<Self, LogPositionError> {
        let (generation, length) = text.split_once('-').ok_or(LogPositionError)?;
        Ok(Self { generation: generation.parse()?, length: decimal(length)? })
    }
}

/// A number in its only accepted form: no sign, no leading zero.
fn decimal(text: &str) -> Result<u64, LogPositionError> {
    let canonical = text == "0" || !text.starts_with('0');
    if text.is_empty() || !canonical || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(LogPositionError);
    }
    text.parse().map_err(|_| LogPositionError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_in_one_way() {
        let generation = Generation::new(7, 0xab);
        for length in [0, 10, u64::from(u32::MAX) + 5, u64::MAX] {
            let place = LogPosition { generation, length };
            assert_eq!(place.to_string().parse(), Ok(place));
        }
        for other in [
            "",
            "7",
            "7.000000ab",
            "7.000000ab-",
            "7.000000ab-01",
            "07.000000ab-1",
            "0.000000ab-1",
            "7.000000AB-1",
            "7.0000ab-1",
            "7.000000ab-+1",
            "7.000000ab--1",
            "+7.000000ab-1",
            "7.000000ab-18446744073709551616",
            "9007199254740992.000000ab-1",
        ] {
            assert_eq!(other.parse::<LogPosition>(), Err(LogPositionError), "{other}");
        }
    }
}
