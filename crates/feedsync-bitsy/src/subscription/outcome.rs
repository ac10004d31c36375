//! Meaning of the responses to requests of a subscription (BITSY 2.1.3, R-B19).

use std::time::Duration;

use http::header::{self, HeaderMap};
use http::{HeaderValue, StatusCode};

use crate::time::Time;

/// Result of a request for a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The response is the representation of the resource.
    Stored,
    /// The stored representation is still valid.
    Unchanged,
    /// The resource is at the address in `Location`.
    Moved {
        /// Target, as given in the header.
        to: String,
        /// Whether the move is permanent, so that later requests go to the target.
        for_good: bool,
    },
    /// The resource is not available now, and the server names the time for a retry.
    Later(Time),
    /// The resource is not available. This is an error, and the subscription pauses.
    Failed,
}

/// Maximum number of consecutive redirections.
pub const MAX_HOPS: usize = 10;

impl Outcome {
    /// Returns the meaning of a response without its body. The caller of an [`Outcome::Stored`] checks next
    /// whether the body can be the requested resource.
    ///
    /// 202 is a 2xx status and fails all the same. 206 fails because no parts were requested. 429 is treated
    /// like 503 (R-B19).
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

/// Bounds of a server's retry time: at least one second, and at most a day.
const RETRY_AFTER_BOUNDS: (Duration, Duration) =
    (Duration::from_secs(1), Duration::from_secs(24 * 60 * 60));

/// Time from which a server accepts another request (RFC 9110 10.2.3).
pub fn retry_after(headers: &HeaderMap, now: Time) -> Option<Time> {
    let value = headers.get(header::RETRY_AFTER).map(HeaderValue::to_str)?.ok()?.trim();
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let requested = match is_number {
        true => now.after(Duration::from_secs(u64::from(value.parse().unwrap_or(u32::MAX)))),
        false => Time::of_date(value)?,
    };
    Some(requested.clamp(now.after(RETRY_AFTER_BOUNDS.0), now.after(RETRY_AFTER_BOUNDS.1)))
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
    fn retry_after_is_read_in_seconds_and_as_a_date() {
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
