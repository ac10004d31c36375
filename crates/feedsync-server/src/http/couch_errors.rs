//! Errors of the hub in CouchDB's form (section 11), for responses about databases.

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use feedsync_couch::{RefusalKind, quoted};
use feedsync_http::ProblemDescription;
use http::{HeaderValue, StatusCode, Uri, header};

use crate::http::paths::is_for_databases;

/// Converts responses of the hub to requests that did not reach a database resource, such as 401.
pub(crate) async fn layer(request: Request, next: Next) -> Response {
    in_couch_form(next.run(request).await)
}

/// Converts a response to a request that was refused before routing, if it is about a database.
pub(crate) fn of_refused(uri: &Uri, response: Response) -> Response {
    if is_for_databases(uri.path()) { in_couch_form(response) } else { response }
}

/// Replaces the body of an error response by CouchDB's form. Status and headers are unchanged.
pub(crate) fn in_couch_form(response: Response) -> Response {
    let Some(ProblemDescription { detail, .. }) = response.extensions().get().cloned() else {
        return response;
    };
    let status = response.status();
    let error = match status {
        StatusCode::UNAUTHORIZED => RefusalKind::Unauthorized.error(),
        StatusCode::FORBIDDEN => RefusalKind::Forbidden.error(),
        StatusCode::NOT_FOUND => RefusalKind::NotFound.error(),
        StatusCode::METHOD_NOT_ALLOWED => RefusalKind::MethodNotAllowed.error(),
        StatusCode::RANGE_NOT_SATISFIABLE => RefusalKind::RangeNotSatisfiable.error(),
        StatusCode::PAYLOAD_TOO_LARGE => RefusalKind::TooLarge.error(),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => RefusalKind::BadContentType.error(),
        StatusCode::SERVICE_UNAVAILABLE => RefusalKind::Unavailable.error(),
        StatusCode::INSUFFICIENT_STORAGE => "insufficient_storage",
        StatusCode::TOO_MANY_REQUESTS => "too_many_requests",
        status if status.is_client_error() => RefusalKind::BadRequest.error(),
        _ => RefusalKind::Internal.error(),
    };
    let (mut parts, _) = response.into_parts();
    parts.extensions.remove::<ProblemDescription>();
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(text(error, &detail)))
}

/// `{"error": ..., "reason": ...}`.
pub(crate) fn text(error: &str, reason: &str) -> String {
    format!("{{\"error\":{},\"reason\":{}}}\n", quoted(error), quoted(reason))
}
