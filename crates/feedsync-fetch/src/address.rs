//! Rules for the addresses that may be fetched.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use ipnet::IpNet;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::error::{FetchError, shown, shown_text};
use crate::policy::Private;

/// Parses an address that a person or a feed gave: absolute, `http` or `https`. A fragment is removed.
pub fn address(text: &str) -> Result<Url, FetchError> {
    let refuse = |reason: String| FetchError::Address { url: shown_text(text), reason };
    let parsed = Url::parse(text);
    let is_complete = parsed.as_ref().is_ok_and(is_http);
    if let Some(meant) = with_scheme(text).filter(|_| !is_complete) {
        let meant = shown_text(&meant);
        return Err(refuse(format!(
            "an address must begin with https:// or http://, such as {meant}"
        )));
    }
    let mut url = parsed.map_err(|error| refuse(error.to_string()))?;
    if !is_http(&url) {
        return Err(refuse(format!(
            "{} addresses are not supported, only http and https",
            url.scheme()
        )));
    }
    url.set_fragment(None);
    Ok(url)
}

/// Suggests an address for a text without a scheme: over https, or over http on this machine. Returns `None`
/// if the text begins with a scheme, or does not begin with the name of a host.
pub fn with_scheme(text: &str) -> Option<String> {
    if text.contains("://") || text.contains(char::is_whitespace) {
        return None;
    }
    let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
    let (name, port) = authority.split_once(':').unwrap_or((authority, ""));
    let is_local = name == "localhost" || name.starts_with("127.");
    let is_dotted = name.contains('.') && !name.starts_with('.') && !name.ends_with('.');
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    let scheme = if is_local { "http" } else { "https" };
    ((is_local || is_dotted) && is_plain && is_port).then(|| format!("{scheme}://{text}"))
}

pub(crate) fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

/// Refuses other schemes than http and https. If only public addresses and those of these networks may be
/// fetched, refuses private addresses in the URL itself. Names are checked when they are resolved.
pub(crate) fn check(url: &Url, private: Private, networks: &[IpNet]) -> Result<(), FetchError> {
    if !is_http(url) {
        let reason = format!("{} addresses are not supported, only http and https", url.scheme());
        return Err(FetchError::Address { url: shown(url), reason });
    }
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(ip) if private == Private::Refused && !is_open(ip, networks) => {
            Err(FetchError::Private { url: shown(url), host: host.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Kind of the addresses of a host that may be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostAddresses {
    /// All are public.
    Public,
    /// Some are of the named networks, all others public.
    Networks,
}

/// Resolves the host of a URL and checks every address of it: a proxy may connect to any of them.
pub(crate) async fn resolved(url: &Url, networks: &[IpNet]) -> Result<HostAddresses, FetchError> {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let unresolved = |cause: String| {
        let reason =
            format!("cannot check the host before it is fetched through the proxy: {cause}");
        FetchError::Unreachable { url: shown(url), reason }
    };
    let found = tokio::net::lookup_host((bare, 0)).await;
    let found: Vec<_> = found.map_err(|error| unresolved(error.to_string()))?.collect();
    if found.is_empty() {
        return Err(unresolved("the name has no address".to_owned()));
    }
    if !found.iter().all(|address| is_open(address.ip(), networks)) {
        return Err(FetchError::Private { url: shown(url), host: host.to_owned() });
    }
    let all_public = found.iter().all(|address| is_public(address.ip()));
    Ok(if all_public { HostAddresses::Public } else { HostAddresses::Networks })
}

/// Whether an address is of this machine or this network. A name that cannot be resolved here counts as
/// public.
pub async fn is_private(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match tokio::net::lookup_host((bare, 0)).await {
        Ok(mut found) => found.any(|address| !is_public(address.ip())),
        Err(_) => false,
    }
}

/// Whether an address is of this machine, as far as its text shows (RFC 6761, 6.3).
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(ip) => ip.is_loopback(),
        Err(_) => bare == "localhost" || bare.ends_with(".localhost"),
    }
}

/// Whether the environment names a proxy.
pub(crate) fn has_proxy() -> bool {
    ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Whether an address is public: not of this machine or this network, and not reserved (RFC 6890). An IPv6
/// address that contains an IPv4 address is judged by that (RFC 4291, 6052, 3056, 5214).
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

/// Whether an address is public, or in one of these networks.
fn is_open(ip: IpAddr, networks: &[IpNet]) -> bool {
    is_public(ip) || networks.iter().any(|network| network.contains(&ip))
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let reserved = a == 0
        || a >= 240
        || (a == 100 && b & 0xc0 == 64)
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && b & 0xfe == 18);
    !(reserved
        || ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_documentation())
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let inside = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match ip.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            inside(high, low)
        }
        [0x2002, high, low, ..] => inside(high, low),
        // Teredo, ORCHID and documentation.
        [0x2001, second, ..] if second < 0x200 || second == 0x0db8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        // ISATAP carries an IPv4 address in its interface identifier (RFC 5214, 6.1).
        [first, _, _, _, 0 | 0x200, 0x5efe, high, low] => {
            first & 0xe000 == 0x2000 && inside(high, low)
        }
        // All addresses for public use are in 2000::/3.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// A name that resolves only to private addresses.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not a public address")]
pub(crate) struct PrivateAddress(pub(crate) String);

/// Resolves names to their public addresses and those of these networks. Connections are made to the checked
/// addresses.
pub(crate) struct PublicResolver(pub(crate) Arc<[IpNet]>);

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let networks = Arc::clone(&self.0);
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let is_open = |address: &SocketAddr| is_open(address.ip(), &networks);
            let public: Vec<_> = found.into_iter().filter(is_open).collect();
            if public.is_empty() {
                return Err(PrivateAddress(name.as_str().to_owned()).into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_and_https_are_addresses() {
        assert_eq!(address("http://a.example/x#y").unwrap().as_str(), "http://a.example/x");
        for text in ["file:///etc/passwd", "ftp://a.example/", "feed.xml", "", "javascript:1"] {
            assert!(matches!(address(text), Err(FetchError::Address { .. })), "{text}");
        }
    }

    #[test]
    fn address_without_a_scheme_is_suggested_with_one() {
        for (text, meant) in [
            ("example.org/x", Some("https://example.org/x")),
            ("example.org:8443", Some("https://example.org:8443")),
            ("localhost:4287/collections/notes", Some("http://localhost:4287/collections/notes")),
            ("127.0.0.1/x", Some("http://127.0.0.1/x")),
            ("https://example.org/x", None),
            ("mailto:anna@example.org", None),
            ("notes", None),
            ("./feed.xml", None),
            ("../feed.xml", None),
            ("two words.org", None),
        ] {
            assert_eq!(with_scheme(text).as_deref(), meant, "{text}");
            if let Some(meant) = meant {
                let error = address(text).unwrap_err().to_string();
                assert!(error.ends_with(&format!("such as {meant}")), "{error}");
            }
        }
        assert!(address("ftp://example.org/").unwrap_err().to_string().contains("only http and"));
    }

    #[test]
    fn addresses_of_this_machine_and_this_network_are_not_public() {
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "198.18.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fc00::1",
            "fe80::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "::7f00:1",
            "0.1.2.3",
            "100.127.255.255",
            "198.19.255.255",
            "239.1.2.3",
            "240.0.0.1",
            "192.88.99.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::808:808",
            "2002:a00:1::1",
            "2002:a9fe:a9fe::",
            "2001:0:7f00:1::",
            "fec0::1",
            "fe80::5efe:7f00:1",
            "2606:4700::5efe:7f00:1",
            "2606:4700::200:5efe:a00:1",
            "100::1",
            "3fff::1",
            "5f00::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn a_private_address_is_recognised_however_it_is_spelt() {
        for text in [
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://017700000001/",
            "http://127.1/",
            "http://0/",
            "http://[::1]/",
            "http://[::ffff:7f00:1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://127.0.0.1.:80/",
            "http://8.8.8.8@127.0.0.1/",
            "http://%31%32%37.0.0.1/",
            "http://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
            "http:\\\\127.0.0.1\\",
        ] {
            let url = address(text).unwrap();
            assert!(
                matches!(check(&url, Private::Refused, &[]), Err(FetchError::Private { .. })),
                "{text}"
            );
            assert_eq!(check(&url, Private::Allowed, &[]), Ok(()));
        }
    }

    #[test]
    fn networks_that_are_named_are_open_and_no_others() {
        let networks = ["192.168.7.0/24", "fd00:7::/32"].map(|network| network.parse().unwrap());
        for (host, is_open) in [
            ("192.168.7.1", true),
            ("[fd00:7::1]", true),
            ("192.168.8.1", false),
            ("[::ffff:192.168.8.1]", false),
            ("127.0.0.1", false),
            ("8.8.8.8", true),
        ] {
            let url = address(&format!("http://{host}/feed")).unwrap();
            assert_eq!(check(&url, Private::Refused, &networks).is_ok(), is_open, "{host}");
        }
    }

    #[test]
    fn loopback_is_told_by_the_address() {
        let told = |host: &str| is_loopback(&Url::parse(&format!("http://{host}/feed")).unwrap());
        for host in ["127.0.0.1", "127.1.2.3:81", "[::1]", "localhost:8080", "hub.localhost"] {
            assert!(told(host), "{host}");
        }
        for host in ["10.0.0.1", "[fe80::1]", "localhost.example", "notlocalhost", "a.example"] {
            assert!(!told(host), "{host}");
        }
    }
}
