//! `/logs/{c}`: the append-only log of a collection (REST-logging LR1, LR3, LR4).
//!
//! A log is one resource that only grows. A client reads what was added since its last read, by `Range`, and
//! appends under the tag of what it has read. Of several clients that read the same end, one appends and the
//! others read on (LR35, LR36). The tag names the generation and its length. The hub looks for the ends of
//! records and interprets nothing else. Rights to a log are those to the collection of its name.
//!
//! - `GET` reads the current generation (LR20 to LR24), `POST` appends (LR35), `DELETE` removes the log.
//! - `PUT` with a `Content-Range` appends too, at the end only (LR34). Without one its body becomes the next
//!   generation, and the previous one stays readable for a while (LR46).
//!
//! Conditions are checked after the rest of a request is found valid, and again by the store when it writes
//! (RFC 9110 13.2.1, LR37).

mod appending;
mod conditions;
mod content;
pub(crate) mod events;
pub(crate) mod generation;
mod position;
mod reading;
pub(crate) mod snapshot;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use feedsync_http::partial_content;
use feedsync_store::{CollectionName, Expected, Log, LogOutcome, NewGeneration, StoreError};
use http::{Method, StatusCode};

use crate::access::call::Call;
use crate::access::quotas;
use crate::http::problem::Problem;
use crate::http::response::nothing;
use crate::http::submissions;
use crate::hub::Hub;
use appending::AppendRequest;
use conditions::{ContentRange, expected, required};
use content::{check_records, media_type, same_type};
use position::{absent, position_headers, refused};

/// Path of the log of a collection.
pub(crate) fn path(collection: &CollectionName) -> String {
    format!("/logs/{collection}")
}

pub(crate) async fn read(
    State(hub): State<Hub>,
    method: Method,
    call: Call,
) -> Result<Response, Problem> {
    let (name, log) = found(&hub, &call).await?;
    let reading = reading::GenerationRequest { name: &name, log: &log, place: log.place };
    reading.answer(&hub, &call, &method).await
}

pub(crate) async fn append(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    // Only PUT supports `Content-Range`.
    partial_content::refuse(&Method::POST, &call.headers)?;
    let appending = AppendRequest::of(&call, expected(&call.headers)?, None)?;
    appending.carry_out(&hub, &call, body).await
}

/// `PUT`: appends a part at the end, or begins the next generation.
pub(crate) async fn write(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let expected = expected_existing(&call)?;
    match ContentRange::of(&call.headers)? {
        Some(part) => {
            let appending = AppendRequest::of(&call, expected, Some(part))?;
            appending.carry_out(&hub, &call, body).await
        }
        None => compact(&hub, &call, expected, body).await,
    }
}

async fn compact(
    hub: &Hub,
    call: &Call,
    expected: Expected,
    body: Body,
) -> Result<Response, Problem> {
    let given = media_type(&call.headers)?;
    let (name, log) = found(hub, call).await?;
    same_type(&log, &given)?;
    let bounds = &hub.config.limits;
    let (_permit, bytes) = submissions::read(hub, call, body, bounds.log_generation_bytes).await?;
    check_records(&bytes, bounds.log_record_bytes)?;
    // The previous generation stays for a time. A new generation of at most half its length is accepted even
    // over the quota, so that its owner can still compact the log.
    let is_short = match &expected {
        Expected::At(places) => places.iter().all(|it| bytes.len() as u64 <= it.length / 2),
        Expected::Present | Expected::Absent => false,
    };
    let more = if is_short { 0 } else { bytes.len() as u64 };
    quotas::log(hub, &name, more).await?;
    let new = NewGeneration { expected, bytes, most: bounds.log_bytes as u64, act: None };
    match call.endpoint(hub).begin_log_generation(&name, new).await? {
        LogOutcome::Done(log) => {
            Ok((StatusCode::NO_CONTENT, position_headers(log.place), nothing()).into_response())
        }
        other => Err(refused(&name, other)),
    }
}

pub(crate) async fn remove(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let (name, expected) = (call.bare_collection_name()?, expected_existing(&call)?);
    match call.endpoint(&hub).remove_log(&name, expected).await? {
        LogOutcome::Done(_) => Ok((StatusCode::NO_CONTENT, nothing()).into_response()),
        other => Err(refused(&name, other)),
    }
}

/// Position of an existing log that the request expects.
fn expected_existing(call: &Call) -> Result<Expected, Problem> {
    match expected(&call.headers)? {
        Expected::Absent => Err(required()),
        expected => Ok(expected),
    }
}

/// The existing log that the path names.
async fn found(hub: &Hub, call: &Call) -> Result<(CollectionName, Log), Problem> {
    let name = call.bare_collection_name()?;
    match known(hub, &name).await? {
        Some(log) if !log.removed => Ok((name, log)),
        log => Err(absent(&name, log.as_ref())),
    }
}

/// State of a log; none if its collection does not exist.
async fn known(hub: &Hub, name: &CollectionName) -> Result<Option<Log>, Problem> {
    match hub.endpoint.log(name).await {
        Err(StoreError::NoCollection(_)) => Ok(None),
        log => Ok(log?),
    }
}
