//! Content of a log: complete records of one media type (LR4, LR36).

use feedsync_endpoint::MediaRange;
use feedsync_store::Log;
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::http::media_types::{self, essence, is_form, unsupported_media_type};
use crate::http::problem::Problem;

/// Default media type of a log.
const RECORDS: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// Media type of a body: any except those that a form on another site's page could send (AP64).
pub(super) fn media_type(headers: &HeaderMap) -> Result<String, Problem> {
    let given = media_types::media_type(headers).unwrap_or_default();
    let is_one = given.parse::<MediaRange>().is_ok() && !given.contains('*');
    if is_one && !is_form(given) {
        Ok(given.to_owned())
    } else {
        Err(unsupported_media_type(given, RECORDS))
    }
}

/// Refuses bytes of another type than that of the log.
pub(super) fn same_type(log: &Log, given: &str) -> Result<(), Problem> {
    if essence(given).eq_ignore_ascii_case(essence(&log.media_type)) {
        return Ok(());
    }
    let accept = HeaderValue::from_str(essence(&log.media_type)).unwrap_or(RECORDS);
    Err(unsupported_media_type(given, accept).with("log", log.media_type.as_str()))
}

/// Refuses a body that is not a sequence of complete records, each of at most so many bytes including
/// its line feed.
pub(super) fn check_records(bytes: &[u8], most: usize) -> Result<(), Problem> {
    let mut offset = 0;
    for record in bytes.split_inclusive(|byte| *byte == b'\n') {
        if record.len() > most {
            let detail = format!("the record at byte {offset} has more than {most} bytes");
            return Err(Problem::too_large(detail).with("offset", offset));
        }
        if !record.ends_with(b"\n") {
            let detail = format!("the record at byte {offset} does not end in a line feed");
            let status = StatusCode::BAD_REQUEST;
            let torn = Problem::new(status, "torn-record", "Incomplete records", detail);
            return Err(torn.with("offset", offset));
        }
        offset += record.len();
    }
    if bytes.is_empty() { Err(Problem::bad_request("the body contains no record")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;

    use super::*;

    #[test]
    fn only_whole_records_within_the_bound_are_taken() {
        let status = |bytes: &[u8]| {
            check_records(bytes, 4).err().map(|problem| problem.into_response().status().as_u16())
        };
        for taken in [&b"\n"[..], b"abc\n", b"abc\n\n\xff\x00\r\n"] {
            assert_eq!(status(taken), None, "{taken:?}");
        }
        for (bytes, refused) in [
            (&b""[..], 400),
            (b"abc", 400),
            (b"\na", 400),
            (b"abcd\n", 413),
            (b"a\nabcde\nb\n", 413),
            (b"abcde", 413),
        ] {
            assert_eq!(status(bytes), Some(refused), "{bytes:?}");
        }
    }
}
