//! `since` and `until`: texts that must order as texts in FeedSync (4.2, note on since and until), and dates in SSE
//! (2.1).

use feedsync_core::sse::Date;

use super::findings::{Findings, quoted};
use crate::date;
use crate::remarks::Fault;
use crate::xml::{Attribute, Namespace};

pub(super) const CLAUSE: &str = "FeedSync 4.2";

/// Checks the attributes of an `sx:sharing`.
pub(super) fn check(text: &str, start: usize, attributes: &[Attribute], findings: &mut Findings) {
    let find = |name| find(text, attributes, name);
    let (since, until) = (find("since"), find("until"));
    for ((at, value), name) in since.iter().zip(["since"]).chain(until.iter().zip(["until"])) {
        if let Some(message) = flaw(value) {
            let message = format!("{name}={}: {message}", quoted(value));
            findings.fault(Fault::new(*at, CLAUSE, message));
        }
    }
    if let (Some((_, since)), Some((_, until))) = (since, until)
        && let Some(message) = difference(&since, &until)
    {
        findings.warn(Fault::new(start, CLAUSE, message));
    }
}

/// Checks the attributes of an `sx:sharing` of SSE. Reading checks each value on its own.
pub(super) fn check_sse(
    text: &str,
    start: usize,
    attributes: &[Attribute],
    findings: &mut Findings,
) {
    let date = |name| find(text, attributes, name)?.1.parse::<Date>().ok();
    if let (Some(since), Some(until)) = (date("since"), date("until"))
        && since > until
    {
        let message = "since is later than until, so that the feed can hold no update";
        findings.warn(Fault::new(start, "SSE 2.1", message));
    }
}

fn find(text: &str, attributes: &[Attribute], name: &str) -> Option<(usize, String)> {
    let is_it = |attribute: &&Attribute| {
        attribute.namespace() == Namespace::NONE && attribute.local(text) == name
    };
    let attribute = attributes.iter().find(is_it)?;
    Some((attribute.start(), attribute.value(text).into_owned()))
}

/// Returns the reason why a value evidently cannot order as a text.
pub(super) fn flaw(value: &str) -> Option<&'static str> {
    if value.trim() != value {
        return Some("white space around it is part of the text that is compared");
    }
    if is_normalised(value) || !looks_like_a_date(value) || date::parse(value).is_none() {
        return None;
    }
    Some("a date must be normalised so that texts order as dates do, such as 2006-05-02T09:10:33Z")
}

/// Returns the reason why two values evidently may not order as intended.
pub(super) fn difference(since: &str, until: &str) -> Option<&'static str> {
    if flaw(since).is_some() || flaw(until).is_some() || shape(since) == shape(until) {
        return None;
    }
    match (is_normalised(since), is_normalised(until)) {
        (true, true) => {
            Some("since and until are dates of different precision: as texts they may not order")
        }
        (false, false) if runs(since) == runs(until) => {
            Some("since and until hold numbers of different width: as texts they do not order")
        }
        (false, false) => None,
        _ => Some("of since and until one is a date and one is not: as texts they may not order"),
    }
}

/// Whether a value has letters or separators like a date. A number alone is not a date.
fn looks_like_a_date(value: &str) -> bool {
    let separators = value.bytes().filter(|byte| matches!(byte, b':' | b'/' | b'-' | b' ' | b'.'));
    value.bytes().any(|byte| byte.is_ascii_digit())
        && (separators.count() >= 2 || value.contains(' '))
        && value
            .bytes()
            .any(|byte| matches!(byte, b':' | b'/' | b' ') || byte.is_ascii_alphabetic())
}

/// Whether a value starts with the year, has parts of fixed width in descending order, and is in UTC.
fn is_normalised(value: &str) -> bool {
    let shape = shape(value);
    let (date, time) = shape.split_at_checked(10).unwrap_or((&shape, ""));
    if date != "0000-00-00" {
        return false;
    }
    let time = time.strip_suffix(['Z', 'z']).unwrap_or(time);
    match time.strip_prefix(['T', 't', ' ']) {
        None => time.is_empty(),
        Some("00:00" | "00:00:00") => true,
        Some(time) => time
            .strip_prefix("00:00:00.")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte == b'0')),
    }
}

/// Replaces each digit of a text by 0.
fn shape(value: &str) -> String {
    value
        .chars()
        .map(|character| if character.is_ascii_digit() { '0' } else { character })
        .collect()
}

/// Replaces each run of digits in a text by one 0.
fn runs(value: &str) -> String {
    let mut out = shape(value);
    while out.contains("00") {
        out = out.replace("00", "0");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_that_do_not_order_as_texts_are_flaws() {
        for value in [
            "2 May 2006 09:10:33",
            "Tue, 02 May 2006 09:10:33 GMT",
            "Sat, 21 May 2005 09:43:33 GMT",
            "2006-05-02T09:10:33+02:00",
            "5/2/2006 09:10",
            "May 2, 2006",
            " 17",
            "2006-05-02T09:10:33Z ",
        ] {
            assert!(flaw(value).is_some(), "{value}");
        }
        for value in [
            "2006-05-02T09:10:33Z",
            "2006-05-02T09:10:33.000001Z",
            "2006-05-02",
            "1",
            "17",
            "1146561033",
            "00000000000000000017",
            "0000000000000000000.0000000000000000001",
            "a-9",
            "rev 17",
            "0001-5f2c9a",
        ] {
            assert_eq!(flaw(value), None, "{value}");
        }
    }

    #[test]
    fn values_of_different_form_are_distinguished() {
        for (since, until) in [
            ("9", "10"),
            ("a-9", "a-10"),
            ("2006-05-02T09:10:33Z", "2006-05-02T09:10:33.5Z"),
            ("1", "2006-05-02T09:10:33Z"),
        ] {
            assert!(difference(since, until).is_some(), "{since} {until}");
        }
        for (since, until) in [
            ("1", "2"),
            ("09", "10"),
            ("2006-05-02T09:10:33Z", "2007-05-02T09:10:33Z"),
            ("abc", "abd"),
            ("abc9", "xyz10"),
            // One of them is already a flaw.
            ("2 May 2006 09:10:33", "2006-05-02T09:10:33Z"),
            ("2006-05-02T09:10:33Z", "2 May 2006 09:10:33"),
        ] {
            assert_eq!(difference(since, until), None, "{since} {until}");
        }
    }
}
