//! Requests whose final recipient is the gateway: `OPTIONS` and `TRACE` at their last hop (RFC 9110 7.6.2),
//! `OPTIONS *`, and redirects within the gateway.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode};

use crate::proxy::body::Body;
use crate::proxy::problem::sandbox;

/// Returns the response if the request must not be forwarded; otherwise decrements its `Max-Forwards`.
pub(crate) fn answer<B>(request: &mut Request<B>) -> Option<Response<Body>> {
    if request.method() == Method::OPTIONS && request.uri().path() == "*" {
        return Some(options());
    }
    if !matches!(*request.method(), Method::OPTIONS | Method::TRACE) {
        return None;
    }
    let value = request.headers().get(header::MAX_FORWARDS)?;
    let left: u64 = value.to_str().ok()?.parse().ok()?;
    match left.checked_sub(1) {
        Some(left) => {
            request.headers_mut().insert(header::MAX_FORWARDS, HeaderValue::from(left));
            None
        }
        None if request.method() == Method::OPTIONS => Some(options()),
        None => Some(trace(request)),
    }
}

/// Redirects to another path with the same method and body (RFC 9110 15.4.9).
pub(crate) fn moved(path: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    // A path from a request is always a valid header value.
    let location = HeaderValue::from_str(path).ok();
    response.headers_mut().extend(location.map(|location| (header::LOCATION, location)));
    // Another gateway may have another configuration.
    let not_stored = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, not_stored);
    sandbox(response.headers_mut());
    response
}

fn options() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let methods = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE");
    response.headers_mut().insert(header::ALLOW, methods);
    sandbox(response.headers_mut());
    response
}

/// Returns the received head without secret fields (RFC 9110 9.3.8).
fn trace<B>(request: &Request<B>) -> Response<Body> {
    let mut text = format!("{} {} {:?}\r\n", request.method(), request.uri(), request.version());
    for (name, value) in public(request.headers()) {
        text.push_str(name.as_str());
        text.push_str(": ");
        text.push_str(&String::from_utf8_lossy(value.as_bytes()));
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    let mut response = Response::new(Body::from(Bytes::from(text)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("message/http"));
    sandbox(headers);
    response
}

fn public(headers: &HeaderMap) -> impl Iterator<Item = (&http::HeaderName, &HeaderValue)> {
    let secret = [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION];
    headers.iter().filter(move |(name, _)| !secret.contains(name))
}
