//! Forms with a file.

use axum::body::Body;
use http::{HeaderValue, StatusCode, header};

use crate::access::call::Call;
use crate::http::body;
use crate::http::media_types::media_type;
use crate::http::multipart::{MULTIPART_FORM, MultipartForm, boundary};
use crate::http::problem::Problem;
use crate::hub::Hub;

/// Reads a form that one of the hub's pages submitted.
pub(super) async fn read(hub: &Hub, call: &Call, body: Body) -> Result<MultipartForm, Problem> {
    let kind = media_type(&call.headers).unwrap_or_default();
    let Some(boundary) = boundary(kind) else {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "Unsupported media type",
            "this address accepts only the form of its own page, with a file",
        )
        .header(header::ACCEPT, HeaderValue::from_static(MULTIPART_FORM)));
    };
    let _permit = body::acquire_permit(hub, &hub.uploads).await?;
    let bytes = body::read(hub, &call.headers, body, hub.config.limits.body_bytes).await?;
    call.recheck_if_slow(hub).await?;
    MultipartForm::parse(&bytes, boundary).ok_or_else(|| {
        Problem::bad_request("the body is not a valid multipart/form-data form with a file")
    })
}
