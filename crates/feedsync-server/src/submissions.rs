//! Submitted entries: their media type, their parsing, and the types that a collection accepts.

use axum::body::Body;
use feedsync_core::Payload;
use feedsync_endpoint::Settings;
use feedsync_formats::{
    ReadOptions, Submission, SubmissionError, entry, read_submission, with_charset,
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::Value;

use crate::body::{self, Coding, Turn};
use crate::call::Call;
use crate::hub::Hub;
use crate::members::ENTRY;
use crate::problem::Problem;

/// Kind of Atom document in a media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtomType {
    /// `type=entry`.
    Entry,
    /// `type=feed`.
    Feed,
    /// Not given: the root element decides (AP29).
    Either,
}

/// Media type of a request's body, as written.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok().map(str::trim).filter(|text| !text.is_empty())
}

/// A media type without its parameters.
pub(crate) fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// Whether a form of any page could send this type (AP64).
pub(crate) fn is_form(media_type: &str) -> bool {
    let forms = ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded"];
    forms.iter().any(|form| form.eq_ignore_ascii_case(essence(media_type)))
}

/// Kind of document of an Atom media type; none for other types.
pub(crate) fn atom_type(media_type: &str) -> Option<AtomType> {
    let parts = media_type.split(';').map(str::trim).skip(1);
    if !essence(media_type).eq_ignore_ascii_case("application/atom+xml") {
        return None;
    }
    let kind = parts.filter_map(|parameter| parameter.split_once('=')).find_map(|(name, value)| {
        name.trim().eq_ignore_ascii_case("type").then(|| value.trim().trim_matches('"'))
    });
    match kind {
        None => Some(AtomType::Either),
        Some(kind) if kind.eq_ignore_ascii_case("entry") => Some(AtomType::Entry),
        Some(kind) if kind.eq_ignore_ascii_case("feed") => Some(AtomType::Feed),
        Some(_) => None,
    }
}

/// Refuses a body that is not declared as an entry.
pub(crate) fn check_is_entry(headers: &HeaderMap) -> Result<(), Problem> {
    let found = media_type(headers).unwrap_or_default();
    match atom_type(found) {
        Some(AtomType::Entry | AtomType::Either) => Ok(()),
        _ => Err(not_taken(found, ENTRY)),
    }
}

/// 415 with the accepted types (AH22).
pub(crate) fn not_taken(found: &str, accept: HeaderValue) -> Problem {
    Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported-media-type",
        "Not a media type that is taken here",
        format!("the body is of the type {found:?}; Accept lists what is taken here"),
    )
    .header(header::ACCEPT, accept)
}

/// 415 with the types that a collection accepts.
pub(crate) fn not_accepted(settings: &Settings, found: &str) -> Problem {
    let accept: Vec<_> = settings.accept.iter().map(|range| range.as_str()).collect();
    not_taken(found, HeaderValue::from_str(&accept.join(", ")).unwrap_or(ENTRY))
}

/// Reads the body of a document of at most so many unpacked bytes. The request is refused if its
/// principal lost the right meanwhile.
pub(crate) async fn read(
    hub: &Hub,
    call: &Call,
    body: Body,
    limit: usize,
) -> Result<(Turn, Vec<u8>), Problem> {
    let coding = body::coding(&call.headers)?;
    let turn = body::turn(hub, &hub.uploads).await?;
    let bytes = body::read(hub, &call.headers, body, limit).await?;
    let bytes = match coding {
        Coding::Identity => bytes,
        Coding::Gzip => tokio::task::spawn_blocking(move || body::unpack(&bytes, limit))
            .await
            .map_err(|_| Problem::internal())??,
    };
    call.still_may(hub).await?;
    Ok((turn, bytes))
}

/// Reads a JSON body of at most so many bytes; 400 with line and column if it is not valid.
pub(crate) async fn json(
    hub: &Hub,
    call: &Call,
    body: Body,
    limit: usize,
) -> Result<(Turn, Value), Problem> {
    let kind = media_type(&call.headers).unwrap_or_default();
    if !essence(kind).eq_ignore_ascii_case("application/json") {
        return Err(not_taken(kind, HeaderValue::from_static("application/json")));
    }
    let (turn, bytes) = read(hub, call, body, limit).await?;
    let value = serde_json::from_slice(&bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let problem = Problem::bad_request(format!("the body is not JSON: {error}"));
        problem.with("line", line).with("column", column)
    })?;
    Ok((turn, value))
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
            Problem::new(status, "not-an-entry", "Not an entry that can be stored", message)
                .at(position)
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
        Problem::new(status, "category", "Not a category of this collection", error.to_string())
            .with("category", error.term.clone())
    })
}
