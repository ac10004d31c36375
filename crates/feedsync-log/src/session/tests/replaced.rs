//! Logs that are replaced during a session (LR28, LR30, LR46).

use super::*;

fn header(covers: Option<&str>) -> String {
    let snapshot = covers.map(|covers| Base { covers: covers.to_owned() });
    Header { generation: "x".to_owned(), number: 2, snapshot }.line()
}

fn of(generation: &str, answer: LogResponse) -> LogResponse {
    LogResponse { generation: Some(generation.to_owned()), ..answer }
}

#[test]
fn log_that_is_replaced_again_and_again_ends_the_session() {
    let mut session = Session::new(Some(at(ONE, Some("\"e\""))), Start::Copy);
    answer(&mut session, status(304));
    let ids = ids(1);
    let mut restarts = 0;
    for replacement in ["c:1", "d:1", "e:1", "f:1", "g:1"] {
        // Another client was faster, with another log.
        let ask = session.next(&waiting(&ids)).unwrap();
        session.handle_response(&ask, status(412), 0);
        let other = ONE.replace("a:1", replacement);
        match answer(&mut session, part(0, &other, 19, "\"f\"")) {
            Event::Restarted => restarts += 1,
            event => {
                assert_eq!(
                    (event, restarts),
                    (Event::Stopped(Stop::ReplacedRepeatedly), MAX_RESTARTS)
                );
                return;
            }
        }
        assert_eq!(answer(&mut session, part(0, &other, 19, "\"f\"")), lines(&other));
    }
    panic!("it never ends");
}

#[test]
fn new_generation_that_was_cut_off_in_its_first_line_is_asked_for_again() {
    let text = format!("{}{TWO}", header(Some("g-19")));
    let mut session = resumed(of_generation("g", 19));
    let new = of("h", part(0, &text, text.len() as u64, "\"h-9\""));
    assert_eq!(answer(&mut session, of("h", part(19, "x", 20, "\"h-9\""))), Event::Nothing);
    let cut = LogResponse { body: b"{".to_vec(), ended: false, ..new.clone() };
    assert!(matches!(answer(&mut session, cut), Event::Wait(_)));
    // The stored position stays in the previous generation until it is known what the new one continues from.
    assert_eq!(*session.position(), of_generation("g", 19));
    assert_eq!(answer(&mut session, new), lines(&text));
    assert_eq!(session.position().generation.as_deref(), Some("h"));
}

#[test]
fn new_generation_that_holds_everything_is_begun_anew() {
    for text in [format!("{}{TWO}", header(None)), TWO.to_owned(), String::new()] {
        let mut session = resumed(of_generation("g", 19));
        let new = of("h", whole(0, &text));
        assert_eq!(answer(&mut session, new.clone()), Event::Nothing, "{text}");
        assert_eq!(answer(&mut session, new.clone()), Event::Restarted, "{text}");
        let event = if text.is_empty() { Event::Nothing } else { lines(&text) };
        assert_eq!(answer(&mut session, new), event);
        assert!(session.is_in_step());
    }
}

#[test]
fn generation_that_changes_again_while_it_is_read_is_begun_with_the_snapshot() {
    let mut session = resumed(of_generation("g", 19));
    assert_eq!(answer(&mut session, of("h", whole(0, ONE))), Event::Nothing);
    let cut = LogResponse { ended: false, ..of("h", whole(0, "{")) };
    assert!(matches!(answer(&mut session, cut), Event::Wait(_)));
    assert_eq!(answer(&mut session, of("i", whole(0, ONE))), Event::Restarted);
    assert_eq!(session.next(&[]), Some(LogRequest::Snapshot));
}

/// A refusal that names another generation does not state where this one ends.
#[test]
fn replaced_log_is_read_before_each_append() {
    let ids = ids(1);
    let waiting = waiting(&ids);
    let mut session = resumed(of_generation("g", 19));
    for attempt in 0..4 {
        answer(&mut session, status(304));
        let ask = session.next(&waiting).unwrap();
        assert!(matches!(ask, LogRequest::Append(_)), "{ask:?}");
        let refused = of("h", LogResponse { etag: Some("\"h-38\"".to_owned()), ..status(412) });
        let event = session.handle_response(&ask, refused, 0);
        assert_eq!(matches!(event, Event::Wait(_)), attempt > 0, "{event:?}");
        assert!(matches!(session.next(&waiting), Some(LogRequest::Read(_))));
    }
}

#[test]
fn partial_replica_of_a_replaced_log_begins_with_the_snapshot() {
    let partial = Position { partial: true, ..of_generation("g", 19) };
    let mut session = resumed(partial);
    assert_eq!(answer(&mut session, of("h", whole(0, ONE))), Event::Restarted);
    assert_eq!(session.next(&[]), Some(LogRequest::Snapshot));
}

/// A copy contains the log itself: no snapshot replaces its beginning.
#[test]
fn copy_of_a_replaced_log_is_begun_anew() {
    let text = format!("{}{TWO}", header(Some("g-5")));
    let mut session = Session::new(Some(of_generation("g", 19)), Start::Copy);
    assert_eq!(answer(&mut session, of("h", whole(0, &text))), Event::Restarted);
    assert_eq!(read(&session).range, Range::From { offset: 0, most: MAX_READ_BYTES });
    assert_eq!(answer(&mut session, of("h", whole(0, &text))), lines(&text));
    assert!(session.is_in_step());
}

/// The bytes that a log leaves out are missing if no snapshot was applied (LR43).
#[test]
fn last_bytes_of_a_log_that_leaves_something_out_are_partial() {
    for (covers, is_partial) in [(Some("g-9"), true), (None, false)] {
        let mut session = Session::new(None, Start::Last(1_000));
        answer(&mut session, status(404));
        let text = format!("{}{TWO}", header(covers));
        assert_eq!(answer(&mut session, whole(0, &text)), lines(&text));
        assert_eq!(session.position().partial, is_partial);
    }
}

#[test]
fn last_bytes_within_one_line_are_partial_once_a_line_begins() {
    let mut session = Session::new(None, Start::Last(5));
    answer(&mut session, status(404));
    let middle = part(14, "x:1\"}", 19, "\"e\"");
    assert!(matches!(answer(&mut session, middle), Event::Wait(_)));
    assert_eq!(session.position().offset, 14);
}

/// A cached response that is older than what was read is doubted; a truncated one is requested again (LR30).
#[test]
fn whole_log_that_is_shorter_than_what_was_read_is_doubted() {
    let mut session = resumed(at(&ONE.repeat(2), Some("\"e\"")));
    let stale = Event::Wait(Millis::new(1_500));
    assert_eq!(answer(&mut session, whole(0, ONE)), stale);
    // A truncated response does not mean that the log is shorter.
    for _ in 0..CONFIRMING_READS {
        let cut = LogResponse { ended: false, ..whole(0, ONE) };
        let Event::Wait(pause) = answer(&mut session, cut) else { panic!() };
        assert!(pause < Millis::new(1_500));
    }
    assert_eq!(answer(&mut session, whole(0, ONE)), stale);
    assert_eq!(answer(&mut session, whole(0, ONE)), Event::Restarted);
}

#[test]
fn log_that_is_as_long_as_before_ends_the_doubts() {
    let mut session = resumed(at(&ONE.repeat(2), Some("\"e\"")));
    let ids = ids(1);
    for _ in 0..CONFIRMING_READS {
        for _ in 1..CONFIRMING_READS {
            assert!(matches!(answer(&mut session, whole(0, ONE)), Event::Wait(_)));
        }
        assert_eq!(answer(&mut session, status(304)), Event::Nothing);
        let ask = session.next(&waiting(&ids)).unwrap();
        session.handle_response(&ask, status(412), 0);
    }
    assert_eq!(session.position().offset, 38);
}
