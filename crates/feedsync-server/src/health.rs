//! `GET /healthz`: whether the hub can answer, for whoever watches it.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};

use crate::hub::Hub;
use crate::problem::Problem;

pub(crate) async fn read(State(hub): State<Hub>) -> Result<Response, Problem> {
    hub.endpoint.identity().await?;
    Ok((
        [
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        ],
        "{\"status\":\"ok\"}\n",
    )
        .into_response())
}
