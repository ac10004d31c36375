//! Changes to responses in reverse mode, where the gateway stands for the origin.
//!
//! All origins share that of the gateway. A page therefore gets an opaque origin (`Content-Security-Policy:
//! sandbox`), and content is not sniffed as a page. Cookies are removed, since a browser would send them to all
//! mounts. Addresses of the origin are replaced by the gateway's.

use feedsync_bitsy::location::Location;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::references;
use crate::target::{Addresses, Target};

/// Header fields that contain an address.
const ADDRESSES: [HeaderName; 2] = [header::LOCATION, header::CONTENT_LOCATION];

/// Field with which one origin would clear the browser data of all.
const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

/// Rewrites the header of an origin's response.
pub(crate) fn adopt(headers: &mut HeaderMap, host: &str, target: &Target, addresses: &Addresses) {
    let shown = |reference: &str| mapped(reference, host, target, addresses);
    for name in ADDRESSES {
        let Some(value) = headers.get_mut(&name) else { continue };
        let shown = value.to_str().ok().and_then(shown);
        if let Some(shown) = shown.and_then(|text| text.parse().ok()) {
            *value = shown;
        }
    }
    let linked = |reference: &str| {
        let shown = shown(reference)?;
        // Nobody follows a link without a decision of the application, so links may lead to other mounts.
        let location: Location = shown.parse().ok()?;
        let is_mounted = addresses.reachable.mount_of(&location).is_some();
        let path = is_mounted.then(|| addresses.path_of(&location)).flatten();
        let fragment = shown.find('#').map_or("", |at| &shown[at..]);
        Some(path.map_or(shown.clone(), |path| format!("http://{host}{path}{fragment}")))
    };
    let links: Vec<_> = headers.get_all(header::LINK).iter().cloned().collect();
    headers.remove(header::LINK);
    for link in links {
        let changed = link.to_str().ok().map(|text| references::in_link(text, linked));
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

/// Returns the address at the gateway for a reference to the same origin, and the original address for another
/// origin. Returns `None` if the reference is invalid.
fn mapped(text: &str, host: &str, target: &Target, addresses: &Addresses) -> Option<String> {
    let (reference, fragment) = match text.find('#') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let location = Location::resolve(Some(&target.location), reference).ok()?;
    // A redirect within the gateway would keep the client's credentials, since the gateway is one host.
    if !location.is_same_origin(&target.location) {
        return Some(format!("{location}{fragment}"));
    }
    let path = addresses.path_of(&location)?;
    Some(format!("http://{host}{path}{fragment}"))
}
