//! Programs of this machine, for which the gateway may access hubs of its own user that have no accounts.
//!
//! Such a hub admits programs on its own machine, but no requests that come through a proxy. Within the gateway,
//! a request of a local program has a mark: an extra header field that no application can set. The mark is
//! replaced by the proof that the hub accepts only when the request leaves for the exact address of a running
//! hub. The mark itself never leaves. A subscription registers the mark like credentials, so that contents of a
//! hub for programs are shown to no page and to no other machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use feedsync_bitsy::headers::{HeaderError, RegisteredHeaders};
use feedsync_bitsy::location::Location;
use feedsync_http::{LOCAL_PROOF, LocalHubs, is_forwarded};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::target::Authority;

/// Field that marks requests of programs of this machine. Only the gateway sets it.
const MARK: HeaderName = HeaderName::from_static("feedsync-program");

const LOCAL: &str = "local";

/// Removes the fields that only the gateway may set.
pub(crate) fn strip(headers: &mut HeaderMap) {
    headers.remove(MARK);
    headers.remove(LOCAL_PROOF);
}

/// Whether a request comes from a program of this machine. Browsers do not count, since they send requests for
/// any page that they show, and proxies do not, since they send those of others.
pub(crate) fn is_local(headers: &HeaderMap, peer_address: Option<SocketAddr>) -> bool {
    let is_reachable =
        peer_address.is_some_and(|address| address.ip().to_canonical().is_loopback());
    let is_of_a_page = headers.contains_key(header::ORIGIN)
        || headers.contains_key(header::REFERER)
        || headers.keys().any(|name| name.as_str().starts_with("sec-"));
    let mut agents = headers.get_all(header::USER_AGENT).iter();
    let is_named = agents.any(|driver| driver.as_bytes().starts_with(b"Mozilla/"));
    is_reachable && !is_of_a_page && !is_named && !is_forwarded(headers)
}

/// Marks a request of a program of this machine.
pub(crate) fn mark(headers: &mut HeaderMap) {
    headers.insert(MARK, HeaderValue::from_static(LOCAL));
}

/// Whether a request is marked.
pub(crate) fn is_marked(headers: &HeaderMap) -> bool {
    headers.contains_key(MARK)
}

/// Marks the registered header of a subscription.
pub(crate) fn register(registered: &mut RegisteredHeaders) -> Result<(), HeaderError> {
    registered.set(MARK.as_str(), LOCAL)
}

/// Whether the registered header of a subscription is marked.
pub(crate) fn is_registered(registered: &RegisteredHeaders) -> bool {
    registered.get(&MARK).is_some() || registered.get(&LOCAL_PROOF).is_some()
}

/// Replaces the mark by the proof, if the request `is_marked` and the peer of the connection is a hub that
/// accepts it.
pub(crate) fn show(
    hubs: Option<&LocalHubs>,
    is_marked: bool,
    peer: SocketAddr,
    headers: &mut HeaderMap,
) {
    strip(headers);
    let hubs = hubs.filter(|_| is_marked && peer.ip().to_canonical().is_loopback());
    if let Some(value) = hubs.and_then(|hubs| hubs.proof(peer)?.value()) {
        headers.insert(LOCAL_PROOF, value);
    }
}

/// Whether a hub of this user runs at an authority.
pub(crate) fn hub_runs_at(hubs: &LocalHubs, authority: &Authority) -> bool {
    addresses(authority).any(|address| hubs.proof(address).is_some())
}

/// Whether a hub of this user runs at an address, or ran there before.
pub(crate) fn hub_is_known_at(hubs: &LocalHubs, location: &Location) -> bool {
    addresses(&Authority::of(location)).any(|address| hubs.knows(address))
}

/// Loopback addresses of an authority.
fn addresses(authority: &Authority) -> impl Iterator<Item = SocketAddr> {
    let named = match authority.ip() {
        Some(ip) => vec![ip],
        None => vec![IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)],
    };
    let port = authority.port();
    let is_reachable = authority.is_loopback();
    named.into_iter().filter(move |_| is_reachable).map(move |ip| SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use feedsync_http::LocalProof;

    use super::*;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        let field = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), value.parse().unwrap())
        };
        fields.iter().map(field).collect()
    }

    #[test]
    fn browsers_proxies_and_other_machines_are_no_programs_of_this_one() {
        let here = Some("127.0.0.1:40000".parse().unwrap());
        let program =
            [("user-agent", "curl/8"), ("accept", "*/*"), ("authorization", "Basic eA==")];
        assert!(is_local(&headers(&program), here));
        assert!(is_local(&HeaderMap::new(), Some("[::1]:40000".parse().unwrap())));
        assert!(is_local(&HeaderMap::new(), Some("[::ffff:127.0.0.1]:1".parse().unwrap())));
        for elsewhere in [Some("192.168.1.2:40000".parse().unwrap()), None] {
            assert!(!is_local(&headers(&program), elsewhere));
        }
        for other in [
            ("origin", "http://127.0.0.1:5023"),
            ("origin", "null"),
            ("referer", "http://127.0.0.1:5023/https/example.org/"),
            ("sec-fetch-site", "same-origin"),
            ("sec-ch-ua", "x"),
            ("user-agent", "Mozilla/5.0 (X11; Linux x86_64)"),
            ("via", "1.1 proxy"),
            ("x-forwarded-for", "192.0.2.1"),
            ("forwarded", "for=192.0.2.1"),
            ("cf-connecting-ip", "192.0.2.1"),
        ] {
            assert!(!is_local(&headers(&[other]), here), "{other:?}");
        }
    }

    #[test]
    fn a_proof_leaves_only_for_the_hub_that_takes_it_and_no_mark_leaves() {
        let directory = tempfile::tempdir().unwrap();
        let hubs = LocalHubs::within(directory.path());
        let hub: SocketAddr = "127.0.0.1:4287".parse().unwrap();
        let announced = hubs.announce(&[hub], &LocalProof::random()).unwrap();
        let shown = |is_marked: bool, peer: &str, hubs: Option<&LocalHubs>| {
            // Applications may send any fields.
            let mut headers =
                headers(&[("feedsync-program", "local"), ("feedsync-local-proof", "x")]);
            show(hubs, is_marked, peer.parse().unwrap(), &mut headers);
            assert!(!headers.contains_key(MARK));
            headers.get(LOCAL_PROOF).cloned()
        };
        let value = hubs.proof(hub).unwrap().value();
        assert_eq!(shown(true, "127.0.0.1:4287", Some(&hubs)), value);
        assert_eq!(shown(false, "127.0.0.1:4287", Some(&hubs)), None);
        assert_eq!(shown(true, "127.0.0.1:4287", None), None);
        for other in ["127.0.0.1:4288", "[::1]:4287", "192.0.2.1:4287"] {
            assert_eq!(shown(true, other, Some(&hubs)), None, "{other}");
        }
        let at = |text: &str| text.parse::<Location>().unwrap();
        for (address, is) in [
            ("http://127.0.0.1:4287/", true),
            ("http://localhost:4287/x", true),
            ("http://[::1]:4287/", false),
            ("http://example.org:4287/", false),
            ("http://127.0.0.1/", false),
        ] {
            assert_eq!(hub_is_known_at(&hubs, &at(address)), is, "{address}");
            assert_eq!(hub_runs_at(&hubs, &Authority::of(&at(address))), is, "{address}");
        }
        drop(announced);
        assert_eq!(shown(true, "127.0.0.1:4287", Some(&hubs)), None);
        assert!(!hub_runs_at(&hubs, &"127.0.0.1:4287".parse().unwrap()));
        assert!(hub_is_known_at(&hubs, &at("http://127.0.0.1:4287/")));
    }
}
