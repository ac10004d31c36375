//! `/logs/{c}/snapshot`: the state that a client computed from a log up to a position. A new reader starts
//! with it and continues with the log from there (LR44, LR45).
//!
//! The hub does not interpret it. A snapshot that covers no more than the stored one is refused: of several,
//! the one that covers most stays.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use feedsync_store::{LogOutcome, LogSnapshot, NewSnapshot};
use http::{HeaderMap, StatusCode, header};

use super::conditions::covered;
use super::content::media_type;
use super::position::{self, COVERS, refused};
use crate::access::call::Call;
use crate::access::quotas;
use crate::http::caching::Caching;
use crate::http::problem::Problem;
use crate::http::response::{insert, nothing};
use crate::http::response_budget::MAX_UNCOUNTED_BYTES;
use crate::http::submissions;
use crate::http::validators::{Condition, EntityTag, failed};
use crate::hub::Hub;

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let (name, log) = super::found(&hub, &call).await?;
    let none = || {
        let none = Problem::not_found(format!("the log of {name} has no snapshot"));
        position::of_generation(none, log.place)
    };
    let known = log.snapshot.ok_or_else(none)?;
    let permit = hub.response_budget.permit().await?;
    match tag(&known).evaluate(&call.headers) {
        Condition::Proceed => {}
        Condition::Failed => return Err(failed(&tag(&known))),
        Condition::NotModified(held) => {
            let mut headers = headers(&known);
            headers.insert(header::ETAG, held);
            return Ok((StatusCode::NOT_MODIFIED, headers, nothing()).into_response());
        }
    }
    // It may be a later one by now.
    let found = hub.endpoint.log_snapshot(&name).await?;
    let (snapshot, bytes) = found.ok_or_else(none)?;
    let mut headers = headers(&snapshot);
    insert(&mut headers, header::CONTENT_TYPE, &snapshot.media_type);
    let place = permit.end(bytes.len() > MAX_UNCOUNTED_BYTES)?;
    Ok((headers, place.hold(bytes)).into_response())
}

pub(crate) async fn write(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let (covers, media_type) = (covered(&call.headers)?, media_type(&call.headers)?);
    let (name, log) = super::found(&hub, &call).await?;
    may_replace(&call.headers, log.snapshot.as_ref())?;
    let limit = hub.config.limits.log_snapshot_bytes;
    let (_permit, bytes) = submissions::read(&hub, &call, body, limit).await?;
    let replaced = log.snapshot.as_ref().map_or(0, |snapshot| snapshot.length);
    quotas::log(&hub, &name, (bytes.len() as u64).saturating_sub(replaced)).await?;
    let new = NewSnapshot { covers, media_type, bytes };
    match hub.endpoint.put_log_snapshot(&name, new).await? {
        LogOutcome::Done(now) => {
            let is_first = log.snapshot.is_none();
            let status = if is_first { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
            let headers = now.snapshot.as_ref().map(headers).unwrap_or_default();
            Ok((status, headers, nothing()).into_response())
        }
        other => Err(refused(&name, other)),
    }
}

/// Whether the stored snapshot, if any, is the one that the request expects (RFC 9110 13.1). The store itself
/// ensures that none is replaced by one that covers less.
fn may_replace(headers: &HeaderMap, known: Option<&LogSnapshot>) -> Result<(), Problem> {
    match known.map(tag) {
        Some(tag) if tag.evaluate(headers) != Condition::Proceed => Err(failed(&tag)),
        None if headers.contains_key(header::IF_MATCH) => Err(Problem::new(
            StatusCode::PRECONDITION_FAILED,
            "precondition-failed",
            "Precondition failed",
            "there is no snapshot yet",
        )),
        _ => Ok(()),
    }
}

fn tag(snapshot: &LogSnapshot) -> EntityTag {
    EntityTag::named(snapshot.digest.to_string())
}

fn headers(snapshot: &LogSnapshot) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::ETAG, tag(snapshot).value());
    insert(&mut headers, COVERS, &format!("\"{}\"", snapshot.covers));
    Caching::OnePerson.set_headers(&mut headers, &["Accept-Encoding"]);
    headers
}
