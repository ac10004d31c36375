//! `/reader/`: the APIs of newsreader clients, each a dialect over the same reading state.
//!
//! `feedsync_reader_api` parses a request, `feedsync_aggregator` applies it to the reading state of the
//! principal, and the response is in the client's dialect. Errors are too, since newsreaders display them. A
//! user's reading state is in the log of one of their collections, and editors of that collection may use
//! these APIs. The pages for reading work on the same state.

pub(crate) mod fever;
pub(crate) mod google;
pub(crate) mod miniflux;
pub(crate) mod nextcloud;
mod sign_in;
pub(crate) mod ttrss;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use feedsync_reader_api::{RawRequest, RawResponse};
use http::{HeaderValue, Method, StatusCode, header};

use crate::access::call::Call;
use crate::http::problem::Problem;
use crate::http::{body, media_types, submissions};
use crate::hub::Hub;
use crate::reading::Refusal;

/// Maximum size of a request, in bytes.
const MAX_BODY_BYTES: usize = 4 << 20;

/// A completely received request of a newsreader.
struct NewsreaderRequest {
    method: Method,
    path: String,
    query: String,
    content_type: Option<String>,
    body: Vec<u8>,
    _permit: Option<body::BodyPermit>,
}

impl NewsreaderRequest {
    async fn read(hub: &Hub, call: &Call, method: Method, body: Body) -> Result<Self, Problem> {
        let (permit, body) = match method {
            Method::GET | Method::HEAD => (None, Vec::new()),
            _ => {
                let (permit, bytes) = submissions::read(hub, call, body, MAX_BODY_BYTES).await?;
                (Some(permit), bytes)
            }
        };
        Ok(Self {
            method,
            path: call.segment("path").to_owned(),
            query: call.uri.query().unwrap_or_default().to_owned(),
            content_type: media_types::media_type(&call.headers).map(str::to_owned),
            body,
            _permit: permit,
        })
    }

    fn asked(&self) -> RawRequest<'_> {
        RawRequest {
            method: self.method.as_str(),
            path: &self.path,
            query: &self.query,
            content_type: self.content_type.as_deref(),
            body: &self.body,
        }
    }
}

/// User number for dialects that have one. No user sees another user, so it is the same for all.
const USER: i64 = 1;

/// Converts the result of a request into its dialect. Problems of the hub itself are sent as for other
/// routes.
fn dialect_response(
    outcome: Result<RawResponse, Refusal>,
    refuse: fn(u16, &str) -> RawResponse,
) -> Result<Response, Problem> {
    match outcome {
        Ok(answer) => Ok(answered(answer)),
        Err(Refusal::Fault(fault)) => Ok(answered(refuse(fault.status(), &fault.to_string()))),
        Err(Refusal::Problem(problem)) => Err(problem),
    }
}

/// Response that must not be cached: reading state belongs to one user and changes all the time.
fn answered(answer: RawResponse) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Body::from(answer.body)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    headers.remove(header::CONTENT_TYPE);
    if let Some(media_type) = answer.media_type {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    }
    response
}
