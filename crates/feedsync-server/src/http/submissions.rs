//! Submitted entries: their media type, their parsing, and the types that a collection accepts.

use axum::body::Body;
use feedsync_core::Payload;
use feedsync_endpoint::Settings;
use feedsync_formats::{
    ReadOptions, Submission, SubmissionError, entry, read_submission, with_charset,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::Value;

use crate::access::call::Call;
use crate::http::body::{self, BodyPermit, Coding};
use crate::http::media_types::{
    AtomType, ENTRY, atom_type, essence, media_type, unsupported_media_type,
};
use crate::http::problem::Problem;
use crate::hub::Hub;

/// Refuses a body that is not declared as an entry.
pub(crate) fn check_is_entry(headers: &HeaderMap) -> Result<(), Problem> {
    let found = media_type(headers).unwrap_or_default();
    match atom_type(found) {
        Some(AtomType::Entry | AtomType::Either) => Ok(()),
        _ => Err(unsupported_media_type(found, ENTRY)),
    }
}

/// 415 with the types that a collection accepts.
pub(crate) fn not_accepted(settings: &Settings, found: &str) -> Problem {
    let accept: Vec<_> = settings.accept.iter().map(|range| range.as_str()).collect();
    unsupported_media_type(found, HeaderValue::from_str(&accept.join(", ")).unwrap_or(ENTRY))
}

/// Reads the body of a document of at most so many unpacked bytes. The request is refused if its
/// principal lost the right meanwhile.
pub(crate) async fn read(
    hub: &Hub,
    call: &Call,
    body: Body,
    limit: usize,
) -> Result<(BodyPermit, Vec<u8>), Problem> {
    let coding = body::coding(&call.headers)?;
    let permit = body::acquire_permit(hub, &hub.uploads).await?;
    let bytes = body::read(hub, &call.headers, body, limit).await?;
    let bytes = match coding {
        Coding::Identity => bytes,
        Coding::Gzip => tokio::task::spawn_blocking(move || body::unpack(&bytes, limit))
            .await
            .map_err(|_| Problem::internal())??,
    };
    call.recheck_if_slow(hub).await?;
    Ok((permit, bytes))
}

/// Reads a JSON body of at most so many bytes; 400 with line and column if it is not valid.
pub(crate) async fn json(
    hub: &Hub,
    call: &Call,
    body: Body,
    limit: usize,
) -> Result<(BodyPermit, Value), Problem> {
    let kind = media_type(&call.headers).unwrap_or_default();
    if !essence(kind).eq_ignore_ascii_case("application/json") {
        return Err(unsupported_media_type(kind, HeaderValue::from_static("application/json")));
    }
    let (permit, bytes) = read(hub, call, body, limit).await?;
    let value = serde_json::from_slice(&bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let problem = Problem::bad_request(format!("the body is not valid JSON: {error}"));
        problem.with("line", line).with("column", column)
    })?;
    Ok((permit, value))
}

/// Parses a submission; 400 with line and column if it cannot be parsed, 422 if it cannot be stored
/// as an entry.
pub(crate) async fn parse(hub: &Hub, call: &Call, bytes: Vec<u8>) -> Result<Submission, Problem> {
    let mut options = ReadOptions::strict();
    options.limits.bytes = hub.config.limits.body_bytes;
    let named = media_type(&call.headers).map(str::to_owned);
    let parsed = tokio::task::spawn_blocking(move || {
        read_submission(&with_charset(bytes, named.as_deref(), options.mode), &options)
    });
    parsed.await.map_err(|_| Problem::internal())?.map_err(|error| match error {
        SubmissionError::Read(error) => error.into(),
        SubmissionError::Invalid { position, message } => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            Problem::new(status, "not-an-entry", "Invalid entry", message).at(position)
        }
    })
}

/// Refuses a category that is not among the fixed ones (AP10).
pub(crate) fn check_categories(settings: &Settings, payload: &Payload) -> Result<(), Problem> {
    let Some(categories) = &settings.categories else { return Ok(()) };
    let given = entry(payload).categories;
    let pairs = given.iter().map(|one| (&*one.term, one.scheme.as_deref()));
    categories.check(pairs).map_err(|error| {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Problem::new(status, "category", "Category not allowed", error.to_string())
            .with("category", error.term.clone())
    })
}
