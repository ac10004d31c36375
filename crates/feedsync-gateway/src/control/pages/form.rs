//! Parses forms: their fields, and the proof that the gateway sent the form to this browser.

use std::collections::BTreeMap;

use axum::body::{Body, to_bytes};
use feedsync_http::Problem;
use http::{HeaderMap, StatusCode, header};

use super::super::sessions::Session;

/// Maximum size of a form, in bytes.
const MAX_FORM_BYTES: usize = 64 << 10;

/// Fields of a form.
#[derive(Debug)]
pub(super) struct Form(BTreeMap<String, String>);

impl Form {
    /// Reads the form of a person; refuses one without the proof of this session.
    pub(super) async fn read(
        session: &Session,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Self, Problem> {
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let essence = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "media-type",
                "Unsupported media type",
                "the body must be a form",
            ));
        }
        let bytes = to_bytes(body, MAX_FORM_BYTES).await;
        let bytes = bytes.map_err(|_| {
            Problem::too_large(format!("the form has more than {MAX_FORM_BYTES} bytes"))
        })?;
        let form = Self(url::form_urlencoded::parse(&bytes).into_owned().collect());
        if session.proof().is(form.text("form")) {
            return Ok(form);
        }
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            "foreign-form",
            "Outdated form",
            "the form was loaded in another browser or session: nothing was changed; check the \
             form and send it again",
        ))
    }

    /// Trimmed value of a field; empty if the field is missing.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str).trim()
    }
}
