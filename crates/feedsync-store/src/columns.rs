//! Text representation of values in database columns, the same in every backend and readable by people.

use std::fmt::Write as _;
use std::str::FromStr;

use feedsync_core::{By, Timestamp, Update};

use crate::error::StoreError;
use crate::order::Moment;
use crate::remote::RemoteId;
use crate::stored::Origin;

pub(crate) fn moment(micros: i64) -> Moment {
    Moment::from_micros(u64::try_from(micros).unwrap_or_default())
}

/// Column of an origin: 0 for this endpoint, -1 for mixed, otherwise the number of the remote.
pub(crate) fn origin_number(origin: Origin) -> i64 {
    match origin {
        Origin::Here => 0,
        Origin::Mixed => -1,
        Origin::Remote(RemoteId(remote)) => remote as i64,
    }
}

pub(crate) fn origin(number: i64) -> Origin {
    match number {
        0 => Origin::Here,
        -1 => Origin::Mixed,
        remote => Origin::Remote(RemoteId(remote as u64)),
    }
}

/// Parses a column; a text that does not parse is reported as damage.
pub(crate) fn parse<T: FromStr>(text: &str) -> Result<T, StoreError>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error| StoreError::Damaged(format!("{text:?}: {error}")))
}

/// Text of updates, one on each line: sequence, when, by and foreign, separated by tabs. Absent values are
/// empty.
pub(crate) fn history_text(updates: &[Update]) -> String {
    let mut text = String::with_capacity(64 * updates.len());
    for update in updates {
        if !text.is_empty() {
            text.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{}\t", update.sequence());
        if let Some(when) = update.when() {
            let _ = write!(text, "{when}");
        }
        text.push('\t');
        text.push_str(update.by().map_or("", By::as_str));
        if let Some(foreign) = update.foreign() {
            text.push('\t');
            for character in foreign.chars() {
                match character {
                    '\n' => text.push_str("\\n"),
                    '\t' => text.push_str("\\t"),
                    '\\' => text.push_str("\\\\"),
                    other => text.push(other),
                }
            }
        }
    }
    text
}

pub(crate) fn updates(text: &str) -> Result<Vec<Update>, StoreError> {
    text.split('\n').filter(|line| !line.is_empty()).map(update).collect()
}

fn update(line: &str) -> Result<Update, StoreError> {
    let mut fields = line.splitn(4, '\t');
    let mut field = || fields.next().unwrap_or_default();
    let sequence = parse(field())?;
    let when = match field() {
        "" => None,
        when => Some(Timestamp::parse_tolerant(when).map_err(|error| damaged(line, &error))?),
    };
    let by = match field() {
        "" => None,
        by => Some(parse(by)?),
    };
    let update = Update::new(sequence, when, by).map_err(|error| damaged(line, &error))?;
    match fields.next() {
        None => Ok(update),
        Some(foreign) => Ok(update.with_foreign(unescape(foreign))),
    }
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                other => plain.extend(other),
            },
            other => plain.push(other),
        }
    }
    plain
}

pub(crate) fn damaged(what: &str, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Damaged(format!("{what:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use feedsync_core::Sequence;

    use super::*;

    #[test]
    fn history_round_trips_through_readable_text() {
        let when = Timestamp::parse("2005-05-21T11:43:33Z").unwrap();
        let by = By::new("REO1750").unwrap();
        let two = Sequence::new(2).unwrap();
        let history = vec![
            Update::signed(two, when, by.clone()),
            Update::new(Sequence::FIRST, Some(when), None).unwrap(),
            Update::new(two, None, Some(by)).unwrap().with_foreign("a\tb\nc\\nd"),
        ];
        let text = history_text(&history);
        assert_eq!(
            text,
            "2\t2005-05-21T11:43:33Z\tREO1750\n1\t2005-05-21T11:43:33Z\t\n\
             2\t\tREO1750\ta\\tb\\nc\\\\nd"
        );
        assert_eq!(updates(&text).unwrap(), history);
    }

    #[test]
    fn malformed_history_is_damage() {
        for text in ["x", "1", "1\t\t", "0\t\tA", "1\tnever\tA", "1\t\tA B"] {
            assert!(matches!(updates(text), Err(StoreError::Damaged(_))), "{text}");
        }
    }
}
