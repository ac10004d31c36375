//! Reports of the position of a log: in headers, and in the problems for a wrong expectation (LR36).

use feedsync_store::{CollectionName, Log, LogOutcome, LogPosition};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::http::address::PublicBase;
use crate::http::problem::Problem;
use crate::http::response::{append_link, insert};
use crate::http::validators::EntityTag;

/// Generation of the response: its number, and a value that distinguishes it from others of that number.
const GENERATION: HeaderName = HeaderName::from_static("log-generation");

/// Part of a log that a snapshot covers.
pub(super) const COVERS: HeaderName = HeaderName::from_static("log-covers");

/// Link relation of the events of a log.
pub(super) const EVENTS_RELATION: &str = "urn:feedsync:1:events";

/// Entity tag of a log at a position.
pub(super) fn tag(place: LogPosition) -> EntityTag {
    EntityTag::named(place.to_string())
}

/// Headers with the position of a log.
pub(super) fn position_headers(place: LogPosition) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::ETAG, tag(place).value());
    insert(&mut headers, GENERATION, &place.generation.to_string());
    headers
}

/// Adds the position of the log to a problem, so that the client needs no further request.
pub(super) fn with_position(problem: Problem, place: LogPosition) -> Problem {
    of_generation(problem, place)
        .header(header::ETAG, tag(place).value())
        .with("etag", format!("\"{place}\""))
        .with("generation", place.generation.to_string())
        .with("length", place.length)
}

/// A problem of an existing log. From it a client that distinguishes generations knows that the server is
/// a hub.
pub(super) fn of_generation(problem: Problem, place: LogPosition) -> Problem {
    match HeaderValue::from_str(&place.generation.to_string()) {
        Ok(value) => problem.header(GENERATION, value),
        Err(_) => problem,
    }
}

/// Problem 412 with the position of the log.
pub(super) fn position_mismatch(place: LogPosition) -> Problem {
    let problem = Problem::new(
        StatusCode::PRECONDITION_FAILED,
        "precondition-failed",
        "Precondition failed",
        "the log is not in the state that the request names; the ETag header names its current \
         state",
    );
    with_position(problem, place)
}

/// Adds the links of a log or a former log: to its events and to its snapshot.
pub(super) fn links(headers: &mut HeaderMap, base: &PublicBase, name: &CollectionName, log: &Log) {
    let address = base.url(&super::path(name));
    if log.snapshot.is_some() {
        append_link(headers, &format!("{address}/snapshot"), "snapshot");
    }
    append_link(headers, &format!("{address}/events"), EVENTS_RELATION);
}

/// Problem for a log that never existed, or was removed.
pub(super) fn absent(name: &CollectionName, log: Option<&Log>) -> Problem {
    match log {
        Some(_) => gone("the log was removed; a POST with If-None-Match: * creates a new one"),
        None => Problem::not_found(format!(
            "there is no log of {name}; a POST with If-None-Match: * creates it"
        )),
    }
}

/// Problem for a generation that is no longer stored, with links to its successors.
pub(super) fn generation_removed(base: &PublicBase, name: &CollectionName, log: &Log) -> Problem {
    let mut headers = HeaderMap::new();
    append_link(&mut headers, &base.url(&super::path(name)), "successor-version");
    links(&mut headers, base, name, log);
    let problem =
        gone("this generation is no longer stored; the Link header names the current log");
    let links = headers.into_iter().map(|(_, link)| link);
    links.fold(problem, |problem, link| problem.header(header::LINK, link))
}

/// Problem 410 for a former resource.
fn gone(detail: &str) -> Problem {
    Problem::new(StatusCode::GONE, "gone", "No longer available", detail)
}

/// Problem 409 with the position of the log.
pub(super) fn conflict(detail: &str, place: LogPosition) -> Problem {
    with_position(Problem::conflict(detail), place)
}

/// Reason why a log was not changed.
pub(super) fn refused(name: &CollectionName, outcome: LogOutcome) -> Problem {
    match outcome {
        LogOutcome::PositionMismatch(log) => position_mismatch(log.place),
        LogOutcome::Absent(log) => absent(name, log.as_ref()),
        LogOutcome::KeyReused => Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "key-of-another",
            "Idempotency-Key reused",
            "this Idempotency-Key was used for an append of other bytes",
        ),
        LogOutcome::Full { bytes } => Problem::quota(
            "log_bytes",
            format!("the log would grow to {bytes} bytes, more than its limit; nothing was stored"),
        ),
        LogOutcome::NotCovered(log) => conflict(
            "the snapshot must cover a part of the current log, and more than the stored snapshot \
             does",
            log.place,
        ),
        LogOutcome::Done(_) | LogOutcome::Repeated { .. } => Problem::internal(),
    }
}
