//! Errors as `application/problem+json` (RFC 9457): they name the part at fault and reveal no
//! internals (AH33, AH34).

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Map, Value};

use crate::request_id;

/// Description of a problem, attached to the response for code that renders it differently.
#[derive(Debug, Clone)]
pub struct ProblemDescription {
    /// Kind of the problem, in words.
    pub title: &'static str,
    /// Description of this occurrence.
    pub detail: String,
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

    /// Returns the status.
    pub fn status(&self) -> StatusCode {
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
