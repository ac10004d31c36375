//! The head of a request, which decides how it is answered.

use http::header::{self, HeaderMap};
use http::{Method, Request};

use super::body::Body;

/// A request without its body.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
}

impl Head {
    pub(super) fn of(request: &Request<Body>) -> Self {
        Self { method: request.method().clone(), headers: request.headers().clone() }
    }

    /// Part of a request that determines the coding of its response.
    pub(super) fn accepting<B>(request: &Request<B>) -> Self {
        let mut headers = HeaderMap::new();
        for value in request.headers().get_all(header::ACCEPT_ENCODING) {
            headers.append(header::ACCEPT_ENCODING, value.clone());
        }
        Self { method: request.method().clone(), headers }
    }
}
