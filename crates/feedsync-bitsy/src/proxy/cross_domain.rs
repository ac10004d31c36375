//! Cross-domain proxy: pages send requests to servers of other origins (BITSY 2.3).
//!
//! Requests are sent to the AtomPub server at the same address, with the same entities. Only the CORS headers
//! differ: they allow the page to send requests and to read the responses. Credentials that the browser
//! stores for the server (cookies, passwords) are never allowed. A page has to send its own.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode};

/// Name of the style, `{namespace}local`.
pub(super) const NAME: &str = "{http://purl.org/BITSY/xdp}xd";

/// Methods that AtomPub needs.
const METHODS: &str = "GET, HEAD, POST, PUT, DELETE, OPTIONS";

/// Response headers that a page may read, in addition to those that every page may.
const EXPOSED: &str = "Accept-Ranges, Age, Allow, Cache-Status, Content-Encoding, Content-Location, \
    Content-Range, Date, ETag, Link, Location, Retry-After, Vary, Via, Warning, WWW-Authenticate";

/// Time for which a browser may cache a preflight response, in seconds.
const PREFLIGHT_MAX_AGE: &str = "600";

/// Headers by which browsers ask whether a page may reach the private network of the gateway.
const PRIVATE: [HeaderName; 2] = [
    HeaderName::from_static("access-control-request-private-network"),
    HeaderName::from_static("access-control-allow-private-network"),
];

/// Response to a preflight request. All header fields are allowed: the headers registered with a subscription
/// must be (2.1.1), and these may be any.
pub(super) fn answer(method: &Method, requested: &HeaderMap) -> Option<Response<()>> {
    if method != Method::OPTIONS || !requested.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    let fixed = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_MAX_AGE),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for fields in requested.get_all(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.append(header::ACCESS_CONTROL_ALLOW_HEADERS, fields.clone());
    }
    let [asks, told] = PRIVATE;
    if requested.get(asks).is_some_and(|value| value == "true") {
        headers.insert(told, HeaderValue::from_static("true"));
    }
    Some(response)
}

/// Changes the CORS headers of a response so that a page may read it. `Vary` says that the response depends
/// on the origin.
pub(super) fn adopt(headers: &mut HeaderMap, page: Option<&HeaderValue>) {
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    let Some(page) = page else { return };
    // The server's CORS headers are meant for pages of its own origins.
    for name in [header::ACCESS_CONTROL_ALLOW_CREDENTIALS, header::ACCESS_CONTROL_EXPOSE_HEADERS] {
        headers.remove(name);
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |&(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        headers.iter().map(pair).collect()
    }

    #[test]
    fn only_preflight_requests_are_answered() {
        let requested = map(&[
            ("access-control-request-method", "PUT"),
            ("access-control-request-headers", "authorization,if-match"),
        ]);
        let told = answer(&Method::OPTIONS, &requested).unwrap();
        assert_eq!(told.status(), StatusCode::NO_CONTENT);
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
            let methods = told.headers()[header::ACCESS_CONTROL_ALLOW_METHODS].to_str().unwrap();
            assert!(methods.split(", ").any(|allowed| allowed == method), "{method}: {methods}");
        }
        assert_eq!(told.headers()["access-control-allow-headers"], "authorization,if-match");
        assert_eq!(told.headers().get("access-control-allow-private-network"), None);
        assert!(answer(&Method::PUT, &requested).is_none());
        assert!(answer(&Method::OPTIONS, &HeaderMap::new()).is_none(), "it is for the server");
    }

    #[test]
    fn private_network_access_is_allowed_on_request() {
        for (asks, told) in [("true", Some("true")), ("false", None)] {
            let requested = map(&[
                ("access-control-request-method", "GET"),
                ("access-control-request-private-network", asks),
            ]);
            let answer = answer(&Method::OPTIONS, &requested).unwrap();
            let allowed = answer.headers().get("access-control-allow-private-network");
            assert_eq!(allowed.map(|value| value.to_str().unwrap()), told);
        }
    }

    #[test]
    fn page_may_read_the_response_without_stored_credentials() {
        let page = HeaderValue::from_static("https://app.example");
        let theirs = [
            ("access-control-allow-origin", "https://other.example"),
            ("access-control-allow-credentials", "true"),
            ("access-control-expose-headers", "x-theirs"),
            ("vary", "Accept"),
            ("etag", "\"1\""),
        ];
        let mut headers = map(&theirs);
        adopt(&mut headers, Some(&page));
        assert_eq!(headers["access-control-allow-origin"], "https://app.example");
        assert_eq!(headers.get("access-control-allow-credentials"), None);
        let exposed = headers["access-control-expose-headers"].to_str().unwrap();
        assert!(exposed.contains("ETag") && !exposed.contains("x-theirs"), "{exposed}");
        let varies: Vec<_> = headers.get_all("vary").iter().collect();
        assert_eq!(varies, ["Accept", "Origin"]);
        assert_eq!(headers["etag"], "\"1\"");

        let mut headers = map(&theirs);
        adopt(&mut headers, None);
        assert_eq!(headers["access-control-allow-origin"], "https://other.example");
        assert_eq!(headers.get_all("vary").iter().count(), 2, "a cache tells pages from others");
    }
}
