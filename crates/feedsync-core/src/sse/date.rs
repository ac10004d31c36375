//! Date-times of SSE: RFC 822 with four-digit years, in GMT (1.2, S3; R-S1).

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use crate::timestamp::Timestamp;

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A date-time. It preserves its original text and is compared by instant.
///
/// The accepted form is `[Ddd,] D|DD Mon YYYY hh:mm[:ss] zone`, with names in any case and runs of
/// blanks. The weekday is not checked, since the specification's own examples have it wrong. A date
/// that is made here is written `Sat, 21 May 2005 09:43:33 GMT`.
///
/// ```
/// # use feedsync_core::sse::Date;
/// let date: Date = "Tue, 1 Nov 2004 09:43:33 GMT".parse()?;
/// assert_eq!(date.to_string(), "Tue, 1 Nov 2004 09:43:33 GMT");
/// assert_eq!(Date::from(date.timestamp()).to_string(), "Mon, 01 Nov 2004 09:43:33 GMT");
/// # Ok::<(), feedsync_core::sse::DateError>(())
/// ```
#[derive(Clone)]
pub struct Date {
    instant: Timestamp,
    /// Original text, where it differs from the written form.
    text: Option<Arc<str>>,
}

/// Reason why a text is not a date-time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DateError {
    /// Not of the form `Sat, 21 May 2005 09:43:33 GMT`.
    #[error("a date must have the form 'Sat, 21 May 2005 09:43:33 GMT'")]
    Shape,
    /// Not a day of the week or month in English.
    #[error("days and months must be abbreviated: Mon to Sun, Jan to Dec")]
    Name,
    /// A year that does not have four digits.
    #[error("a year must have four digits")]
    Year,
    /// A zone other than GMT.
    #[error("a date must be in GMT, not in another time zone")]
    Zone,
    /// A date or time that does not exist.
    #[error("the date or time does not exist")]
    Calendar,
}

impl Date {
    /// The instant.
    pub fn timestamp(&self) -> Timestamp {
        self.instant
    }

    /// Whether the zone reads `GMT` as the specification demands, and not `UT`, `UTC`, `Z`, `+0000`
    /// or `-0000`, which mean the same and deserve a warning.
    pub fn is_gmt(&self) -> bool {
        self.text.as_deref().is_none_or(|text| text.trim_end().ends_with("GMT"))
    }
}

/// Parses a run of digits between `least` and `most` long.
fn number(text: &str, least: usize, most: usize) -> Option<u16> {
    let shaped = (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if shaped { text.parse().ok() } else { None }
}

fn name_index(names: &[&str], text: &str) -> Option<usize> {
    names.iter().position(|name| name.eq_ignore_ascii_case(text))
}

fn parse(text: &str) -> Result<Timestamp, DateError> {
    let (weekday, rest) = match text.split_once(',') {
        Some((weekday, rest)) => (Some(weekday), rest),
        None => (None, text),
    };
    if weekday.is_some_and(|name| name_index(&WEEKDAYS, name.trim_matches([' ', '\t'])).is_none()) {
        return Err(DateError::Name);
    }
    let mut words = rest.split([' ', '\t']).filter(|word| !word.is_empty());
    let mut word = || words.next().ok_or(DateError::Shape);
    let day = number(word()?, 1, 2).ok_or(DateError::Shape)?;
    let month = name_index(&MONTHS, word()?).ok_or(DateError::Name)? + 1;
    let year = number(word()?, 4, 4).ok_or(DateError::Year)?;
    let mut time = word()?.split(':');
    let mut field = || time.next().map(|text| number(text, 2, 2).ok_or(DateError::Shape));
    let hour = field().ok_or(DateError::Shape)??;
    let minute = field().ok_or(DateError::Shape)??;
    let second = field().unwrap_or(Ok(0))?;
    if time.next().is_some() {
        return Err(DateError::Shape);
    }
    let zone = word()?;
    if words.next().is_some() {
        return Err(DateError::Shape);
    }
    if !matches!(zone, "+0000" | "-0000")
        && !["GMT", "UT", "UTC", "Z"].iter().any(|name| name.eq_ignore_ascii_case(zone))
    {
        return Err(DateError::Zone);
    }
    let normal = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
    Timestamp::parse(&normal).map_err(|_| DateError::Calendar)
}

/// Writes an instant with its correct weekday.
fn write(instant: Timestamp, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // It is always `YYYY-MM-DDThh:mm:ssZ`; a leap second belongs to the day that it ends.
    let text = instant.to_string();
    let leap = i64::from(&text[17..19] == "60");
    let days = (instant.unix_seconds() - leap).div_euclid(86_400);
    let weekday = WEEKDAYS[(days + 4).rem_euclid(7) as usize];
    let month = number(&text[5..7], 2, 2).map_or(0, |month| usize::from(month - 1));
    let (year, day, time) = (&text[..4], &text[8..10], &text[11..19]);
    write!(f, "{weekday}, {day} {} {year} {time} GMT", MONTHS[month])
}

impl FromStr for Date {
    type Err = DateError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut date = Self::from(parse(text)?);
        if date.to_string() != text {
            date.text = Some(text.into());
        }
        Ok(date)
    }
}

impl From<Timestamp> for Date {
    fn from(instant: Timestamp) -> Self {
        Self { instant, text: None }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => write(self.instant, f),
        }
    }
}

impl fmt::Debug for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Date {
    fn eq(&self, other: &Self) -> bool {
        self.instant == other.instant
    }
}

impl Eq for Date {}

impl Hash for Date {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.instant.hash(state);
    }
}

impl PartialOrd for Date {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Date {
    fn cmp(&self, other: &Self) -> Ordering {
        self.instant.cmp(&other.instant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Date {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn the_forms_of_rfc_822_with_four_digit_years_are_read_and_keep_their_text() {
        let instant = date("Sat, 21 May 2005 09:43:00 GMT");
        assert_eq!(instant.timestamp().to_string(), "2005-05-21T09:43:00Z");
        for text in [
            "21 May 2005 09:43 GMT",
            "sat, 21 MAY 2005 09:43:00 gmt",
            "Mon,21 May  2005\t09:43 UT",
            "Sat, 21 May 2005 09:43:00 +0000",
            "Sat, 21 May 2005 09:43:00 -0000",
            "Sat, 21 May 2005 09:43:00 Z",
            "Sat, 21 May 2005 09:43:00 UTC",
            " Sat , 21 May 2005 09:43:00 GMT ",
        ] {
            assert_eq!(date(text), instant, "{text}");
            assert_eq!(date(text).to_string(), text);
        }
        assert!(date("Sat, 21 May 2005 09:43:00 GMT").is_gmt());
        assert!(!date("Sat, 21 May 2005 09:43:00 UTC").is_gmt());
    }

    #[test]
    fn forbidden_forms_are_refused_by_name() {
        for (text, error) in [
            ("", DateError::Shape),
            ("2005-05-21T09:43:33Z", DateError::Shape),
            ("Sat, 21 May 2005 GMT", DateError::Shape),
            ("Sat, 21 May 2005 9:43 GMT", DateError::Shape),
            ("Sat, 21 May 2005 09:43:33:00 GMT", DateError::Shape),
            ("Sat, 21 May 2005 09:43:33 GMT (summer)", DateError::Shape),
            ("Sat, 21 May 2005 09:43:33", DateError::Shape),
            ("Samstag, 21 May 2005 09:43:33 GMT", DateError::Name),
            ("Sat, 21 Mai 2005 09:43:33 GMT", DateError::Name),
            ("Sat, 21 May 05 09:43:33 GMT", DateError::Year),
            ("Sat, 21 May 2005 09:43:33 EST", DateError::Zone),
            ("Sat, 21 May 2005 09:43:33 A", DateError::Zone),
            ("Sat, 21 May 2005 09:43:33 +0100", DateError::Zone),
            ("Sat, 31 Feb 2005 09:43:33 GMT", DateError::Calendar),
            ("Sat, 21 May 2005 24:00:00 GMT", DateError::Calendar),
            ("Sat, ２1 May 2005 09:43:33 GMT", DateError::Shape),
        ] {
            assert_eq!(text.parse::<Date>(), Err(error), "{text}");
        }
    }

    #[test]
    fn a_date_of_ours_has_two_digits_and_the_right_weekday() {
        for (instant, text) in [
            ("2004-11-01T09:43:33Z", "Mon, 01 Nov 2004 09:43:33 GMT"),
            ("2005-03-01T09:43:33Z", "Tue, 01 Mar 2005 09:43:33 GMT"),
            ("1969-12-31T23:59:59Z", "Wed, 31 Dec 1969 23:59:59 GMT"),
            ("2016-12-31T23:59:60Z", "Sat, 31 Dec 2016 23:59:60 GMT"),
            ("0000-01-01T00:00:00Z", "Sat, 01 Jan 0000 00:00:00 GMT"),
        ] {
            let written = Date::from(Timestamp::parse(instant).unwrap());
            assert_eq!(written.to_string(), text);
            assert_eq!(date(text).timestamp().to_string(), instant);
        }
    }

    #[test]
    fn dates_are_ordered_by_instant_not_by_text() {
        assert!(date("Fri, 1 Apr 2005 00:00:00 GMT") > date("Thu, 31 Mar 2005 23:59:59 GMT"));
        assert_eq!(date("Thu, 1 Apr 2005 00:00 GMT"), date("01 Apr 2005 00:00:00 UT"));
    }
    #[test]
    fn equal_instants_hash_alike_and_different_ones_differently() {
        use std::hash::{BuildHasher as _, RandomState};
        let state = RandomState::new();
        let hash = |text: &str| state.hash_one(date(text));
        assert_eq!(hash("Thu, 1 Apr 2005 00:00 GMT"), hash("01 Apr 2005 00:00:00 UT"));
        assert_ne!(hash("01 Apr 2005 00:00:00 UT"), hash("01 Apr 2005 00:00:01 UT"));
    }
}
