//! The application, made of its routes, and what holds for each of them (AH37).

use std::any::Any;

use axum::Router;
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use feedsync_endpoint::Endpoint;
use http::{HeaderValue, Method, StatusCode, header};
use tokio::sync::watch;
use tower_http::catch_panic::CatchPanicLayer;

use crate::access::{Gate, guard};
use crate::config::Config;
use crate::document::nothing;
use crate::hub::Hub;
use crate::negotiation::DOCUMENTS;
use crate::pages;
use crate::problem::Problem;
use crate::routes::{Route, table};
use crate::{compression, host_origin, request_log};

/// The application of a hub, callable without a socket.
pub fn router(endpoint: Endpoint, config: Config) -> Router {
    application(Hub::new(endpoint, config, watch::channel(false).1))
}

pub(crate) fn application(hub: Hub) -> Router {
    table()
        .into_iter()
        .fold(Router::new(), |router, route| {
            let path = route.path.clone();
            router.route(&path, resource(route, &hub))
        })
        .fallback(|| async { Problem::not_found("there is nothing at this address") })
        .layer(from_fn_with_state(hub.clone(), pages::failure::shown))
        .layer(from_fn_with_state(hub.clone(), pages::proof::carried))
        .layer(compression::layer())
        .layer(map_response(compression::distinct_tag))
        .layer(from_fn_with_state(hub.clone(), host_origin::check))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(map_response(guarded))
        .layer(from_fn_with_state(hub.clone(), request_log::watch))
        .with_state(hub)
}

/// Adds to a resource what its methods mean to who asks for them, and to who asks for others.
fn resource(route: Route, hub: &Hub) -> MethodRouter<Hub> {
    let gate = Gate { hub: hub.clone(), rights: route.rights };
    let allow = route.allow();
    let posts = route.rights.iter().any(|(method, _)| method == Method::POST);
    let takes_documents = posts && !route.path.starts_with("/pages/");
    // Paths and methods are ASCII.
    let value = HeaderValue::from_str(&allow).unwrap_or(HeaderValue::from_static(""));
    let headers = value.clone();
    let options = move || async move {
        let mut response = (StatusCode::NO_CONTENT, nothing()).into_response();
        response.headers_mut().insert(header::ALLOW, headers);
        if takes_documents {
            response.headers_mut().insert("accept-post", DOCUMENTS);
        }
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
        problem.header(header::ALLOW, value)
    };
    route.methods.options(options).fallback(other).layer(from_fn_with_state(gate, guard))
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
