//! Responses: a status, and a body with its media type.

use serde::Serialize;

/// A response to a newsreader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawResponse {
    /// HTTP status.
    pub status: u16,
    /// Media type of the body; `None` without a body.
    pub media_type: Option<&'static str>,
    /// Response body.
    pub body: Vec<u8>,
}

impl RawResponse {
    /// Response with a JSON value.
    pub(crate) fn json(value: &impl Serialize) -> Self {
        Self::json_as(200, value)
    }

    /// Response with a JSON value and another status.
    pub(crate) fn json_as(status: u16, value: &impl Serialize) -> Self {
        // Serialisation only fails for keys that are not text, which do not occur here.
        let body = serde_json::to_vec(value).unwrap_or_default();
        Self { status, media_type: Some("application/json; charset=utf-8"), body }
    }

    /// Response with plain text.
    pub(crate) fn text(status: u16, text: impl Into<String>) -> Self {
        let body = text.into().into_bytes();
        Self { status, media_type: Some("text/plain; charset=utf-8"), body }
    }

    /// Response with a document.
    pub(crate) fn document(media_type: &'static str, document: String) -> Self {
        Self { status: 200, media_type: Some(media_type), body: document.into_bytes() }
    }
}
