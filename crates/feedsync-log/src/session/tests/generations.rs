use super::*;

/// A shorter log is accepted only after it stays short, since a cache may lag behind (LR24, LR28, LR30,
/// LR46).
#[test]
fn shorter_log_is_accepted_only_after_repeated_reads() {
    let mut session = resumed(at(&ONE.repeat(20), Some("\"e\"")));
    let short = LogResponse { content_range: Some("bytes */3".to_owned()), ..status(416) };
    assert!(matches!(answer(&mut session, short.clone()), Event::Wait(_)));
    assert!(matches!(answer(&mut session, short.clone()), Event::Wait(_)));
    assert_eq!(session.position().offset, 380);
    assert_eq!(answer(&mut session, short), Event::Restarted);
    assert_eq!(session.next(&[]), Some(LogRequest::Snapshot));
    assert_eq!(*session.position(), Position::default());
}

/// A log that was rewritten at the same or a greater length is detected by the comparison of bytes (LR28).
#[test]
fn a_log_that_was_rewritten_is_noticed_where_it_is_compared() {
    let mut session = resumed(at(ONE, Some("\"e\"")));
    let other = ONE.replace("a:1", "c:1");
    assert_eq!(
        answer(&mut session, part(0, &format!("{other}{TWO}"), 38, "\"f\"")),
        Event::Restarted
    );
}

/// A new generation that continues from the replica's position needs no snapshot; any other does (LR46).
#[test]
fn new_generation_is_continued_or_read_from_its_beginning() {
    let header = |covers: &str| {
        let snapshot = Some(Base { covers: covers.to_owned() });
        Header { generation: "x".to_owned(), number: 2, snapshot }.line()
    };
    for (covers, goes_on) in [("1.0000000a-19", true), ("1.0000000a-38", false)] {
        let mut session = resumed(of_generation("1.0000000a", 19));
        let text = format!("{}{TWO}", header(covers));
        let new = |start: usize| LogResponse {
            generation: Some("2.0000000b".to_owned()),
            ..part(start as u64, &text[start..], text.len() as u64, "\"2.0000000b-9\"")
        };
        assert_eq!(answer(&mut session, new(19)), Event::Nothing);
        let event = answer(&mut session, new(0));
        match goes_on {
            true => assert_eq!(event, lines(&text)),
            false => {
                assert_eq!(
                    (event, session.next(&[])),
                    (Event::Restarted, Some(LogRequest::Snapshot))
                )
            }
        }
    }
}

fn covered(generation: Option<&str>) -> SnapshotCoverage {
    let generation = generation.map(str::to_owned);
    SnapshotCoverage { covers: "g-19".to_owned(), offset: 19, overlap: ONE.to_owned(), generation }
}

/// A replica that never read a log begins with the snapshot, and continues after the covered part (LR44,
/// LR45).
#[test]
fn a_new_replica_begins_with_the_snapshot() {
    let mut session = Session::new(None, Start::Whole);
    assert_eq!(answer(&mut session, whole(0, "state")), Event::Snapshot(b"state".to_vec()));
    session.continue_after_snapshot(covered(None));
    assert_eq!(read(&session).range, Range::From { offset: 0, most: MAX_READ_BYTES });
    let both = format!("{ONE}{TWO}");
    assert_eq!(answer(&mut session, part(0, &both, 38, "\"f\"")), lines(TWO));
    // A restored server knows better than the snapshot what the snapshot covers, so its statement counts.
    let mut session = Session::new(None, Start::Whole);
    answer(&mut session, LogResponse { covers: Some("\"h-38\"".to_owned()), ..whole(0, "state") });
    session.continue_after_snapshot(covered(Some("g")));
    assert_eq!(session.position().generation.as_deref(), Some("h"));
    assert_eq!(read(&session).range, Range::From { offset: 38, most: MAX_READ_BYTES });
    // If the log has been replaced and leaves nothing out, only the new log counts.
    let mut session = Session::new(None, Start::Whole);
    answer(&mut session, LogResponse { covers: Some("\"g-19\"".to_owned()), ..whole(0, "state") });
    session.continue_after_snapshot(covered(Some("g")));
    let other = |body, start| LogResponse {
        generation: Some("h".to_owned()),
        ..part(start, body, 38, "\"h\"")
    };
    assert_eq!(answer(&mut session, other(TWO, 19)), Event::Nothing);
    assert_eq!(answer(&mut session, other(&both, 0)), Event::Restarted);
    assert_eq!(answer(&mut session, other(&both, 0)), lines(&both));
}

/// If the log was compacted between the requests for the snapshot and for the log, the snapshot is requested
/// again. If there is none, the replica records that something is missing (LR45, LR46).
#[test]
fn log_that_continues_from_another_snapshot_is_read_from_its_beginning() {
    let header = |covers: &str| {
        let snapshot = Some(Base { covers: covers.to_owned() });
        Header { generation: "x".to_owned(), number: 3, snapshot }.line()
    };
    let mut session = Session::new(None, Start::Whole);
    for (covers, event) in [("g-9", Event::Restarted), ("g-19", lines(&header("g-19")))] {
        answer(&mut session, whole(0, "state"));
        session.continue_after_snapshot(covered(None));
        session.is_behind_snapshot = false;
        session.position = Position::default();
        assert_eq!(answer(&mut session, whole(0, &header(covers))), event);
    }
    let mut session = Session::new(None, Start::Whole);
    answer(&mut session, status(404));
    // The snapshot may have been stored after it was requested.
    assert_eq!(answer(&mut session, whole(0, &header("g-9"))), Event::Restarted);
    answer(&mut session, status(404));
    assert_eq!(answer(&mut session, whole(0, &header("g-9"))), lines(&header("g-9")));
    assert!(session.position().partial);
}

/// A write-only session reads the end, whatever precedes it.
#[test]
fn write_only_session_ignores_the_base_of_a_log() {
    let snapshot = Some(Base { covers: "g-9".to_owned() });
    let header = Header { generation: "x".to_owned(), number: 3, snapshot }.line();
    let mut session = Session::new(None, Start::End);
    assert_eq!(read(&session).range, Range::Last(END));
    assert_eq!(answer(&mut session, whole(0, &header)), lines(&header));
    let ids = ids(1);
    let append = append(&session, &waiting(&ids));
    assert_eq!(append.condition, Condition::Match("\"w\"".to_owned()));
}

/// An empty generation continues from nothing: the local state is offered to it (LR46).
#[test]
fn an_empty_generation_is_another_log() {
    let mut session = resumed(of_generation("g", 19));
    let empty = LogResponse {
        generation: Some("h".to_owned()),
        content_range: Some("bytes */0".to_owned()),
        ..status(416)
    };
    assert_eq!(answer(&mut session, empty.clone()), Event::Nothing);
    assert_eq!(answer(&mut session, empty.clone()), Event::Restarted);
    assert_eq!(answer(&mut session, empty), Event::Nothing);
    assert!(session.is_in_step());
}

/// A removed log begins again if the user decides that; if it cannot be created, the session reports that
/// (LR32, LR46).
#[test]
fn removed_log_begins_again_if_the_user_decides_so() {
    for may in [false, true] {
        let mut session = Session::new(None, Start::Whole);
        if may {
            session.begin_removed();
        }
        answer(&mut session, status(410));
        let event = answer(&mut session, status(410));
        match may {
            false => assert_eq!(event, Event::Stopped(Stop::Gone)),
            true => {
                let ids = ids(1);
                let append = append(&session, &waiting(&ids));
                assert_eq!(append.condition, Condition::Absent);
                let event = session.handle_response(&LogRequest::Append(append), status(404), 0);
                assert_eq!(event, Event::Stopped(Stop::Rejected(404)));
            }
        }
    }
}

/// The generation in a snapshot counts if the server supports generations; otherwise the bytes are compared
/// (LR28, LR45).
#[test]
fn snapshot_of_a_file_is_compared_with_the_file() {
    let mut session = Session::new(None, Start::Whole);
    let handle_response = LogResponse { body: b"s\n".to_vec(), ..whole(0, "") };
    assert_eq!(answer(&mut session, handle_response), Event::Snapshot(b"s\n".to_vec()));
    session.continue_after_snapshot(covered(Some("1.0000000a")));
    assert_eq!(read(&session).range, Range::From { offset: 0, most: MAX_READ_BYTES });
    let both = format!("{ONE}{TWO}");
    assert_eq!(answer(&mut session, part(0, &both, 38, "\"f\"")), lines(TWO));
}

/// A page in place of a snapshot means that there is none, unless the server states what it covers (LR45).
#[test]
fn page_in_place_of_a_snapshot_is_ignored_unless_the_server_states_its_coverage() {
    for told in [None, Some("\"1.0000000a-19\"".to_owned())] {
        let mut session = Session::new(None, Start::Whole);
        let is_none = told.is_none();
        answer(&mut session, LogResponse { covers: told, ..whole(0, "<html>") });
        assert_eq!(session.is_without_snapshot(), is_none);
        assert_eq!(read(&session).range, Range::From { offset: 0, most: MAX_READ_BYTES });
    }
}

/// A client that may not know whether there is a snapshot reads the log (LR44).
#[test]
fn inaccessible_snapshot_is_treated_as_absent() {
    for status_ in [401, 403, 404] {
        let mut session = Session::new(None, Start::Whole);
        assert_eq!(answer(&mut session, status(status_)), Event::Nothing);
        assert_eq!(answer(&mut session, whole(0, ONE)), lines(ONE));
        assert!(!session.position().partial);
    }
}

/// If a log continues from another position than the snapshot covers, it is read anyway, and the replica
/// records that something is missing (LR43, LR45).
#[test]
fn outdated_snapshot_does_not_prevent_reading_the_log() {
    let snapshot = Some(Base { covers: "1.0000000a-90".to_owned() });
    let header = Header { generation: "b".to_owned(), number: 2, snapshot }.line();
    let log = format!("{header}{ONE}");
    let mut session = Session::new(None, Start::Whole);
    let mut heard = Vec::new();
    while let Some(ask) = session.next(&[]) {
        let event = match &ask {
            LogRequest::Snapshot => answer(&mut session, whole(0, "s\n")),
            _ => answer(&mut session, whole(0, &log)),
        };
        match event {
            Event::Snapshot(_) => session.continue_after_snapshot(covered(None)),
            Event::Lines(lines) => heard.extend(lines),
            Event::Stopped(stop) => panic!("{stop}"),
            _ => {}
        }
    }
    assert_eq!(heard, log.as_bytes());
    assert!(session.is_in_step() && session.position().partial);
}
