//! `GET /healthz`: whether the hub can serve requests, for monitoring and load balancers. 503 while the hub
//! stops, while its disk is full, or when its store does not answer a small query in time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use feedsync_store::StoreError;
use http::{HeaderValue, header};
use tokio::time::timeout;

use crate::http::problem::Problem;
use crate::hub::Hub;

/// Timeout of the query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) async fn read(State(hub): State<Hub>) -> Result<Response, Problem> {
    if hub.draining.load(Ordering::Relaxed) {
        return Err(Problem::unavailable("the hub is shutting down"));
    }
    match timeout(QUERY_TIMEOUT, hub.endpoint.identity()).await {
        Ok(identity) => identity?,
        Err(_) => return Err(Problem::unavailable("the store does not respond")),
    };
    match timeout(QUERY_TIMEOUT, hub.endpoint.check_space()).await {
        Ok(Err(StoreError::Full)) => {
            return Err(Problem::unavailable("the disk of the hub is full"));
        }
        Ok(room) => room?,
        Err(_) => return Err(Problem::unavailable("the store does not respond")),
    }
    Ok((
        [
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        ],
        "{\"status\":\"ok\"}\n",
    )
        .into_response())
}
