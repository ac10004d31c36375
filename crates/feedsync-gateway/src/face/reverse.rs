//! What a gateway that stands for the origin changes in an answer, and nothing else.
//!
//! All origins share one here. So a page that came from one gets no origin at all
//! (`Content-Security-Policy: sandbox`) and nothing is taken for a page that does not say it is one; cookies,
//! which a browser would send to all mounts, are kept from it. Addresses of origins that are reached become
//! the gateway's.

use feedsync_offline::location::Location;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::target::{Addresses, Target};

/// The `Set-Cookie` fields of an answer, in their order, among the extensions of the response that lacks
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetCookies(pub Vec<HeaderValue>);

/// The fields that say where something is.
const ADDRESSES: [HeaderName; 2] = [header::LOCATION, header::CONTENT_LOCATION];

/// Makes the header of an origin's answer that of the gateway; gives the cookies that it set.
pub(crate) fn adopt(
    headers: &mut HeaderMap,
    host: &str,
    target: &Target,
    addresses: &Addresses,
) -> Option<SetCookies> {
    for name in ADDRESSES {
        let Some(value) = headers.get_mut(&name) else { continue };
        if let Some(mapped) = mapped(value, host, target, addresses) {
            *value = mapped;
        }
    }
    headers.append(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let cookies: Vec<_> = headers.get_all(header::SET_COOKIE).iter().cloned().collect();
    headers.remove(header::SET_COOKIE);
    (!cookies.is_empty()).then_some(SetCookies(cookies))
}

/// The address at the gateway of what a field names, or its own, if it is of another origin; none if it is no
/// address.
fn mapped(
    value: &HeaderValue,
    host: &str,
    target: &Target,
    addresses: &Addresses,
) -> Option<HeaderValue> {
    let text = value.to_str().ok()?;
    let (reference, fragment) = match text.find('#') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let location = Location::resolve(Some(&target.location), reference).ok()?;
    // Whoever follows it would take credentials along, since the gateway is one host to them.
    if !location.is_same_origin(&target.location) {
        return format!("{location}{fragment}").parse().ok();
    }
    let path = addresses.path_of(&location)?;
    format!("http://{host}{path}{fragment}").parse().ok()
}
