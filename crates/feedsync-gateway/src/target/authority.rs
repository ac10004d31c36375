//! A host and a port, in normalised form.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use feedsync_bitsy::location::Location;
use url::Host;

/// A host and a port: the peer of a connection. Names are in lower case and in ASCII, so that two spellings of
/// one authority are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Authority {
    host: Host,
    port: u16,
}

/// Error for a text that is not an authority.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a host with an optional port, such as example.org, example.org:8080 or [::1]:8080"
)]
pub struct AuthorityError(pub(crate) String);

impl Authority {
    /// The authority of an address.
    pub fn of(location: &Location) -> Self {
        // A location is an http or https URL with a host and a port; without one, nothing is reached.
        Self {
            host: parse(location.host()).unwrap_or(Host::Domain(String::new())),
            port: location.port(),
        }
    }

    /// Parses a host with an optional port; the default is `otherwise`.
    pub fn parse(text: &str, otherwise: u16) -> Result<Self, AuthorityError> {
        let (host, port) = host_and_port(text)?;
        Ok(Self { host, port: port.unwrap_or(otherwise) })
    }

    /// The host: a name or an IP address.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The IP address, unless the host is a name.
    pub fn ip(&self) -> Option<IpAddr> {
        match self.host {
            Host::Domain(_) => None,
            Host::Ipv4(ip) => Some(ip.into()),
            Host::Ipv6(ip) => Some(ip.into()),
        }
    }

    /// Whether the authority names this machine, judged by its text alone (RFC 6761 6.3).
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Domain(name) => is_localhost(name),
            _ => self.ip().is_some_and(|ip| ip.to_canonical().is_loopback()),
        }
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

/// Parses a host and an optional port, without a user or a path.
pub(crate) fn host_and_port(text: &str) -> Result<(Host, Option<u16>), AuthorityError> {
    let error = || AuthorityError(text.to_owned());
    let in_brackets = text.starts_with('[');
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !in_brackets || host.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let digits = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let port = match port {
        None => None,
        Some(port) if digits(port) => match port.parse() {
            Ok(port) if port != 0 => Some(port),
            _ => return Err(error()),
        },
        Some(_) => return Err(error()),
    };
    let plain =
        |byte: u8| !byte.is_ascii() || byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if host.is_empty() || (!in_brackets && !host.bytes().all(plain)) {
        return Err(error());
    }
    Ok((parse(host).ok_or_else(error)?, port))
}

fn parse(host: &str) -> Option<Host> {
    // Fast path: most hosts of local gateways have this form.
    match host.parse::<Ipv4Addr>() {
        Ok(address) => Some(Host::Ipv4(address)),
        Err(_) => Host::parse(host).ok(),
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl FromStr for Authority {
    type Err = AuthorityError;

    /// Parses an authority with a port.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (host, port) = host_and_port(text)?;
        Ok(Self { host, port: port.ok_or_else(|| AuthorityError(text.to_owned()))? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_authority_are_one() {
        let one: Authority = "example.org:80".parse().unwrap();
        for other in ["EXAMPLE.org:80", "example.org:080"] {
            assert_eq!(other.parse::<Authority>().unwrap(), one, "{other}");
        }
        assert_eq!(Authority::parse("example.org", 80).unwrap(), one);
        assert_eq!(Authority::of(&"http://Example.org/x".parse().unwrap()), one);
        // Every notation of a number that the resolver accepts is recognised as an IP address.
        for spelling in ["127.0.0.1:80", "127.1:80", "2130706433:80", "0x7f.0.0.1:80"] {
            assert!(spelling.parse::<Authority>().unwrap().is_loopback(), "{spelling}");
        }
        assert!("[::ffff:127.0.0.1]:80".parse::<Authority>().unwrap().is_loopback());
        assert!("a.localhost:80".parse::<Authority>().unwrap().is_loopback());
        assert_eq!("[::1]:5023".parse::<Authority>().unwrap().to_string(), "[::1]:5023");
    }

    #[test]
    fn invalid_authorities_are_rejected() {
        for text in [
            "",
            "example.org",
            ":80",
            "a@b:80",
            "a/b:80",
            "a b:80",
            "[::1:80",
            "::1:80",
            "a:0",
            "a:65536",
            "a:+1",
            "a:80:80",
            "a\\b:80",
            "a?b:80",
            "a#b:80",
            "a%41:80",
        ] {
            assert!(text.parse::<Authority>().is_err(), "{text}");
        }
    }
}
