//! Pages of other origins that may use the logs (LR39), the databases, and the feeds that replicas sync with: those in
//! `origins`, and only for `/logs/`, `/couch/`, and `changes` and `complete` of collections.
//!
//! A page of an application signs in by itself, for logs and feeds with a token of its own. For such a page, cookies of
//! this hub do not count, nor does the fact that the client is on this machine.

use axum::extract::Request;
use axum::response::Response;
use http::{HeaderValue, Method, header};

use crate::config::Config;
use crate::http::paths;

/// Response headers that such a page may read in addition to the default ones.
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "ETag, Accept-Ranges, Content-Range, Link, Location, Log-Covers, Log-Generation, Log-Offset, \
     Retry-After",
);

/// Request headers that such a page may send.
const ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Range, Content-Type, Idempotency-Key, If-Match, If-None-Match, If-Range, \
     Last-Event-ID, Log-Covers, Range",
);

/// Methods of logs.
const LOG_METHODS: HeaderValue = HeaderValue::from_static("DELETE, GET, HEAD, POST, PUT");

/// Methods of feeds.
const FEED_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST");

/// Methods of databases.
const DATABASE_METHODS: HeaderValue =
    HeaderValue::from_static("COPY, DELETE, GET, HEAD, OPTIONS, POST, PUT");

/// Lifetime of a preflight result, in seconds.
const PREFLIGHT_MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Admitted origin of the page that sends a request.
#[derive(Debug, Clone)]
pub(crate) struct OtherOrigin(HeaderValue);

impl OtherOrigin {
    /// Admits the origin of a request to a resource that its pages may use.
    pub(crate) fn admitted(config: &Config, path: &str, origin: &HeaderValue) -> Option<Self> {
        let text = origin.to_str().ok()?;
        let is_named = config.origins.iter().any(|known| known.as_str() == text);
        let is_admitted = is_named && allows_other_origins(path) || is_application(path, text);
        is_admitted.then(|| Self(origin.clone()))
    }
}

/// Origins of applications with a browser of their own that synchronize through databases; they belong to no
/// web site. Each of their requests signs in by itself.
pub(crate) const APPLICATION_ORIGINS: [&str; 3] =
    ["app://obsidian.md", "capacitor://localhost", "http://localhost"];

/// Request headers that such a page may send to databases.
const DATABASE_ALLOWED_HEADERS: &str = "accept, authorization, content-type, destination, origin, referer, if-match, if-none-match, range";

/// Response headers of databases that such a page may read.
const DATABASE_EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "accept-ranges, cache-control, content-range, content-type, etag, retry-after",
);

/// Whether a path may be used from other origins.
fn allows_other_origins(path: &str) -> bool {
    path.starts_with("/logs/") || paths::is_for_databases(path) || paths::is_for_sync(path)
}

fn is_application(path: &str, origin: &str) -> bool {
    paths::is_for_databases(path) && APPLICATION_ORIGINS.contains(&origin)
}

/// CORS headers of a response.
pub(crate) struct CorsHeaders {
    page: Option<OtherOrigin>,
    is_preflight: bool,
    varies: bool,
    is_for_databases: bool,
    /// Methods that the page may use, except for databases.
    methods: HeaderValue,
    /// Request headers that the page asks for.
    wanted: Option<HeaderValue>,
}

impl CorsHeaders {
    /// The requesting page, before its access was checked.
    fn page(config: &Config, request: &Request) -> Option<OtherOrigin> {
        let origin = request.headers().get(header::ORIGIN)?;
        OtherOrigin::admitted(config, request.uri().path(), origin)
    }

    pub(crate) fn of(config: &Config, request: &Request) -> Self {
        let path = request.uri().path();
        Self {
            page: request.extensions().get().cloned().or_else(|| Self::page(config, request)),
            is_preflight: *request.method() == Method::OPTIONS
                && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD),
            varies: !config.origins.is_empty() && allows_other_origins(path)
                || paths::is_for_databases(path),
            is_for_databases: paths::is_for_databases(path),
            methods: if paths::is_for_sync(path) { FEED_METHODS } else { LOG_METHODS },
            wanted: request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned(),
        }
    }

    pub(crate) fn apply(self, response: &mut Response) {
        let headers = response.headers_mut();
        if self.varies {
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
        }
        let Some(OtherOrigin(origin)) = self.page else { return };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if self.is_for_databases {
            // Clients of databases send credentials with requests, but cookies of this hub are ignored all
            // the same.
            headers
                .insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
        if self.is_preflight && self.is_for_databases {
            // Users behind a proxy of their own add headers for it (CL6, CL9).
            let wanted = self.wanted.unwrap_or(HeaderValue::from_static(DATABASE_ALLOWED_HEADERS));
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, DATABASE_METHODS);
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted);
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_MAX_AGE);
        } else if self.is_for_databases {
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, DATABASE_EXPOSED_HEADERS);
        } else if self.is_preflight {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, self.methods);
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS);
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_MAX_AGE);
        } else {
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
        }
    }
}
