//! Incomplete lines at the end of a log (LR37).

use super::*;

const CUT: &str = "{\"v\":1";

/// A response of a file server with these bytes after 19 others; its tag is strong or weak.
fn torn(bytes: &str, etag: &str) -> LogResponse {
    let body = format!("{ONE}{bytes}");
    part(0, &body, body.len() as u64, etag)
}

fn waits(event: &Event) -> bool {
    matches!(event, Event::Wait(_))
}

#[test]
fn torn_line_that_still_changes_is_read_again() {
    let mut session = resumed(at(ONE, Some("\"e\"")));
    for changing in [
        torn(CUT, "\"f\""),
        torn(&format!("{CUT},"), "\"g\""),
        // Another text with that length.
        torn(&format!("{CUT}."), "\"h\""),
        torn(CUT, "W/\"i\""),
        // A weak tag does not distinguish texts, but their lengths do.
        torn(&format!("{CUT},"), "W/\"i\""),
    ] {
        assert!(waits(&answer(&mut session, changing)));
        assert!(!session.is_in_step());
    }
    assert_eq!(answer(&mut session, torn(&format!("{CUT},"), "W/\"i\"")), Event::Nothing);
    assert!(session.is_in_step());
}

/// The torn bytes count towards the length in the next append (LR29, LR37).
#[test]
fn append_behind_a_torn_line_without_a_strong_tag_names_the_length() {
    let mut session = resumed(at(ONE, Some("\"e\"")));
    assert!(waits(&answer(&mut session, torn(CUT, "W/\"f\""))));
    assert_eq!(answer(&mut session, torn(CUT, "W/\"f\"")), Event::Nothing);
    let ids = ids(1);
    let append = append(&session, &waiting(&ids));
    assert_eq!(append.condition, Condition::Length(19 + CUT.len() as u64));
    assert_eq!(append.body, format!("\n{TWO}").as_bytes());
}

#[test]
fn torn_line_that_was_completed_is_a_line() {
    let mut session = resumed(at(ONE, Some("\"e\"")));
    assert!(waits(&answer(&mut session, torn(CUT, "\"f\""))));
    let rest = format!("{CUT}}}\n");
    assert_eq!(answer(&mut session, torn(&rest, "\"g\"")), lines(&rest));
    let ids = ids(1);
    let append = append(&session, &waiting(&ids));
    assert_eq!((append.body.as_slice(), session.is_in_step()), (TWO.as_bytes(), true));
}

#[test]
fn whole_lines_before_a_torn_one_are_read_at_once() {
    let mut session = resumed(at(ONE, Some("\"e\"")));
    let both = torn(&format!("{TWO}{CUT}"), "\"f\"");
    assert_eq!(answer(&mut session, both), lines(TWO));
    assert_eq!((session.position().offset, session.is_in_step()), (38, false));
}

/// A write-only session knows the end of the log after its append (LR37).
#[test]
fn offset_after_an_append_that_ends_a_torn_line_includes_that_line() {
    let mut session = Session::new(None, Start::End);
    let length = (300 + ONE.len() + CUT.len()) as u64;
    let end = part(298, &format!("}}\n{ONE}{CUT}"), length, "\"t\"");
    assert_eq!(answer(&mut session, end), lines(ONE));
    let again = part(300, &format!("{ONE}{CUT}"), length, "\"t\"");
    assert_eq!(answer(&mut session, again), Event::Nothing);
    let ids = ids(1);
    let ask = session.next(&waiting(&ids)).unwrap();
    let done = LogResponse { etag: Some("\"u\"".to_owned()), ..status(204) };
    assert_eq!(session.handle_response(&ask, done, 0), Event::Appended(1));
    assert_eq!(session.position().offset, length + 1 + TWO.len() as u64);
    assert_eq!(session.next(&[]), None);
    assert_eq!(append(&session, &waiting(&ids)).body, TWO.as_bytes());
}

/// Only a session that knows where lines end may append at the offset in a refusal.
#[test]
fn log_with_a_torn_line_is_read_before_each_append() {
    let mut session = resumed(of_generation("g", 19));
    let of_g = |answer: LogResponse| LogResponse { generation: Some("g".to_owned()), ..answer };
    let ids = ids(1);
    let waiting = waiting(&ids);
    for attempt in 0..4 {
        let cut = of_g(part(19, CUT, 19 + CUT.len() as u64, "\"g-26\""));
        assert!(waits(&answer(&mut session, cut.clone())));
        assert_eq!(answer(&mut session, cut), Event::Nothing);
        let ask = session.next(&waiting).unwrap();
        assert!(matches!(ask, LogRequest::Append(_)));
        let refused = of_g(LogResponse { etag: Some("\"g-26\"".to_owned()), ..status(412) });
        assert_eq!(waits(&session.handle_response(&ask, refused, 0)), attempt > 0);
        assert!(matches!(session.next(&waiting), Some(LogRequest::Read(_))));
    }
}

#[test]
fn line_that_does_not_end_within_the_limit_of_a_read_ends_the_session() {
    let limit = MAX_READ_BYTES as usize;
    for (bytes, is_endless) in [(limit - 1, false), (limit, true)] {
        let mut session = resumed(of_generation("g", 19));
        let body = "x".repeat(bytes);
        let more =
            LogResponse { generation: Some("g".to_owned()), ..part(19, &body, 1 << 40, "\"g\"") };
        match answer(&mut session, more) {
            Event::Stopped(Stop::Fault(_)) => assert!(is_endless),
            event => assert!(!is_endless && waits(&event), "{event:?}"),
        }
    }
}
