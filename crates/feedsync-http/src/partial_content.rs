//! Refusal of partial uploads: a request with `Content-Range` carries a part of a representation (RFC 9110 14.5).
//!
//! A resource that accepts whole representations would store the part as the whole. Only an append to a log
//! by `PUT` supports parts.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, Method, header};

use crate::problem::Problem;

/// Refuses a request that carries a part where a whole representation is read.
pub fn refuse(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    let uploads = matches!(*method, Method::PUT | Method::POST | Method::PATCH);
    if !uploads || !headers.contains_key(header::CONTENT_RANGE) {
        return Ok(());
    }
    let detail = format!(
        "{method} needs a complete body here, but Content-Range marks this one as a part: send the \
         whole body without Content-Range"
    );
    Err(Problem::bad_request(detail).with("header", "Content-Range"))
}

/// Middleware that refuses partial uploads.
pub async fn refused(request: Request, next: Next) -> Response {
    match refuse(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}
