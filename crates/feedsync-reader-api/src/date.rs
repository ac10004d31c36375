//! Dates as text and as numbers.

use feedsync_core::Timestamp;
use feedsync_log::Millis;

/// Formats a date as RFC 3339, in seconds and UTC.
pub(crate) fn rfc3339(at: Millis) -> String {
    let seconds = i64::try_from(at.get() / 1_000).unwrap_or_default();
    Timestamp::from_unix_seconds(seconds).map(|when| when.to_string()).unwrap_or_default()
}

/// Converts seconds since 1970.
pub(crate) fn seconds(seconds: u64) -> Millis {
    Millis::new(seconds.saturating_mul(1_000))
}

/// Converts a time in a unit that depends on the newsreader. The magnitude of the number determines the unit for
/// all times between 2001 and 2286.
pub(crate) fn instant(number: u64) -> Millis {
    match number {
        0..1_000_000_000_000 => seconds(number),
        1_000_000_000_000..1_000_000_000_000_000 => Millis::new(number),
        1_000_000_000_000_000..1_000_000_000_000_000_000 => Millis::new(number / 1_000),
        _ => Millis::new(number / 1_000_000),
    }
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

    #[test]
    fn magnitude_of_a_time_determines_its_unit() {
        let millis = 1_795_330_800_123;
        for number in ["1795330800123", "1795330800123456", "1795330800123456789"] {
            assert_eq!(instant(number.parse().unwrap()), Millis::new(millis));
        }
        assert_eq!(instant(1_795_330_800), Millis::new(1_795_330_800_000));
        assert_eq!(instant(u64::MAX), Millis::new(u64::MAX / 1_000_000));
        assert_eq!(seconds(u64::MAX), Millis::MAX);
    }
}
