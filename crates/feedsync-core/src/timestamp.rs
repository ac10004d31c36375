//! Points in time in FeedSync's form: RFC 3339, whole seconds, UTC, ending in `Z` (2.1 rule 5).

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU64;
use std::str::FromStr;

/// A `when`. It preserves its original text and is compared by instant.
///
/// The specification leaves only the case of `T` and `Z` open, so text and instant fit in eight
/// bytes. A leap second, allowed at 23:59 only, sorts between `:59` and the next `:00`.
///
/// ```
/// # use feedsync_core::Timestamp;
/// let when: Timestamp = "2005-05-21T11:43:33Z".parse()?;
/// assert_eq!(when.to_string(), "2005-05-21T11:43:33Z");
/// assert_eq!(when.unix_seconds(), 1_116_675_813);
/// assert!("2005-05-21T11:43:33.0Z".parse::<Timestamp>().is_err());
/// # Ok::<(), feedsync_core::TimestampError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Timestamp(NonZeroU64);

/// Reason why a text is not a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimestampError {
    /// Not of the form `YYYY-MM-DDThh:mm:ssZ`.
    #[error("a time must have the form YYYY-MM-DDThh:mm:ssZ")]
    Shape,
    /// `t` or `z` in lower case.
    #[error("'T' and 'Z' must be in upper case")]
    Case,
    /// Fractions of a second.
    #[error("a time must have whole seconds, without a fraction")]
    Fraction,
    /// An offset instead of `Z`.
    #[error("a time must be in UTC and end in 'Z', without an offset")]
    Offset,
    /// A date or time that does not exist.
    #[error("the date or time does not exist")]
    Calendar,
}

// Bits, from the top: a one (never zero), year, month 4, day 5, hour 5, minute 6, second 6, then two
// for lower-case `t` and `z`. Shifted by two, the number orders as the instants do.
const MARK: u64 = 1 << 62;
const LOWER_T: u64 = 0b10;
const LOWER_Z: u64 = 0b01;

struct Fields {
    year: u16,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
}

impl Fields {
    fn exist(&self) -> bool {
        let leap = self.year.is_multiple_of(4)
            && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        let days = match self.month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 if leap => 29,
            2 => 28,
            _ => return false,
        };
        let leap_second = self.second == 60 && self.hour == 23 && self.minute == 59;
        (1..=days).contains(&self.day)
            && self.hour < 24
            && self.minute < 60
            && (self.second < 60 || leap_second)
    }

    fn pack(&self, case: u64) -> Timestamp {
        let number = (u64::from(self.year) << 26)
            | (u64::from(self.month) << 22)
            | (u64::from(self.day) << 17)
            | (u64::from(self.hour) << 12)
            | (u64::from(self.minute) << 6)
            | u64::from(self.second);
        Timestamp(NonZeroU64::new(MARK | (number << 2) | case).unwrap_or(NonZeroU64::MIN))
    }
}

impl Timestamp {
    /// Parses the exact form of 2.1 rule 5.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        let timestamp = Self::parse_tolerant(text)?;
        if timestamp.is_strict() { Ok(timestamp) } else { Err(TimestampError::Case) }
    }

    /// Parses, accepting `t` and `z` in lower case, which RFC 3339 permits; the text is preserved.
    pub fn parse_tolerant(text: &str) -> Result<Self, TimestampError> {
        let bytes = text.as_bytes();
        if bytes.len() < 20 {
            return Err(TimestampError::Shape);
        }
        let digits = |from: usize, count: usize| -> Result<u16, TimestampError> {
            bytes[from..from + count].iter().try_fold(0u16, |number, byte| match byte {
                b'0'..=b'9' => Ok(number * 10 + u16::from(byte - b'0')),
                _ => Err(TimestampError::Shape),
            })
        };
        let at = |index: usize, byte: u8| {
            if bytes[index] == byte { Ok(()) } else { Err(TimestampError::Shape) }
        };
        at(4, b'-')?;
        at(7, b'-')?;
        at(13, b':')?;
        at(16, b':')?;
        let mut case = match bytes[10] {
            b'T' => 0,
            b't' => LOWER_T,
            _ => return Err(TimestampError::Shape),
        };
        let fields = Fields {
            year: digits(0, 4)?,
            month: digits(5, 2)? as u8,
            day: digits(8, 2)? as u8,
            hour: digits(11, 2)? as u8,
            minute: digits(14, 2)? as u8,
            second: digits(17, 2)? as u8,
        };
        match (bytes[19], bytes.len()) {
            (b'Z', 20) => {}
            (b'z', 20) => case |= LOWER_Z,
            (b'.', _) => return Err(TimestampError::Fraction),
            (b'+' | b'-', _) => return Err(TimestampError::Offset),
            _ => return Err(TimestampError::Shape),
        }
        if fields.exist() { Ok(fields.pack(case)) } else { Err(TimestampError::Calendar) }
    }

    /// The second that began so many seconds after 1970-01-01T00:00:00Z; `None` outside the years
    /// 0000 to 9999, which cannot be written.
    pub fn from_unix_seconds(seconds: i64) -> Option<Self> {
        let days = seconds.div_euclid(86_400);
        let rest = seconds.rem_euclid(86_400);
        // Civil date of a day number, counted in 400-year eras that begin on 1 March.
        let shifted = days.checked_add(719_468)?;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        if !(0..=9999).contains(&year) {
            return None;
        }
        let fields = Fields {
            year: year as u16,
            month: month as u8,
            day: (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u8,
            hour: (rest / 3_600) as u8,
            minute: (rest / 60 % 60) as u8,
            second: (rest % 60) as u8,
        };
        Some(fields.pack(0))
    }

    /// Seconds since 1970-01-01T00:00:00Z; a leap second counts as the second after it.
    pub fn unix_seconds(self) -> i64 {
        let fields = self.fields();
        let month = i64::from(fields.month);
        let year = i64::from(fields.year) - i64::from(month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let shifted_month = if month > 2 { month - 3 } else { month + 9 };
        let day_of_year = (153 * shifted_month + 2) / 5 + i64::from(fields.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * 146_097 + day_of_era - 719_468;
        days * 86_400
            + i64::from(fields.hour) * 3_600
            + i64::from(fields.minute) * 60
            + i64::from(fields.second)
    }

    /// Whether the text is in the upper case that 2.1 rule 5 shows.
    pub fn is_strict(self) -> bool {
        self.0.get() & (LOWER_T | LOWER_Z) == 0
    }

    fn instant(self) -> u64 {
        self.0.get() >> 2
    }

    fn fields(self) -> Fields {
        let number = self.instant();
        Fields {
            year: ((number >> 26) & 0x3fff) as u16,
            month: ((number >> 22) & 0xf) as u8,
            day: ((number >> 17) & 0x1f) as u8,
            hour: ((number >> 12) & 0x1f) as u8,
            minute: ((number >> 6) & 0x3f) as u8,
            second: (number & 0x3f) as u8,
        }
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.instant() == other.instant()
    }
}

impl Eq for Timestamp {}

impl Hash for Timestamp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.instant().hash(state);
    }
}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        self.instant().cmp(&other.instant())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fields { year, month, day, hour, minute, second } = self.fields();
        let t = if self.0.get() & LOWER_T == 0 { 'T' } else { 't' };
        let z = if self.0.get() & LOWER_Z == 0 { 'Z' } else { 'z' };
        write!(f, "{year:04}-{month:02}-{day:02}{t}{hour:02}:{minute:02}:{second:02}{z}")
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_forbidden_by_2_1_rule_5_are_refused_by_name() {
        for (text, error) in [
            ("2005-05-21T11:43:33.0Z", TimestampError::Fraction),
            ("2005-05-21T11:43:33+00:00", TimestampError::Offset),
            ("2005-05-21T11:43:33-00:00", TimestampError::Offset),
            ("2005-05-21T11:43:33", TimestampError::Shape),
            ("2005-05-21 11:43:33Z", TimestampError::Shape),
            ("2005-05-21T11:43:33Z ", TimestampError::Shape),
            ("2005-02-30T11:43:33Z", TimestampError::Calendar),
            ("1900-02-29T11:43:33Z", TimestampError::Calendar),
            ("2005-05-21T24:00:00Z", TimestampError::Calendar),
            ("2005-05-21T11:43:60Z", TimestampError::Calendar),
            ("2005-13-21T11:43:33Z", TimestampError::Calendar),
            ("2005-05-21t11:43:33Z", TimestampError::Case),
            ("", TimestampError::Shape),
            ("２005-05-21T11:43:33Z", TimestampError::Shape),
        ] {
            assert_eq!(Timestamp::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn only_days_and_times_of_the_calendar_exist() {
        for month in 0..=13u8 {
            let days = match month {
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                1..=12 => 31,
                _ => 0,
            };
            for day in 0..=32u8 {
                let text = format!("2005-{month:02}-{day:02}T00:00:00Z");
                assert_eq!(Timestamp::parse(&text).is_ok(), (1..=days).contains(&day), "{text}");
            }
        }
        for (year, is_leap) in [(2004, true), (2000, true), (2100, false), (2005, false), (0, true)]
        {
            let text = format!("{year:04}-02-29T00:00:00Z");
            assert_eq!(Timestamp::parse(&text).is_ok(), is_leap, "{text}");
        }
        for (hour, minute, second) in (0..=24u8)
            .flat_map(|hour| (57..=60).map(move |minute| (hour, minute)))
            .flat_map(|(hour, minute)| (58..=61u8).map(move |second| (hour, minute, second)))
        {
            let text = format!("2016-12-31T{hour:02}:{minute:02}:{second:02}Z");
            let exists =
                hour < 24 && minute < 60 && (second < 60 || (hour, minute, second) == (23, 59, 60));
            assert_eq!(Timestamp::parse(&text).is_ok(), exists, "{text}");
            if exists {
                assert_eq!(Timestamp::parse(&text).unwrap().to_string(), text);
            }
        }
    }

    #[test]
    fn instants_are_ordered_hashed_and_shown_as_they_are() {
        use std::collections::hash_map::DefaultHasher;
        let hash = |timestamp: Timestamp| {
            let mut hasher = DefaultHasher::new();
            timestamp.hash(&mut hasher);
            hasher.finish()
        };
        let texts = ["0000-01-01T00:00:00Z", "2005-05-21T11:43:33Z", "2005-05-21T11:43:34Z"];
        let instants = texts.map(|text| text.parse::<Timestamp>().unwrap());
        for (at, one) in instants.iter().enumerate() {
            assert_eq!(format!("{one:?} {one}"), format!("{} {}", texts[at], texts[at]));
            for (place, other) in instants.iter().enumerate() {
                assert_eq!(one.cmp(other), at.cmp(&place));
                assert_eq!(one.partial_cmp(other), Some(at.cmp(&place)));
                assert_eq!(hash(*one) == hash(*other), at == place);
            }
        }
        let lower = Timestamp::parse_tolerant("2005-05-21t11:43:33z").unwrap();
        assert_eq!(hash(lower), hash(instants[1]));
        // Fixed points of both conversions.
        assert_eq!(Timestamp::parse("1970-01-01T00:00:00Z").unwrap().unix_seconds(), 0);
        assert_eq!(instants[1].unix_seconds(), 1_116_675_813);
        assert_eq!(
            Timestamp::from_unix_seconds(951_782_400).unwrap().to_string(),
            "2000-02-29T00:00:00Z"
        );
    }

    #[test]
    fn a_leap_second_sorts_between_its_neighbours() {
        let [before, leap, after] =
            ["2016-12-31T23:59:59Z", "2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"]
                .map(|text| Timestamp::parse(text).unwrap());
        assert!(before < leap && leap < after);
    }

    #[test]
    fn lower_case_is_kept_and_equal() {
        let lower = Timestamp::parse_tolerant("2005-05-21t11:43:33z").unwrap();
        assert_eq!(lower.to_string(), "2005-05-21t11:43:33z");
        assert_eq!(lower, Timestamp::parse("2005-05-21T11:43:33Z").unwrap());
        assert!(!lower.is_strict());
        for text in ["2005-05-21T11:43:33z", "2005-05-21t11:43:33Z"] {
            let mixed = Timestamp::parse_tolerant(text).unwrap();
            assert_eq!((mixed.to_string(), mixed.is_strict()), (text.to_owned(), false));
        }
        assert!(Timestamp::parse_tolerant("2005-05-21T11:43:33Z").unwrap().is_strict());
    }

    #[test]
    fn seconds_and_text_agree_from_the_first_year_to_the_last() {
        let first = Timestamp::parse("0000-01-01T00:00:00Z").unwrap().unix_seconds();
        let last = Timestamp::parse("9999-12-31T23:59:59Z").unwrap().unix_seconds();
        let mut seconds = first;
        while seconds <= last {
            let timestamp = Timestamp::from_unix_seconds(seconds).unwrap();
            assert_eq!(timestamp.unix_seconds(), seconds);
            assert_eq!(Timestamp::parse(&timestamp.to_string()), Ok(timestamp));
            seconds += 86_400 * 13 + 3_607;
        }
        assert_eq!(Timestamp::from_unix_seconds(last + 1), None);
        assert_eq!(Timestamp::from_unix_seconds(first - 1), None);
        assert_eq!(Timestamp::from_unix_seconds(i64::MIN), None);
    }
}
