use super::*;
use crate::header::{Base, Header};

const ONE: &str = "{\"v\":1,\"id\":\"a:1\"}\n";
const TWO: &str = "{\"v\":1,\"id\":\"b:1\"}\n";

fn at(text: &str, etag: Option<&str>) -> Position {
    Position {
        offset: text.len() as u64,
        etag: etag.map(str::to_owned),
        overlap: overlap_of(text.as_bytes()),
        ..Position::default()
    }
}

/// Of a server that tells generations apart.
fn of_generation(generation: &str, length: u64) -> Position {
    Position {
        offset: length,
        etag: Some(format!("\"{generation}-{length}\"")),
        generation: Some(generation.to_owned()),
        overlap: ONE.to_owned(),
        ..Position::default()
    }
}

fn resumed(position: Position) -> Session {
    Session::new(Some(position), Start::Whole)
}

fn part(start: u64, body: &str, complete: u64, etag: &str) -> Answer {
    let last = start + body.len() as u64 - 1;
    Answer {
        status: 206,
        etag: Some(etag.to_owned()),
        content_range: Some(format!("bytes {start}-{last}/{complete}")),
        body: body.into(),
        ended: true,
        ..Answer::default()
    }
}

fn whole(start: u64, body: &str) -> Answer {
    let etag = Some("\"w\"".to_owned());
    Answer { status: 200, etag, start, body: body.into(), ended: true, ..Answer::default() }
}

fn status(status: u16) -> Answer {
    Answer { status, ended: true, ..Answer::default() }
}

fn lines(text: &str) -> Event {
    Event::Lines(text.into())
}

/// Asks what comes next and answers it.
fn answer(session: &mut Session, answer: Answer) -> Event {
    let ask = session.next(&[]).expect("something to ask for");
    session.answered(&ask, answer, 1)
}

fn read(session: &Session) -> Read {
    match session.next(&[]) {
        Some(Ask::Read(read)) => read,
        other => panic!("{other:?}"),
    }
}

fn append(session: &Session, waiting: &[Waiting<'_>]) -> Append {
    match session.next(waiting) {
        Some(Ask::Append(append)) => append,
        other => panic!("{other:?}"),
    }
}

/// Records that wait, whose lines have a length.
fn waiting(ids: &[RecordId]) -> Vec<Waiting<'_>> {
    ids.iter().map(|id| Waiting { id, line: TWO }).collect()
}

fn ids(count: u64) -> Vec<RecordId> {
    (1..=count).map(|sequence| RecordId { device: "b".parse().unwrap(), sequence }).collect()
}

/// R20, R22, R23: a conditional request for the bytes past the last known end, and nothing to do on 304.
#[test]
fn an_unchanged_log_costs_one_request() {
    let mut session = resumed(of_generation("1.0000000a", 38));
    let read = read(&session);
    assert_eq!(read.range.header(), format!("bytes=38-{}", 38 + MOST_READ - 1));
    assert_eq!(read.unless.as_deref(), Some("\"1.0000000a-38\""));
    assert_eq!(answer(&mut session, status(304)), Event::Nothing);
    assert!(session.is_in_step());
    assert_eq!(session.next(&[]), None);
}

/// R9, R25, R28: what was read last is asked for again and compared.
#[test]
fn a_log_that_has_grown_gives_its_new_bytes() {
    let mut session = resumed(at(ONE, Some("\"e\"")));
    let read = read(&session);
    assert_eq!(read.range, Range::From { offset: 0, most: MOST_READ });
    let both = format!("{ONE}{TWO}");
    assert_eq!(answer(&mut session, part(0, &both, 38, "\"f\"")), lines(TWO));
    assert_eq!(*session.position(), at(&both, Some("\"f\"")));
    assert!(session.is_in_step());
}

/// R26: servers and proxies that know no ranges send everything.
#[test]
fn an_answer_with_all_of_it_is_passed_over_up_to_what_is_new() {
    let both = format!("{ONE}{TWO}");
    let before = Position { overlap: "}\n".to_owned(), ..at(ONE, None) };
    for (start, body) in [(0, both.as_str()), (10, &both[10..]), (17, &both[17..])] {
        let mut session = resumed(before.clone());
        assert_eq!(answer(&mut session, whole(start, body)), lines(TWO), "{start}");
        assert_eq!(session.position().offset, 38);
    }
    let mut session = resumed(before);
    let event = answer(&mut session, whole(18, &both[18..]));
    assert!(matches!(event, Event::Stopped(Stop::Fault(_))), "{event:?}");
}

/// R25, R37, T9: of what was cut off, only whole lines count, and the rest is asked for again.
#[test]
fn an_answer_that_was_cut_off_counts_up_to_its_last_line() {
    let mut session = resumed(of_generation("g", 19));
    let mut cut = part(19, &format!("{TWO}{ONE}"), 57, "\"g-57\"");
    cut.body.truncate(30);
    assert_eq!(answer(&mut session, cut.clone()), lines(TWO));
    assert_eq!((session.position().offset, session.position().etag.clone()), (38, None));
    assert!(!session.is_in_step());
    assert_eq!(read(&session).unless, None);
    // Nothing whole at all: later.
    let mut session = resumed(of_generation("g", 19));
    cut.body.truncate(7);
    assert!(matches!(answer(&mut session, cut), Event::Wait(_)));
    assert_eq!(session.position().offset, 19);
}

/// R24: without a new tag, a range behind the end says that nothing is new; without a length too (lighttpd).
#[test]
fn a_range_behind_the_end_says_that_nothing_is_new() {
    for range in [Some("bytes */19".to_owned()), None] {
        let mut session = resumed(of_generation("g", 19));
        let answer_ = Answer { content_range: range, ..status(416) };
        assert_eq!(answer(&mut session, answer_), Event::Nothing);
        assert!(session.is_in_step());
    }
}

/// R24, R28, R30, R46: a shorter log is believed when it stays so, since a cache may lag behind.
#[test]
fn a_log_that_became_shorter_is_doubted_before_it_is_believed() {
    let mut session = resumed(at(&ONE.repeat(20), Some("\"e\"")));
    let short = Answer { content_range: Some("bytes */3".to_owned()), ..status(416) };
    assert!(matches!(answer(&mut session, short.clone()), Event::Wait(_)));
    assert!(matches!(answer(&mut session, short.clone()), Event::Wait(_)));
    assert_eq!(session.position().offset, 380);
    assert_eq!(answer(&mut session, short), Event::Restarted);
    assert_eq!(session.next(&[]), Some(Ask::Snapshot));
    assert_eq!(*session.position(), Position::default());
}

/// R28: a log that was rewritten at the same or a greater length differs where it is compared.
#[test]
fn a_log_that_was_rewritten_is_noticed_where_it_is_compared() {
    let mut session = resumed(at(ONE, Some("\"e\"")));
    let other = ONE.replace("a:1", "c:1");
    assert_eq!(
        answer(&mut session, part(0, &format!("{other}{TWO}"), 38, "\"f\"")),
        Event::Restarted
    );
}

/// R46: a new generation that goes on from where the replica stands needs no snapshot; any other does.
#[test]
fn a_new_generation_is_read_on_or_begun_anew() {
    let header = |covers: &str| {
        let snapshot = Some(Base { covers: covers.to_owned() });
        Header { generation: "x".to_owned(), number: 2, snapshot }.line()
    };
    for (covers, goes_on) in [("1.0000000a-19", true), ("1.0000000a-38", false)] {
        let mut session = resumed(of_generation("1.0000000a", 19));
        let text = format!("{}{TWO}", header(covers));
        let new = |start: usize| Answer {
            generation: Some("2.0000000b".to_owned()),
            ..part(start as u64, &text[start..], text.len() as u64, "\"2.0000000b-9\"")
        };
        assert_eq!(answer(&mut session, new(19)), Event::Nothing);
        let event = answer(&mut session, new(0));
        match goes_on {
            true => assert_eq!(event, lines(&text)),
            false => {
                assert_eq!((event, session.next(&[])), (Event::Restarted, Some(Ask::Snapshot)))
            }
        }
    }
}

fn covered(generation: Option<&str>) -> Covered {
    let generation = generation.map(str::to_owned);
    Covered { covers: "g-19".to_owned(), offset: 19, overlap: ONE.to_owned(), generation }
}

/// R44, R45: a replica that never read a log begins with the snapshot and goes on behind what it covers.
#[test]
fn a_new_replica_begins_with_the_snapshot() {
    let mut session = Session::new(None, Start::Whole);
    assert_eq!(answer(&mut session, whole(0, "state")), Event::Snapshot(b"state".to_vec()));
    session.begin_behind(covered(None));
    assert_eq!(read(&session).range, Range::From { offset: 0, most: MOST_READ });
    let both = format!("{ONE}{TWO}");
    assert_eq!(answer(&mut session, part(0, &both, 38, "\"f\"")), lines(TWO));
    // A server that knows better than the snapshot itself, since it was put back, is believed.
    let mut session = Session::new(None, Start::Whole);
    answer(&mut session, Answer { covers: Some("\"h-38\"".to_owned()), ..whole(0, "state") });
    session.begin_behind(covered(Some("g")));
    assert_eq!(session.position().generation.as_deref(), Some("h"));
    assert_eq!(read(&session).range, Range::From { offset: 38, most: MOST_READ });
    // If the log is another one by now, and leaves nothing out, only that counts.
    let mut session = Session::new(None, Start::Whole);
    answer(&mut session, whole(0, "state"));
    session.begin_behind(covered(Some("g")));
    let other =
        |body, start| Answer { generation: Some("h".to_owned()), ..part(start, body, 38, "\"h\"") };
    assert_eq!(answer(&mut session, other(TWO, 19)), Event::Nothing);
    assert_eq!(answer(&mut session, other(&both, 0)), Event::Restarted);
    assert_eq!(answer(&mut session, other(&both, 0)), lines(&both));
}

/// R45, R46: between the snapshot and the log, somebody compacted the log: the snapshot is asked for again. If
/// there is none, the replica knows that it lacks something.
#[test]
fn a_log_that_goes_on_from_another_snapshot_is_begun_anew() {
    let header = |covers: &str| {
        let snapshot = Some(Base { covers: covers.to_owned() });
        Header { generation: "x".to_owned(), number: 3, snapshot }.line()
    };
    let mut session = Session::new(None, Start::Whole);
    for (covers, event) in [("g-9", Event::Restarted), ("g-19", lines(&header("g-19")))] {
        answer(&mut session, whole(0, "state"));
        session.begin_behind(covered(None));
        session.is_behind_snapshot = false;
        session.position = Position::default();
        assert_eq!(answer(&mut session, whole(0, &header(covers))), event);
    }
    let mut session = Session::new(None, Start::Whole);
    answer(&mut session, status(404));
    // It may have come since it was asked for.
    assert_eq!(answer(&mut session, whole(0, &header("g-9"))), Event::Restarted);
    answer(&mut session, status(404));
    assert_eq!(answer(&mut session, whole(0, &header("g-9"))), lines(&header("g-9")));
    assert!(session.position().partial);
}

/// Who only writes reads the end, whatever came before that.
#[test]
fn who_only_writes_does_not_ask_what_a_log_goes_on_from() {
    let snapshot = Some(Base { covers: "g-9".to_owned() });
    let header = Header { generation: "x".to_owned(), number: 3, snapshot }.line();
    let mut session = Session::new(None, Start::End);
    assert_eq!(read(&session).range, Range::Last(END));
    assert_eq!(answer(&mut session, whole(0, &header)), lines(&header));
    let ids = ids(1);
    let append = append(&session, &waiting(&ids));
    assert_eq!(append.condition, Condition::Match("\"w\"".to_owned()));
}

/// R43: who wants no more than the last bytes begins with the first whole line, and knows that it lacks some.
#[test]
fn a_new_replica_may_begin_in_the_middle() {
    let mut session = Session::new(None, Start::Last(25));
    assert_eq!(answer(&mut session, status(404)), Event::Nothing);
    assert_eq!(read(&session).range.header(), "bytes=-25");
    let text = format!("{ONE}{TWO}{ONE}");
    assert_eq!(answer(&mut session, part(32, &text[32..], 57, "\"f\"")), lines(ONE));
    assert!(session.position().partial);
    assert_eq!(session.position().offset, 57);
    // A log that is shorter than that is read whole.
    let mut session = Session::new(None, Start::Last(1_000));
    answer(&mut session, status(404));
    assert_eq!(answer(&mut session, whole(0, ONE)), lines(ONE));
    assert!(!session.position().partial);
}

/// R13, R19, R35: what waits is appended under the tag of what was read, and nothing makes no request.
#[test]
fn what_waits_is_appended_under_the_tag_of_what_was_read() {
    let mut session = resumed(of_generation("g", 19));
    answer(&mut session, status(304));
    assert_eq!(session.next(&[]), None);
    let ids = ids(3);
    let append = append(&session, &waiting(&ids));
    assert_eq!(append.condition, Condition::Match("\"g-19\"".to_owned()));
    assert_eq!((append.body.as_slice(), append.records), (TWO.repeat(3).as_bytes(), 3));
    assert!(append.key.starts_with("b:1-3-"), "{}", append.key);
    let done = Answer { etag: Some("\"g-76\"".to_owned()), ..status(204) };
    assert_eq!(session.answered(&Ask::Append(append), done, 0), Event::Appended(3));
    assert_eq!((session.position().offset, session.next(&[])), (76, None));
}

/// R32: the first append makes the log.
#[test]
fn where_there_is_no_log_the_first_append_makes_it() {
    let mut session = Session::new(None, Start::Whole);
    answer(&mut session, status(404));
    answer(&mut session, status(404));
    let ids = ids(1);
    let append_ = append(&session, &waiting(&ids));
    assert_eq!(append_.condition, Condition::Absent);
    // Somebody else was quicker: now there is one.
    session.answered(&Ask::Append(append_), status(412), 0);
    assert_eq!(answer(&mut session, whole(0, ONE)), lines(ONE));
    let append = append(&session, &waiting(&ids));
    assert_eq!(append.condition, Condition::Match("\"w\"".to_owned()));
}

/// R13, R18: who was outrun reads first; who was outrun again tries where the server said the log stands.
#[test]
fn who_is_outrun_begins_with_step_one_again() {
    let mut session = resumed(of_generation("g", 19));
    answer(&mut session, status(304));
    let ids = ids(1);
    let waiting = waiting(&ids);
    let refused = |length: u64| Answer {
        etag: Some(format!("\"g-{length}\"")),
        generation: Some("g".to_owned()),
        ..status(412)
    };
    let ask = session.next(&waiting).unwrap();
    assert_eq!(session.answered(&ask, refused(38), 5), Event::Nothing);
    assert!(matches!(session.next(&waiting), Some(Ask::Read(_))));
    let new = Answer { generation: Some("g".to_owned()), ..part(19, TWO, 38, "\"g-38\"") };
    assert_eq!(answer(&mut session, new), lines(TWO));
    let ask = session.next(&waiting).unwrap();
    assert!(matches!(session.answered(&ask, refused(57), 5), Event::Wait(_)));
    let append = append(&session, &waiting);
    assert_eq!(append.condition, Condition::Match("\"g-57\"".to_owned()));
    let done = Answer { etag: Some("\"g-76\"".to_owned()), ..status(204) };
    assert_eq!(session.answered(&Ask::Append(append), done, 5), Event::Appended(1));
    // What others appended before it is still to be read.
    assert_eq!(read(&session).range, Range::From { offset: 38, most: MOST_READ });
    assert_eq!(read(&session).unless, None);
}

/// R18: a batch has a bound; R36: and a server may have a lower one.
#[test]
fn a_batch_is_bounded_and_halved_where_it_is_too_large() {
    let mut session = resumed(of_generation("g", 19));
    answer(&mut session, status(304));
    let ids = ids(2);
    let long = format!("{{\"v\":1,\"x\":\"{}\"}}\n", "x".repeat(MOST_APPEND / 2));
    let waiting: Vec<_> = ids.iter().map(|id| Waiting { id, line: &long }).collect();
    assert_eq!(append(&session, &waiting).records, 1);
    let ids = self::ids(8);
    let waiting = self::waiting(&ids);
    let ask = session.next(&waiting).unwrap();
    assert_eq!(session.answered(&ask, status(413), 0), Event::Nothing);
    assert_eq!(append(&session, &waiting).records, 4);
    let one = &waiting[..1];
    let ask = session.next(one).unwrap();
    let event = session.answered(&ask, status(413), 0);
    assert_eq!(event, Event::Stopped(Stop::TooLarge(ids[0].clone())));
}

/// R29: a weak tag is good for reading alone; what is appended names the length.
#[test]
fn where_tags_are_weak_the_length_is_the_condition() {
    let mut session = resumed(at(ONE, Some("W/\"e\"")));
    assert_eq!(read(&session).unless.as_deref(), Some("W/\"e\""));
    answer(&mut session, status(304));
    let ids = ids(1);
    assert_eq!(append(&session, &waiting(&ids)).condition, Condition::Length(19));
}

/// R37: a torn line that stays is ended by the next append, so that it harms nothing but itself.
#[test]
fn a_torn_line_that_stays_is_ended() {
    let mut session = resumed(of_generation("g", 19));
    let torn = Answer { generation: Some("g".to_owned()), ..part(19, "{\"v\":1", 25, "\"g-25\"") };
    assert!(matches!(answer(&mut session, torn.clone()), Event::Wait(_)));
    assert_eq!(answer(&mut session, torn), Event::Nothing);
    assert!(session.is_in_step());
    let ids = ids(1);
    let append = append(&session, &waiting(&ids));
    assert_eq!(append.body, format!("\n{TWO}").as_bytes());
    assert_eq!(append.condition, Condition::Match("\"g-25\"".to_owned()));
    let done = Answer { etag: Some("\"g-45\"".to_owned()), ..status(204) };
    assert_eq!(session.answered(&Ask::Append(append), done, 0), Event::Appended(1));
    assert_eq!(session.position().offset, 45);
}

/// R37: also one that is longer than what who only writes reads of the end.
#[test]
fn a_long_torn_line_is_ended_by_who_only_writes() {
    let mut session = Session::new(None, Start::End);
    let torn = "x".repeat(256);
    let answer_ = part(44, &torn, 300, "\"t\"");
    assert!(matches!(answer(&mut session, answer_.clone()), Event::Wait(_)));
    assert_eq!(answer(&mut session, answer_), Event::Nothing);
    let ids = ids(1);
    assert_eq!(append(&session, &waiting(&ids)).body, format!("\n{TWO}").as_bytes());
}

/// R46: an empty generation goes on from nowhere: what is known here is offered to it.
#[test]
fn an_empty_generation_is_another_log() {
    let mut session = resumed(of_generation("g", 19));
    let empty = Answer {
        generation: Some("h".to_owned()),
        content_range: Some("bytes */0".to_owned()),
        ..status(416)
    };
    assert_eq!(answer(&mut session, empty.clone()), Event::Nothing);
    assert_eq!(answer(&mut session, empty.clone()), Event::Restarted);
    assert_eq!(answer(&mut session, empty), Event::Nothing);
    assert!(session.is_in_step());
}

/// R32, R46: a log that was removed begins again if somebody decides that; one that cannot be made is said to be so.
#[test]
fn a_removed_log_begins_again_if_somebody_says_so() {
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
                let event = session.answered(&Ask::Append(append), status(404), 0);
                assert_eq!(event, Event::Stopped(Stop::Rejected(404)));
            }
        }
    }
}

/// R48: who meets a later version reads on, and appends nothing.
#[test]
fn a_later_version_makes_a_replica_read_only() {
    let mut session = resumed(of_generation("g", 19));
    let newer =
        Answer { generation: Some("g".to_owned()), ..part(19, "{\"v\":2}\n", 27, "\"g-27\"") };
    assert_eq!(answer(&mut session, newer), lines("{\"v\":2}\n"));
    let ids = ids(1);
    assert_eq!(session.next(&waiting(&ids)), None);
    assert_eq!(session.refusal(), Some(Stop::Newer(2)));
    assert_eq!(session.position().newer, Some(2));
    assert_eq!(resumed(session.position().clone()).position().newer, Some(2));
}

/// R21, R27, R31 and answers that are none: nothing is taken from them.
#[test]
fn an_answer_that_cannot_be_one_changes_nothing() {
    let good = part(19, TWO, 38, "\"g\"");
    let with = |change: fn(&mut Answer)| {
        let mut answer = good.clone();
        change(&mut answer);
        answer
    };
    for wrong in [
        with(|answer| answer.coding = Some("gzip".to_owned())),
        with(|answer| answer.media_type = Some("multipart/byteranges; boundary=x".to_owned())),
        with(|answer| answer.content_range = None),
        with(|answer| answer.content_range = Some("bytes 18-36/38".to_owned())),
        with(|answer| answer.content_range = Some("bytes 19-20/38".to_owned())),
        with(|answer| answer.content_range = Some("bytes */38".to_owned())),
        with(|answer| answer.status = 302),
        with(|answer| answer.status = 304),
    ] {
        let before = Position { etag: None, ..of_generation("g", 19) };
        let mut session = resumed(before.clone());
        let event = answer(&mut session, wrong.clone());
        assert!(matches!(event, Event::Stopped(_)), "{wrong:?}: {event:?}");
        assert_eq!(*session.position(), before);
        assert_eq!(session.next(&[]), None);
    }
}

/// R32: what an error means for a session; what waits stays with the caller.
#[test]
fn errors_end_a_session_or_make_it_wait() {
    for (code, stop) in [
        (401, Stop::Refused(401)),
        (403, Stop::Refused(403)),
        (410, Stop::Gone),
        (418, Stop::Rejected(418)),
    ] {
        let mut session = resumed(of_generation("g", 19));
        assert_eq!(answer(&mut session, status(code)), Event::Stopped(stop));
    }
    for code in [0, 408, 429, 500, 503] {
        let mut session = resumed(of_generation("g", 19));
        let busy = Answer { retry_after: Some(7), ..status(code) };
        assert_eq!(answer(&mut session, busy), Event::Wait(Millis::new(7_000)));
        let events: Vec<_> =
            (0..MOST_ATTEMPTS).map(|_| answer_or_end(&mut session, code)).collect();
        assert_eq!(events.last(), Some(&Event::Stopped(Stop::Unavailable(code))));
    }
    let mut session = resumed(of_generation("g", 19));
    assert!(matches!(answer(&mut session, status(404)), Event::Wait(_)));
    assert!(matches!(answer(&mut session, status(404)), Event::Wait(_)));
    assert_eq!(answer(&mut session, status(404)), Event::Stopped(Stop::Vanished));
    assert_eq!(session.position().offset, 19);
    let mut session = resumed(of_generation("g", 19));
    answer(&mut session, status(304));
    let ids = ids(1);
    let ask = session.next(&waiting(&ids)).unwrap();
    assert_eq!(session.answered(&ask, status(507), 0), Event::Stopped(Stop::Full));
}

fn answer_or_end(session: &mut Session, code: u16) -> Event {
    answer(session, status(code))
}

/// R38: after an append without an answer the log is read first, and the same bytes have the same key.
#[test]
fn an_append_without_an_answer_is_looked_for() {
    let mut session = resumed(of_generation("g", 19));
    answer(&mut session, status(304));
    let ids = ids(2);
    let waiting = waiting(&ids);
    let first = append(&session, &waiting);
    let event = session.answered(&Ask::Append(first.clone()), status(0), 0);
    assert!(matches!(event, Event::Wait(_)));
    assert!(matches!(session.next(&waiting), Some(Ask::Read(_))));
    answer(&mut session, status(304));
    assert_eq!(append(&session, &waiting), first);
    assert_ne!(append(&session, &waiting[..1]).key, first.key);
}

/// T10: offsets have 64 bits.
#[test]
fn a_log_may_be_longer_than_four_gigabytes() {
    let offset = (1 << 32) + 19;
    let mut session = resumed(of_generation("g", offset));
    let new = Answer {
        generation: Some("g".to_owned()),
        ..part(offset, TWO, offset + 19, "\"g-4294967334\"")
    };
    assert_eq!(answer(&mut session, new), lines(TWO));
    assert_eq!(session.position().offset, (1 << 32) + 38);
}
