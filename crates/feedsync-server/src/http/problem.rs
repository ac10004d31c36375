//! Problems of the hub: those of `feedsync-http`, with constructors of the hub and conversions of its errors.
//!
//! The type is one of this crate, so that errors of the store, the endpoint and the formats convert to it.

use axum::response::{IntoResponse, Response};
use feedsync_core::ItemId;
use feedsync_endpoint::{EndpointError, PeopleError};
use feedsync_formats::{Position, ReadError};
use feedsync_store::StoreError;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::Value;

/// A response that describes an error.
#[derive(Debug)]
pub(crate) struct Problem(feedsync_http::Problem);

impl Problem {
    /// Creates a problem of a kind, which becomes the last part of its `type`.
    pub(crate) fn new(
        status: StatusCode,
        kind: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self(feedsync_http::Problem::new(status, kind, title, detail))
    }

    /// Adds a member, such as the parameter at fault.
    #[must_use]
    pub(crate) fn with(self, name: &str, value: impl Into<Value>) -> Self {
        Self(self.0.with(name, value))
    }

    /// Adds a position in the received document.
    #[must_use]
    pub(crate) fn at(self, position: Position) -> Self {
        self.with("line", position.line).with("column", position.column)
    }

    /// Adds a header.
    #[must_use]
    pub(crate) fn header(self, name: HeaderName, value: HeaderValue) -> Self {
        Self(self.0.header(name, value))
    }

    /// No resource has this address.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self(feedsync_http::Problem::not_found(detail))
    }

    /// A parameter of the address is not valid.
    pub(crate) fn parameter(name: &str, detail: impl Into<String>) -> Self {
        Self(feedsync_http::Problem::parameter(name, detail))
    }

    /// The request is not well-formed.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self(feedsync_http::Problem::bad_request(detail))
    }

    /// The request is too large.
    pub(crate) fn too_large(detail: impl Into<String>) -> Self {
        Self(feedsync_http::Problem::too_large(detail))
    }

    /// The request cannot be served now (AH27).
    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self(feedsync_http::Problem::unavailable(detail))
    }

    /// Returns the status.
    pub(crate) fn status(&self) -> StatusCode {
        self.0.status()
    }

    /// The disk of the hub is too full for the request's data.
    pub(crate) fn disk_full() -> Self {
        Self::new(
            StatusCode::INSUFFICIENT_STORAGE,
            "disk-full",
            "The disk of the hub is full",
            "the disk of the hub is full: nothing was stored. Deletions still work and free space; \
             the operator of the hub can also free disk space",
        )
    }

    /// Refusal for missing or invalid credentials (401).
    pub(crate) fn sign_in() -> Self {
        let detail = "sign in with the name and password of a user, or with a token";
        Self::new(StatusCode::UNAUTHORIZED, "sign-in", "Sign-in required", detail)
            .header(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Basic realm=\"feedsync\", charset=\"UTF-8\""),
            )
            .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"feedsync\""))
    }

    /// Refusal for a signed-in client without the right (403).
    pub(crate) fn forbidden() -> Self {
        let detail = "your account or token does not permit this";
        Self::new(StatusCode::FORBIDDEN, "forbidden", "Forbidden", detail)
    }

    /// The request would exceed the limit of this name.
    pub(crate) fn quota(limit: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "quota", "Limit exceeded", detail)
            .with("limit", limit)
    }

    /// The state of the resource does not allow the request.
    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", "Not possible in the current state", detail)
    }

    /// No item of the collection has this id.
    pub(crate) fn no_item(id: &ItemId) -> Self {
        Self::not_found(format!("there is no item {id} here"))
    }

    /// An internal error.
    pub(crate) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "Internal error",
            "the hub failed to process the request; its log has the reason",
        )
    }
}

impl From<feedsync_http::Problem> for Problem {
    fn from(problem: feedsync_http::Problem) -> Self {
        Self(problem)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

impl From<EndpointError> for Problem {
    fn from(error: EndpointError) -> Self {
        match error {
            EndpointError::Store(error) => error.into(),
            EndpointError::NoItem { .. } => Self::not_found(error.to_string()),
            EndpointError::ItemExists { .. }
            | EndpointError::Edit(_)
            | EndpointError::DatabaseTaken(_) => Self::conflict(error.to_string()),
            EndpointError::Full { .. } => Self::quota("collection_items", error.to_string()),
            EndpointError::NoRoom { .. } => Self::quota("owned_bytes", error.to_string()),
            EndpointError::Reserved(_) => Self::forbidden(),
            EndpointError::HasUsers => Self::sign_in(),
            EndpointError::Setting(error) => {
                tracing::error!(%error, "a collection's settings cannot be read");
                Self::internal()
            }
            EndpointError::Overtaken(_) => Self::unavailable(error.to_string()),
            EndpointError::Clock => {
                tracing::error!(%error, "the system clock is unusable");
                Self::unavailable("the clock of the hub is wrong: its operator must set it")
            }
        }
    }
}

impl From<PeopleError> for Problem {
    fn from(error: PeopleError) -> Self {
        match error {
            PeopleError::Store(error) => error.into(),
            PeopleError::Reading(error) => error.into(),
            PeopleError::NotAdministrator(_) | PeopleError::Private(_) => {
                Self::conflict(error.to_string())
            }
            PeopleError::Hash(_) => {
                tracing::error!(%error, "cannot verify a password");
                Self::internal()
            }
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoCollection(_) | StoreError::NoUser(_) | StoreError::NoToken => {
                Self::not_found(error.to_string())
            }
            StoreError::CollectionExists(_)
            | StoreError::UserExists(_)
            | StoreError::LastAdministrator(_)
            | StoreError::Unsupported(_) => Self::conflict(error.to_string()),
            StoreError::NumbersExhausted(_) => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "spent",
                "No change numbers left",
                error.to_string(),
            ),
            StoreError::Full => {
                tracing::error!(%error, "cannot store a change");
                Self::disk_full()
            }
            StoreError::DigestMismatch(_) => {
                tracing::error!(%error, "cannot send stored bytes");
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "damaged",
                    "Damaged data",
                    format!("{error}; storing the same bytes again repairs it"),
                )
            }
            StoreError::Unknown(_) => {
                tracing::error!(%error, "the outcome of a change is unknown");
                Self::unavailable(
                    "it is not known whether the change was made; sending it again is safe",
                )
            }
            StoreError::Database(_) | StoreError::File { .. } => {
                tracing::error!(%error, "the store failed");
                Self::unavailable("the store cannot be used at the moment")
            }
            StoreError::Newer { .. } => {
                tracing::error!(%error, "this version of the hub is too old for its store");
                Self::unavailable("this version of the hub is too old for its store")
            }
            _ => {
                tracing::error!(%error, "the store rejected an operation of the hub");
                Self::internal()
            }
        }
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        let ill_formed = |detail: String| {
            Self::new(StatusCode::BAD_REQUEST, "ill-formed", "The document cannot be read", detail)
        };
        match error {
            ReadError::Document { position, message } => ill_formed(message).at(position),
            ReadError::TooLarge { .. } => Self::too_large(error.to_string()),
            ReadError::Encoding { offset, .. } => {
                ill_formed(error.to_string()).with("offset", offset)
            }
            ReadError::UnknownFormat { .. } => ill_formed(error.to_string()),
        }
    }
}
