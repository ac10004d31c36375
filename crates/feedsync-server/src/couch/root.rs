//! Databases at the root of an address of their own, for drivers of CouchDB that cannot use a path.
//!
//! Such a request is rewritten to one below `/couch/`, so that the same rights, limits, CORS and response
//! policy apply. Nothing else of the hub is served at such an address.

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use feedsync_http::named_host;
use http::Uri;
use http::uri::PathAndQuery;

use crate::http::host_origin::is_called;
use crate::http::paths::{DATABASES, DatabasesOnly};
use crate::http::peer::Peer;
use crate::hub::Hub;

/// The application, extended by the database addresses if there are any.
pub(crate) fn served(application: Router, hub: &Hub) -> Router {
    if hub.config.couch_hosts.is_empty() && hub.config.couch_listen.is_empty() {
        return application;
    }
    // Routes are matched inside this layer.
    Router::new().fallback_service(application).layer(from_fn_with_state(hub.clone(), moved))
}

async fn moved(State(hub): State<Hub>, mut request: Request, next: Next) -> Response {
    if is_for_databases(&hub, &request)
        && let Some(uri) = below(request.uri())
    {
        *request.uri_mut() = uri;
        request.extensions_mut().insert(DatabasesOnly);
    }
    next.run(request).await
}

/// Whether a request comes to a listener, or names a host, that serves databases only.
fn is_for_databases(hub: &Hub, request: &Request) -> bool {
    let hosts = &hub.config.couch_hosts;
    request.extensions().get::<Peer>().is_some_and(|peer| peer.is_for_databases)
        || named_host(request).is_ok_and(|host| hosts.iter().any(|known| is_called(&host, known)))
}

/// The same address with the prefix `/couch`.
fn below(uri: &Uri) -> Option<Uri> {
    let target = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let target = if target == "*" { "/" } else { target };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(format!("{DATABASES}{target}").parse().ok()?);
    Uri::from_parts(parts).ok()
}
