//! Check of Host and Origin: the Host must be this hub's, and a page of another origin is refused unless it
//! may use the resource (AH30, AP64, LR39).
//!
//! Otherwise a page of any web site could access a hub on the reader's own machine. It could use a name that
//! resolves to the loopback address, or a form.

use axum::extract::Request;
use feedsync_http::{is_from_other_site, is_loopback, named_host};
use http::uri::Authority;
use http::{HeaderMap, Method, StatusCode, header};

use crate::config::Config;
use crate::http::address::PublicBase;
use crate::http::other_origin::OtherOrigin;
use crate::http::paths;
use crate::http::peer::Client;
use crate::http::problem::Problem;

/// Admits a request that names this hub and does not come from another origin. Later handlers find the
/// [`PublicBase`] of its links in the extensions.
pub(crate) fn check(config: &Config, request: &mut Request) -> Result<(), Problem> {
    let host = host(request, config)?;
    if let Some(other) =
        origin(request.method(), request.uri().path(), request.headers(), &host, config)?
    {
        // Cookies of this hub do not count for pages of other origins.
        request.headers_mut().remove(header::COOKIE);
        request.extensions_mut().insert(other);
    }
    let secure = request.extensions().get::<Client>().is_some_and(|client| client.secure);
    let of_host = || PublicBase::of_host(host.as_str(), secure);
    // An address that serves databases only differs from that of the hub.
    let public =
        config.public_base.clone().filter(|_| !paths::serves_databases_only(request.extensions()));
    let base = public.unwrap_or_else(of_host);
    request.extensions_mut().insert(base);
    Ok(())
}

/// The host that a request names, if the hub accepts it.
fn host(request: &Request, config: &Config) -> Result<Authority, Problem> {
    let host = named_host(request)?;
    let public = config.public_base.as_ref().is_some_and(|base| base.authority() == host.as_str());
    let mut configured =
        config.hosts.iter().chain(&config.couch_hosts).chain(&config.tls.acme_names);
    if is_loopback(&host) || public || configured.any(|known| is_called(&host, known)) {
        return Ok(host);
    }
    Err(Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "foreign-host",
        "Unknown host",
        format!(
            "this hub does not accept requests for the host {host}: add it to the setting hosts, \
             or set public_base"
        ),
    ))
}

/// Whether a host matches a setting, with its port or without.
pub(crate) fn is_called(host: &Authority, known: &str) -> bool {
    known.eq_ignore_ascii_case(host.as_str()) || known.eq_ignore_ascii_case(host.host())
}

/// Refuses pages of other origins. Returns the origin of a page that may use the resource.
fn origin(
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    host: &Authority,
    config: &Config,
) -> Result<Option<OtherOrigin>, Problem> {
    let foreign = |detail: String| {
        Problem::new(StatusCode::FORBIDDEN, "foreign-origin", "Request from another origin", detail)
    };
    let mut other = None;
    for value in headers.get_all(header::ORIGIN) {
        let origin = value.to_str().unwrap_or_default();
        let own = origin.eq_ignore_ascii_case(&format!("http://{host}"))
            || origin.eq_ignore_ascii_case(&format!("https://{host}"))
            || config.public_base.as_ref().is_some_and(|base| base.origin() == origin);
        if own {
            continue;
        }
        other = OtherOrigin::admitted(config, path, value);
        if other.is_none() {
            return Err(foreign(format!("pages of {origin:?} may not use this hub")));
        }
    }
    if other.is_some() {
        return Ok(other);
    }
    if is_from_other_site(method, headers) {
        return Err(foreign("pages of other sites may not use this hub".to_owned()));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn host_of(host: &str) -> Result<Authority, Problem> {
        let config = Config {
            public_base: Some("https://feeds.example.org/anna".parse().unwrap()),
            hosts: vec!["box.lan".to_owned(), "other.lan:8080".to_owned()],
            ..Config::default()
        };
        let request = Request::builder().header(header::HOST, host).body(Body::empty()).unwrap();
        super::host(&request, &config)
    }

    #[test]
    fn pages_of_other_sites_may_link_here_and_nothing_else() {
        let asked = |method: Method, site: &str, mode: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("sec-fetch-site", site.parse().unwrap());
            headers.insert("sec-fetch-mode", mode.parse().unwrap());
            let host = "localhost".parse().unwrap();
            origin(&method, "/logs/notes", &headers, &host, &Config::default()).is_ok()
        };
        assert!(asked(Method::GET, "cross-site", "navigate"));
        assert!(asked(Method::GET, "same-origin", "cors"));
        assert!(asked(Method::GET, "none", "navigate"));
        assert!(!asked(Method::GET, "cross-site", "no-cors"));
        assert!(!asked(Method::GET, "same-site", "no-cors"));
        assert!(!asked(Method::POST, "cross-site", "navigate"));
    }

    #[test]
    fn only_loopback_and_configured_hosts_are_ours() {
        for ours in [
            "localhost",
            "LOCALHOST:4287",
            "anna.localhost",
            "127.0.0.1:4287",
            "127.9.9.9",
            "[::1]:4287",
            "feeds.example.org",
            "Box.lan:1",
            "other.lan:8080",
        ] {
            assert!(host_of(ours).is_ok(), "{ours}");
        }
        for foreign in [
            "example.org",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "127.1",
            "0.0.0.0",
            "[::2]",
            "10.0.0.1",
            "other.lan",
            "feeds.example.org:444",
            "a@localhost",
            "localhost:65536",
            "",
        ] {
            assert!(host_of(foreign).is_err(), "{foreign}");
        }
    }
}
