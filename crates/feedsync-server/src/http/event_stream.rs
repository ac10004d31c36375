//! Clients of Server-Sent Events (WHATWG): their slot, and the stream as a response.

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use futures_util::{Stream, StreamExt as _};
use http::{HeaderValue, header};
use tokio::sync::OwnedSemaphorePermit;

use crate::http::clients::UsageGuard;
use crate::http::problem::Problem;
use crate::http::{current_request, permits};
use crate::hub::Hub;

/// Slot for an event stream, of the hub and of one client, until it is dropped.
pub(crate) struct FollowerSlot {
    _permit: OwnedSemaphorePermit,
    _usage: Option<UsageGuard>,
}

impl FollowerSlot {
    /// Takes a slot, or returns 503 or 429.
    pub(crate) fn take(hub: &Hub) -> Result<Self, Problem> {
        let permit = permits::try_acquire(
            &hub.followers,
            "this hub has as many open event streams as its limit allows; try again later",
        )?;
        let one = current_request::stream_key().map(|key| hub.clients.follow(key)).transpose()?;
        Ok(Self { _permit: permit, _usage: one })
    }
}

/// Builds a response that continues until its events end.
pub(crate) fn answer(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    let events = events.map(Ok::<_, std::convert::Infallible>);
    (headers, Body::from_stream(events)).into_response()
}
