//! Times, periods and outcomes in the words of the page of a history.

use feedsync_core::Timestamp;
use feedsync_store::Moment;

const DAY: u64 = 24 * 60 * 60;

/// A time as a browser sends it, in UTC.
pub(super) fn typed_time(text: &str) -> Result<Moment, String> {
    let complete = [text.to_owned(), format!("{text}Z"), format!("{text}:00Z")];
    let instant = complete.iter().find_map(|text| Timestamp::parse_tolerant(text).ok());
    let seconds = instant.and_then(|instant| u64::try_from(instant.unix_seconds()).ok());
    let seconds =
        seconds.ok_or_else(|| format!("{text:?} is no time such as 2026-11-20T12:00."))?;
    Ok(Moment::from_micros(seconds.saturating_mul(1_000_000)))
}

/// A period, for people.
pub(super) fn period(seconds: u64) -> String {
    let (length, unit) = match seconds {
        it if it % DAY == 0 => (DAY, "day"),
        it if it % 3_600 == 0 => (3_600, "hour"),
        _ => (1, "second"),
    };
    let count = seconds / length;
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}

/// Message of a page after a form.
pub(super) fn said(said: &str) -> String {
    let counts: Vec<u64> = said
        .strip_prefix("restored-")
        .map(|rest| rest.split('-').filter_map(|count| count.parse().ok()).collect())
        .unwrap_or_default();
    match (said, &*counts) {
        ("kept", _) => "The period was changed.".to_owned(),
        (_, [restored, deleted, refused]) => {
            let mut text = format!("Documents restored: {restored}.");
            if *deleted > 0 {
                text.push_str(&format!(" Deleted: {deleted}."));
            }
            if *refused > 0 {
                text.push_str(&format!(" Refused: {refused}; see the functions of the database."));
            }
            text
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_browsers_send_them() {
        let micros = |text: &str| typed_time(text).map(Moment::micros);
        let noon = 1_795_176_000_000_000;
        for text in ["2026-11-20T12:00", "2026-11-20T12:00:00", "2026-11-20T12:00:00Z"] {
            assert_eq!(micros(text), Ok(noon), "{text}");
        }
        for text in ["", "noon", "2026-11-20", "1960-01-01T00:00"] {
            assert!(micros(text).is_err(), "{text}");
        }
    }

    #[test]
    fn periods_and_outcomes_are_worded_for_people() {
        assert_eq!(period(86_400), "1 day");
        assert_eq!(period(30 * 86_400), "30 days");
        assert_eq!(period(7_200), "2 hours");
        assert_eq!(period(61), "61 seconds");
        assert_eq!(said("restored-3-0-0"), "Documents restored: 3.");
        assert_eq!(said("restored-3-1-2").matches(char::is_numeric).count(), 3);
        assert_eq!(said("<b>"), "");
        assert_eq!(said("restored-x"), "");
    }
}
