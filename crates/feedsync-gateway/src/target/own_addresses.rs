//! The gateway's own addresses: requests to itself would loop (RFC 9110 7.6.3).

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use http::uri;

use crate::target::authority::Authority;

/// Addresses that the gateway listens on. Cloning is cheap; clones share one set, to which each new listener is
/// added.
#[derive(Debug, Clone, Default)]
pub struct OwnAddresses(Arc<RwLock<Vec<SocketAddr>>>);

impl OwnAddresses {
    /// Adds an address that the gateway listens on.
    pub fn add(&self, address: SocketAddr) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(address);
    }

    /// Whether an authority is the gateway's, judged by its text. A name that resolves to the gateway is detected
    /// after connecting.
    pub fn names(&self, authority: &Authority) -> bool {
        self.any(|own| {
            let here = own.ip().is_unspecified() || own.ip().is_loopback();
            let same =
                authority.ip().is_some_and(|ip| ip.to_canonical() == own.ip().to_canonical());
            let local = match authority.ip() {
                None => authority.is_loopback() && here,
                Some(ip) => ip.is_unspecified() || (ip.is_loopback() && own.ip().is_unspecified()),
            };
            own.port() == authority.port() && (same || local)
        })
    }

    /// Whether an established connection leads to the gateway itself.
    pub(crate) fn is_end_of(&self, peer: SocketAddr, local: SocketAddr) -> bool {
        let (ip, from) = (peer.ip().to_canonical(), local.ip().to_canonical());
        self.any(|own| {
            let all = own.ip().is_unspecified() && (ip == from || ip.is_loopback());
            own.port() == peer.port() && (own.ip().to_canonical() == ip || all)
        })
    }

    /// Whether a `Host` is a name of the gateway: a loopback name, or the local address of the connection. A page
    /// may have pointed any other name here (DNS rebinding). The port is not checked, since it may have been
    /// forwarded.
    pub(crate) fn is_host(host: &uri::Authority, local_address: Option<SocketAddr>) -> bool {
        let bare = host.host().trim_start_matches('[').trim_end_matches(']');
        let reached = local_address.map(|address| address.ip().to_canonical());
        let is_lower = !host.as_str().bytes().any(|byte| byte.is_ascii_uppercase());
        let is_loopback = match is_lower {
            true => feedsync_http::is_loopback(host),
            false => {
                let lower = host.as_str().to_ascii_lowercase().parse();
                lower.is_ok_and(|host| feedsync_http::is_loopback(&host))
            }
        };
        is_loopback || reached.is_some_and(|reached| bare.parse() == Ok(reached))
    }

    fn any(&self, holds: impl FnMut(&SocketAddr) -> bool) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).iter().any(holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(text: &str) -> OwnAddresses {
        let own = OwnAddresses::default();
        own.add(text.parse().unwrap());
        own
    }

    #[test]
    fn the_gateway_knows_its_own_addresses() {
        let names = |at: &str, text: &str| own(at).names(&text.parse().unwrap());
        for text in
            ["127.0.0.1:5023", "localhost:5023", "a.localhost:5023", "0.0.0.0:5023", "[::]:5023"]
        {
            assert!(names("127.0.0.1:5023", text), "{text}");
            assert!(names("0.0.0.0:5023", text), "{text}");
        }
        for text in ["127.0.0.1:5024", "example.org:5023", "127.0.0.2:5023", "10.0.0.1:5023"] {
            assert!(!names("127.0.0.1:5023", text), "{text}");
        }
        assert!(names("10.0.0.1:5023", "10.0.0.1:5023"));
        assert!(names("0.0.0.0:5023", "127.0.0.2:5023"));
        let end = |at: &str, peer: &str, local: &str| {
            own(at).is_end_of(peer.parse().unwrap(), local.parse().unwrap())
        };
        assert!(end("127.0.0.1:5023", "127.0.0.1:5023", "127.0.0.1:40000"));
        assert!(end("0.0.0.0:5023", "10.0.0.1:5023", "10.0.0.1:40000"));
        assert!(!end("0.0.0.0:5023", "10.0.0.2:5023", "10.0.0.1:40000"));
        assert!(!end("127.0.0.1:5023", "10.0.0.1:5023", "10.0.0.1:40000"));
    }

    #[test]
    fn a_host_is_a_loopback_name_or_where_the_connection_came_to() {
        let is_host =
            |host: &str, to: &str| OwnAddresses::is_host(&host.parse().unwrap(), to.parse().ok());
        for host in ["localhost", "LOCALHOST:9", "127.0.0.1:5023", "[::1]:5023", "10.0.0.1"] {
            assert!(is_host(host, "10.0.0.1:5023"), "{host}");
        }
        for host in
            ["example.org", "10.0.0.2", "localhost.example.org", "127.0.0.1.example.org", "0.0.0.0"]
        {
            assert!(!is_host(host, "10.0.0.1:5023"), "{host}");
        }
    }
}
