//! Parses JSON request bodies, and the numbers in paths.

use axum::body::{Body, to_bytes};
use feedsync_http::Problem;
use http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;

/// Maximum size of a request body, in bytes.
const MAX_BODY_BYTES: usize = 256 << 10;

/// Parses a JSON body; errors contain the position of the fault.
pub(crate) async fn read<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Body,
) -> Result<T, Problem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let essence = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "media-type",
            "Not JSON",
            "the body must be application/json",
        ));
    }
    let too_large = || Problem::too_large(format!("the body has more than {MAX_BODY_BYTES} bytes"));
    let bytes = to_bytes(body, MAX_BODY_BYTES).await.map_err(|_| too_large())?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Problem::bad_request(error.to_string())
            .with("line", error.line())
            .with("column", error.column())
    })
}

/// Parses a number in a path; returns `None` if it is not in canonical form.
pub(crate) fn number(text: &str) -> Option<u64> {
    let is_plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}
