//! Helpers for responses.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use feedsync_bitsy::interceptor::ControlError;
use feedsync_http::Problem;
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;

use super::interceptor_handle::{ChangeError, StoreFailed};

/// Response with a JSON value, which is not cached.
pub(crate) fn json(value: &Value) -> Response {
    with_status(StatusCode::OK, value)
}

/// Response with a JSON value and a status other than 200.
pub(crate) fn with_status(status: StatusCode, value: &Value) -> Response {
    let fixed = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (status, fixed, value.to_string()).into_response()
}

/// Response 204 without content.
pub(crate) fn nothing() -> Response {
    let headers = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (StatusCode::NO_CONTENT, headers, Body::empty()).into_response()
}

/// Response 404, for objects that do not exist and equally for those that the caller may not see.
pub(crate) fn absent(what: &str) -> Problem {
    Problem::not_found(format!("there is no such {what}"))
}

/// Problem response for a change that was not made.
pub(crate) fn refused(error: ChangeError) -> Problem {
    match error {
        ChangeError::Refused(ControlError::NoSubscription) => absent("subscription"),
        ChangeError::Refused(ControlError::NoError) => absent("error"),
        ChangeError::Refused(
            error @ (ControlError::Closed(_)
            | ControlError::NoEdit
            | ControlError::Waits
            | ControlError::Damaged),
        ) => Problem::new(
            StatusCode::CONFLICT,
            "conflict",
            "Not possible in the current state",
            error.to_string(),
        ),
        ChangeError::Store(error) => failed(&error),
    }
}

/// Problem response for a failure of the store.
pub(crate) fn failed(error: &StoreFailed) -> Problem {
    tracing::error!(%error, "a request to the control port failed");
    Problem::unavailable(
        "the store of the gateway cannot be used at the moment; the log of the gateway has the \
         reason",
    )
}

/// Problem response for operations that only the operator of the gateway may perform.
pub(crate) fn operators_only() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "for-keepers",
        "Forbidden",
        "only a program with the token of the gateway may do this",
    )
}
