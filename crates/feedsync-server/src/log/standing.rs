//! How it is told where a log stands: in headers, and in the problems of who believed it elsewhere (LR36).

use feedsync_store::{CollectionName, Log, LogOutcome, LogPlace};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::address::PublicBase;
use crate::document::append_link;
use crate::limits;
use crate::members::{self, insert};
use crate::problem::Problem;
use crate::validators::EntityTag;

/// The generation of what is told: its number and what tells it from any other of that number.
const GENERATION: HeaderName = HeaderName::from_static("log-generation");

/// The part of a log that a snapshot stands for.
pub(super) const COVERS: HeaderName = HeaderName::from_static("log-covers");

/// Where events of a log are.
pub(super) const EVENTS_RELATION: &str = "urn:feedsync:1:events";

/// The tag of a log that stands somewhere.
pub(super) fn tag(place: LogPlace) -> EntityTag {
    EntityTag::named(place.to_string())
}

/// The headers that say where a log stands.
pub(super) fn stand(place: LogPlace) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::ETAG, tag(place).value());
    insert(&mut headers, GENERATION, &place.generation.to_string());
    headers
}

/// A problem that says where the log stands, so that nobody needs to ask.
pub(super) fn told(problem: Problem, place: LogPlace) -> Problem {
    of_generation(problem, place)
        .header(header::ETAG, tag(place).value())
        .with("etag", format!("\"{place}\""))
        .with("generation", place.generation.to_string())
        .with("length", place.length)
}

/// A problem of a log that is there: whoever tells generations apart knows from it that this is a hub.
pub(super) fn of_generation(problem: Problem, place: LogPlace) -> Problem {
    match HeaderValue::from_str(&place.generation.to_string()) {
        Ok(value) => problem.header(GENERATION, value),
        Err(_) => problem,
    }
}

/// 412 with where the log stands.
pub(super) fn elsewhere(place: LogPlace) -> Problem {
    let problem = Problem::new(
        StatusCode::PRECONDITION_FAILED,
        "precondition-failed",
        "Not the state you expect",
        "the log does not stand where the request says; ETag names where it does",
    );
    told(problem, place)
}

/// Links that lead from a log, or from what stood there: to what changes in it, and to its snapshot.
pub(super) fn links(headers: &mut HeaderMap, base: &PublicBase, name: &CollectionName, log: &Log) {
    let address = base.url(&super::path(name));
    if log.snapshot.is_some() {
        append_link(headers, &format!("{address}/snapshot"), "snapshot");
    }
    append_link(headers, &format!("{address}/events"), EVENTS_RELATION);
}

/// A log that was never begun, or was removed.
pub(super) fn absent(name: &CollectionName, log: Option<&Log>) -> Problem {
    match log {
        Some(_) => gone("the log was removed; If-None-Match: * begins another one"),
        None => {
            Problem::not_found(format!("there is no log of {name}; If-None-Match: * begins it"))
        }
    }
}

/// A generation that is kept no longer, with what followed.
pub(super) fn swept(base: &PublicBase, name: &CollectionName, log: &Log) -> Problem {
    let mut headers = HeaderMap::new();
    append_link(&mut headers, &base.url(&super::path(name)), "successor-version");
    links(&mut headers, base, name, log);
    let problem = gone("this generation is no longer kept; Link names what followed");
    let links = headers.into_iter().map(|(_, link)| link);
    links.fold(problem, |problem, link| problem.header(header::LINK, link))
}

/// Something that there was.
fn gone(detail: &str) -> Problem {
    Problem::new(StatusCode::GONE, "gone", "No longer here", detail)
}

/// 409 with where the log stands.
pub(super) fn conflict(detail: &str, place: LogPlace) -> Problem {
    told(members::conflict(detail), place)
}

/// Why a log was not changed.
pub(super) fn refused(name: &CollectionName, outcome: LogOutcome) -> Problem {
    match outcome {
        LogOutcome::Elsewhere(log) => elsewhere(log.place),
        LogOutcome::Absent(log) => absent(name, log.as_ref()),
        LogOutcome::KeyOfAnother => Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "key-of-another",
            "Not what the key stands for",
            "other bytes were appended under this Idempotency-Key",
        ),
        LogOutcome::Full { bytes } => limits::quota(
            "log_bytes",
            format!("the log would have {bytes} bytes; nothing was stored"),
        ),
        LogOutcome::NotCovered(log) => conflict(
            "the snapshot covers what is not in the log, or no more than the one that is there",
            log.place,
        ),
        LogOutcome::Done(_) | LogOutcome::Repeated { .. } => Problem::internal(),
    }
}
