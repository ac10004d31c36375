//! Small documents that are built completely: their tag is that of their bytes.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::access::call::Call;
use crate::http::caching::Caching;
use crate::http::problem::Problem;
use crate::http::response::nothing;
use crate::http::response_budget::{MAX_UNCOUNTED_BYTES, ResponsePermit};
use crate::http::validators::{Condition, EntityTag, failed};
use crate::hub::Hub;

/// Entity tag of a document.
pub(crate) fn tag(text: &str) -> EntityTag {
    EntityTag::of(&[text])
}

/// Response to a request for a document, or a 304.
pub(crate) async fn conditional(
    hub: &Hub,
    call: &Call,
    kind: &'static str,
    caching: Caching,
    text: String,
) -> Result<Response, Problem> {
    in_turn(hub.response_budget.permit().await?, call, kind, caching, text)
}

/// The same, for a document that was built under a permit.
pub(crate) fn in_turn(
    permit: ResponsePermit,
    call: &Call,
    kind: &'static str,
    caching: Caching,
    text: String,
) -> Result<Response, Problem> {
    let headers = match headers(&tag(&text), call, kind, caching)? {
        Ok(headers) => headers,
        Err(answer) => return Ok(answer),
    };
    let place = permit.end(text.len() > MAX_UNCOUNTED_BYTES)?;
    Ok((headers, Body::from(place.hold(text.into_bytes()))).into_response())
}

/// Headers of a document with a tag, or the 304 for a client that has it.
pub(crate) fn headers(
    tag: &EntityTag,
    call: &Call,
    kind: &'static str,
    caching: Caching,
) -> Result<Result<HeaderMap, Response>, Problem> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ETAG, tag.value());
    caching.set_headers(&mut headers, &["Accept-Encoding"]);
    match tag.evaluate(&call.headers) {
        Condition::Proceed => {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
            Ok(Ok(headers))
        }
        Condition::NotModified(held) => {
            headers.insert(header::ETAG, held);
            Ok(Err((StatusCode::NOT_MODIFIED, headers, nothing()).into_response()))
        }
        Condition::Failed => Err(failed(tag)),
    }
}
