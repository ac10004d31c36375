//! Times, periods and outcomes in the words of the page of a history.

use feedsync_endpoint::utc_moment;
use feedsync_store::Moment;

/// A time as a browser sends it, in UTC.
pub(super) fn typed_time(text: &str) -> Result<Moment, String> {
    utc_moment(text).ok_or_else(|| format!("{text:?} is no time such as 2026-11-20T12:00."))
}

/// A period, for people.
pub(super) fn period(seconds: u64) -> String {
    let units = [(24 * 60 * 60, "day"), (60 * 60, "hour"), (60, "minute"), (1, "second")];
    let fitting = units.into_iter().find(|(length, _)| seconds.is_multiple_of(*length));
    let (length, unit) = fitting.unwrap_or((1, "second"));
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
    fn periods_and_outcomes_are_worded_for_people() {
        assert_eq!(period(86_400), "1 day");
        assert_eq!(period(30 * 86_400), "30 days");
        assert_eq!(period(7_200), "2 hours");
        assert_eq!(period(900), "15 minutes");
        assert_eq!(period(61), "61 seconds");
        assert_eq!(said("restored-3-0-0"), "Documents restored: 3.");
        assert_eq!(said("restored-3-1-2").matches(char::is_numeric).count(), 3);
        assert_eq!(said("<b>"), "");
        assert_eq!(said("restored-x"), "");
    }
}
