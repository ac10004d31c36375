//! Pages in a browser that use the gateway.
//!
//! A browser sends requests for any page that it shows, and in reverse mode all mounts have one origin. In that
//! mode, pages of other origins are refused unless they are allowed. Requests of a page of one mount to another
//! mount are refused, too. Edits by pages of other origins are refused in either mode. Programs that are not
//! browsers do not send the header fields that are checked here.

use feedsync_bitsy::location::Location;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::page_origin::PageOrigin;
use crate::proxy::Proxy;
use crate::proxy::problem::Problem;
use crate::target::{Addresses, Target};

/// Relation between the requesting page and the target, set by browsers.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a browser sent the request, as far as can be detected. A browser identifies itself by `Sec-Fetch-Site`
/// if it trusts the address. Over plain HTTP to another machine it is recognised by its name and by other fields.
pub(crate) fn is_browser(headers: &HeaderMap) -> bool {
    let starts = |name, with: &str| {
        let value = headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        value.is_some_and(|value| value.starts_with(with))
    };
    let is_named = || starts(header::USER_AGENT, "Mozilla/");
    let is_shown = || headers.contains_key(header::REFERER) || starts(header::ACCEPT, "text/html");
    let says = || headers.keys().any(|name| name.as_str().starts_with("sec-"));
    headers.contains_key(SITE) || (is_named() && (is_shown() || says()))
}

impl Proxy {
    /// Refuses an edit by a page of an origin other than the edited one. The edit would be delivered later
    /// without the `Origin` field, so that the server could not refuse it.
    pub(super) fn check_page(&self, target: &Target, headers: &HeaderMap) -> Result<(), Problem> {
        let own = target.location.origin();
        let may = |origin: &str| origin == own || is_among(origin, &self.allow_origins);
        let refused = |who: &str| {
            Err(Problem::foreign_origin(format!("{who} may not edit resources of {own}")))
        };
        let mut is_known = false;
        for origin in headers.get_all(header::ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            if !may(origin) {
                return refused(&format!("a page of {origin}"));
            }
            is_known = true;
        }
        // Requests without an `Origin` may still have this field.
        let mut sites = headers.get_all(SITE).iter();
        let is_foreign = sites.any(|site| site == "cross-site" || site == "same-site");
        let is_known = is_known || referer(headers).is_some_and(|page| may(page.origin()));
        if is_foreign && !is_known { refused("a page of another site") } else { Ok(()) }
    }
}

/// Returns the origin of the requesting page, if exactly one is named and it is allowed.
pub(super) fn asking<'h>(
    headers: &'h HeaderMap,
    allowed: &[PageOrigin],
) -> Option<&'h HeaderValue> {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let (Some(origin), None) = (origins.next(), origins.next()) else { return None };
    origin.to_str().is_ok_and(|origin| is_among(origin, allowed)).then_some(origin)
}

fn is_among(origin: &str, allowed: &[PageOrigin]) -> bool {
    allowed.iter().any(|allowed| allowed.is(origin))
}

/// Refuses requests of pages that are not allowed. `host` is the gateway as the request names it.
pub(crate) fn check(
    headers: &HeaderMap,
    host: &str,
    target: &Target,
    addresses: &Addresses,
    allowed: &[PageOrigin],
) -> Result<(), Problem> {
    let own = format!("http://{host}");
    let is_allowed = |origin: &str| is_among(origin, allowed);
    let mut is_ours = false;
    let mut is_known = false;
    for origin in headers.get_all(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        if origin.eq_ignore_ascii_case(&own) {
            is_ours = true;
        } else if is_allowed(origin) {
            is_known = true;
        } else {
            return Err(foreign(origin));
        }
    }
    let referer = referer(headers);
    for site in headers.get_all(SITE) {
        match site.as_bytes() {
            // The person caused the request, by a typed address or a bookmark.
            b"none" => {}
            b"same-origin" => is_ours = true,
            // Browsers omit the origin where they consider that harmless; this field then identifies the page.
            _ if is_known => {}
            _ => match &referer {
                Some(referer) if is_allowed(referer.origin()) => {}
                _ => return Err(foreign("another site")),
            },
        }
    }
    if !is_ours {
        return Ok(());
    }
    let asks = referer.as_ref().and_then(|referer| behind(referer, host, addresses));
    match asks {
        Some(page) if page.is_same_origin(&target.location) => Ok(()),
        _ => Err(Problem::foreign_origin(
            "a page that was loaded through this gateway may request only resources of its own \
             origin, and must send a Referer header",
        )),
    }
}

/// Field that names where WebDAV copies or moves a resource (RFC 4918 10.3).
const DESTINATION: HeaderName = HeaderName::from_static("destination");

/// Restores the addresses of the origin in the fields that name the requesting page, and in `Destination`.
pub(crate) fn restore(headers: &mut HeaderMap, host: &str, target: &Target, addresses: &Addresses) {
    let shown = referer(headers);
    let page = shown.and_then(|referer| behind(&referer, host, addresses));
    if let Some(page) = page.and_then(|page| page.as_str().parse().ok()) {
        headers.insert(header::REFERER, page);
    }
    let destination = address(headers, DESTINATION).and_then(|to| behind(&to, host, addresses));
    if let Some(destination) = destination.and_then(|to| to.as_str().parse().ok()) {
        headers.insert(DESTINATION, destination);
    }
    let own = format!("http://{host}");
    let is_ours = |origin: &HeaderValue| origin.as_bytes().eq_ignore_ascii_case(own.as_bytes());
    if headers.get(header::ORIGIN).is_some_and(is_ours)
        && let Ok(origin) = target.location.origin().parse()
    {
        headers.insert(header::ORIGIN, origin);
    }
}

fn referer(headers: &HeaderMap) -> Option<Location> {
    address(headers, header::REFERER)
}

fn address(headers: &HeaderMap, name: HeaderName) -> Option<Location> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}

/// Resolves an address of the gateway to the original address.
fn behind(shown: &Location, host: &str, addresses: &Addresses) -> Option<Location> {
    let origin: Location = format!("http://{host}").parse().ok()?;
    let path = shown.as_str().strip_prefix(shown.origin())?;
    if !shown.is_same_origin(&origin) {
        return None;
    }
    addresses.resolve_path(path).ok().map(|(location, _)| location)
}

fn foreign(who: &str) -> Problem {
    Problem::foreign_origin(format!(
        "pages of {who} may not use this gateway: allow an origin with --allow-origin, as in \
         --allow-origin https://example.org"
    ))
}
