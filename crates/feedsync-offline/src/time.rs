//! Moments, as the interface counts them.

use std::fmt;
use std::time::Duration;

/// Milliseconds since 1970 (`DOMTimeStamp`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The moment of so many milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Its milliseconds.
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// So much later.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }

    /// How long ago another moment was; nothing if it is to come.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// As Atom writes it (RFC 4287 3.3).
    pub fn date_time(self) -> String {
        let seconds = i64::try_from(self.0 / 1_000).ok();
        let date = seconds.and_then(feedsync::Timestamp::from_unix_seconds);
        date.map(|date| date.to_string()).unwrap_or_default()
    }

    /// What a header says that has a date (RFC 9110 5.6.7).
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
