//! The change order: numbers, epochs and the `until` that they make.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use feedsync_core::Timestamp;

/// Longest time by which a stored moment may be ahead of the clock. Clocks are set back by less in normal operation.
pub const MAX_AHEAD: Duration = Duration::from_secs(3_600);

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The greatest moment that fits the seventeen digits of an epoch (in the year 5138).
    pub const MAX: Self = Self(99_999_999_999_999_999);

    /// The moment this many microseconds after 1970; at most [`Moment::MAX`].
    pub const fn from_micros(micros: u64) -> Self {
        if micros > Self::MAX.0 { Self::MAX } else { Self(micros) }
    }

    /// Microseconds since 1970.
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// One microsecond later.
    #[must_use]
    pub const fn next(self) -> Self {
        Self::from_micros(self.0 + 1)
    }

    /// One microsecond earlier.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// Moment of a change at `now` that follows a change at this moment: strictly later, so that moments order changes
    /// while the clock is set back a little. A moment further ahead of the clock than [`MAX_AHEAD`] was written while the
    /// clock was wrong, and is not followed.
    #[must_use]
    pub(crate) fn followed_at(self, now: Self) -> Self {
        if self.is_ahead_of(now) { now } else { now.max(self.next()) }
    }

    /// Tells whether this moment is further ahead of the clock than [`MAX_AHEAD`].
    pub fn is_ahead_of(self, now: Self) -> bool {
        self.0.saturating_sub(now.0) > MAX_AHEAD.as_micros() as u64
    }

    /// The second that contains the moment, as FeedSync writes it.
    pub fn timestamp(self) -> Option<Timestamp> {
        Timestamp::from_unix_seconds((self.0 / 1_000_000) as i64)
    }
}

/// Number of a change of a collection, from 1; zero is before all changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeNumber(u64);

impl ChangeNumber {
    /// The number before all changes.
    pub const ZERO: Self = Self(0);

    /// The greatest number that a store issues, 2^40 - 1: one change each millisecond for 34 years.
    pub const MAX: Self = Self((1 << 40) - 1);

    /// A number of at most nineteen digits; a greater one becomes nineteen nines.
    pub const fn new(number: u64) -> Self {
        const GREATEST: u64 = 9_999_999_999_999_999_999;
        if number > GREATEST { Self(GREATEST) } else { Self(number) }
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The next number; `None` when the collection's numbers are used up.
    pub const fn next(self) -> Option<Self> {
        if self.0 < Self::MAX.0 { Some(Self(self.0 + 1)) } else { None }
    }
}

impl fmt::Display for ChangeNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// One period of a collection's change order. An epoch begins at creation, at a restore, and when a dropped
/// collection is created again. Epochs of one store never repeat and grow with time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch {
    began: Moment,
    tail: u32,
}

impl Epoch {
    /// An epoch that begins now, later than the last one of the store.
    pub fn begin(last: Option<Moment>, now: Moment, tail: u32) -> Self {
        let began = last.map_or(now, |last| now.max(last.next()));
        Self { began, tail }
    }

    /// An epoch read from a store.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn stored(began: Moment, tail: u32) -> Self {
        Self { began, tail }
    }

    /// Random part of the epoch.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn tail(self) -> u32 {
        self.tail
    }

    /// When it began; no two epochs of a store have the same moment.
    pub fn began(self) -> Moment {
        self.began
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:017}{:08x}", self.began.0, self.tail)
    }
}

impl FromStr for Epoch {
    type Err = UntilError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() != 25 || !text.is_ascii() {
            return Err(UntilError);
        }
        let (began, tail) = text.split_at(17);
        Ok(Self { began: Moment(digits(began)?), tail: lower_hex(tail)? })
    }
}

/// Position in the change order of a collection: `since` and `until` of `sx:sharing` (2.2) as we publish
/// them. Its text has a fixed width and collates by code point in the same order (section 4).
///
/// ```
/// # use feedsync_store::Until;
/// let until: Until = "017636680001234561a2b3c4d-0000000000000000042".parse()?;
/// assert_eq!(until.number.get(), 42);
/// assert_eq!(until.to_string(), "017636680001234561a2b3c4d-0000000000000000042");
/// # Ok::<(), feedsync_store::UntilError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Until {
    /// Epoch of the change order.
    pub epoch: Epoch,
    /// Number of the last change seen.
    pub number: ChangeNumber,
}

/// A text that is not an `until` of ours. Those of other publishers are opaque.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a position in a change order: 17 digits, 8 hexadecimal digits, '-', 19 digits")]
pub struct UntilError;

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:019}", self.epoch, self.number.0)
    }
}

impl FromStr for Until {
    type Err = UntilError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (epoch, number) = text.split_once('-').ok_or(UntilError)?;
        if number.len() != 19 {
            return Err(UntilError);
        }
        Ok(Self { epoch: epoch.parse()?, number: ChangeNumber(digits(number)?) })
    }
}

fn digits(text: &str) -> Result<u64, UntilError> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().map_err(|_| UntilError)
    } else {
        Err(UntilError)
    }
}

fn lower_hex(text: &str) -> Result<u32, UntilError> {
    if text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        u32::from_str_radix(text, 16).map_err(|_| UntilError)
    } else {
        Err(UntilError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(began: u64, tail: u32, number: u64) -> Until {
        Until { epoch: Epoch { began: Moment(began), tail }, number: ChangeNumber(number) }
    }

    #[test]
    fn the_text_of_an_until_collates_as_the_order_does() {
        let ascending = [
            until(0, 0, 0),
            until(9, 7, 0),
            until(9, 7, 9),
            until(9, 7, 10),
            until(10, 3, 0),
            until(10, 0xffff_ffff, 0),
            until(1_763_668_000_123_456, 0x1a2b_3c4d, 42),
            until(99_999_999_999_999_999, 0, 9_999_999_999_999_999_999),
        ];
        for pair in ascending.windows(2) {
            assert!(pair[0] < pair[1]);
            assert!(pair[0].to_string() < pair[1].to_string());
        }
        for until in ascending {
            assert_eq!(until.to_string().len(), 45);
            assert_eq!(until.to_string().parse(), Ok(until));
        }
    }

    #[test]
    fn malformed_and_foreign_until_texts_are_rejected() {
        for text in [
            "",
            "-",
            "2005-05-21T11:43:33Z",
            "017636680001234561A2B3C4D-0000000000000000042",
            "017636680001234561a2b3c4d-000000000000000042",
            "017636680001234561a2b3c4d-00000000000000000042",
            "+17636680001234561a2b3c4d-0000000000000000042",
            "017636680001234561a2b3c4d-+000000000000000042",
            "01763668000123456é2b3c4d-0000000000000000042",
        ] {
            assert_eq!(text.parse::<Until>(), Err(UntilError), "{text}");
        }
    }

    #[test]
    fn an_epoch_is_later_than_the_last_even_if_the_clock_is_not() {
        let last = Moment::from_micros(1_000);
        assert_eq!(Epoch::begin(Some(last), Moment(5), 1).began(), Moment(1_001));
        assert_eq!(Epoch::begin(Some(last), Moment(5_000), 1).began(), Moment(5_000));
        assert_eq!(Epoch::begin(None, Moment(5), 1).began(), Moment(5));
    }
}
