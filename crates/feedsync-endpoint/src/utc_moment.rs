//! Moments as people and browsers write them.

use feedsync_core::Timestamp;
use feedsync_store::Moment;

/// Parses a time in UTC: `2026-11-20T12:00`, with seconds or without, with `Z` or without. `None` for other texts, for
/// fractions of a second, and for times before 1970.
pub fn utc_moment(text: &str) -> Option<Moment> {
    let complete = [text.to_owned(), format!("{text}Z"), format!("{text}:00Z")];
    let instant = complete.iter().find_map(|text| Timestamp::parse_tolerant(text).ok());
    let seconds = instant.filter(|_| !text.contains('.'))?.unix_seconds();
    Some(Moment::from_micros(u64::try_from(seconds).ok()?.saturating_mul(1_000_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_may_lack_seconds_and_zone() {
        let noon = Some(1_795_176_000_000_000);
        for text in ["2026-11-20T12:00", "2026-11-20T12:00:00", "2026-11-20T12:00:00Z"] {
            assert_eq!(utc_moment(text).map(Moment::micros), noon, "{text}");
        }
        for text in ["", "noon", "2026-11-20", "1960-01-01T00:00", "2026-11-20T12:00:00.9Z"] {
            assert_eq!(utc_moment(text), None, "{text}");
        }
    }
}
