use super::*;
use crate::interruption::Interruption;

/// A conditional request for the bytes past the last known end, and nothing to do on 304 (LR20, LR22, LR23).
#[test]
fn an_unchanged_log_costs_one_request() {
    let mut session = resumed(of_generation("1.0000000a", 38));
    let read = read(&session);
    assert_eq!(read.range.header(), format!("bytes=38-{}", 38 + MAX_READ_BYTES - 1));
    assert_eq!(read.unless.as_deref(), Some("\"1.0000000a-38\""));
    assert_eq!(answer(&mut session, status(304)), Event::Nothing);
    assert!(session.is_in_step());
    assert_eq!(session.next(&[]), None);
}

/// The last bytes that were read are requested again and compared (LR9, LR25, LR28).
#[test]
fn a_log_that_has_grown_gives_its_new_bytes() {
    let mut session = resumed(at(ONE, Some("\"e\"")));
    let read = read(&session);
    assert_eq!(read.range, Range::From { offset: 0, most: MAX_READ_BYTES });
    let both = format!("{ONE}{TWO}");
    assert_eq!(answer(&mut session, part(0, &both, 38, "\"f\"")), lines(TWO));
    assert_eq!(*session.position(), at(&both, Some("\"f\"")));
    assert!(session.is_in_step());
}

/// Servers and proxies without support for ranges send everything (LR26).
#[test]
fn known_bytes_of_a_complete_response_are_skipped() {
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

/// Only complete lines of a truncated response count, and the rest is requested again (LR25, LR37, LT9).
#[test]
fn truncated_response_counts_up_to_its_last_line() {
    let mut session = resumed(of_generation("g", 19));
    let mut cut = part(19, &format!("{TWO}{ONE}"), 57, "\"g-57\"");
    cut.body.truncate(30);
    assert_eq!(answer(&mut session, cut.clone()), lines(TWO));
    assert_eq!((session.position().offset, session.position().etag.clone()), (38, None));
    assert!(!session.is_in_step());
    assert_eq!(read(&session).unless, None);
    // There is no complete line: the session waits.
    let mut session = resumed(of_generation("g", 19));
    cut.body.truncate(7);
    assert!(matches!(answer(&mut session, cut), Event::Wait(_)));
    assert_eq!(session.position().offset, 19);
}

/// Without a new tag, a range after the end means that nothing is new, even without a length (lighttpd)
/// (LR24).
#[test]
fn range_after_the_end_means_that_nothing_is_new() {
    for range in [Some("bytes */19".to_owned()), None] {
        let mut session = resumed(of_generation("g", 19));
        let answer_ = LogResponse { content_range: range, ..status(416) };
        assert_eq!(answer(&mut session, answer_), Event::Nothing);
        assert!(session.is_in_step());
    }
}

/// A session that reads only the last bytes begins with the first complete line, and records that earlier
/// ones are missing (LR43).
#[test]
fn a_new_replica_may_begin_in_the_middle() {
    let mut session = Session::new(None, Start::Last(25));
    assert_eq!(answer(&mut session, status(404)), Event::Nothing);
    assert_eq!(read(&session).range.header(), "bytes=-25");
    let text = format!("{ONE}{TWO}{ONE}");
    assert_eq!(answer(&mut session, part(32, &text[32..], 57, "\"f\"")), lines(ONE));
    assert!(session.position().partial);
    assert_eq!(session.position().offset, 57);
    // A log that is shorter than that is read completely.
    let mut session = Session::new(None, Start::Last(1_000));
    answer(&mut session, status(404));
    assert_eq!(answer(&mut session, whole(0, ONE)), lines(ONE));
    assert!(!session.position().partial);
}

/// Only a session that knows nothing of a log may read just its end (LR43).
#[test]
fn session_reads_on_from_its_offset_wherever_it_would_have_begun() {
    let whole = |offset| Range::From { offset, most: MAX_READ_BYTES };
    for (start, first) in [
        (Start::Whole, whole(0)),
        (Start::Copy, whole(0)),
        (Start::Last(25), Range::Last(25)),
        (Start::End, Range::Last(END)),
    ] {
        let mut session = Session::new(None, start);
        if session.next(&[]) == Some(LogRequest::Snapshot) {
            answer(&mut session, status(404));
        }
        assert_eq!(read(&session).range, first);
        assert_eq!(read(&session).unless, None);
        let session = Session::new(Some(of_generation("g", 19)), start);
        assert_eq!(read(&session).range, whole(19), "{start:?}");
    }
}

/// Cases in which a response states that the log ends with it (LR21, LR26).
#[test]
fn log_is_read_on_until_an_answer_reaches_its_end() {
    let ranged = |range: &str| LogResponse {
        generation: Some("g".to_owned()),
        content_range: Some(range.to_owned()),
        ..part(19, TWO, 38, "\"g-38\"")
    };
    for (answer_, is_end) in [
        (ranged("bytes 19-37/38"), true),
        (ranged("bytes 19-37/39"), false),
        // A server that does not state the length of the log has sent fewer bytes than requested.
        (ranged("bytes 19-37/*"), true),
        (ranged(&format!("bytes 19-{}/*", 19 + MAX_READ_BYTES - 1)), false),
        (ranged("bytes 19-38/39"), false),
    ] {
        let mut session = resumed(of_generation("g", 19));
        assert_eq!(answer(&mut session, answer_.clone()), lines(TWO));
        assert_eq!(session.is_in_step(), is_end, "{answer_:?}");
        let etag = session.position().etag.as_deref();
        assert_eq!(etag, is_end.then_some("\"g-38\""), "{answer_:?}");
    }
    for (range, is_end) in [("bytes 13-37/*", false), ("bytes 14-37/*", true)] {
        let mut session = Session::new(None, Start::Last(25));
        answer(&mut session, status(404));
        let both = format!("{ONE}{TWO}");
        let start = 38 - (if is_end { 24 } else { 25 });
        let content_range = Some(range.to_owned());
        let last =
            LogResponse { content_range, ..part(start, &both[start as usize..], 38, "\"f\"") };
        assert_eq!(answer(&mut session, last), lines(TWO));
        assert_eq!(session.is_in_step(), is_end, "{range}");
    }
}

/// The tag of a response without bytes is that of the log, if it has one (LR24).
#[test]
fn range_behind_the_end_keeps_or_renews_the_tag() {
    for (etag, expected) in [(Some("\"g-19x\""), "\"g-19x\""), (None, "\"g-19\"")] {
        let mut session = resumed(of_generation("g", 19));
        let etag = etag.map(str::to_owned);
        let end = LogResponse { etag, content_range: Some("bytes */19".to_owned()), ..status(416) };
        assert_eq!(answer(&mut session, end), Event::Nothing);
        assert_eq!(session.position().etag.as_deref(), Some(expected));
    }
}

/// If bytes are compared, a response without any is doubted unless it states this length (LR28, LR30).
#[test]
fn range_behind_the_end_of_a_file_counts_if_it_names_the_length() {
    for (range, is_end) in [(Some("bytes */19"), true), (Some("bytes */18"), false), (None, false)]
    {
        let mut session = resumed(at(ONE, Some("\"e\"")));
        let end = LogResponse { content_range: range.map(str::to_owned), ..status(416) };
        let event = answer(&mut session, end);
        let expected = if is_end { Event::Nothing } else { Event::Wait(Millis::new(1_500)) };
        assert_eq!((event, session.is_in_step()), (expected, is_end), "{range:?}");
    }
}

/// Invalid responses have no effect (LR21, LR27, LR31).
#[test]
fn invalid_response_changes_nothing() {
    let good = part(19, TWO, 38, "\"g\"");
    let with = |change: fn(&mut LogResponse)| {
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

/// Effect of each error on a session; waiting records stay with the caller (LR32).
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
        let busy = LogResponse { retry_after: Some(7), ..status(code) };
        assert_eq!(answer(&mut session, busy), Event::Wait(Millis::new(7_000)));
        // A server that never gave another response is retried less often.
        let mut waits = 1;
        let stop = loop {
            match answer_or_end(&mut session, code) {
                Event::Wait(_) => waits += 1,
                event => break event,
            }
        };
        assert_eq!((stop, waits), (Event::Stopped(Stop::Unavailable(code)), MAX_FIRST_ATTEMPTS));
        let mut session = Session::new(None, Start::Whole);
        answer(&mut session, status(404));
        let events: Vec<_> =
            (0..=MAX_ATTEMPTS).map(|_| answer_or_end(&mut session, code)).collect();
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
    assert_eq!(session.handle_response(&ask, status(507), 0), Event::Stopped(Stop::Full));
}

/// Time in milliseconds that a session waits for a server that always responds with this, and the end of the
/// session.
fn waited(interrupted: &LogResponse, heard: bool) -> (u64, Stop) {
    let mut session = resumed(of_generation("g", 19));
    let mut waited = 0;
    if heard {
        let torn =
            LogResponse { generation: Some("g".to_owned()), ..part(19, TWO, 90, "\"g-90\"") };
        assert_eq!(answer(&mut session, torn), lines(TWO));
    }
    loop {
        match answer(&mut session, interrupted.clone()) {
            Event::Wait(pause) => waited += pause.get(),
            Event::Stopped(stop) => return (waited, stop),
            event => panic!("{event:?}"),
        }
    }
}

#[test]
fn session_ends_soon_without_any_complete_response() {
    let host = || "hub.example".to_owned();
    let refused = Interruption::Unreachable { host: host(), reason: "refused".to_owned() };
    let silent = Interruption::Silent { host: host() };
    let cut = Interruption::CutOff { host: host(), received: 5, expected: Some(19) };
    for (interruption, heard, bound) in [
        (refused.clone(), false, 4_000),
        (refused, true, 64_000),
        (silent.clone(), false, 250),
        (silent, true, 4_000),
        (cut.clone(), false, 4_000),
        (cut, true, 4_000),
    ] {
        let status = if matches!(interruption, Interruption::CutOff { .. }) { 200 } else { 0 };
        let etag = (status == 200).then(|| "\"g-38\"".to_owned());
        let generation = (status == 200).then(|| "g".to_owned());
        let interrupted = LogResponse {
            status,
            etag,
            generation,
            interruption: Some(interruption.clone()),
            ..LogResponse::default()
        };
        let (waited, stop) = waited(&interrupted, heard);
        assert_eq!(stop, Stop::Interrupted(interruption));
        assert!(waited <= bound, "{stop}: {waited}");
    }
}

#[test]
fn snapshot_that_is_cut_off_is_asked_for_a_few_times() {
    let mut session = Session::new(None, Start::Whole);
    let interruption =
        Interruption::CutOff { host: "hub.example".to_owned(), received: 3, expected: Some(9) };
    let cut = LogResponse {
        status: 200,
        covers: Some("\"g-9\"".to_owned()),
        interruption: Some(interruption.clone()),
        ..LogResponse::default()
    };
    for _ in 0..4 {
        assert!(matches!(answer(&mut session, cut.clone()), Event::Wait(_)));
    }
    assert_eq!(answer(&mut session, cut), Event::Stopped(Stop::Interrupted(interruption)));
}

fn answer_or_end(session: &mut Session, code: u16) -> Event {
    answer(session, status(code))
}

/// Offsets have 64 bits (LT10).
#[test]
fn a_log_may_be_longer_than_four_gigabytes() {
    let offset = (1 << 32) + 19;
    let mut session = resumed(of_generation("g", offset));
    let new = LogResponse {
        generation: Some("g".to_owned()),
        ..part(offset, TWO, offset + 19, "\"g-4294967334\"")
    };
    assert_eq!(answer(&mut session, new), lines(TWO));
    assert_eq!(session.position().offset, (1 << 32) + 38);
}
