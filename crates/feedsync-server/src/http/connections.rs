//! Connections of each address, so that one address cannot take all that the hub accepts (B46).
//!
//! An address is IPv4 whole and IPv6 by its /64, as for requests. Trusted proxies are not limited here: they
//! connect for many clients, and their requests are counted by the forwarded address. Memory is bounded by
//! the number of open connections.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ipnet::IpNet;

use crate::config::{Config, Limits};
use crate::http::clients::Key;
use crate::http::peer::is_trusted;

/// Response to a connection that is closed at once. The router never processes it, so it contains its own
/// policy header.
pub(crate) const REFUSED: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\n\
    Content-Length: 0\r\n\
    Retry-After: 5\r\n\
    Content-Security-Policy: default-src 'none'; sandbox\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Connection: close\r\n\r\n";

/// Open connections, by address. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Connections(Arc<Inner>);

struct Inner {
    trusted_proxies: Vec<IpNet>,
    /// Maximum number of connections of one address; 0: any number.
    most: usize,
    /// Maximum number of connections of one address that have not sent the head of a request yet; 0: any
    /// number.
    most_heads: usize,
    open: Mutex<HashMap<Key, Open>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Open {
    connections: usize,
    /// Number of them that have not sent the head of a request yet.
    heads: usize,
}

/// A connection of an address, counted until this is dropped.
pub(crate) struct Connection {
    all: Arc<Inner>,
    /// None for a trusted proxy.
    key: Option<Key>,
    has_head: AtomicBool,
}

/// Reason to close a connection at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Full {
    /// The address has too many connections.
    #[error("the address already has {0} connections, the maximum (limits.client_connections)")]
    Connections(usize),
    /// The address has too many connections without a request.
    #[error(
        "the address already has {0} connections without a complete request, the maximum \
         (limits.client_unfinished_heads)"
    )]
    Heads(usize),
}

impl Connections {
    pub(crate) fn new(config: &Config) -> Self {
        let Limits { connections, client_connections, client_unfinished_heads, .. } = config.limits;
        // Whatever is set, one address leaves half of the connections to others.
        let half = (connections / 2).max(1);
        let most = if client_connections == 0 { 0 } else { client_connections.min(half) };
        Self(Arc::new(Inner {
            trusted_proxies: config.trusted_proxies.clone(),
            most,
            most_heads: client_unfinished_heads,
            open: Mutex::default(),
        }))
    }

    /// Counts a connection of an address, or returns the reason to close it.
    pub(crate) fn take(&self, address: IpAddr) -> Result<Connection, Full> {
        let Inner { trusted_proxies, most, most_heads, .. } = &*self.0;
        let is_proxy = is_trusted(address.to_canonical(), trusted_proxies);
        let key = (!is_proxy).then(|| Key::address(address));
        if let Some(key) = &key {
            let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
            let now = open.get(key).copied().unwrap_or_default();
            if *most > 0 && now.connections >= *most {
                return Err(Full::Connections(now.connections));
            }
            if *most_heads > 0 && now.heads >= *most_heads {
                return Err(Full::Heads(now.heads));
            }
            let next = Open { connections: now.connections + 1, heads: now.heads + 1 };
            open.insert(key.clone(), next);
        }
        Ok(Connection { all: Arc::clone(&self.0), key, has_head: AtomicBool::new(false) })
    }
}

impl Connection {
    /// Records that the head of a request has arrived.
    pub(crate) fn has_head(&self) {
        if !self.has_head.swap(true, Ordering::Relaxed) {
            self.change(|open| open.heads -= 1);
        }
    }

    fn change(&self, change: impl FnOnce(&mut Open)) {
        let Some(key) = &self.key else { return };
        let mut all = self.all.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = all.get_mut(key) {
            change(open);
            if open.connections == 0 {
                all.remove(key);
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.has_head();
        self.change(|open| open.connections -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(limits: Limits) -> Connections {
        let trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
        Connections::new(&Config { limits, trusted_proxies, ..Config::default() })
    }

    fn at(address: &str) -> IpAddr {
        address.parse().unwrap()
    }

    #[test]
    fn an_address_has_so_many_connections_and_leaves_room_for_others() {
        let limits =
            Limits { client_connections: 3, client_unfinished_heads: 0, ..Limits::default() };
        let all = connections(limits);
        let mut open: Vec<_> = (0..3).map(|_| all.take(at("192.0.2.1")).ok().unwrap()).collect();
        assert_eq!(all.take(at("192.0.2.1")).err(), Some(Full::Connections(3)));
        assert_eq!(all.take(at("::ffff:192.0.2.1")).err(), Some(Full::Connections(3)));
        assert!(all.take(at("192.0.2.2")).is_ok());
        open.pop();
        assert!(all.take(at("192.0.2.1")).is_ok());
        drop(open);
        assert!(all.0.open.lock().unwrap().is_empty(), "nothing is kept of closed connections");
    }

    #[test]
    fn an_address_never_has_more_than_half_of_all_connections() {
        let all = connections(Limits { connections: 10, ..Limits::default() });
        let open: Vec<_> = (0..20).filter_map(|_| all.take(at("2001:db8::1")).ok()).collect();
        assert_eq!(open.len(), 5);
        assert!(all.take(at("2001:db8::2")).is_err(), "one subscriber has both");
        assert!(all.take(at("2001:db8:0:1::1")).is_ok());
    }

    #[test]
    fn a_connection_without_a_request_counts_as_such_until_its_head_comes() {
        let limits = Limits { client_unfinished_heads: 2, ..Limits::default() };
        let all = connections(limits);
        let first = all.take(at("192.0.2.1")).ok().unwrap();
        let second = all.take(at("192.0.2.1")).ok().unwrap();
        assert_eq!(all.take(at("192.0.2.1")).err(), Some(Full::Heads(2)));
        first.has_head();
        first.has_head();
        let third = all.take(at("192.0.2.1")).ok().unwrap();
        assert!(all.take(at("192.0.2.1")).is_err());
        drop((second, third));
        assert!(all.take(at("192.0.2.1")).is_ok());
    }

    #[test]
    fn a_trusted_proxy_connects_as_often_as_it_likes() {
        let limits =
            Limits { client_connections: 1, client_unfinished_heads: 1, ..Limits::default() };
        let all = connections(limits);
        let open: Vec<_> = (0..100).filter_map(|_| all.take(at("10.1.2.3")).ok()).collect();
        assert_eq!(open.len(), 100);
    }
}
