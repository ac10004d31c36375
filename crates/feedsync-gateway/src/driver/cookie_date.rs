//! Parses the expiry dates of cookies, in the many notations that servers use (RFC 6265 5.1.1).

use feedsync_bitsy::time::Time;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Parses a date; returns `None` if the text has none. Dates before 1970 become the start of 1970.
pub(super) fn parsed(text: &str) -> Option<Time> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        // Each token becomes the first missing part of the date that it can be.
        if let (None, Some(found)) = (time, clock(token)) {
            time = Some(found);
        } else if let (None, Some((found, _))) = (day, number(token, 1..=2)) {
            day = Some(found);
        } else if let (None, Some(found)) = (month, name(token)) {
            month = Some(found);
        } else if let (None, Some((found, _))) = (year, number(token, 2..=4)) {
            year = Some(found);
        }
    }
    let ([hour, minute, second], day, month) = (time?, day?, month?);
    let year = match year? {
        year @ 0..=69 => year + 2_000,
        year @ 70..=99 => year + 1_900,
        year => year,
    };
    if year < 1_601 || second > 59 {
        return None;
    }
    Time::of_date_time(&format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

fn is_delimiter(character: char) -> bool {
    matches!(character, '\t' | ' '..='/' | ';'..='@' | '['..='`' | '{'..='~')
}

/// Parses a number with the given count of digits at the start of a token; returns it and the rest.
fn number(token: &str, digits: std::ops::RangeInclusive<usize>) -> Option<(u32, &str)> {
    let end = token.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = token.split_at(end);
    digits.contains(&end).then_some((number.parse().ok()?, rest))
}

fn clock(token: &str) -> Option<[u32; 3]> {
    let (hour, rest) = number(token, 1..=2)?;
    let (minute, rest) = number(rest.strip_prefix(':')?, 1..=2)?;
    let (second, _) = number(rest.strip_prefix(':')?, 1..=2)?;
    Some([hour, minute, second])
}

fn name(token: &str) -> Option<usize> {
    let begins = token.get(..3)?;
    MONTHS.iter().position(|month| month.eq_ignore_ascii_case(begins)).map(|before| before + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_understood_however_it_is_written() {
        let meant = Time::of_date("Sun, 06 Nov 1994 08:49:37 GMT");
        assert!(meant.is_some());
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06-Nov-1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "6 november 94 8:49:37",
            "08:49:37;6th@NOV/1994",
            "Mon, 06 Nov 1994 08:49:37 PST",
        ] {
            assert_eq!(parsed(text), meant, "{text}");
        }
        assert_eq!(parsed("1 Jan 69 0:0:0"), Time::of_date("Tue, 01 Jan 2069 00:00:00 GMT"));
        assert_eq!(parsed("01-Jan-1900 00:00:00"), Some(Time::default()));
    }

    #[test]
    fn invalid_dates_parse_to_none() {
        for text in [
            "",
            "0",
            "-1",
            "06 Nov 1994",
            "06 1994 08:49:37",
            "Nov 1994 08:49:37",
            "06 Nov 08:49:37",
            "32 Nov 1994 08:49:37",
            "31 Feb 1994 08:49:37",
            "06 Nov 1600 08:49:37",
            "06 Nov 19945 08:49:37",
            "06 Nov 1994 24:49:37",
            "06 Nov 1994 08:60:37",
            "06 Növ 1994 08:49:37",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
