//! Authorities that a person allows: one, those below a name, or all public ones.

use std::fmt;
use std::str::FromStr;

use url::Host;

use crate::target::Access;
use crate::target::authority::{Authority, AuthorityError, host_and_port};

/// Pattern of allowed authorities: `HOST`, `HOST:PORT`, `*.example.org`, or `*` for all. The default ports are
/// those of `http` and `https`, and any for `*`. Only a host that is named itself may be private.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Hosts {
    All,
    /// Suffix including the leading dot.
    Below(String),
    One(Host),
}

/// Default port of tunnels.
const TUNNEL: u16 = 443;

impl Allowed {
    /// Returns the access of requests to an authority, if allowed.
    pub(crate) fn access(&self, authority: &Authority) -> Option<Access> {
        let usual = match self.hosts {
            Hosts::All => true,
            _ => matches!(authority.port(), 80 | 443),
        };
        let port = self.port.map_or(usual, |port| port == authority.port());
        self.matching(authority).filter(|_| port)
    }

    /// Returns the access of tunnels to an authority, if allowed.
    pub(crate) fn tunnel(&self, authority: &Authority) -> Option<Access> {
        self.matching(authority).filter(|_| self.port.unwrap_or(TUNNEL) == authority.port())
    }

    fn matching(&self, authority: &Authority) -> Option<Access> {
        match (&self.hosts, authority.host()) {
            (Hosts::All, _) => Some(Access::Public),
            (Hosts::Below(suffix), Host::Domain(name)) if name.ends_with(suffix) => {
                Some(Access::Public)
            }
            (Hosts::One(host), other) if host == other => Some(Access::MemberAddress),
            _ => None,
        }
    }
}

impl FromStr for Allowed {
    type Err = AuthorityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A star is not valid in a host, so it is removed before the rest is parsed.
        let starred = text.strip_prefix('*');
        let (hosts, port) = match starred {
            None => {
                let (host, port) = host_and_port(text)?;
                (Hosts::One(host), port)
            }
            Some(rest) if rest.is_empty() || rest.starts_with(':') => {
                let (_, port) = host_and_port(&format!("all{rest}"))?;
                (Hosts::All, port)
            }
            Some(rest) => {
                match (rest.strip_prefix('.'), host_and_port(rest.trim_start_matches('.'))) {
                    (Some(_), Ok((Host::Domain(name), port))) => {
                        (Hosts::Below(format!(".{name}")), port)
                    }
                    _ => return Err(AuthorityError(text.to_owned())),
                }
            }
        };
        Ok(Self { hosts, port })
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::All => f.write_str("*")?,
            Hosts::Below(suffix) => write!(f, "*{suffix}")?,
            Hosts::One(host) => write!(f, "{host}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(allowed: &str, authority: &str) -> Option<Access> {
        let allowed: Allowed = allowed.parse().unwrap();
        assert_eq!(allowed.to_string().parse(), Ok(allowed.clone()));
        allowed.access(&authority.parse().unwrap())
    }

    fn tunnel(allowed: &str, authority: &str) -> bool {
        allowed.parse::<Allowed>().unwrap().tunnel(&authority.parse().unwrap()).is_some()
    }

    #[test]
    fn only_what_is_named_itself_is_reached_by_name() {
        assert_eq!(access("example.org", "example.org:443"), Some(Access::MemberAddress));
        assert_eq!(access("Example.ORG:8080", "example.org:8080"), Some(Access::MemberAddress));
        assert_eq!(access("[::1]:8080", "[::1]:8080"), Some(Access::MemberAddress));
        assert_eq!(access("*.example.org", "a.b.example.org:80"), Some(Access::Public));
        assert_eq!(access("*", "example.org:8080"), Some(Access::Public));
        assert_eq!(access("*:8080", "example.org:8080"), Some(Access::Public));
    }

    #[test]
    fn other_hosts_and_ports_are_not_reached() {
        for (allowed, authority) in [
            ("example.org", "example.org:8080"),
            ("example.org:8080", "example.org:80"),
            ("example.org", "www.example.org:80"),
            ("*.example.org", "example.org:80"),
            ("*.example.org", "badexample.org:80"),
            ("*.example.org", "a.example.org:22"),
            ("*:8080", "example.org:80"),
        ] {
            assert_eq!(access(allowed, authority), None, "{allowed} {authority}");
        }
    }

    #[test]
    fn a_tunnel_goes_to_443_and_to_ports_that_were_named() {
        for allowed in ["*", "example.org", "*.org"] {
            assert!(tunnel(allowed, "example.org:443"), "{allowed}");
            assert!(!tunnel(allowed, "example.org:25"), "{allowed}");
            assert!(!tunnel(allowed, "example.org:80"), "{allowed}");
        }
        assert!(tunnel("example.org:8443", "example.org:8443"));
        assert!(!tunnel("example.org:8443", "example.org:443"));
    }

    #[test]
    fn invalid_patterns_are_rejected() {
        for text in
            ["", "*example.org", "a*", "*.", "*.*", "http://a", "a/b", "*:x", "*.10.0.0.1", "a@b"]
        {
            assert!(text.parse::<Allowed>().is_err(), "{text}");
        }
    }
}
