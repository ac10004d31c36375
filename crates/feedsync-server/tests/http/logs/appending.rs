//! Appending: only at the current position of the log, all or nothing (LR4, LR32, LR34 to LR38).

use axum::body::Body;
use feedsync_server::{Config, Limits};
use futures_util::future::join_all;
use http::{Method, Response, StatusCode};

use super::{LOG, begun, generation, grown, held, length, post, send};
use crate::hub::{TestHub, hub, hub_with, json, text};

/// Checks a refusal that contains the position of the log.
async fn stands(response: Response<Body>, status: StatusCode, tag: &str) {
    assert_eq!(response.status(), status);
    assert_eq!(text(&response, "etag"), tag);
    assert_eq!(text(&response, "log-generation"), generation(tag));
    let problem = json(response).await;
    assert_eq!(problem["etag"], tag);
    assert_eq!(problem["generation"], generation(tag));
    assert_eq!(problem["length"], length(tag));
}

#[tokio::test]
async fn a_log_is_begun_once_and_grows_under_the_tag_of_who_read_it() {
    let hub = hub().await;
    let begun = post(&hub, &[("if-none-match", "*")], "{\"n\":1}\n").await;
    assert_eq!(begun.status(), StatusCode::CREATED);
    assert_eq!(text(&begun, "location"), "http://localhost:4287/logs/notes");
    assert_eq!(text(&begun, "log-offset"), "0-8");
    let one = text(&begun, "etag").to_owned();
    assert_eq!((length(&one), text(&begun, "log-generation")), (8, generation(&one)));
    stands(
        post(&hub, &[("if-none-match", "*")], "x\n").await,
        StatusCode::PRECONDITION_FAILED,
        &one,
    )
    .await;

    let appended = post(&hub, &[("if-match", &one)], "{\"n\":2}\n{\"n\":3}\n").await;
    assert_eq!(appended.status(), StatusCode::NO_CONTENT);
    assert_eq!(text(&appended, "log-offset"), "8-24");
    let two = text(&appended, "etag").to_owned();
    assert_eq!((length(&two), generation(&two)), (24, generation(&one)));
    assert_eq!(text(&appended, "log-generation"), generation(&two));
    assert_eq!(text(&appended, "location"), "");
    assert_eq!(held(&hub).await, "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
}

/// LR36, LR29: only the current strong tag of this hub appends; a request with another tag gets the
/// current position.
#[tokio::test]
async fn another_tag_than_the_current_one_is_refused_and_tells_it() {
    let hub = hub().await;
    let one = begun(&hub, "1\n").await;
    let two = grown(&hub, &one, "2\n").await;
    let other_log = two.replace('.', ".f");
    let longer = two.replace("-4", "-4294967300");
    for stale in [&*one, &other_log, &longer, "\"x\"", "nonsense", "", "\"1\", W/\"2\""] {
        let refused = post(&hub, &[("if-match", stale)], "3\n").await;
        stands(refused, StatusCode::PRECONDITION_FAILED, &two).await;
    }
    assert_eq!(held(&hub).await, "1\n2\n");
    let appended = post(&hub, &[("if-match", &format!("\"x\", {one}, {two}"))], "3\n").await;
    assert_eq!(appended.status(), StatusCode::NO_CONTENT);
    let three = text(&appended, "etag").to_owned();
    let stale = post(&hub, &[("if-match", &two)], "4\n").await;
    stands(stale, StatusCode::PRECONDITION_FAILED, &three).await;
    for stale in [format!("W/{two}"), two.replace("\"", "\"x")] {
        let refused = post(&hub, &[("if-match", &stale)], "4\n").await;
        stands(refused, StatusCode::PRECONDITION_FAILED, &three).await;
    }
    // The tag as a proxy marks it that compressed the response.
    for current in [format!("W/{three}"), "*".to_owned()] {
        let appended = post(&hub, &[("if-match", &current)], "3\n").await;
        assert_eq!(appended.status(), StatusCode::NO_CONTENT, "{current}");
    }
    assert_eq!(held(&hub).await, "1\n2\n3\n3\n3\n");
}

#[tokio::test]
async fn append_without_a_condition_changes_nothing() {
    let hub = hub().await;
    let tag = begun(&hub, "1\n").await;
    for (method, headers) in [
        (Method::POST, &[][..]),
        (Method::POST, &[("if-none-match", &*tag)]),
        (Method::PUT, &[]),
        (Method::PUT, &[("if-none-match", "*")]),
        (Method::PUT, &[("content-range", "bytes 2-3/*")]),
        (Method::PUT, &[("content-range", "bytes 2-3/*"), ("if-match", "*")]),
        (Method::PUT, &[("content-range", "bytes 2-3/*"), ("if-match", "\"a\", \"b\"")]),
        (Method::DELETE, &[]),
        (Method::DELETE, &[("if-none-match", "*")]),
    ] {
        let refused = send(&hub, method.clone(), LOG, headers, "2\n").await;
        assert_eq!(refused.status(), StatusCode::PRECONDITION_REQUIRED, "{method} {headers:?}");
        assert_eq!(json(refused).await["header"], "If-Match");
    }
    let both = post(&hub, &[("if-match", &tag), ("if-none-match", "*")], "2\n").await;
    assert_eq!(both.status(), StatusCode::BAD_REQUEST);
    assert_eq!(held(&hub).await, "1\n");
}

/// LR32: the response to a request that expects a log shows whether it never existed or was removed.
#[tokio::test]
async fn a_log_that_is_not_there_is_404_and_one_that_was_removed_410_until_it_begins_again() {
    let hub = hub().await;
    let asked = async |hub: &TestHub, expected: u16| {
        for (method, path) in [
            (Method::GET, LOG),
            (Method::POST, LOG),
            (Method::PUT, LOG),
            (Method::DELETE, LOG),
            (Method::GET, "/logs/notes/1.00000000"),
            (Method::GET, "/logs/notes/events"),
            (Method::GET, "/logs/notes/snapshot"),
            (Method::PUT, "/logs/notes/snapshot"),
        ] {
            let mut headers = vec![("log-covers", "\"1.00000000-0\"")];
            if method != Method::GET {
                headers.push(("if-match", "*"));
            }
            let answer = send(hub, method.clone(), path, &headers, "1\n").await;
            assert_eq!(answer.status().as_u16(), expected, "{method} {path}");
            assert_eq!(text(&answer, "content-type"), "application/problem+json");
        }
    };
    asked(&hub, 404).await;
    let one = begun(&hub, "1\n").await;
    let stale = hub.call(Method::DELETE, LOG, &[("if-match", "\"x\"")]).await;
    stands(stale, StatusCode::PRECONDITION_FAILED, &one).await;
    let removed = hub.call(Method::DELETE, LOG, &[("if-match", &one)]).await;
    assert_eq!(removed.status(), StatusCode::NO_CONTENT);
    asked(&hub, 410).await;
    let again = begun(&hub, "2\n").await;
    assert_ne!(generation(&again), generation(&one), "no place is given out twice");
    assert_eq!(held(&hub).await, "2\n");
    let stale = post(&hub, &[("if-match", &one)], "3\n").await;
    stands(stale, StatusCode::PRECONDITION_FAILED, &again).await;
}

/// LR36: refused records are not stored, and the response names the faulty record and the reason.
#[tokio::test]
async fn only_whole_records_within_the_bounds_of_the_logs_own_type_are_taken() {
    let limits = Limits {
        log_append_bytes: 64,
        log_record_bytes: 16,
        log_generation_bytes: 64,
        log_bytes: 80,
        ..Limits::default()
    };
    let hub = hub_with(Config { limits, ..Config::default() }).await;
    let tag = begun(&hub, "1\n").await;
    let long = "x".repeat(16) + "\n";
    for method in [Method::POST, Method::PUT] {
        for (body, status, offset) in [
            (String::new(), 400, None),
            ("2".to_owned(), 400, Some(0)),
            ("2\n3".to_owned(), 400, Some(2)),
            (format!("2\n{long}3\n"), 413, Some(2)),
            ("2\n".repeat(33), 413, None),
        ] {
            let refused =
                send(&hub, method.clone(), LOG, &[("if-match", &tag)], body.clone()).await;
            assert_eq!(refused.status().as_u16(), status, "{method} {body:?}");
            let problem = json(refused).await;
            assert_eq!(problem["offset"].as_u64(), offset, "{method} {body:?}");
        }
        for kind in ["", "text/plain", "multipart/form-data; boundary=x", "*/*", "json", "text/csv"]
        {
            let headers = [("if-match", &*tag), ("content-type", kind)];
            let refused = send(&hub, method.clone(), LOG, &headers, "2\n").await;
            assert_eq!(refused.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{method} {kind:?}");
            assert_eq!(text(&refused, "accept"), "application/x-ndjson");
            let problem = json(refused).await;
            assert!(problem["detail"].as_str().unwrap().contains(&format!("{kind:?}")));
            assert_eq!(problem["log"].as_str(), (kind == "text/csv").then_some(super::RECORDS));
        }
        let other = [("if-match", &*tag), ("content-encoding", "br")];
        let refused = send(&hub, method, LOG, &other, "2\n").await;
        assert_eq!(refused.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    assert_eq!(held(&hub).await, "1\n");
    // Records may be neither JSON nor UTF-8, and the type may have another spelling.
    let kind = ("content-type", "Application/X-NDJSON; charset=utf-8");
    let appended = post(&hub, &[("if-match", &tag), kind], &b"\xff\x00\n\n"[..]).await;
    assert_eq!(appended.status(), StatusCode::NO_CONTENT);
    let full = post(&hub, &[("if-match", "*")], "2\n".repeat(32)).await;
    assert_eq!(full.status(), StatusCode::NO_CONTENT);
    // A full log can be compacted, but not again while the former generation is readable.
    for (method, status, length_) in
        [(Method::POST, 507, 70), (Method::PUT, 204, 12), (Method::PUT, 507, 12)]
    {
        let answer = send(&hub, method, LOG, &[("if-match", "*")], "12345678901\n").await;
        assert_eq!(answer.status().as_u16(), status);
        if status == 507 {
            assert_eq!(json(answer).await["limit"], "log_bytes");
        }
        assert_eq!(length(text(&hub.get(LOG).await, "etag")), length_);
    }
}

/// LR38: a client that lost the response repeats the append under its key, and gets the first response
/// again.
#[tokio::test]
async fn an_append_that_is_asked_for_again_by_its_key_is_made_once() {
    let hub = hub().await;
    let begin = [("if-none-match", "*"), ("idempotency-key", "b")];
    let first = post(&hub, &begin, "1\n").await;
    let one = text(&first, "etag").to_owned();
    let keyed = [("if-match", &*one), ("idempotency-key", "\"8e03978e-40d5\"")];
    let appended = post(&hub, &keyed, "2\n").await;
    let two = text(&appended, "etag").to_owned();
    let three = grown(&hub, &two, "3\n").await;
    for _ in 0..2 {
        let again = post(&hub, &keyed, "2\n").await;
        assert_eq!(again.status(), StatusCode::NO_CONTENT);
        assert_eq!((text(&again, "etag"), text(&again, "log-offset")), (&*two, "2-4"));
        let again = post(&hub, &begin, "1\n").await;
        assert_eq!(again.status(), StatusCode::CREATED);
        assert_eq!((text(&again, "etag"), text(&again, "log-offset")), (&*one, "0-2"));
    }
    let other = post(&hub, &keyed, "4\n").await;
    assert_eq!(other.status(), StatusCode::UNPROCESSABLE_ENTITY);
    for key in ["", "a b", "\u{e9}", &"k".repeat(256)] {
        let refused = post(&hub, &[("if-match", &*three), ("idempotency-key", key)], "4\n").await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{key}");
    }
    let twice = [("if-match", &*three), ("idempotency-key", "a"), ("idempotency-key", "b")];
    assert_eq!(post(&hub, &twice, "4\n").await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(held(&hub).await, "1\n2\n3\n");
}

/// LR34: a part at the end is an append; one that would overwrite bytes or leave a gap is refused.
#[tokio::test]
async fn a_part_is_put_at_the_end_and_nowhere_else() {
    let hub = hub().await;
    let one = begun(&hub, "1\n").await;
    let put = async |range: &str, tag: &str, body: &'static str| {
        let headers = [("content-range", range), ("if-match", tag)];
        send(&hub, Method::PUT, LOG, &headers, body).await
    };
    for range in ["bytes 0-1/*", "bytes 1-2/*", "bytes 3-4/*", "bytes 4294967298-4294967299/*"] {
        stands(put(range, &one, "2\n").await, StatusCode::CONFLICT, &one).await;
    }
    for range in
        ["bytes 2-4/*", "bytes 2-2/3", "bytes 2-3/5", "bytes */2", "bytes 2-/*", "2-3/*", ""]
    {
        let refused = put(range, &one, "2\n").await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{range}");
    }
    let appended = put("bytes 2-3/*", &one, "2\n").await;
    assert_eq!(appended.status(), StatusCode::NO_CONTENT);
    assert_eq!(text(&appended, "log-offset"), "2-4");
    let two = text(&appended, "etag").to_owned();
    assert_eq!(generation(&two), generation(&one));
    for stale in [&*one, "\"x\""] {
        stands(put("bytes 2-3/*", stale, "3\n").await, StatusCode::PRECONDITION_FAILED, &two).await;
    }
    assert_eq!(put("Bytes 4-5/6", &two, "3\n").await.status(), StatusCode::NO_CONTENT);
    assert_eq!(held(&hub).await, "1\n2\n3\n");
}

/// LR37: of several clients that read the same end, one appends, and the others get the new position.
#[tokio::test]
async fn of_32_who_append_to_one_place_one_does() {
    let hub = hub().await;
    let tag = begun(&hub, "0\n").await;
    let headers = [("if-match", &*tag)];
    let appends = (1..=32).map(|number| post(&hub, &headers, format!("{number}\n")));
    let answers = join_all(appends).await;
    let is = |status: StatusCode| answers.iter().filter(|answer| answer.status() == status).count();
    assert_eq!((is(StatusCode::NO_CONTENT), is(StatusCode::PRECONDITION_FAILED)), (1, 31));
    assert_eq!(held(&hub).await.lines().count(), 2);
}
