//! Dates as texts.

use feedsync::Timestamp;
use feedsync_log::Millis;

/// A date as RFC 3339 has it, to the second, in UTC.
pub(crate) fn rfc3339(at: Millis) -> String {
    let seconds = i64::try_from(at.get() / 1_000).unwrap_or_default();
    Timestamp::from_unix_seconds(seconds).map(|when| when.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_date_that_there_is_can_be_written() {
        for (at, text) in [
            (Millis::default(), "1970-01-01T00:00:00Z"),
            (Millis::new(1_795_330_800_999), "2026-11-22T07:00:00Z"),
            (Millis::MAX, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(at), text);
        }
    }
}
