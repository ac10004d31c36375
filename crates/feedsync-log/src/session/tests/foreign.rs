//! Responses from something between client and server: sign-in pages, and successes that prove nothing.

use super::*;

const PAGE: &str = "<!DOCTYPE html>\n<title>Sign in</title>\n";

fn typed(media_type: &str, status_: u16, body: &str) -> LogResponse {
    let media_type = Some(media_type.to_owned()).filter(|named| !named.is_empty());
    LogResponse { media_type, body: body.into(), ..status(status_) }
}

/// Responses to a read that no log sends.
fn strangers() -> Vec<LogResponse> {
    let tagged = |answer: LogResponse| LogResponse { etag: Some("\"p\"".to_owned()), ..answer };
    vec![
        typed("text/html; charset=utf-8", 200, PAGE),
        tagged(typed("text/html", 200, PAGE)),
        tagged(typed("application/xhtml+xml", 200, PAGE)),
        tagged(typed("text/plain", 200, PAGE)),
        tagged(typed("", 200, PAGE)),
        LogResponse { is_dated: true, ..typed("", 200, " <html>") },
        typed("text/plain", 200, "please sign in\n"),
        typed("", 200, ""),
        tagged(typed("application/json", 200, "{\"sign\":\"in\"}\n")),
        tagged(typed("application/problem+json", 200, "{}\n")),
        tagged(typed("text/html", 206, PAGE)),
        typed("text/html", 302, ""),
        status(204),
        status(302),
        status(303),
        typed("text/html", 511, PAGE),
    ]
}

fn is_foreign(event: &Event) -> bool {
    matches!(event, Event::Stopped(Stop::Foreign { .. }))
}

#[test]
fn pages_are_foreign_in_every_phase_of_a_session() {
    for stranger in strangers() {
        let positions = [None, Some(at(ONE, Some("\"e\""))), Some(of_generation("g", 19))];
        for (start, position) in [Start::End, Start::Copy, Start::Last(9), Start::Whole]
            .into_iter()
            .flat_map(|start| positions.clone().map(|position| (start, position)))
        {
            let mut session = Session::new(position.clone(), start);
            let mut event = answer(&mut session, stranger.clone());
            let begins = matches!(start, Start::Whole | Start::Last(_)) && position.is_none();
            if begins && !is_foreign(&event) {
                // The snapshot is optional, and the caller detects that a page is not a snapshot.
                assert!(matches!(event, Event::Nothing | Event::Snapshot(_)), "{stranger:?}");
                event = answer(&mut session, stranger.clone());
            }
            assert!(is_foreign(&event), "{start:?} {stranger:?}: {event:?}");
            assert_eq!(session.position(), &position.unwrap_or_default());
            assert_eq!(session.next(&[]), None);
        }
    }
}

#[test]
fn foreign_answer_names_status_and_media_type() {
    let said = |answer: LogResponse| answer.foreign().to_string();
    assert_eq!(
        said(typed("Text/HTML; charset=x", 200, "")),
        "the response 200 text/html is not a log: is there a sign-in page in between?"
    );
    assert!(said(status(302)).starts_with("the response 302 is not a log"));
    assert!(said(typed(&"x".repeat(9_000), 200, "")).len() < 200);
}

#[test]
fn appends_with_a_page_as_response_do_not_count() {
    for stranger in strangers() {
        let mut session = resumed(of_generation("g", 19));
        answer(&mut session, status(304));
        let ids = ids(2);
        let ask = session.next(&waiting(&ids)).unwrap();
        let mut event = session.handle_response(&ask, stranger.clone(), 0);
        if event == Event::Nothing {
            // This is not a proof: the log is read, and lacks the records.
            assert!(matches!(session.next(&waiting(&ids)), Some(LogRequest::Read(_))));
            event = answer(&mut session, stranger.clone());
        }
        assert!(is_foreign(&event), "{stranger:?}: {event:?}");
        assert_eq!(session.position().offset, 19, "{stranger:?}");
    }
}

/// Checks that an append to which the response is a page ends the session, and appends nothing.
fn append_ends_at(page: &LogResponse, position: &Position) {
    let mut session = resumed(position.clone());
    answer(&mut session, status(304));
    let ids = ids(1);
    let ask = session.next(&waiting(&ids)).unwrap();
    let event = session.handle_response(&ask, page.clone(), 0);
    assert!(is_foreign(&event), "{page:?}: {event:?}");
    assert_eq!((session.position(), session.next(&[])), (position, None));
}

#[test]
fn page_in_response_to_an_append_ends_the_session_at_once() {
    for page in [
        typed("text/html", 200, ""),
        typed("", 200, PAGE),
        LogResponse { etag: Some("\"p\"".to_owned()), ..typed("", 200, PAGE) },
        typed("application/xhtml+xml", 201, ""),
    ] {
        for position in [of_generation("g", 19), at(ONE, Some("\"e\""))] {
            append_ends_at(&page, &position);
        }
    }
}

/// Other errors may come from a log too, unless the response is a page.
#[test]
fn error_that_a_page_explains_is_foreign_but_for_methods_and_sizes() {
    for (code, is_no_log) in [(400, true), (402, true), (418, true), (405, false), (413, false)] {
        for (media_type, body) in [("text/html", ""), ("", PAGE), ("text/plain", "no\n")] {
            let mut session = resumed(of_generation("g", 19));
            let event = answer(&mut session, typed(media_type, code, body));
            match is_no_log && media_type != "text/plain" {
                true => assert!(is_foreign(&event), "{code} {media_type}: {event:?}"),
                false => assert_eq!(event, Event::Stopped(Stop::Rejected(code))),
            }
        }
    }
}

/// A server that sends a page for every address has no snapshot (LR44).
#[test]
fn page_in_place_of_a_snapshot_is_ignored() {
    let page = typed("text/html", 200, PAGE);
    let mut session = Session::new(None, Start::Whole);
    assert_eq!(answer(&mut session, page.clone()), Event::Nothing);
    assert_eq!(read(&session).range, Range::From { offset: 0, most: MAX_READ_BYTES });
    // If the server states what it covers, it is a damaged snapshot.
    let told = LogResponse { covers: Some("\"g-19\"".to_owned()), ..page };
    let mut session = Session::new(None, Start::Whole);
    assert_eq!(answer(&mut session, told), Event::Snapshot(PAGE.into()));
    assert!(!session.is_without_snapshot());
}

#[test]
fn packed_or_broken_snapshot_is_asked_for_again() {
    for broken in [
        LogResponse { coding: Some("gzip".to_owned()), ..whole(0, "state") },
        LogResponse { ended: false, ..whole(0, "sta") },
    ] {
        let mut session = Session::new(None, Start::Whole);
        assert!(matches!(answer(&mut session, broken.clone()), Event::Wait(_)));
        assert_eq!(session.next(&[]), Some(LogRequest::Snapshot));
        assert_eq!(answer(&mut session, whole(0, "state")), Event::Snapshot(b"state".to_vec()));
    }
}

/// A refusal states where the log ends; a page for people does not refer to a log (LR36).
#[test]
fn refusal_that_is_a_page_is_foreign() {
    for code in [404, 409, 410, 412] {
        for page in [typed("text/html", code, ""), typed("text/plain", code, PAGE)] {
            for position in [of_generation("g", 19), at(ONE, Some("\"e\""))] {
                // A file server may send a page to state that the file is gone.
                if code == 410 && position.generation.is_none() {
                    continue;
                }
                append_ends_at(&page, &position);
            }
        }
    }
}

/// A web server without a script that appends is not a sign-in page.
#[test]
fn method_that_a_web_server_refuses_in_a_page_is_rejected() {
    let mut session = resumed(at(ONE, Some("\"e\"")));
    answer(&mut session, status(304));
    let ids = ids(1);
    let ask = session.next(&waiting(&ids)).unwrap();
    let event = session.handle_response(&ask, typed("text/html", 405, PAGE), 0);
    assert_eq!(event, Event::Stopped(Stop::Rejected(405)));
}

#[test]
fn first_append_that_a_page_refuses_is_foreign() {
    let mut session = Session::new(None, Start::End);
    answer(&mut session, status(404));
    let ids = ids(1);
    let ask = session.next(&waiting(&ids)).unwrap();
    let event = session.handle_response(&ask, typed("text/html", 404, PAGE), 0);
    assert!(is_foreign(&event), "{event:?}");
}

#[test]
fn refusal_without_a_generation_does_not_come_from_a_hub() {
    for (code, media_type) in [(409, ""), (412, "application/json"), (404, "application/json")] {
        let mut session = resumed(of_generation("g", 19));
        answer(&mut session, status(304));
        let ids = ids(1);
        let ask = session.next(&waiting(&ids)).unwrap();
        let event = session.handle_response(&ask, typed(media_type, code, "{}"), 0);
        assert!(is_foreign(&event), "{code} {media_type}: {event:?}");
    }
}

#[test]
fn whole_log_without_a_generation_does_not_come_from_a_hub() {
    let both = whole(0, &format!("{ONE}{TWO}"));
    let mut session = resumed(of_generation("g", 19));
    let event = answer(&mut session, both.clone());
    assert!(is_foreign(&event), "{event:?}");
    assert_eq!(*session.position(), of_generation("g", 19));
    let mut session = resumed(at(ONE, Some("\"e\"")));
    assert_eq!(answer(&mut session, both), lines(TWO));
}

#[test]
fn page_does_not_mean_that_a_hub_removed_the_log() {
    for code in [404, 410, 416] {
        let mut session = resumed(of_generation("g", 19));
        let event = answer(&mut session, typed("text/html", code, PAGE));
        assert!(is_foreign(&event), "{code}: {event:?}");
        // A file server may send a page to state that there is no such file or range.
        let mut session = resumed(at(ONE, Some("\"e\"")));
        let event = answer(&mut session, typed("text/html", code, PAGE));
        assert!(!is_foreign(&event), "{code}: {event:?}");
    }
}

/// Appends waiting records, with a response that proves nothing.
fn claimed(session: &mut Session, ids: &[RecordId], done: LogResponse) {
    let ask = session.next(&waiting(ids)).unwrap();
    assert!(matches!(ask, LogRequest::Append(_)), "{ask:?}");
    assert_eq!(session.handle_response(&ask, done, 0), Event::Nothing);
}

#[test]
fn append_that_is_confirmed_without_proof_counts_once_it_is_read_back() {
    for (start, done) in [
        (Start::End, status(204)),
        (Start::End, LogResponse { etag: Some("W/\"z\"".to_owned()), ..status(200) }),
        (Start::End, LogResponse { etag: Some("\"e\"".to_owned()), ..status(204) }),
        (Start::Whole, typed("text/plain", 200, "")),
    ] {
        let mut session = Session::new(Some(at(ONE, Some("\"e\""))), start);
        answer(&mut session, status(304));
        let ids = ids(1);
        claimed(&mut session, &ids, done);
        let back = format!("{ONE}{TWO}");
        let event = answer(&mut session, part(0, &back, back.len() as u64, "\"f\""));
        // A session that reads everything recognizes its own records.
        let expected = if start == Start::End { Event::Appended(1) } else { lines(TWO) };
        assert_eq!(event, expected);
        assert_eq!(session.position().offset, back.len() as u64);
    }
}

#[test]
fn append_confirmed_for_another_generation_is_not_proved() {
    let mut session = Session::new(Some(of_generation("g", 19)), Start::End);
    answer(&mut session, status(304));
    let (etag, generation) = (Some("\"h-38\"".to_owned()), Some("h".to_owned()));
    claimed(&mut session, &ids(1), LogResponse { etag, generation, ..status(204) });
    assert_eq!(session.position().offset, 19);
}

#[test]
fn append_that_is_confirmed_and_never_found_ends_the_session() {
    let mut session = Session::new(Some(at(ONE, Some("\"e\""))), Start::End);
    let ids = ids(1);
    let mut appends = 0;
    for _ in 0..100 {
        let ask = session.next(&waiting(&ids)).unwrap();
        let answer = match ask {
            LogRequest::Append(_) => {
                appends += 1;
                status(204)
            }
            _ => LogResponse { etag: Some("\"e\"".to_owned()), ..part(0, ONE, 19, "\"e\"") },
        };
        match session.handle_response(&ask, answer, 0) {
            Event::Nothing | Event::Wait(_) => {}
            event => {
                assert_eq!((event, appends), (Event::Stopped(Stop::NotStored), CONFIRMING_READS));
                return;
            }
        }
    }
    panic!("it never ends");
}

#[test]
fn session_waits_for_a_confirmed_append_that_a_cache_hides() {
    let mut session = Session::new(Some(at(ONE, Some("\"e\""))), Start::End);
    answer(&mut session, status(304));
    claimed(&mut session, &ids(1), status(204));
    assert!(matches!(answer(&mut session, part(0, ONE, 19, "\"e\"")), Event::Wait(_)));
    let back = format!("{ONE}{TWO}");
    let event = answer(&mut session, part(0, &back, back.len() as u64, "\"f\""));
    assert_eq!(event, Event::Appended(1));
}

#[test]
fn only_tagged_successes_store_snapshots_and_generations() {
    let tagged = |status_| LogResponse { etag: Some("\"g-1\"".to_owned()), ..status(status_) };
    for stored in [200, 201, 204] {
        assert_eq!(tagged(stored).stored(), Ok(()));
        assert!(status(stored).stored().is_err());
    }
    for stranger in strangers().into_iter().chain([tagged(202), tagged(304)]) {
        let is_bare = stranger.etag.is_none() || stranger.is_page();
        assert!(!is_bare || stranger.stored().is_err(), "{stranger:?}");
    }
}
