//! Routes of the control port.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::Response;
use axum::routing::{get, post, put};
use feedsync_http::Problem;
use http::StatusCode;

use super::{
    Control, admission, binding, errors, events, follows, links, network, newsreaders, outbox,
    pages, proxies, refresh, subscriptions,
};

/// Builds the router of a control port, which can be called without a socket.
pub fn router(control: Control) -> Router {
    Router::new()
        .route("/subscriptions", get(subscriptions::list).post(subscriptions::create))
        .route(
            "/subscriptions/{id}",
            get(subscriptions::read).patch(subscriptions::change).delete(subscriptions::end),
        )
        .route("/subscriptions/{id}/pause", post(subscriptions::pause))
        .route("/subscriptions/{id}/resume", post(subscriptions::resume))
        .route("/subscriptions/{id}/follows/{relation}", put(follows::add).delete(follows::remove))
        .route("/subscriptions/{id}/errors", get(errors::of_subscription))
        .route("/errors", get(errors::list))
        .route("/errors/{id}", get(errors::read).delete(errors::clear))
        .route("/errors/{id}/retry", post(errors::retry))
        .route("/errors/{id}/{side}", get(errors::side))
        .route("/outbox", get(outbox::list))
        .route("/outbox/retry", post(outbox::retry_all))
        .route("/outbox/{id}", axum::routing::delete(outbox::discard))
        .route("/outbox/{id}/retry", post(outbox::retry))
        .route("/newsreaders", get(newsreaders::list))
        .route("/network", get(network::read).put(network::change))
        .route("/refresh", post(refresh::all))
        .route("/events", get(events::follow))
        .route("/proxies", get(proxies::read))
        .route("/links", post(links::create))
        .route("/bitsy.js", get(binding::script))
        .route("/bitsy.webidl", get(binding::web_idl))
        .route("/bitsy.d.ts", get(binding::types))
        .merge(pages::routes())
        .fallback(nothing_here)
        .method_not_allowed_fallback(other_method)
        .layer(from_fn_with_state(control.clone(), admission::admit))
        // Outermost layer, so that every response, including errors, gets the policy.
        .layer(map_response(with_policy))
        .with_state(control)
}

async fn with_policy(mut response: Response) -> Response {
    feedsync_http::browser_policy::apply(&mut response);
    response
}

async fn nothing_here(request: Request) -> Problem {
    Problem::not_found(format!("no resource has the path {}", request.uri().path()))
}

async fn other_method(request: Request) -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method",
        "Method not allowed",
        format!("{} is not supported at {}", request.method(), request.uri().path()),
    )
}
