//! Peers of connections, and the clients for which trusted proxies forward requests.

use std::net::{IpAddr, SocketAddr};

use axum::Router;
use feedsync_http::{LocalProof, is_forwarded};
use http::{HeaderMap, Request};
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use ipnet::IpNet;

use crate::config::Config;
use crate::configuration::ForwardedBy;
use crate::http::connections::Connection;
use crate::http::request_line::RequestLines;

/// The peer of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// Whether the connection is encrypted.
    pub(crate) secure: bool,
    /// Whether the address that it connected to serves databases at its root.
    pub(crate) is_for_databases: bool,
}

/// The application for the requests of one connection.
pub(crate) struct WithPeer {
    application: TowerToHyperService<Router>,
    peer: Peer,
    connection: Connection,
    lines: RequestLines,
}

impl WithPeer {
    pub(crate) fn new(application: Router, peer: Peer, connection: Connection) -> Self {
        let application = TowerToHyperService::new(application);
        Self { application, peer, connection, lines: RequestLines::new() }
    }

    /// The request lines of the connection.
    pub(crate) fn lines(&self) -> &RequestLines {
        &self.lines
    }
}

impl Service<Request<Incoming>> for WithPeer {
    type Response = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Response;
    type Error = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Error;
    type Future = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        self.connection.has_head();
        self.lines.head(request.method(), request.headers());
        request.extensions_mut().insert(self.peer);
        self.application.call(request)
    }
}

/// The client of a request, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Client {
    /// Its address; none without a connection.
    pub(crate) address: Option<IpAddr>,
    /// Whether the request arrived over TLS, here or at a trusted proxy.
    pub(crate) secure: bool,
    /// Whether it comes from this machine without a trusted proxy in between.
    pub(crate) local: bool,
    /// Whether a trusted proxy forwards it.
    pub(crate) forwarded: bool,
    /// Whether any proxy declares that it forwards the request.
    proxied: bool,
    /// Whether that proxy proves that it forwards a request of a program on this machine.
    vouched: bool,
}

impl Client {
    /// The client of a request.
    pub(crate) fn of(peer: Option<Peer>, headers: &HeaderMap, config: &Config) -> Self {
        let proxied = is_forwarded(headers);
        let Some(peer) = peer else {
            return Self { local: true, proxied, ..Self::default() };
        };
        let address = peer.address.ip().to_canonical();
        if !is_trusted(address, &config.trusted_proxies) {
            let (local, secure) = (address.is_loopback(), peer.secure);
            return Self { address: Some(address), secure, local, proxied, ..Self::default() };
        }
        let hops = hops(headers, config.forwarded_by);
        let mut client = address;
        for hop in hops.iter().rev() {
            // Claims of an unknown hop about earlier hops are not trusted.
            let Some(named) = hop else { break };
            client = *named;
            if !is_trusted(client, &config.trusted_proxies) {
                break;
            }
        }
        let secure = match scheme(headers, config.forwarded_by) {
            Some(scheme) => scheme.eq_ignore_ascii_case("https"),
            None => peer.secure,
        };
        Self { address: Some(client), secure, forwarded: true, proxied: true, ..Self::default() }
    }

    /// Adds the proof in the request: a proxy on this machine may prove that it forwards a request of a local
    /// program.
    pub(crate) fn vouched_by(self, proof: Option<&LocalProof>, headers: &HeaderMap) -> Self {
        Self { vouched: proof.is_some_and(|proof| proof.is_shown(headers)), ..self }
    }

    /// Whether it comes from this machine and, as far as can be determined, no proxy forwards it for a remote
    /// client.
    pub(crate) fn is_here(&self) -> bool {
        self.local && (!self.proxied || self.vouched)
    }
}

/// Whether an address is that of a proxy which the configuration trusts.
pub(crate) fn is_trusted(address: IpAddr, proxies: &[IpNet]) -> bool {
    proxies.iter().any(|network| network.contains(&address))
}

/// Addresses that proxies forward for, the nearest last; an element is none if it is not an address.
fn hops(headers: &HeaderMap, by: ForwardedBy) -> Vec<Option<IpAddr>> {
    match by {
        ForwardedBy::XForwarded => values(headers, "x-forwarded-for").map(address).collect(),
        ForwardedBy::Forwarded => {
            values(headers, "forwarded").map(|hop| address(parameter(hop, "for")?)).collect()
        }
    }
}

/// Scheme of the request to the nearest proxy.
fn scheme(headers: &HeaderMap, by: ForwardedBy) -> Option<&str> {
    match by {
        ForwardedBy::XForwarded => values(headers, "x-forwarded-proto").last(),
        ForwardedBy::Forwarded => parameter(values(headers, "forwarded").last()?, "proto"),
    }
}

/// Elements of a comma-separated header that may be repeated.
fn values<'h>(headers: &'h HeaderMap, name: &'static str) -> impl Iterator<Item = &'h str> {
    let texts = headers.get_all(name).into_iter().map(|value| value.to_str().unwrap_or("unknown"));
    texts.flat_map(|text| text.split(',')).map(str::trim)
}

/// A parameter of an element of `Forwarded` (RFC 7239 4), without its quotes.
fn parameter<'h>(element: &'h str, name: &str) -> Option<&'h str> {
    let pairs = element.split(';').filter_map(|pair| pair.trim().split_once('='));
    let mut named = pairs.filter(|(key, _)| key.eq_ignore_ascii_case(name));
    named.next().map(|(_, value)| value.trim_matches('"'))
}

/// An address, perhaps with a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let parsed = bare.parse().ok();
    let parsed = parsed.or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip()));
    parsed.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use feedsync_http::LOCAL_PROOF;

    fn asked(peer: &str, by: ForwardedBy, headers: &[(&'static str, &str)]) -> Client {
        let config = Config {
            trusted_proxies: vec!["10.0.0.0/8".parse().unwrap(), "127.0.0.1/32".parse().unwrap()],
            forwarded_by: by,
            ..Config::default()
        };
        let address = SocketAddr::new(peer.parse().unwrap(), 9);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        Client::of(Some(Peer { address, secure: false, is_for_databases: false }), &map, &config)
    }

    fn at(client: Client) -> String {
        client.address.unwrap().to_string()
    }

    #[test]
    fn only_trusted_proxies_say_for_whom_they_ask() {
        let by = ForwardedBy::XForwarded;
        let claims = [("x-forwarded-for", "192.0.2.1"), ("x-forwarded-proto", "https")];
        let client = asked("203.0.113.5", by, &claims);
        assert_eq!((at(client).as_str(), client.secure), ("203.0.113.5", false));
        let client = asked("10.0.0.1", by, &claims);
        assert_eq!((at(client).as_str(), client.secure), ("192.0.2.1", true));
        assert!(client.forwarded && !client.local);
        assert_eq!(at(asked("::ffff:10.0.0.1", by, &claims)), "192.0.2.1");
        // A proxy without the header is itself the client.
        assert_eq!(at(asked("10.0.0.1", by, &[])), "10.0.0.1");
        // A client cannot forge its address: the nearest untrusted hop counts.
        for chain in ["192.0.2.66, 192.0.2.1", "192.0.2.66, 192.0.2.1, 10.0.0.9"] {
            assert_eq!(at(asked("10.0.0.1", by, &[("x-forwarded-for", chain)])), "192.0.2.1");
        }
        let twice = [("x-forwarded-for", "192.0.2.66"), ("x-forwarded-for", "192.0.2.1")];
        assert_eq!(at(asked("10.0.0.1", by, &twice)), "192.0.2.1");
        for nonsense in ["", "x", "192.0.2.66, unknown", "192.0.2.66, _hidden"] {
            assert_eq!(at(asked("10.0.0.1", by, &[("x-forwarded-for", nonsense)])), "10.0.0.1");
        }
        // Only the configured header counts.
        let other = [("forwarded", "for=192.0.2.7;proto=https")];
        assert_eq!(at(asked("10.0.0.1", by, &other)), "10.0.0.1");
    }

    #[test]
    fn forwarded_is_read_as_its_rfc_writes_it() {
        let by = ForwardedBy::Forwarded;
        for (text, address) in [
            ("for=192.0.2.60;proto=https;by=203.0.113.43", "192.0.2.60"),
            ("For=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"),
            ("for=192.0.2.43, for=198.51.100.17", "198.51.100.17"),
            ("for=\"192.0.2.43:47011\"", "192.0.2.43"),
            ("for=_secret", "10.0.0.1"),
            ("proto=https", "10.0.0.1"),
        ] {
            let client = asked("10.0.0.1", by, &[("forwarded", text)]);
            assert_eq!(at(client), address, "{text}");
            assert_eq!(client.secure, text.contains("https"), "{text}");
        }
    }

    #[test]
    fn a_proxy_that_shows_the_proof_asks_for_this_machine_and_for_no_other() {
        let proof = LocalProof::random();
        let here = |address: &str, shown: &LocalProof, proof: Option<&LocalProof>| {
            let peer =
                Peer { address: address.parse().unwrap(), secure: false, is_for_databases: false };
            let mut headers = HeaderMap::new();
            headers.insert("via", "1.1 feedsync".parse().unwrap());
            headers.insert(LOCAL_PROOF, shown.value().unwrap());
            let client = Client::of(Some(peer), &headers, &Config::default());
            client.vouched_by(proof, &headers).is_here()
        };
        assert!(here("127.0.0.1:9", &proof, Some(&proof)));
        assert!(!here("192.0.2.1:9", &proof, Some(&proof)), "it was stolen");
        assert!(!here("127.0.0.1:9", &LocalProof::random(), Some(&proof)));
        assert!(!here("127.0.0.1:9", &proof, None));
        let trusting =
            Config { trusted_proxies: vec!["127.0.0.1/32".parse().unwrap()], ..Config::default() };
        let peer = Peer {
            address: "127.0.0.1:9".parse().unwrap(),
            secure: false,
            is_for_databases: false,
        };
        let headers = HeaderMap::from_iter([(LOCAL_PROOF, proof.value().unwrap())]);
        let client = Client::of(Some(peer), &headers, &trusting);
        assert!(!client.vouched_by(Some(&proof), &headers).is_here());
    }

    #[test]
    fn clients_on_this_machine_are_local_unless_a_proxy_forwards() {
        let config = Config::default();
        let local = |address: &str| {
            let peer =
                Peer { address: address.parse().unwrap(), secure: false, is_for_databases: false };
            Client::of(Some(peer), &HeaderMap::new(), &config).local
        };
        assert!(local("127.0.0.1:9") && local("[::1]:9") && local("[::ffff:127.0.0.1]:9"));
        assert!(!local("192.0.2.1:9"));
        let here = |name: &'static str| {
            let peer = Peer {
                address: "127.0.0.1:9".parse().unwrap(),
                secure: false,
                is_for_databases: false,
            };
            let headers = [(http::HeaderName::from_static(name), "x".parse().unwrap())];
            Client::of(Some(peer), &headers.into_iter().collect(), &config).is_here()
        };
        for name in
            ["accept", "host", "origin", "referer", "user-agent", "sec-fetch-site", "x-auth-token"]
        {
            assert!(here(name), "{name}");
        }
        for name in [
            "cdn-loop",
            "cf-connecting-ip",
            "cf-connecting-ipv6",
            "cf-ray",
            "client-ip",
            "fastly-client-ip",
            "fly-client-ip",
            "forwarded",
            "tailscale-user-login",
            "true-client-ip",
            "via",
            "x-appengine-user-ip",
            "x-azure-clientip",
            "x-client-ip",
            "x-cluster-client-ip",
            "x-envoy-external-address",
            "x-forwarded",
            "x-forwarded-by",
            "x-forwarded-for",
            "x-forwarded-host",
            "x-forwarded-port",
            "x-forwarded-proto",
            "x-forwarded-server",
            "x-nf-client-connection-ip",
            "x-original-forwarded-for",
            "x-original-host",
            "x-original-url",
            "x-real-ip",
            "x-vercel-forwarded-for",
        ] {
            assert!(!here(name), "{name}");
        }
        assert!(!asked("127.0.0.1", ForwardedBy::XForwarded, &[]).local);
    }
}
