//! A past time on a command line.

use std::str::FromStr;

use feedsync_endpoint::{Period, utc_moment};
use feedsync_store::Moment;

/// A past time: an instant or the beginning of a day in UTC, or a period before now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PastTime {
    /// An instant, or the beginning of a day.
    Instant(Moment),
    /// A period before now.
    Ago(Period),
}

impl PastTime {
    /// The moment, as seen from now.
    pub(crate) fn moment(&self, now: Moment) -> Moment {
        match self {
            Self::Instant(moment) => *moment,
            Self::Ago(period) => period.before(now),
        }
    }
}

impl FromStr for PastTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(period) = text.parse() {
            return Ok(Self::Ago(period));
        }
        // A date alone is the beginning of the day.
        let time = text.replacen(' ', "T", 1);
        let moment = utc_moment(&time).or_else(|| utc_moment(&format!("{time}T00:00")));
        moment.map(Self::Instant).ok_or_else(|| {
            "not a time, such as 2h, 3d, 2026-11-20, '2026-11-20 12:00' or 2026-11-20T12:00:00Z, all in UTC".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_past_time_is_an_instant_or_a_period_before_now() {
        let now = Moment::from_micros(1_800_000_000_000_000);
        let seconds =
            |text: &str| text.parse::<PastTime>().map(|time| time.moment(now).micros() / 1_000_000);
        for (text, expected) in [
            ("2h", 1_800_000_000 - 7_200),
            ("0s", 1_800_000_000),
            ("2026-11-20", 1_795_132_800),
            ("2026-11-20 12:00", 1_795_176_000),
            ("2026-11-20T12:00:01", 1_795_176_001),
            ("2026-11-20T12:00:00Z", 1_795_176_000),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "12:00",
            "-1d",
            "1960-01-01",
            "2026-11-20T12:00:00+01:00",
        ] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
