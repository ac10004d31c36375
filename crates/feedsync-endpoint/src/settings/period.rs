//! Periods of time in the form that people write.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use feedsync_store::Moment;
use serde::{Deserialize, Serialize};

/// A whole number of seconds, minutes, hours or days: `30s`, `15m`, `36h`, `90d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Period(u64);

/// A text that is not a period.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a period: use a whole number with s, m, h or d, such as 90d, at most 36500d")]
pub struct PeriodError(String);

const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// Maximum period in seconds: a hundred years. Added to the current time in microseconds, it stays far below
/// any bound.
const MAX_SECONDS: u64 = 36_500 * 86_400;

impl Period {
    /// Returns the length of the period.
    pub const fn duration(self) -> Duration {
        Duration::from_secs(self.0)
    }

    /// Returns the moment that is this period after another.
    pub fn after(self, moment: Moment) -> Moment {
        Moment::from_micros(moment.micros().saturating_add(self.0.saturating_mul(1_000_000)))
    }

    /// Returns the moment that is this period before another; the earliest moment if there is none.
    pub fn before(self, moment: Moment) -> Moment {
        Moment::from_micros(moment.micros().saturating_sub(self.0.saturating_mul(1_000_000)))
    }
}

impl FromStr for Period {
    type Err = PeriodError;
    fn from_str(text: &str) -> Result<Self, PeriodError> {
        let seconds = || {
            let (last, _) = text.char_indices().last()?;
            let (digits, unit) = text.split_at(last);
            let (_, unit) = UNITS.into_iter().find(|(letter, _)| unit == letter.to_string())?;
            let digits =
                Some(digits).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
            digits.parse::<u64>().ok()?.checked_mul(unit).filter(|seconds| *seconds <= MAX_SECONDS)
        };
        seconds().map(Self).ok_or_else(|| PeriodError(text.to_owned()))
    }
}

impl fmt::Display for Period {
    /// Writes the period in the largest unit that divides it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fitting = |(_, unit): &&(char, u64)| self.0 > 0 && self.0.is_multiple_of(*unit);
        let (letter, unit) = UNITS.iter().find(fitting).unwrap_or(&('s', 1));
        write!(f, "{}{letter}", self.0 / unit)
    }
}

impl From<Duration> for Period {
    /// Truncates a duration to whole seconds and to the maximum period.
    fn from(duration: Duration) -> Self {
        Self(duration.as_secs().min(MAX_SECONDS))
    }
}

impl TryFrom<String> for Period {
    type Error = PeriodError;
    fn try_from(text: String) -> Result<Self, PeriodError> {
        text.parse()
    }
}

impl From<Period> for String {
    fn from(period: Period) -> Self {
        period.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_a_number_and_a_unit() {
        for (text, seconds, written) in [
            ("90d", 7_776_000, "90d"),
            ("36h", 129_600, "36h"),
            ("48h", 172_800, "2d"),
            ("15m", 900, "15m"),
            ("0s", 0, "0s"),
            ("0d", 0, "0s"),
        ] {
            let period: Period = text.parse().unwrap();
            assert_eq!(period.duration(), Duration::from_secs(seconds));
            assert_eq!(period.to_string(), written);
        }
        for text in [
            "",
            "d",
            "90",
            "-1d",
            "+1d",
            "1.5h",
            "1 d",
            "1w",
            "36501d",
            "1é",
            "9999999999999999999d",
        ] {
            assert!(text.parse::<Period>().is_err(), "{text}");
        }
    }
}
