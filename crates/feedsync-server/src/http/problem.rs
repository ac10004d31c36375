//! Errors as `application/problem+json` (RFC 9457): they name the part at fault and reveal no
//! internals (AH33, AH34).

use axum::response::{IntoResponse, Response};
use feedsync_core::ItemId;
use feedsync_endpoint::{EndpointError, PeopleError};
use feedsync_formats::{Position, ReadError};
use feedsync_store::StoreError;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Map, Value};

use crate::http::request_id;

/// Description of a problem, attached to the response for code that renders it differently.
#[derive(Debug, Clone)]
pub(crate) struct ProblemDescription {
    pub(crate) title: &'static str,
    pub(crate) detail: String,
}

/// A response that describes an error.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    kind: &'static str,
    title: &'static str,
    members: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// Creates a problem of a kind, which becomes the last part of its `type`.
    pub fn new(
        status: StatusCode,
        kind: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        let mut members = Map::new();
        members.insert("detail".to_owned(), Value::String(detail.into()));
        Self { status, kind, title, members, headers: Vec::new() }
    }

    /// Adds a member, such as the parameter at fault.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a position in the received document.
    #[must_use]
    pub fn at(self, position: Position) -> Self {
        self.with("line", position.line).with("column", position.column)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// No resource has this address.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "Not found", detail)
    }

    /// A parameter of the address is not valid.
    pub fn parameter(name: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-parameter", "Invalid parameter", detail)
            .with("parameter", name)
    }

    /// The request is not well-formed.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", "Bad request", detail)
    }

    /// Its status.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// The request is too large.
    pub fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "Too large", detail)
    }

    /// The request cannot be served now (AH27).
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Temporarily unavailable", detail)
            .header(header::RETRY_AFTER, HeaderValue::from_static("5"))
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
    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "Internal error",
            "the hub failed to process the request; its log has the reason",
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(mut self) -> Response {
        let detail = self.members.get("detail").and_then(Value::as_str).unwrap_or_default();
        let described = ProblemDescription { title: self.title, detail: detail.to_owned() };
        let kind = format!("urn:feedsync:1:problem:{}", self.kind);
        self.members.insert("type".to_owned(), Value::String(kind));
        self.members.insert("title".to_owned(), Value::from(self.title));
        self.members.insert("status".to_owned(), Value::from(self.status.as_u16()));
        if let Some(id) = request_id::current() {
            let instance = format!("urn:feedsync:1:request:{id}");
            self.members.insert("instance".to_owned(), Value::String(instance));
        }
        let body = Value::Object(self.members).to_string();
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        for (name, value) in self.headers {
            headers.append(name, value);
        }
        response.extensions_mut().insert(described);
        response
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
