//! The application: its routes, and the rules for all of them (AH37).

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler as _;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use feedsync_http::{browser_policy, partial_content};
use futures_util::FutureExt as _;
use http::{HeaderValue, Method, StatusCode, header};
use tokio::sync::watch;

use crate::access::{Gate, Right, guard};
use crate::config::Config;
use crate::http::negotiation::DOCUMENT_MEDIA_TYPES;
use crate::http::other_origin::CorsHeaders;
use crate::http::problem::Problem;
use crate::http::response::nothing;
use crate::http::{compression, couch_errors, host_origin, paths, request_log};
use crate::hub::{Hub, HubParts};
use crate::routes::{Route, table};
use crate::{couch, pages};

/// The application of a hub, callable without a socket.
pub fn router(served: impl Into<HubParts>, config: Config) -> Router {
    application(Hub::new(served.into(), config, watch::channel(false).1))
}

/// Builds the application. Few layers surround the resources, since every request pays for each of them.
pub(crate) fn application(hub: Hub) -> Router {
    let nowhere = || async { Problem::not_found("no resource has this address") };
    let application = table()
        .into_iter()
        .fold(Router::new(), |router, route| {
            let path = route.path.clone();
            router.route(&path, resource(route, &hub))
        })
        .fallback_service(for_people(any(nowhere), &hub).with_state(hub.clone()))
        .layer(compression::layer())
        .layer(from_fn_with_state(hub.clone(), surround))
        .with_state(hub.clone());
    couch::root::served(application, &hub)
}

/// Handles or refuses a request, and records it. Every response gets its browser policy here, whichever part
/// of the hub made it.
async fn surround(State(hub): State<Hub>, request: Request, next: Next) -> Response {
    let mut response = request_log::watch(&hub, request, async |mut request| {
        let mut response = match host_origin::check(&hub.config, &mut request) {
            Ok(()) => {
                let told = CorsHeaders::of(&hub.config, &request);
                let is_for_databases = paths::is_for_databases(request.uri().path());
                let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
                // A page of an admitted origin may read any outcome.
                let mut response = answer.unwrap_or_else(|panic| panicked(panic, is_for_databases));
                told.apply(&mut response);
                response
            }
            Err(problem) => request_log::refuse_before_routing(&hub, &request, problem),
        };
        compression::distinguish(&mut response);
        response
    })
    .await;
    browser_policy::apply(&mut response);
    response
}

/// Additional layers of pages.
fn for_people(methods: MethodRouter<Hub>, hub: &Hub) -> MethodRouter<Hub> {
    methods
        .layer(from_fn_with_state(hub.clone(), pages::failure::shown))
        .layer(from_fn_with_state(hub.clone(), pages::form_token::with_browser))
}

/// Adds guards to the methods of a resource, and a response to other methods.
fn resource(route: Route, hub: &Hub) -> MethodRouter<Hub> {
    let gate =
        Gate { access: hub.access.clone(), clients: hub.clients.clone(), rights: route.rights };
    let allow = route.allow();
    // A log accepts its own media type, and parts.
    let is_log = route.rights.iter().any(|(_, right)| *right == Right::Append);
    let posts = !is_log && route.rights.iter().any(|(method, _)| *method == Method::POST);
    let is_for_databases = paths::is_for_databases(&route.path);
    // Bodies for databases are not feeds.
    let takes_documents = posts && !route.is_for_people() && !is_for_databases;
    // Paths and methods are ASCII.
    let value = HeaderValue::from_str(&allow).unwrap_or(HeaderValue::from_static(""));
    let headers = value.clone();
    let options = move || async move {
        let mut response = (StatusCode::NO_CONTENT, nothing()).into_response();
        response.headers_mut().insert(header::ALLOW, headers);
        if takes_documents {
            response.headers_mut().insert("accept-post", DOCUMENT_MEDIA_TYPES);
        }
        response
    };
    let other = move || async move {
        let detail = format!("this address supports {allow}");
        let problem = Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "Method not allowed",
            detail,
        );
        problem.header(header::ALLOW, value)
    };
    // A route cannot name the method `COPY`.
    let other = move |State(hub): State<Hub>, request: Request| async move {
        match is_for_databases && *request.method() == *couch::COPY {
            true => couch::answer.call(request, hub).await,
            false => other().await.into_response(),
        }
    };
    let pages = route.is_for_people();
    let methods = route.methods.options(options).fallback(other);
    let methods = methods.layer(from_fn_with_state(Arc::new(gate), guard));
    let methods = match is_log {
        true => methods,
        false => methods.layer(from_fn(partial_content::refused)),
    };
    let methods = match is_for_databases {
        true => methods.layer(from_fn(couch_errors::layer)),
        false => methods,
    };
    if pages { for_people(methods, hub) } else { methods }
}

/// Response to a panic: the client gets no details, the log gets all of them.
fn panicked(panic: Box<dyn Any + Send + 'static>, is_for_databases: bool) -> Response {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(panic = text.unwrap_or("no message"), "a request panicked");
    let response = Problem::internal().into_response();
    if is_for_databases { couch_errors::in_couch_form(response) } else { response }
}
