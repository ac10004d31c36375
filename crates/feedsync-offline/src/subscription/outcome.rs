//! What an answer to a request of a subscription means (BITSY 2.1.3, R-B19).

use std::time::Duration;

use http::header::{self, HeaderMap};
use http::{HeaderValue, StatusCode};

use crate::time::Time;

/// What becomes of a resource that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The answer is its representation.
    Stored,
    /// What is stored is still its representation.
    Unchanged,
    /// It is asked for where the header `Location` says; for good, if the move is.
    Moved {
        /// Where to, as the header has it.
        to: String,
        /// Whether requests go there from now on.
        for_good: bool,
    },
    /// It cannot be had now, and the server says from when on to ask again.
    Later(Time),
    /// It cannot be had: an error, and the subscription pauses.
    Failed,
}

/// Redirections that are followed in a row.
pub const HOPS: usize = 10;

impl Outcome {
    /// What an answer means, but for its body: whether that can be what was asked for is asked of an
    /// [`Outcome::Stored`] next.
    ///
    /// 202 is inside 2xx, and pauses all the same; what was not asked for in parts does not come in
    /// parts; 429 is a 503 by another name (R-B19).
    pub fn of(status: StatusCode, headers: &HeaderMap, now: Time) -> Self {
        match status.as_u16() {
            202 | 206 => Self::Failed,
            200..=299 => Self::Stored,
            304 => Self::Unchanged,
            301 | 302 | 303 | 307 | 308 => {
                let to = headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
                let for_good = matches!(status.as_u16(), 301 | 308);
                to.map_or(Self::Failed, |to| Self::Moved { to: to.to_owned(), for_good })
            }
            429 | 503 => retry_after(headers, now).map_or(Self::Failed, Self::Later),
            _ => Self::Failed,
        }
    }
}

/// Servers are never asked again at once, nor left alone for longer than a day, whatever they say.
const SPAN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(24 * 60 * 60));

/// From when on a server wants to be asked again (RFC 9110 10.2.3).
pub fn retry_after(headers: &HeaderMap, now: Time) -> Option<Time> {
    let value = headers.get(header::RETRY_AFTER).map(HeaderValue::to_str)?.ok()?.trim();
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let asked = match is_number {
        true => now.after(Duration::from_secs(u64::from(value.parse().unwrap_or(u32::MAX)))),
        false => Time::of_date(value)?,
    };
    Some(asked.clamp(now.after(SPAN.0), now.after(SPAN.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const NOW: Time = Time::from_millis(1_000_000);

    fn outcome(status: u16, headers: &[(&'static str, &str)]) -> Outcome {
        let map = testing::headers(headers);
        Outcome::of(StatusCode::from_u16(status).unwrap(), &map, NOW)
    }

    #[test]
    fn every_status_has_one_meaning() {
        for status in 200..600 {
            let expected = match status {
                202 | 206 => Outcome::Failed,
                200..300 => Outcome::Stored,
                304 => Outcome::Unchanged,
                _ => Outcome::Failed,
            };
            assert_eq!(outcome(status, &[]), expected, "{status}");
        }
        for (status, for_good) in
            [(301, true), (302, false), (303, false), (307, false), (308, true)]
        {
            let moved = Outcome::Moved { to: "/x".to_owned(), for_good };
            assert_eq!(outcome(status, &[("location", "/x")]), moved, "{status}");
        }
        for status in [300, 305, 306, 401, 404, 410, 500, 502, 504] {
            let headers = [("location", "/x"), ("retry-after", "1")];
            assert_eq!(outcome(status, &headers), Outcome::Failed, "{status}");
        }
    }

    #[test]
    fn a_server_says_when_to_come_back_in_seconds_or_by_date() {
        let later = |millis| Outcome::Later(Time::from_millis(millis));
        for status in [429, 503] {
            assert_eq!(outcome(status, &[("retry-after", "120")]), later(1_120_000));
            let date = [("retry-after", "Thu, 01 Jan 1970 01:00:00 GMT")];
            assert_eq!(outcome(status, &date), later(3_600_000));
            let past = "Thu, 01 Jan 1970 00:00:00 GMT";
            for at_once in ["0", past] {
                assert_eq!(outcome(status, &[("retry-after", at_once)]), later(1_001_000));
            }
            for nonsense in ["", "soon", "-1", "1.5"] {
                let headers = [("retry-after", nonsense)];
                assert_eq!(outcome(status, &headers), Outcome::Failed, "{nonsense}");
            }
            let far = "99999999999999999999999";
            for far in [far, "4000000000", "Fri, 31 Dec 9999 23:59:59 GMT"] {
                assert_eq!(outcome(status, &[("retry-after", far)]), later(87_400_000), "{far}");
            }
        }
    }
}
