//! `Retry-After` (RFC 9110, 10.2.3).

use std::time::{Duration, SystemTime};

use http::header::{HeaderMap, RETRY_AFTER};

/// Time at which a server asks for a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfter {
    /// After a delay.
    Delay(Duration),
    /// At a time, by the server's clock.
    At(SystemTime),
}

impl RetryAfter {
    /// Maximum time that is accepted: a week. A longer one is taken for a mistake.
    pub const MAX_DELAY: Duration = Duration::from_secs(7 * 24 * 3600);

    pub(crate) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
        match text.parse() {
            Ok(seconds) => Some(Self::Delay(Duration::from_secs(seconds).min(Self::MAX_DELAY))),
            Err(_) => httpdate::parse_http_date(text).ok().map(Self::At),
        }
    }

    /// Returns the time until then.
    pub fn from_now(self, now: SystemTime) -> Duration {
        match self {
            Self::Delay(delay) => delay,
            Self::At(at) => at.duration_since(now).unwrap_or_default().min(Self::MAX_DELAY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<RetryAfter> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, text.parse().unwrap());
        RetryAfter::from_headers(&headers)
    }

    #[test]
    fn seconds_and_dates_are_understood_and_nothing_else() {
        assert_eq!(read("120"), Some(RetryAfter::Delay(Duration::from_secs(120))));
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(read("Sun, 06 Nov 1994 08:49:37 GMT"), Some(RetryAfter::At(at)));
        assert_eq!(read("soon"), None);
        assert_eq!(read("-1"), None);
    }

    #[test]
    fn retry_after_is_limited_to_a_week() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let believed = |text| read(text).map(|wish| wish.from_now(now));
        assert_eq!(believed("99999999999"), Some(RetryAfter::MAX_DELAY));
        assert_eq!(believed("Sat, 06 Nov 2094 08:49:37 GMT"), Some(RetryAfter::MAX_DELAY));
        assert_eq!(believed("Sun, 06 Nov 1994 08:49:40 GMT"), Some(Duration::from_secs(3)));
        assert_eq!(believed("Sun, 06 Nov 1994 08:49:30 GMT"), Some(Duration::ZERO));
    }
}
