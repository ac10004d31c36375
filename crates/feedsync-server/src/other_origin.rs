//! Pages of other origins that may use the logs (R39): those that `origins` names, and nothing but `/logs/`.
//!
//! A page of an application asks with a token of its own. What the browser keeps for this hub, and that
//! who asks is on this machine, count for nothing where such a page asks.

use axum::extract::Request;
use axum::response::Response;
use http::{HeaderValue, Method, header};

use crate::config::Config;

/// What such a page may read of an answer besides what every page may.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "ETag, Accept-Ranges, Content-Range, Link, Location, Log-Covers, Log-Generation, Log-Offset, \
     Retry-After",
);

/// What it may say in a request.
const TAKEN: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Range, Content-Type, Idempotency-Key, If-Match, If-None-Match, If-Range, \
     Last-Event-ID, Log-Covers, Range",
);

const METHODS: HeaderValue = HeaderValue::from_static("DELETE, GET, HEAD, POST, PUT");

/// How many seconds a browser believes what it may ask.
const BELIEVED: HeaderValue = HeaderValue::from_static("600");

/// The origin of such a page, of which a request comes.
#[derive(Debug, Clone)]
pub(crate) struct OtherOrigin(HeaderValue);

impl OtherOrigin {
    /// That of a request for something that its pages may use.
    pub(crate) fn admitted(config: &Config, path: &str, origin: &HeaderValue) -> Option<Self> {
        let text = origin.to_str().ok()?;
        let is_named = config.origins.iter().any(|known| known.as_str() == text);
        (is_named && is_theirs(path)).then(|| Self(origin.clone()))
    }
}

/// What may be used from other origins.
fn is_theirs(path: &str) -> bool {
    path.starts_with("/logs/")
}

/// What an answer tells the browser in which a page asks.
pub(crate) struct Told {
    page: Option<OtherOrigin>,
    is_preflight: bool,
    varies: bool,
}

impl Told {
    pub(crate) fn of(config: &Config, request: &Request) -> Self {
        Self {
            page: request.extensions().get().cloned(),
            is_preflight: *request.method() == Method::OPTIONS
                && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD),
            varies: !config.origins.is_empty() && is_theirs(request.uri().path()),
        }
    }

    pub(crate) fn tell(self, response: &mut Response) {
        let headers = response.headers_mut();
        if self.varies {
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
        }
        let Some(OtherOrigin(origin)) = self.page else { return };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if self.is_preflight {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, TAKEN);
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, BELIEVED);
        } else {
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }
}
