//! What answers have in common.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use feedsync_offline::interceptor::ControlError;
use feedsync_server::Problem;
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;

use super::decisions::{ChangeError, StoreFailed};

/// A value, as it is now.
pub(crate) fn json(value: &Value) -> Response {
    with_status(StatusCode::OK, value)
}

/// A value, with another status than 200.
pub(crate) fn with_status(status: StatusCode, value: &Value) -> Response {
    let fixed = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (status, fixed, value.to_string()).into_response()
}

/// Done, and nothing to tell.
pub(crate) fn nothing() -> Response {
    let headers = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (StatusCode::NO_CONTENT, headers, Body::empty()).into_response()
}

/// What is not there, or not for who asks: it makes no difference.
pub(crate) fn absent(what: &str) -> Problem {
    Problem::not_found(format!("there is no such {what}"))
}

/// Why a change was not made.
pub(crate) fn refused(error: ChangeError) -> Problem {
    match error {
        ChangeError::Refused(ControlError::NoSubscription) => absent("subscription"),
        ChangeError::Refused(ControlError::NoError) => absent("error"),
        ChangeError::Refused(
            error @ (ControlError::Closed(_) | ControlError::NoEdit | ControlError::Waits),
        ) => Problem::new(StatusCode::CONFLICT, "conflict", "Not possible", error.to_string()),
        ChangeError::Store(error) => failed(&error),
    }
}

/// The store is at fault.
pub(crate) fn failed(error: &StoreFailed) -> Problem {
    tracing::error!(%error, "the control port could not do what it was asked");
    Problem::unavailable("the store of the gateway cannot be used at the moment; its log says why")
}

/// Something that only who keeps the gateway may do.
pub(crate) fn for_keepers() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "for-keepers",
        "Not for applications",
        "this is for who keeps the gateway: a program with its token",
    )
}
