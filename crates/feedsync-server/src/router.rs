//! All routes, and what holds for each: HEAD as GET, OPTIONS and 405 with `Allow` (H20, H21, H37).

use std::any::Any;

use axum::Router;
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use feedsync::Format;
use feedsync_endpoint::Endpoint;
use http::{HeaderValue, StatusCode, header};
use tokio::sync::watch;
use tower_http::catch_panic::CatchPanicLayer;

use crate::config::Config;
use crate::document::nothing;
use crate::hub::Hub;
use crate::negotiation::{DOCUMENTS, suffix};
use crate::problem::Problem;
use crate::{blobs, changes, complete, compression, events, health, host_origin, index};
use crate::{listing, offer};

/// The application of a hub, callable without a socket.
pub fn router(endpoint: Endpoint, config: Config) -> Router {
    application(Hub::new(endpoint, config, watch::channel(false).1))
}

pub(crate) fn application(hub: Hub) -> Router {
    let reading = "GET, HEAD, OPTIONS";
    let mut router = Router::new()
        .route("/", resource(get(index::page), reading))
        .route("/collections", resource(get(index::list), reading))
        .route("/collections/{collection}", resource(get(listing::read), reading))
        .route("/collections/{collection}/events", resource(get(events::follow), reading))
        .route(
            "/blobs/{sha256}",
            resource(get(blobs::read).put(blobs::write), "GET, HEAD, OPTIONS, PUT"),
        )
        .route("/healthz", resource(get(health::read), reading));
    for suffix in Format::ALL.map(suffix).into_iter().chain([""]) {
        router = router
            .route(
                &format!("/collections/{{collection}}/changes{suffix}"),
                resource(get(changes::read).post(offer::incorporate), "GET, HEAD, OPTIONS, POST"),
            )
            .route(
                &format!("/collections/{{collection}}/complete{suffix}"),
                resource(get(complete::read), reading),
            );
    }
    router
        .fallback(|| async { Problem::not_found("there is nothing at this address") })
        .layer(compression::layer())
        .layer(map_response(compression::distinct_tag))
        .layer(from_fn_with_state(hub.clone(), host_origin::check))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(map_response(guarded))
        .with_state(hub)
}

/// Adds to a resource what its methods mean to who asks for them, and to who asks for others.
fn resource(methods: MethodRouter<Hub>, allow: &'static str) -> MethodRouter<Hub> {
    let allowed = move || {
        let mut headers = vec![(header::ALLOW, HeaderValue::from_static(allow))];
        if allow.contains("POST") {
            headers.push((header::HeaderName::from_static("accept-post"), DOCUMENTS));
        }
        headers
    };
    let options = move || async move {
        let mut response = (StatusCode::NO_CONTENT, nothing()).into_response();
        response.headers_mut().extend(allowed());
        response
    };
    let other = move || async move {
        let detail = format!("this address takes {allow}");
        let problem = Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "Not a method of this address",
            detail,
        );
        problem.header(header::ALLOW, HeaderValue::from_static(allow))
    };
    methods.options(options).fallback(other)
}

/// Nothing is taken for another type than it says.
async fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A panic is a fault of ours: the client learns no more than that, the log all of it.
fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(panic = text.unwrap_or("no message"), "a request panicked");
    Problem::internal().into_response()
}
