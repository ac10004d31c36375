//! `/pages/reading/icons/{number}`: the icon of a feed's site.
//!
//! The media type is the one that the data has. Only formats that cannot contain scripts are passed on.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use feedsync_aggregator::raster_type;
use http::header;

use super::feed::found;
use super::{ONCE_A_DAY, reading};
use crate::access::call::Call;
use crate::http::caching::Caching;
use crate::http::problem::Problem;
use crate::http::text_response::headers;
use crate::http::validators::EntityTag;
use crate::hub::Hub;

/// The icon of a feed whose site has none: a grey square with round corners.
const NO_ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\">\
                       <rect x=\"2\" y=\"2\" width=\"12\" height=\"12\" rx=\"3\" fill=\"#9aa4b0\"/></svg>";

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let reading = reading(&hub, &call).await?;
    let feed = found(&reading, &call)?.number();
    let passed_on = reading.icon(feed).await?.and_then(|icon| {
        // The bytes decide, not the stored type.
        Some((raster_type(&icon.bytes)?, icon.bytes))
    });
    let (media_type, bytes) =
        passed_on.unwrap_or_else(|| ("image/svg+xml", NO_ICON.as_bytes().to_vec()));
    let tag = EntityTag::of_bytes(&bytes);
    let mut answer = match headers(&tag, &call, media_type, Caching::OnePerson)? {
        Ok(headers) => (headers, Body::from(permit.end(true)?.hold(bytes))).into_response(),
        Err(answer) => answer,
    };
    // A list names many icons. A browser asks for each of them once a day.
    answer.headers_mut().insert(header::CACHE_CONTROL, ONCE_A_DAY);
    Ok(answer)
}
