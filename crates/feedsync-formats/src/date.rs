//! Dates of payloads: RFC 3339 as Atom has them, RFC 822 as RSS and OPML have them.
//!
//! These are the publisher's dates and decide nothing in a merge, so they are read generously, to
//! the second, in UTC; what is no date is absent. The dates of `sx` elements are stricter and are
//! read elsewhere.

use feedsync::Timestamp;

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The instant of a date in either form.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    rfc3339(text).or_else(|| rfc822(text))
}

/// The date as RSS and HTTP write it, with the weekday that it was: `Sat, 21 May 2005 09:43:33 GMT`.
pub fn to_rfc822(date: Timestamp) -> String {
    let text = date.to_string();
    let (year, month, day, time) = (&text[..4], &text[5..7], &text[8..10], &text[11..19]);
    let weekday = DAYS[date.unix_seconds().div_euclid(86_400).rem_euclid(7) as usize];
    let month = month.parse().ok().and_then(|month: usize| MONTHS.get(month - 1));
    format!("{weekday}, {day} {} {year} {time} GMT", month.unwrap_or(&"Jan"))
}

fn rfc3339(text: &str) -> Option<Timestamp> {
    let (seconds, mut rest) = text.split_at_checked(19)?;
    let base = instant(&seconds.replace([' ', 't'], "T"))?;
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
    }
    Timestamp::from_unix_seconds(base - i64::from(offset(rest)?))
}

/// Seconds since 1970 of `YYYY-MM-DDThh:mm:ss`.
fn instant(text: &str) -> Option<i64> {
    Timestamp::parse(&format!("{text}Z")).ok().map(Timestamp::unix_seconds)
}

/// Seconds east of Greenwich of `Z`, `+hh:mm`, `+hhmm` or a name of RFC 822 5.1.
fn offset(zone: &str) -> Option<i32> {
    let hours = match zone.trim().to_ascii_uppercase().as_str() {
        "Z" | "GMT" | "UT" | "UTC" | "" => 0,
        "EDT" => -4,
        "EST" | "CDT" => -5,
        "CST" | "MDT" => -6,
        "MST" | "PDT" => -7,
        "PST" => -8,
        numeric => {
            let sign = match numeric.as_bytes().first()? {
                b'+' => 1,
                b'-' => -1,
                _ => return None,
            };
            let digits: String = numeric[1..].chars().filter(|sign| *sign != ':').collect();
            if digits.len() != 4 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
                return None;
            }
            let (hours, minutes) =
                (digits[..2].parse::<i32>().ok()?, digits[2..].parse::<i32>().ok()?);
            return (minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60));
        }
    };
    Some(hours * 3_600)
}

fn rfc822(text: &str) -> Option<Timestamp> {
    let text = match text.split_once(',') {
        Some((_, rest)) => rest,
        None => text,
    };
    let mut words = text.split_ascii_whitespace();
    let (day, month, year, time) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let zone = words.next().unwrap_or("GMT");
    let month = 1 + MONTHS
        .iter()
        .position(|name| month.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(name)))?;
    let year: u32 = year.parse().ok()?;
    let year = match year {
        0..=49 => 2_000 + year,
        50..=99 => 1_900 + year,
        _ => year,
    };
    let day: u32 = day.parse().ok()?;
    let mut parts = time.split(':');
    let mut next = || parts.next().map_or(Some(0), |part| part.parse::<u32>().ok());
    let (hour, minute, second) = (next()?, next()?, next()?);
    let base =
        instant(&format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"))?;
    Timestamp::from_unix_seconds(base - i64::from(offset(zone)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_either_form_are_one_instant() {
        for text in [
            "2005-05-21T09:43:33Z",
            " 2005-05-21t09:43:33z ",
            "2005-05-21T09:43:33.99Z",
            "2005-05-21 11:43:33+02:00",
            "2005-05-21T04:43:33.5-05:00",
            "Sat, 21 May 2005 09:43:33 GMT",
            "Tue, 21 may 05 09:43:33 UT",
            "21 May 2005 05:43:33 EDT",
            "Sat, 21 May 2005 11:43:33 +0200",
        ] {
            let date = parse(text).map(|date| date.to_string());
            assert_eq!(date.as_deref(), Some("2005-05-21T09:43:33Z"), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2005-05-21",
            "2005-02-30T00:00:00Z",
            "1 Foo 2005 0:0 GMT",
            "21 May 2005 09:43:33 +2",
            "é005-05-21T09:43:33Z",
            "2005-05-21T09:43:33+0a00",
            "1 ééé 5 1",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_date_is_written_with_the_weekday_it_was() {
        for text in [
            "Sat, 21 May 2005 09:43:33 GMT",
            "Mon, 01 Nov 2004 00:00:00 GMT",
            "Tue, 01 Mar 2005 23:59:59 GMT",
            "Thu, 01 Jan 1970 00:00:00 GMT",
            "Wed, 31 Dec 1969 23:59:59 GMT",
        ] {
            assert_eq!(to_rfc822(parse(text).unwrap()), text);
        }
    }
}
