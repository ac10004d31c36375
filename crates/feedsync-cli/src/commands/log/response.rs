//! Responses of logs: positions, and failures.

use feedsync_client::LogError;
use feedsync_log::{LogResponse, Position, Session, Stop};
use serde_json::{Value, json};

use crate::failure::Failure;

/// Position in a log, as JSON.
pub(super) fn shown(position: &Position) -> Value {
    json!({ "length": position.offset, "etag": position.etag, "generation": position.generation })
}

/// Checks that a log exists before it is read.
pub(super) fn present(name: &str, session: &Session) -> Result<(), Failure> {
    if session.is_absent() {
        return Err(Failure::not_found(format!("{name}: there is no such log")));
    }
    Ok(())
}

/// Checks that the server stored the data of the request.
pub(super) fn stored(name: &str, answer: &LogResponse) -> Result<(), Failure> {
    answer.stored().map_err(|_| refused(name, answer))
}

/// Converts an unsuccessful response of a log into a failure.
pub(super) fn refused(name: &str, answer: &LogResponse) -> Failure {
    if let Some(excuse) = answer.excuse() {
        return Failure::network(format!("{name}: {excuse}"));
    }
    let stopped = |stop| Failure::from(LogError::Stopped { log: name.to_owned(), stop });
    match answer.status {
        1..=399 | 511 => stopped(answer.foreign()),
        404 | 409 | 410 | 412 if answer.refused(false).is_err() => stopped(answer.foreign()),
        401 | 403 => stopped(Stop::Refused(answer.status)),
        404 => Failure::not_found(format!("{name}: there is no such log")),
        410 => Failure::not_found(format!("{name}: {}", Stop::Gone)),
        412 => Failure::refused(format!("{name}: its length is not the expected one")),
        507 => Failure::refused(format!("{name}: {}", Stop::Full)),
        status => Failure::network(format!("{name}: the server answered {status}")),
    }
}
