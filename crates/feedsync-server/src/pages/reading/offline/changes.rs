//! `POST /pages/reading/offline/changes`: marks that a browser made, as records of the reading log.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use feedsync_log::{Line, Millis, Record, Tick};
use feedsync_reading_state::ReaderState;
use http::StatusCode;

use crate::access::call::Call;
use crate::http::body;
use crate::http::problem::Problem;
use crate::http::response::nothing;
use crate::hub::Hub;
use crate::pages::form_token;
use crate::pages::reading::reading;
use crate::reading::Refusal;

/// Header with the form token of the list.
const FORM: &str = "x-feedsync-form";

/// Maximum number of records, and of bytes, in one request.
const MAX_RECORDS: usize = 1_000;
const MAX_BYTES: usize = 2 << 20;

pub(crate) async fn merge(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let given = call.headers.get(FORM).and_then(|given| given.to_str().ok()).unwrap_or_default();
    if !form_token::is_genuine(&hub, &call, given) {
        return Err(form_token::refused());
    }
    let permit = body::acquire_permit(&hub, &hub.uploads).await?;
    let limit = MAX_BYTES.min(hub.config.limits.body_bytes);
    let bytes = body::read(&hub, &call.headers, body, limit).await?;
    call.recheck_if_slow(&hub).await?;
    let reading = reading(&hub, &call).await?;
    let state = marks(&bytes, reading.now).map_err(Problem::bad_request)?;
    drop(permit);
    reading.person.merge_state(state).await.map_err(Refusal::from)?;
    Ok((StatusCode::NO_CONTENT, nothing()).into_response())
}

/// The state that consists of the marks in lines. A mark that claims to be later than now is made now: otherwise the
/// clock of one browser would decide for years.
fn marks(lines: &[u8], now: Millis) -> Result<ReaderState, String> {
    let mut state = ReaderState::default();
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    for (place, line) in lines.enumerate() {
        let refused = |error: &str| format!("line {}: {error}", place + 1);
        if place >= MAX_RECORDS {
            return Err(refused(&format!("at most {MAX_RECORDS} records are accepted at once")));
        }
        let mut record = match Line::read(line) {
            Line::Record(record) => record,
            Line::Foreign(error) => return Err(refused(&error.to_string())),
            _ => return Err(refused("this is not a record")),
        };
        if record.stamp.tick.millis() > now {
            record.stamp.tick = Tick::new(now, u32::try_from(place).unwrap_or(u32::MAX));
        }
        if !is_mark(&record) {
            return Err(refused("this is not a mark of an article"));
        }
        state.apply(&record);
    }
    Ok(state)
}

/// Whether a record marks an article.
fn is_mark(record: &Record) -> bool {
    record.object.kind == "article" && ReaderState::delta(record).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(act: &str, at: u64) -> String {
        format!(
            r#"{{"v":1,"id":"phone:1","ts":"{at}.0","act":"{act}","obj":{{"kind":"article","id":"urn:x:1",
               "feed":"https://example.org/feed"}},"at":1000}}"#
        )
        .replace('\n', " ")
    }

    fn is_read(state: &ReaderState) -> bool {
        let feed = state.feed("https://example.org/feed").unwrap();
        feed.is_read(&"urn:x:1".parse().unwrap(), Some(Millis::new(1_000)))
    }

    #[test]
    fn the_latest_mark_counts_in_any_order_of_lines() {
        let now = Millis::new(9_000);
        for (first, second) in
            [(("read", 5_000), ("unread", 6_000)), (("unread", 6_000), ("read", 5_000))]
        {
            let lines = format!("{}\n{}\n", line(first.0, first.1), line(second.0, second.1));
            assert!(!is_read(&marks(lines.as_bytes(), now).unwrap()));
        }
    }

    #[test]
    fn a_mark_from_the_future_is_made_now() {
        let now = Millis::new(9_000);
        let early = marks(line("read", 50_000).as_bytes(), now).unwrap();
        assert_eq!(early.latest().unwrap().millis(), now);
        let mut state = early;
        state.join(marks(line("unread", 9_001).as_bytes(), Millis::new(10_000)).unwrap());
        assert!(!is_read(&state));
    }

    #[test]
    fn lines_that_are_no_marks_are_refused_by_their_number() {
        let subscribe = r#"{"v":1,"id":"phone:1","ts":"1.0","act":"subscribe","obj":{"kind":"feed","id":"https://h/f"}}"#;
        let unknown = line("frown", 1);
        for bad in ["{}", "x", subscribe, &unknown, "\u{0}"] {
            let lines = format!("{}\n{bad}\n", line("read", 1));
            let problem = marks(lines.as_bytes(), Millis::new(9)).unwrap_err();
            assert!(problem.contains("line 2: "), "{bad}: {problem}");
        }
        let many = format!("{}\n", line("read", 1)).repeat(MAX_RECORDS + 1);
        assert!(marks(many.as_bytes(), Millis::new(9)).is_err());
        assert!(marks(b"", Millis::new(9)).unwrap().is_empty());
    }
}
