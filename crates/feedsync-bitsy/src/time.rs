//! Time stamps of the interface.

use std::fmt;
use std::time::Duration;

/// Milliseconds since 1970 (`DOMTimeStamp`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The time this many milliseconds after 1970.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970.
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// The time that is later by a duration.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }

    /// Duration since an earlier time; zero if that time is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// Formats the time for Atom (RFC 4287 3.3).
    pub fn date_time(self) -> String {
        let seconds = i64::try_from(self.0 / 1_000).ok();
        let date = seconds.and_then(feedsync_core::Timestamp::from_unix_seconds);
        date.map(|date| date.to_string()).unwrap_or_default()
    }

    /// Parses the format of [`date_time`](Self::date_time). Times before 1970 become the beginning of 1970.
    pub fn of_date_time(text: &str) -> Option<Self> {
        let seconds = feedsync_core::Timestamp::parse(text).ok()?.unix_seconds();
        Some(Self::default().after(Duration::from_secs(u64::try_from(seconds).unwrap_or_default())))
    }

    /// Formats the time for a header (RFC 9110 5.6.7); none if it is too late for one.
    pub fn date(self) -> Option<http::HeaderValue> {
        // The year 9999 is the last that has four digits.
        let seconds = Some(self.0 / 1_000).filter(|seconds| *seconds < 253_402_300_800)?;
        let date = std::time::UNIX_EPOCH + Duration::from_secs(seconds);
        httpdate::fmt_http_date(date).parse().ok()
    }

    /// Parses the date of a header (RFC 9110 5.6.7).
    pub fn of_date(text: &str) -> Option<Self> {
        let date = httpdate::parse_http_date(text).ok()?;
        let since = date.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(Self::default().after(since))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_and_read() {
        for seconds in [0, 784_111_777, 951_782_400] {
            let time = Time::from_millis(seconds * 1_000);
            assert_eq!(Time::of_date_time(&time.date_time()), Some(time));
            assert_eq!(Time::of_date(time.date().unwrap().to_str().unwrap()), Some(time));
        }
        assert_eq!(Time::of_date_time("1969-12-31T23:59:59Z"), Some(Time::default()));
        for text in ["", "1994-11-06", "1994-02-30T00:00:00Z", "1994-11-06T09:49:37+01:00"] {
            assert_eq!(Time::of_date_time(text), None, "{text}");
        }
    }
}
