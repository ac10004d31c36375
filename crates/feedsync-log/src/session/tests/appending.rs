use super::*;

/// Waiting records are appended under the tag of what was read; without any there is no request (LR13, LR19,
/// LR35).
#[test]
fn waiting_records_are_appended_under_the_tag_of_the_last_read() {
    let mut session = resumed(of_generation("g", 19));
    answer(&mut session, status(304));
    assert_eq!(session.next(&[]), None);
    let ids = ids(3);
    let append = append(&session, &waiting(&ids));
    assert_eq!(append.condition, Condition::Match("\"g-19\"".to_owned()));
    assert_eq!((append.body.as_slice(), append.records), (TWO.repeat(3).as_bytes(), 3));
    assert!(append.key.starts_with("b:1-3-"), "{}", append.key);
    let done = LogResponse { etag: Some("\"g-76\"".to_owned()), ..status(204) };
    assert_eq!(session.handle_response(&LogRequest::Append(append), done, 0), Event::Appended(3));
    assert_eq!((session.position().offset, session.next(&[])), (76, None));
}

/// The first append creates the log (LR32).
#[test]
fn first_append_creates_an_absent_log() {
    let mut session = Session::new(None, Start::Whole);
    answer(&mut session, status(404));
    answer(&mut session, status(404));
    let ids = ids(1);
    let append_ = append(&session, &waiting(&ids));
    assert_eq!(append_.condition, Condition::Absent);
    // Another client was faster: now there is a log.
    session.handle_response(&LogRequest::Append(append_), status(412), 0);
    assert_eq!(answer(&mut session, whole(0, ONE)), lines(ONE));
    let append = append(&session, &waiting(&ids));
    assert_eq!(append.condition, Condition::Match("\"w\"".to_owned()));
}

/// A client whose append is refused reads first. Then it tries the position that the server stated, and
/// finally any length (LR13, LR18).
#[test]
fn refused_append_restarts_with_reading() {
    let mut session = resumed(of_generation("g", 19));
    answer(&mut session, status(304));
    let ids = ids(1);
    let waiting = waiting(&ids);
    let refused = |length: u64| LogResponse {
        etag: Some(format!("\"g-{length}\"")),
        generation: Some("g".to_owned()),
        ..status(412)
    };
    let ask = session.next(&waiting).unwrap();
    assert_eq!(session.handle_response(&ask, refused(38), 5), Event::Nothing);
    assert!(matches!(session.next(&waiting), Some(LogRequest::Read(_))));
    let new = LogResponse { generation: Some("g".to_owned()), ..part(19, TWO, 38, "\"g-38\"") };
    assert_eq!(answer(&mut session, new), lines(TWO));
    let ask = session.next(&waiting).unwrap();
    assert_eq!(session.handle_response(&ask, refused(57), 5), Event::Nothing);
    let told = append(&session, &waiting);
    assert_eq!(told.condition, Condition::Match("\"g-57\"".to_owned()));
    assert_eq!(session.handle_response(&LogRequest::Append(told), refused(76), 5), Event::Nothing);
    let append = append(&session, &waiting);
    assert_eq!(append.condition, Condition::Present);
    let done = LogResponse { etag: Some("\"g-95\"".to_owned()), ..status(204) };
    assert_eq!(session.handle_response(&LogRequest::Append(append), done, 5), Event::Appended(1));
    // Bytes that others appended before are still unread.
    assert_eq!(read(&session).range, Range::From { offset: 38, most: MAX_READ_BYTES });
    assert_eq!(read(&session).unless, None);
}

/// If the server cannot tell whether it is the same log, it is read before each attempt, and each client
/// waits (LR13, LR18).
#[test]
fn refused_append_on_a_file_server_reads_and_waits() {
    let mut session = resumed(at(ONE, Some("\"e\"")));
    let ids = ids(1);
    let waiting = waiting(&ids);
    let mut pauses = Vec::new();
    for attempt in 0..=MAX_LOST_RACES {
        assert!(matches!(session.next(&waiting), Some(LogRequest::Read(_))));
        answer(&mut session, status(304));
        let append = append(&session, &waiting);
        assert_eq!(append.condition, Condition::Match("\"e\"".to_owned()));
        let refused = LogResponse { etag: Some("\"f\"".to_owned()), ..status(412) };
        match session.handle_response(&LogRequest::Append(append), refused, 0) {
            Event::Nothing => assert_eq!(attempt, 0),
            Event::Wait(pause) => pauses.push(pause.get()),
            event => {
                assert_eq!((event, attempt), (Event::Stopped(Stop::Contended), MAX_LOST_RACES))
            }
        }
    }
    assert_eq!(pauses.len(), MAX_LOST_RACES as usize - 1);
    assert_eq!(pauses[..8], [4, 8, 16, 32, 64, 128, 256, 500]);
    assert!(pauses[8..].iter().all(|pause| *pause == 500));
}

/// A batch has a limit (LR18), and a server may have a lower one (LR36).
#[test]
fn a_batch_is_bounded_and_halved_where_it_is_too_large() {
    let mut session = resumed(of_generation("g", 19));
    answer(&mut session, status(304));
    let ids = ids(2);
    let long = format!("{{\"v\":1,\"x\":\"{}\"}}\n", "x".repeat(MAX_APPEND_BYTES / 2));
    let waiting: Vec<_> = ids.iter().map(|id| PendingRecord { id, line: &long }).collect();
    assert_eq!(append(&session, &waiting).records, 1);
    let ids = self::ids(8);
    let waiting = self::waiting(&ids);
    let ask = session.next(&waiting).unwrap();
    assert_eq!(session.handle_response(&ask, status(413), 0), Event::Nothing);
    assert_eq!(append(&session, &waiting).records, 4);
    let one = &waiting[..1];
    let ask = session.next(one).unwrap();
    let event = session.handle_response(&ask, status(413), 0);
    assert_eq!(event, Event::Stopped(Stop::TooLarge(ids[0].clone())));
}

/// An append without a response may have been too large for the connection (LR18).
#[test]
fn batch_is_halved_without_a_response() {
    let mut session = resumed(of_generation("g", 19));
    answer(&mut session, status(304));
    let ids = ids(4);
    let long = format!("{{\"v\":1,\"x\":\"{}\"}}\n", "x".repeat(MIN_APPEND_BYTES));
    let waiting: Vec<_> = ids.iter().map(|id| PendingRecord { id, line: &long }).collect();
    for records in [4, 2, 1, 1] {
        let ask = session.next(&waiting).unwrap();
        assert!(matches!(&ask, LogRequest::Append(append) if append.records == records), "{ask:?}");
        assert!(matches!(session.handle_response(&ask, LogResponse::default(), 0), Event::Wait(_)));
        // The append did not arrive.
        answer(&mut session, status(304));
    }
}

/// A weak tag suffices for reading only; an append states the length (LR29).
#[test]
fn append_under_a_weak_tag_is_conditional_on_the_length() {
    let mut session = resumed(at(ONE, Some("W/\"e\"")));
    assert_eq!(read(&session).unless.as_deref(), Some("W/\"e\""));
    answer(&mut session, status(304));
    let ids = ids(1);
    assert_eq!(append(&session, &waiting(&ids)).condition, Condition::Length(19));
    // A hub's own tags are strong, even if a proxy weakened them: they are derived from the position.
    let weak = Some("W/\"1.0000000a-19\"".to_owned());
    let mut session = resumed(Position { etag: weak, ..of_generation("1.0000000a", 19) });
    answer(&mut session, status(304));
    let strong = Condition::Match("\"1.0000000a-19\"".to_owned());
    assert_eq!(append(&session, &waiting(&ids)).condition, strong);
}

/// The next append ends a torn line that is unchanged, so that the line damages no other one (LR37).
#[test]
fn a_torn_line_that_stays_is_ended() {
    let mut session = resumed(of_generation("g", 19));
    let torn =
        LogResponse { generation: Some("g".to_owned()), ..part(19, "{\"v\":1", 25, "\"g-25\"") };
    assert!(matches!(answer(&mut session, torn.clone()), Event::Wait(_)));
    assert_eq!(answer(&mut session, torn), Event::Nothing);
    assert!(session.is_in_step());
    let ids = ids(1);
    let append = append(&session, &waiting(&ids));
    assert_eq!(append.body, format!("\n{TWO}").as_bytes());
    assert_eq!(append.condition, Condition::Match("\"g-25\"".to_owned()));
    let done = LogResponse { etag: Some("\"g-45\"".to_owned()), ..status(204) };
    // The torn line may be a complete record without its line feed: it is read, together with the appended
    // records.
    assert_eq!(
        session.handle_response(&LogRequest::Append(append), done.clone(), 0),
        Event::Nothing
    );
    assert_eq!(read(&session).range, Range::From { offset: 19, most: MAX_READ_BYTES });
    let whole = format!("{{\"v\":1\n{TWO}");
    let back = LogResponse { generation: Some("g".to_owned()), ..part(19, &whole, 45, "\"g-45\"") };
    assert_eq!(answer(&mut session, back), lines(&whole));
    assert_eq!(session.position().offset, 45);
}

/// This includes a torn line that is longer than the end that a write-only session reads (LR37).
#[test]
fn long_torn_line_is_ended_by_a_write_only_session() {
    let mut session = Session::new(None, Start::End);
    let torn = "x".repeat(256);
    let answer_ = part(44, &torn, 300, "\"t\"");
    assert!(matches!(answer(&mut session, answer_.clone()), Event::Wait(_)));
    assert_eq!(answer(&mut session, answer_), Event::Nothing);
    let ids = ids(1);
    assert_eq!(append(&session, &waiting(&ids)).body, format!("\n{TWO}").as_bytes());
}

/// A replica that reads a record of a later version continues to read, and appends nothing (LR48).
#[test]
fn a_later_version_makes_a_replica_read_only() {
    let mut session = resumed(of_generation("g", 19));
    let newer =
        LogResponse { generation: Some("g".to_owned()), ..part(19, "{\"v\":2}\n", 27, "\"g-27\"") };
    assert_eq!(answer(&mut session, newer), lines("{\"v\":2}\n"));
    let ids = ids(1);
    assert_eq!(session.next(&waiting(&ids)), None);
    assert_eq!(session.refusal(), Some(Stop::Newer(2)));
    assert_eq!(session.position().newer, Some(2));
    assert_eq!(resumed(session.position().clone()).position().newer, Some(2));
}

/// The latest version that was found counts, in any order (LR48).
#[test]
fn latest_version_of_records_is_kept() {
    let mut session = resumed(of_generation("g", 19));
    let mut offset = 19;
    for (text, newest) in [
        ("{\"v\":3}\n{\"v\":2}\n", Some(3)),
        (TWO, Some(3)),
        ("{\"v\":2}\n", Some(3)),
        ("{\"v\":4}\n", Some(4)),
    ] {
        let more = part(offset, text, 1_000, "\"g-1000\"");
        let more = LogResponse { generation: Some("g".to_owned()), ..more };
        assert_eq!(answer(&mut session, more), lines(text));
        offset += text.len() as u64;
        assert_eq!(session.position().newer, newest);
        // There is more to read, whatever the version is.
        assert_eq!(session.refusal(), None);
    }
}

#[test]
fn session_that_only_writes_does_not_interpret_versions() {
    let mut session = Session::new(None, Start::End);
    assert_eq!(answer(&mut session, whole(0, "{\"v\":2}\n")), lines("{\"v\":2}\n"));
    assert_eq!((session.position().newer, session.refusal()), (None, None));
    let ids = ids(1);
    assert_eq!(append(&session, &waiting(&ids)).body, TWO.as_bytes());
}

/// After an append without a response the log is read first, and the same bytes have the same key (LR38).
#[test]
fn an_append_without_an_answer_is_looked_for() {
    let mut session = resumed(of_generation("g", 19));
    answer(&mut session, status(304));
    let ids = ids(2);
    let waiting = waiting(&ids);
    let first = append(&session, &waiting);
    let event = session.handle_response(&LogRequest::Append(first.clone()), status(0), 0);
    assert!(matches!(event, Event::Wait(_)));
    assert!(matches!(session.next(&waiting), Some(LogRequest::Read(_))));
    answer(&mut session, status(304));
    assert_eq!(append(&session, &waiting), first);
    assert_ne!(append(&session, &waiting[..1]).key, first.key);
}
