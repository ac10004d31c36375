//! What a gateway that stands for the origin changes in an answer, and nothing else.
//!
//! All origins share one here. So a page that came from one gets no origin at all
//! (`Content-Security-Policy: sandbox`) and nothing is taken for a page that does not say it is one; cookies,
//! which a browser would send to all mounts, are kept from it. Addresses of the origin become the gateway's.

use feedsync_offline::location::Location;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::references;
use crate::target::{Addresses, Target};

/// The fields that say where something is.
const ADDRESSES: [HeaderName; 2] = [header::LOCATION, header::CONTENT_LOCATION];

/// What one origin has a browser forget, which would be of all.
const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

/// Makes the header of an origin's answer that of the gateway.
pub(crate) fn adopt(headers: &mut HeaderMap, host: &str, target: &Target, addresses: &Addresses) {
    for name in ADDRESSES {
        let Some(value) = headers.get_mut(&name) else { continue };
        let shown = value.to_str().ok().and_then(|text| mapped(text, host, target, addresses));
        if let Some(shown) = shown.and_then(|text| text.parse().ok()) {
            *value = shown;
        }
    }
    let shown = |reference: &str| mapped(reference, host, target, addresses);
    let links: Vec<_> = headers.get_all(header::LINK).iter().cloned().collect();
    headers.remove(header::LINK);
    for link in links {
        let changed = link.to_str().ok().map(|text| references::in_link(text, shown));
        let changed = changed.and_then(|text| text.parse().ok());
        headers.append(header::LINK, changed.unwrap_or(link));
    }
    let refresh = headers.get(header::REFRESH).and_then(|value| value.to_str().ok());
    let refresh = refresh.and_then(|text| references::in_refresh(text, shown)?.parse().ok());
    if let Some(refresh) = refresh {
        headers.insert(header::REFRESH, refresh);
    }
    headers.append(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.remove(header::SET_COOKIE);
    headers.remove(CLEAR_SITE_DATA);
}

/// The address at the gateway of what a reference names, or its own, if it is of another origin; none if it
/// is no address.
fn mapped(text: &str, host: &str, target: &Target, addresses: &Addresses) -> Option<String> {
    let (reference, fragment) = match text.find('#') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let location = Location::resolve(Some(&target.location), reference).ok()?;
    // Whoever follows it would take credentials along, since the gateway is one host to them.
    if !location.is_same_origin(&target.location) {
        return Some(format!("{location}{fragment}"));
    }
    let path = addresses.path_of(&location)?;
    Some(format!("http://{host}{path}{fragment}"))
}
