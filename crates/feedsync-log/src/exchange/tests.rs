use super::*;

#[test]
fn a_range_names_its_unit() {
    assert_eq!(Range::From { offset: 123_456, most: 10 }.header(), "bytes=123456-123465");
    assert_eq!(Range::Last(10_485_760).header(), "bytes=-10485760");
    assert_eq!(
        Range::From { offset: (1 << 32) + 1, most: 1 }.header(),
        "bytes=4294967297-4294967297"
    );
    assert_eq!(
        Range::From { offset: u64::MAX, most: 9 }.header(),
        "bytes=18446744073709551615-18446744073709551615"
    );
}

#[test]
fn malformed_content_ranges_are_ignored() {
    let range = |text| ContentRange::parse(text).map(|range| (range.sent, range.complete));
    assert_eq!(range("bytes 10-14/15"), Some((Some((10, 14)), Some(15))));
    assert_eq!(range("Bytes 10-14/*"), Some((Some((10, 14)), None)));
    assert_eq!(range("bytes 14-14/15"), Some((Some((14, 14)), Some(15))));
    assert_eq!(range("bytes */10"), Some((None, Some(10))));
    for wrong in [
        "",
        "bytes",
        "bytes 10-14",
        "bytes 14-10/15",
        "bytes 10-/15",
        "bytes -14/15",
        "bytes 10-14/",
        "bytes 10-15/15",
        "bytes a-b/15",
        "bytes +1-2/3",
        "lines 1-2/3",
        "bytes 1-2/99999999999999999999",
    ] {
        assert_eq!(range(wrong), None, "{wrong}");
    }
}

fn typed(status: u16, media_type: &str) -> LogResponse {
    LogResponse { status, media_type: Some(media_type.to_owned()), ..LogResponse::default() }
}

fn tagged(answer: LogResponse) -> LogResponse {
    LogResponse { etag: Some("\"g-1\"".to_owned()), ..answer }
}

fn of_hub(answer: LogResponse) -> LogResponse {
    LogResponse { generation: Some("g".to_owned()), ..answer }
}

/// Offsets are known only in responses that are not compressed (LR25, LR31).
#[test]
fn body_begins_where_the_request_or_the_range_of_the_answer_says() {
    let range = |text: &str| Some(text.to_owned());
    let at_7 =
        |status, content_range| LogResponse { status, content_range, start: 7, ..typed(0, "") };
    for (answer, expected) in [
        (at_7(200, None), Some(7)),
        (at_7(200, range("bytes 10-14/15")), Some(7)),
        (at_7(206, range("bytes 10-14/15")), Some(10)),
        (at_7(206, range("bytes */15")), None),
        (at_7(206, None), None),
        (at_7(304, None), None),
        (at_7(416, range("bytes */15")), None),
    ] {
        assert_eq!(answer.begins_at(), expected, "{answer:?}");
        let packed = LogResponse { coding: Some("gzip".to_owned()), ..answer };
        assert_eq!(packed.begins_at(), None, "{packed:?}");
    }
}

/// Weak tags cannot be compared strongly, and an empty one identifies nothing (LR29).
#[test]
fn only_quoted_tags_with_a_text_are_strong() {
    for (etag, is_strong) in
        [("\"e\"", true), ("W/\"e\"", false), ("\"\"", false), ("e", false), ("", false)]
    {
        let answer = LogResponse { etag: Some(etag.to_owned()), ..LogResponse::default() };
        assert_eq!(answer.strong(), is_strong.then(|| etag.to_owned()));
    }
    assert_eq!(LogResponse::default().strong(), None);
}

#[test]
fn pages_are_known_by_media_type_or_by_the_begin_of_their_body() {
    for (media_type, is_page) in [
        ("text/html", true),
        ("Text/HTML ; charset=utf-8", true),
        ("application/xhtml+xml", true),
        ("text/plain", false),
        ("application/x-ndjson", false),
        ("", false),
    ] {
        assert_eq!(typed(200, media_type).is_page(), is_page, "{media_type}");
        assert!(!of_hub(typed(200, media_type)).is_page(), "{media_type}");
    }
    let sent = |status, start, body: &str| {
        let body = body.into();
        LogResponse { status, start, body, ..LogResponse::default() }.is_page()
    };
    for body in ["<!doctype html>", "\n <!DOCTYPE HTML PUBLIC \"\">", "<html lang=en>", " <HTML"] {
        for (status, is_page) in
            [(200, true), (400, true), (404, true), (502, true), (206, false), (302, false)]
        {
            assert_eq!(sent(status, 0, body), is_page, "{status} {body}");
            assert!(!sent(status, 1, body), "{status} {body}");
        }
    }
    for body in ["", "<", "{\"v\":1}\n", "html", "<!doctype xml>"] {
        assert!(!sent(200, 0, body), "{body}");
    }
}

/// A whole log has a tag or a date, and is not a document of another kind. A part states its range (LR9,
/// LR20, LR26).
#[test]
fn success_without_the_marks_of_a_log_is_foreign() {
    let plain = |status| typed(status, "text/plain");
    let dated = |answer: LogResponse| LogResponse { is_dated: true, ..answer };
    for (answer, is_no_log) in [
        (plain(200), true),
        (tagged(plain(200)), false),
        (dated(plain(200)), false),
        (of_hub(plain(200)), false),
        (plain(206), false),
        (tagged(typed(206, "application/json")), false),
        (of_hub(typed(200, "application/json")), false),
        (tagged(typed(206, "text/html")), true),
    ] {
        assert_eq!(answer.is_no_log(), is_no_log, "{answer:?}");
    }
    for media_type in ["", "application/x-ndjson", "application/octet-stream", "text/plain"] {
        assert!(!tagged(typed(200, media_type)).is_no_log(), "{media_type}");
    }
    for media_type in [
        "application/json",
        "application/ld+json; charset=utf-8",
        "application/xml",
        "application/atom+xml",
        "image/png",
        "multipart/form-data",
        "text/css",
    ] {
        assert!(tagged(typed(200, media_type)).is_no_log(), "{media_type}");
    }
}

/// A server that stored a body responds with a tag, and not with a document for people or programs (LR13,
/// LR35, LR45).
#[test]
fn body_is_stored_if_a_tagged_success_says_so() {
    for (answer, is_stored) in [
        (tagged(typed(200, "text/plain")), true),
        (tagged(typed(201, "")), true),
        (tagged(typed(204, "")), true),
        (of_hub(tagged(typed(200, "application/json"))), true),
        (tagged(typed(200, "application/json")), false),
        (tagged(typed(200, "text/html")), false),
        (tagged(typed(202, "")), false),
        (tagged(typed(412, "")), false),
        (typed(204, ""), false),
        (of_hub(typed(204, "")), false),
    ] {
        let expected = if is_stored { Ok(()) } else { Err(answer.foreign()) };
        assert_eq!(answer.stored(), expected, "{answer:?}");
    }
}

/// A refusal of a server that supports generations names the generation, or states that there is no log
/// (LR36).
#[test]
fn refusal_comes_from_the_server_of_the_log_or_from_another() {
    let problem = "application/problem+json";
    // Each row: a response; whether it is a refusal of a file server; whether it is one of a server with
    // generations.
    for (answer, of_files, with_generations) in [
        (typed(412, ""), true, false),
        (typed(409, "text/plain"), true, false),
        (typed(409, problem), true, false),
        (typed(404, ""), true, true),
        (typed(404, problem), true, true),
        (typed(410, problem), true, true),
        (typed(404, "text/plain"), true, false),
        (of_hub(typed(412, "text/plain")), true, true),
        (of_hub(typed(404, "text/html")), true, true),
        (typed(404, "text/html"), false, false),
        (LogResponse { body: b"<html>".to_vec(), ..typed(404, "") }, false, false),
    ] {
        for (has_generations, is_refusal) in [(false, of_files), (true, with_generations)] {
            let expected = if is_refusal { Ok(()) } else { Err(answer.foreign()) };
            assert_eq!(answer.refused(has_generations), expected, "{has_generations} {answer:?}");
        }
    }
}

#[test]
fn request_is_retryable_without_a_response_or_from_a_busy_server() {
    for status in [0, 408, 425, 429, 500, 502, 503, 504, 599] {
        assert_eq!(typed(status, "").excuse(), Some(Stop::Unavailable(status)));
    }
    for status in [200, 304, 401, 404, 410, 412, 507, 511] {
        assert_eq!(typed(status, "").excuse(), None, "{status}");
    }
    let silent = Interruption::Silent { host: "hub.example".to_owned() };
    for status in [0, 200, 507] {
        let answer = LogResponse { interruption: Some(silent.clone()), ..typed(status, "") };
        assert_eq!(answer.excuse(), Some(Stop::Interrupted(silent.clone())));
    }
}
