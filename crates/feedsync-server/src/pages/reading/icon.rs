//! `/pages/reading/icons/{number}`: the icon of a feed's site.
//!
//! The media type is the one that the data has. Only formats that cannot contain scripts are passed on.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::feed::found;
use super::reading;
use crate::access::call::Call;
use crate::http::problem::Problem;
use crate::http::response::nothing;
use crate::http::validators::{Condition, EntityTag, failed};
use crate::hub::Hub;

/// The icon of a feed whose site has none: a grey square with round corners.
const NO_ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\">\
                       <rect x=\"2\" y=\"2\" width=\"12\" height=\"12\" rx=\"3\" fill=\"#9aa4b0\"/></svg>";

/// Media types that are passed on.
const MEDIA_TYPES: [&str; 5] =
    ["image/png", "image/gif", "image/jpeg", "image/x-icon", "image/webp"];

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let reading = reading(&hub, &call).await?;
    let feed = found(&reading, &call)?.number();
    let passed_on = reading.icon(feed).await?.and_then(|icon| {
        let media_type = MEDIA_TYPES.into_iter().find(|known| *known == icon.media_type)?;
        Some((media_type, icon.bytes))
    });
    let (media_type, bytes) =
        passed_on.unwrap_or_else(|| ("image/svg+xml", NO_ICON.as_bytes().to_vec()));
    let mut headers = HeaderMap::new();
    // A list names many icons. A browser asks for each of them once a day.
    let daily = HeaderValue::from_static("private, max-age=86400");
    headers.insert(header::CACHE_CONTROL, daily);
    headers.insert(header::VARY, HeaderValue::from_static("Authorization, Cookie"));
    let tag = EntityTag::of_bytes(&bytes);
    headers.insert(header::ETAG, tag.value());
    match tag.evaluate(&call.headers) {
        Condition::Proceed => {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
            let place = permit.end(true)?;
            Ok((headers, Body::from(place.hold(bytes))).into_response())
        }
        Condition::NotModified(held) => {
            headers.insert(header::ETAG, held);
            Ok((StatusCode::NOT_MODIFIED, headers, nothing()).into_response())
        }
        Condition::Failed => Err(failed(&tag)),
    }
}
