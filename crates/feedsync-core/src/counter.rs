//! The two counters of FeedSync, integers from 1 to 2^31-1 (2.4, 2.5).

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// The greatest value of both counters, 2^31-1.
pub const MAX_COUNTER: u32 = (1 << 31) - 1;

/// Reason why a text or number is not a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CounterError {
    /// Not `[1-9][0-9]*`: no sign, blank, fraction or leading zero.
    #[error("must be a whole number without sign, blanks or leading zeros")]
    Shape,
    /// Outside 1..=2^31-1.
    #[error("must be from 1 to {MAX_COUNTER}")]
    Range,
}

fn parse(text: &str) -> Result<NonZeroU32, CounterError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(CounterError::Shape);
    }
    if text.starts_with('0') {
        return Err(if text == "0" { CounterError::Range } else { CounterError::Shape });
    }
    text.parse().ok().and_then(in_range).ok_or(CounterError::Range)
}

fn in_range(number: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(number).filter(|number| number.get() <= MAX_COUNTER)
}

macro_rules! counter {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The value of a new item.
            pub const FIRST: Self = Self(NonZeroU32::MIN);

            /// A counter of this number, which must be from 1 to 2^31-1.
            pub fn new(number: u32) -> Result<Self, CounterError> {
                in_range(number).map(Self).ok_or(CounterError::Range)
            }

            /// The number.
            pub const fn get(self) -> u32 {
                self.0.get()
            }

            /// The next value; `None` if the counter is exhausted.
            pub fn next(self) -> Option<Self> {
                in_range(self.get() + 1).map(Self)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = CounterError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                parse(text).map(Self)
            }
        }
    };
}

counter! {
    /// `sx:sync/@updates`: number of updates that led to a version (2.4).
    Updates
}

counter! {
    /// `sx:history/@sequence`: position of an update in its authoring line (2.5).
    Sequence
}

impl From<Updates> for Sequence {
    /// The sequence that 3.2 recommends for an update: a copy of `updates`.
    fn from(updates: Updates) -> Self {
        Self(updates.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_numbers_in_range_parse() {
        for text in ["-1", "1.0", " 1", "1 ", "+1", "", "01", "1e0", "０", "true"] {
            assert_eq!(text.parse::<Updates>(), Err(CounterError::Shape), "{text:?}");
        }
        for text in ["0", "2147483648", "4294967296", "99999999999999999999"] {
            assert_eq!(text.parse::<Sequence>(), Err(CounterError::Range), "{text:?}");
        }
        assert_eq!("2147483647".parse::<Updates>().map(Updates::get), Ok(MAX_COUNTER));
        assert_eq!(Updates::FIRST.to_string(), "1");
    }

    #[test]
    fn a_spent_counter_has_no_next() {
        assert_eq!(Updates::new(MAX_COUNTER).unwrap().next(), None);
        assert_eq!(Sequence::FIRST.next(), Sequence::new(2).ok());
    }
}
