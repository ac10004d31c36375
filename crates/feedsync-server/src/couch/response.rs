//! JSON responses about databases.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};

/// Creates a JSON response.
pub(super) fn json(status: StatusCode, text: impl Into<Body>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("must-revalidate")),
    ];
    (status, headers, text.into()).into_response()
}

/// `{"ok":true}`.
pub(super) fn done(status: StatusCode) -> Response {
    json(status, "{\"ok\":true}\n")
}
