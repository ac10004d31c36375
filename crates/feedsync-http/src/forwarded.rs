//! Requests that a proxy forwards.

use http::HeaderMap;

/// Headers that proxies, load balancers, content delivery networks and tunnels add to the requests that they forward.
const PROXIED: [&str; 24] = [
    "cdn-loop",
    "client-ip",
    "forwarded",
    "forwarded-for",
    "forwarded-proto",
    "front-end-https",
    "http-client-ip",
    "proxy-client-ip",
    "remote-addr",
    "remote-host",
    "true-client-ip",
    "via",
    "wl-proxy-client-ip",
    "x-arr-ssl",
    "x-cluster-client-ip",
    "x-coming-from",
    "x-host",
    "x-nf-client-connection-ip",
    "x-proxy-user-ip",
    "x-proxyuser-ip",
    "x-real-ip",
    "x-remote-addr",
    "x-remote-ip",
    "x-scheme",
];

/// Prefixes of names of headers that proxies add.
const PROXIED_FAMILIES: [&str; 16] = [
    "akamai-",
    "cf-",
    "cloudfront-",
    "fastly-",
    "fly-",
    "ngrok-",
    "tailscale-",
    "x-amz-cf-",
    "x-amzn-trace-",
    "x-appengine-",
    "x-azure-",
    "x-envoy-",
    "x-forwarded",
    "x-original-",
    "x-proxy-",
    "x-vercel-",
];

/// Suffixes of names of headers that proxies add.
const PROXIED_ENDS: [&str; 5] =
    ["-client-ip", "-clientip", "-connecting-ip", "-forwarded-for", "-real-ip"];

/// Whether a header of this name is one that proxies add.
fn is_of_a_proxy(name: &str) -> bool {
    PROXIED.contains(&name)
        || PROXIED_FAMILIES.iter().any(|family| name.starts_with(family))
        || PROXIED_ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether any proxy declares that it forwards a request.
pub fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| is_of_a_proxy(name.as_str()))
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn headers_of_proxies_are_recognized_and_those_of_clients_are_not() {
        let is = |name: &'static str| {
            let header = (HeaderName::from_static(name), HeaderValue::from_static("x"));
            is_forwarded(&HeaderMap::from_iter([header]))
        };
        for name in ["via", "forwarded", "x-forwarded-for", "cf-ray", "x-client-ip"] {
            assert!(is(name), "{name}");
        }
        for name in ["accept", "host", "origin", "sec-fetch-site", "user-agent", "x-auth-token"] {
            assert!(!is(name), "{name}");
        }
    }
}
