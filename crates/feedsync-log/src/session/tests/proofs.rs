//! Appends that count immediately, and appends that count once they are read back (LR13, LR30, LR35).

use super::*;

/// Appends one record; returns the event of the response.
fn appended(session: &mut Session, done: LogResponse) -> Event {
    let ids = ids(1);
    let ask = session.next(&waiting(&ids)).unwrap();
    assert!(matches!(ask, LogRequest::Append(_)), "{ask:?}");
    session.handle_response(&ask, done, 0)
}

fn done(etag: &str, generation: Option<&str>, media_type: Option<&str>) -> LogResponse {
    let etag = Some(etag.to_owned()).filter(|etag| !etag.is_empty());
    let generation = generation.map(str::to_owned);
    LogResponse { etag, generation, media_type: media_type.map(str::to_owned), ..status(204) }
}

#[test]
fn new_strong_tag_proves_an_append_to_a_file() {
    for (answer_, is_proof) in [
        (done("\"f\"", None, None), true),
        (done("\"f\"", Some("g"), Some("text/plain")), true),
        (done("\"f\"", None, Some("text/plain")), false),
        (done("\"e\"", None, None), false),
        (done("\"e\"", Some("g"), None), false),
        (done("W/\"f\"", None, None), false),
        (done("", None, None), false),
    ] {
        let mut session = resumed(at(ONE, Some("\"e\"")));
        answer(&mut session, status(304));
        let event = appended(&mut session, answer_.clone());
        let expected = if is_proof { Event::Appended(1) } else { Event::Nothing };
        assert_eq!((event, session.is_in_step()), (expected, is_proof), "{answer_:?}");
        assert_eq!(session.position().offset, if is_proof { 38 } else { 19 });
    }
}

#[test]
fn name_of_the_generation_proves_an_append_where_generations_are_told_apart() {
    for (answer_, is_proof) in [
        (done("\"g-38\"", None, None), true),
        (done("W/\"g-38\"", None, None), true),
        (done("\"g-38\"", None, Some("text/plain")), true),
        (done("", Some("g"), None), true),
        (done("\"gg-38\"", None, None), false),
        (done("\"h-38\"", Some("h"), None), false),
        (done("\"g\"", None, None), false),
        (done("g-38", None, None), false),
        (done("", None, None), false),
    ] {
        let mut session = resumed(of_generation("g", 19));
        answer(&mut session, status(304));
        let event = appended(&mut session, answer_.clone());
        let expected = if is_proof { Event::Appended(1) } else { Event::Nothing };
        assert_eq!(event, expected, "{answer_:?}");
    }
}

/// If the tag after an append is absent or weak, the next read obtains it (LR29).
#[test]
fn log_is_read_again_after_an_append_without_a_strong_tag() {
    for (etag, is_strong) in [("\"g-38\"", true), ("W/\"g-38\"", false), ("", false)] {
        let mut session = resumed(of_generation("g", 19));
        answer(&mut session, status(304));
        let event = appended(&mut session, done(etag, Some("g"), None));
        assert_eq!((event, session.is_in_step()), (Event::Appended(1), is_strong), "{etag}");
        let known = is_strong.then(|| etag.to_owned());
        assert_eq!((session.position().offset, session.position().etag.clone()), (38, known));
        assert_eq!(session.position().generation.as_deref(), Some("g"));
    }
}

#[test]
fn first_append_tells_the_generation_of_the_log_that_it_makes() {
    let mut session = Session::new(None, Start::Whole);
    answer(&mut session, status(404));
    assert!(!session.is_absent());
    answer(&mut session, status(404));
    assert!(session.is_absent());
    let event = appended(&mut session, done("\"g-19\"", Some("g"), None));
    assert_eq!((event, session.is_absent()), (Event::Appended(1), false));
    assert_eq!(session.position().generation.as_deref(), Some("g"));
}

#[test]
fn log_that_another_client_created_is_not_absent() {
    for seen in [status(412), status(409)] {
        let mut session = Session::new(None, Start::End);
        answer(&mut session, status(404));
        assert!(session.is_absent());
        assert_eq!(appended(&mut session, seen), Event::Nothing);
        assert!(!session.is_absent());
        assert_eq!(answer(&mut session, whole(0, ONE)), lines(ONE));
        assert!(!session.is_absent());
    }
}

/// A write-only session reads the end of a log, which may lack what it appended to an absent one.
#[test]
fn first_append_without_proof_is_looked_for_in_the_whole_log() {
    let mut session = Session::new(None, Start::End);
    answer(&mut session, status(404));
    assert_eq!(appended(&mut session, status(204)), Event::Nothing);
    assert_eq!(read(&session).range, Range::From { offset: 0, most: MAX_READ_BYTES });
    assert_eq!(answer(&mut session, whole(0, TWO)), Event::Appended(1));
    assert_eq!((session.position().offset, session.next(&[])), (19, None));
}

#[test]
fn partial_reads_do_not_count_as_searches_for_an_append() {
    let mut session = Session::new(Some(of_generation("g", 19)), Start::End);
    answer(&mut session, status(304));
    assert_eq!(appended(&mut session, status(204)), Event::Nothing);
    let mut offset = 19;
    for _ in 0..2 * CONFIRMING_READS {
        let more = part(offset, ONE, 1_000, "\"g-1000\"");
        let more = LogResponse { generation: Some("g".to_owned()), ..more };
        assert_eq!(answer(&mut session, more), lines(ONE));
        offset += 19;
    }
    let last = LogResponse {
        generation: Some("g".to_owned()),
        ..part(offset, TWO, offset + 19, "\"g-z\"")
    };
    assert_eq!(answer(&mut session, last), Event::Appended(1));
}

#[test]
fn lines_of_others_are_returned_during_the_search_for_an_append() {
    let mut session = Session::new(Some(at(ONE, Some("\"e\""))), Start::Whole);
    answer(&mut session, status(304));
    assert_eq!(appended(&mut session, status(204)), Event::Nothing);
    let other = ONE.replace("a:1", "c:1");
    let both = format!("{ONE}{other}");
    assert_eq!(answer(&mut session, part(0, &both, 38, "\"f\"")), lines(&other));
    assert!(!session.is_in_step());
    assert!(matches!(answer(&mut session, status(304)), Event::Wait(_)));
    assert_eq!(answer(&mut session, status(304)), Event::Nothing);
    // The record is missing, so it is appended again.
    assert!(session.is_in_step());
    let event = appended(&mut session, done("\"g\"", None, None));
    assert_eq!(event, Event::Appended(1));
}

#[test]
fn append_to_a_replaced_log_is_no_longer_searched() {
    let mut session = resumed(at(ONE, Some("\"e\"")));
    answer(&mut session, status(304));
    assert_eq!(appended(&mut session, status(204)), Event::Nothing);
    let other = ONE.replace("a:1", "c:1");
    let replaced = part(0, &other, 19, "\"f\"");
    assert_eq!(answer(&mut session, replaced.clone()), Event::Restarted);
    answer(&mut session, status(404));
    assert_eq!(answer(&mut session, replaced), lines(&other));
    assert!(session.is_in_step());
}
