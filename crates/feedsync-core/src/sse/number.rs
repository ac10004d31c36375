//! `sx:sync/@version`: a whole number from 1 that increases by one with each change. The specification
//! has no upper bound (2.3, S17); it is `u64` here (R-S3).

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

/// Number of changes that led to a version of an item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionNumber(NonZeroU64);

/// Reason why a text is not a version number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionNumberError {
    /// Not `[1-9][0-9]*`.
    #[error("a version must be a whole number from 1, without sign, blanks or leading zeros")]
    Shape,
    /// Greater than 2^64-1.
    #[error("a version above {} is not supported", u64::MAX)]
    Range,
}

impl VersionNumber {
    /// Version of a new item (4.1).
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// A version number, unless the number is 0.
    pub fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The next number; `None` at 2^64-1.
    pub fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }
}

impl FromStr for VersionNumber {
    type Err = VersionNumberError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() || text.starts_with('0') || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(VersionNumberError::Shape);
        }
        text.parse().map(Self).map_err(|_| VersionNumberError::Range)
    }
}

impl fmt::Display for VersionNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for VersionNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_plain_number_from_one_up_to_what_64_bits_hold() {
        for text in ["", "0", "01", "-1", "+1", " 1", "1.0", "１"] {
            assert_eq!(text.parse::<VersionNumber>(), Err(VersionNumberError::Shape), "{text:?}");
        }
        assert_eq!("18446744073709551616".parse::<VersionNumber>(), Err(VersionNumberError::Range));
        let last: VersionNumber = "18446744073709551615".parse().unwrap();
        assert_eq!((last.get(), last.next()), (u64::MAX, None));
        assert_eq!(VersionNumber::FIRST.next(), VersionNumber::new(2));
        assert_eq!(VersionNumber::new(0), None);
    }
}
