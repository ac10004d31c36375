//! Pauses between retries, and the number of retries.

use super::*;
use crate::interruption::Interruption;

/// A session with or without an earlier response from its server.
fn session(has_answered: bool) -> Session {
    let mut session = resumed(of_generation("g", 19));
    if has_answered {
        // There is more to read.
        let more =
            LogResponse { generation: Some("g".to_owned()), ..part(19, TWO, 90, "\"g-90\"") };
        assert_eq!(answer(&mut session, more), lines(TWO));
    }
    session
}

/// Pauses, in milliseconds, until the end of a session that always gets this response.
fn pauses(mut session: Session, busy: &LogResponse, random: u64) -> (Vec<u64>, Stop) {
    let mut pauses = Vec::new();
    loop {
        let ask = session.next(&[]).expect("a request or an end");
        match session.handle_response(&ask, busy.clone(), random) {
            Event::Wait(pause) => pauses.push(pause.get()),
            Event::Stopped(stop) => return (pauses, stop),
            event => panic!("{event:?}"),
        }
    }
}

#[test]
fn pauses_double_up_to_half_a_minute() {
    let (shortest, stop) = pauses(session(true), &status(503), 0);
    assert_eq!(shortest, [125, 250, 500, 1_000, 2_000, 4_000, 8_000, 15_000]);
    assert_eq!(stop, Stop::Unavailable(503));
}

#[test]
fn random_part_makes_a_pause_up_to_twice_as_long() {
    let first = |random| pauses(session(true), &status(503), random).0[0];
    let spread: Vec<_> = [0, 1, 100, 124, 125, u64::MAX].map(first).into();
    assert_eq!(spread, [125, 126, 225, 249, 125, 125 + u64::MAX % 125]);
}

#[test]
fn busy_server_is_asked_again_at_the_time_it_names() {
    let busy = |retry_after| LogResponse { retry_after: Some(retry_after), ..status(429) };
    // A server that states a time is retried as often as one that gave another response before.
    for has_answered in [false, true] {
        let (pauses, stop) = pauses(session(has_answered), &busy(7), 5);
        assert_eq!((pauses, stop), (vec![7_000; 8], Stop::Unavailable(429)));
    }
    let (pauses, _) = pauses(session(true), &busy(u64::MAX), 5);
    assert_eq!(pauses[0], Millis::MAX.get());
}

#[test]
fn retries_depend_on_what_failed_and_whether_the_server_ever_answered() {
    let host = || "hub.example".to_owned();
    let unreachable = Interruption::Unreachable { host: host(), reason: "refused".to_owned() };
    let silent = Interruption::Silent { host: host() };
    let cut = Interruption::CutOff { host: host(), received: 5, expected: Some(19) };
    for (interruption, first, later) in
        [(Some(unreachable), 4, 8), (Some(silent), 1, 4), (Some(cut), 4, 4), (None, 4, 8)]
    {
        let failed = LogResponse { interruption: interruption.clone(), ..LogResponse::default() };
        let end = interruption.map_or(Stop::Unavailable(0), Stop::Interrupted);
        for (has_answered, retries) in [(false, first), (true, later)] {
            let (pauses, stop) = pauses(session(has_answered), &failed, 0);
            assert_eq!((pauses.len(), stop), (retries, end.clone()), "{has_answered}");
        }
    }
}

#[test]
fn any_progress_starts_the_count_of_retries_again() {
    let mut session = session(true);
    for _ in 0..3 {
        for _ in 0..MAX_ATTEMPTS {
            assert!(matches!(answer(&mut session, status(503)), Event::Wait(_)));
        }
        let start = session.position().offset;
        let more = part(start, TWO, start + 90, "\"g-x\"");
        let more = LogResponse { generation: Some("g".to_owned()), ..more };
        assert_eq!(answer(&mut session, more), lines(TWO));
    }
}

#[test]
fn end_of_a_session_names_the_status_of_a_busy_server() {
    assert_eq!(Stop::Unavailable(0).to_string(), "the server does not respond");
    assert_eq!(
        Stop::Unavailable(503).to_string(),
        "the server answered 503 to every attempt; try again later"
    );
}
