//! What is answered: a status, and a body of its type.

use serde::Serialize;

/// An answer as it goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// What the body is; of no body nothing.
    pub media_type: Option<&'static str>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// A value as JSON.
    pub(crate) fn json(value: &impl Serialize) -> Self {
        Self::json_as(200, value)
    }

    /// The same, with another status.
    pub(crate) fn json_as(status: u16, value: &impl Serialize) -> Self {
        // What is written here has texts for keys, which is all that could fail.
        let body = serde_json::to_vec(value).unwrap_or_default();
        Self { status, media_type: Some("application/json; charset=utf-8"), body }
    }

    /// A text for programs and people.
    pub(crate) fn text(status: u16, text: impl Into<String>) -> Self {
        let body = text.into().into_bytes();
        Self { status, media_type: Some("text/plain; charset=utf-8"), body }
    }

    /// A document.
    pub(crate) fn document(media_type: &'static str, document: String) -> Self {
        Self { status: 200, media_type: Some(media_type), body: document.into_bytes() }
    }
}
