//! `Host` headers of requests, and `Sec-Fetch` headers of browsers.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::extract::Request;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, header};

use crate::problem::Problem;

/// The single host that a request names, in lower case (RFC 9110 7.2). The caller checks whether its
/// server accepts it.
pub fn named_host(request: &Request) -> Result<Authority, Problem> {
    let bad = |detail: &str| Problem::bad_request(detail.to_owned());
    let mut named = request.headers().get_all(header::HOST).iter();
    let header = match (named.next(), named.next()) {
        (Some(host), None) => {
            Some(host.to_str().map_err(|_| bad("the Host header is not a valid host"))?)
        }
        (None, _) => None,
        (Some(_), Some(_)) => return Err(bad("the request has more than one Host header")),
    };
    let text = request.uri().authority().map(Authority::as_str).or(header);
    let text = text.ok_or_else(|| bad("the request has no Host header"))?;
    let host: Authority = text
        .to_ascii_lowercase()
        .parse()
        .map_err(|_| bad("the Host header is not a valid host"))?;
    let no_port = host.port().is_none() && host.as_str() != host.host();
    if host.as_str().contains('@') || no_port {
        return Err(bad("the Host header is not a valid host"));
    }
    Ok(host)
}

/// Whether a host is a name or an address of loopback.
pub fn is_loopback(host: &Authority) -> bool {
    let host = host.host();
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback());
    }
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a browser declares that a page of another site sends a request, other than by following a link.
///
/// Browsers omit `Origin` from requests that they consider harmless, and send `Sec-Fetch-Site` instead. A link
/// from any site may be followed. A page of another site may not embed a resource, since even reading takes
/// resources and counts as a visit.
pub fn is_from_other_site(method: &Method, headers: &HeaderMap) -> bool {
    let value = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    let is_followed = method.is_safe() && value("sec-fetch-mode") == Some(b"navigate");
    matches!(value("sec-fetch-site"), Some(b"cross-site" | b"same-site")) && !is_followed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &str, hosts: &[&str]) -> Request {
        let mut request = Request::builder().uri(target);
        for host in hosts {
            request = request.header(header::HOST, *host);
        }
        request.body(axum::body::Body::empty()).unwrap()
    }

    #[test]
    fn a_request_names_exactly_one_host() {
        let named = |target: &str, hosts: &[&str]| {
            named_host(&request(target, hosts)).ok().map(|host| host.to_string())
        };
        assert_eq!(named("/", &["Hub.example:80"]).as_deref(), Some("hub.example:80"));
        assert_eq!(named("http://a.example/", &["b.example"]).as_deref(), Some("a.example"));
        for hosts in [&[][..], &["a.example", "a.example"], &[""], &["a@b"], &["a:"], &["a b"]] {
            assert_eq!(named("/", hosts), None, "{hosts:?}");
        }
    }

    #[test]
    fn loopback_is_a_name_or_an_address_of_this_machine() {
        let is = |host: &str| is_loopback(&host.parse().unwrap());
        for host in ["localhost", "a.localhost:80", "127.0.0.1", "127.9.9.9:1", "[::1]:80"] {
            assert!(is(host), "{host}");
        }
        for host in ["localhost.example", "10.0.0.1", "[::2]", "example.org:80"] {
            assert!(!is(host), "{host}");
        }
    }

    #[test]
    fn a_page_of_another_site_may_link_and_not_embed() {
        let is = |method: Method, site: &'static str, mode: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("sec-fetch-site", HeaderValue::from_static(site));
            headers.insert("sec-fetch-mode", HeaderValue::from_static(mode));
            is_from_other_site(&method, &headers)
        };
        for site in ["cross-site", "same-site"] {
            assert!(is(Method::GET, site, "no-cors"), "{site}");
            assert!(is(Method::POST, site, "navigate"), "{site}");
            assert!(!is(Method::GET, site, "navigate"), "{site}");
        }
        assert!(!is(Method::POST, "same-origin", "cors"));
        assert!(!is_from_other_site(&Method::POST, &HeaderMap::new()));
    }
}
