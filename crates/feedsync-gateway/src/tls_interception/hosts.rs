//! Hosts that an authority is limited to by its name constraints (RFC 5280 4.2.1.10).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use rcgen::{CidrSubnet, GeneralSubtree, NameConstraints};
use url::Host;
use x509_cert::ext::pkix;
use x509_cert::ext::pkix::name::GeneralName;

/// A host that an authority may sign certificates for. A name includes all names below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermittedHost(Host);

/// Error for a text that is no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a host: write a name such as example.org, or an address such as 10.0.0.1 or [::1]"
)]
pub struct PermittedHostError(String);

impl FromStr for PermittedHost {
    type Err = PermittedHostError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let host = Host::parse(text).map_err(|_| PermittedHostError(text.to_owned()))?;
        // A final dot or an empty label is no constraint that all applications understand alike.
        let is_plain = match &host {
            Host::Domain(name) => name.split('.').all(|label| {
                let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
                !label.is_empty() && label.bytes().all(is_known)
            }),
            Host::Ipv4(_) | Host::Ipv6(_) => true,
        };
        if is_plain { Ok(Self(host)) } else { Err(PermittedHostError(text.to_owned())) }
    }
}

impl fmt::Display for PermittedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PermittedHost {
    /// The host.
    pub(super) fn host(&self) -> &Host {
        &self.0
    }

    /// Whether it includes a host.
    pub(super) fn includes(&self, host: &Host) -> bool {
        match (&self.0, host) {
            (Host::Domain(permitted), Host::Domain(name)) => {
                let before = name.strip_suffix(permitted.as_str());
                before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
            }
            (permitted, host) => permitted == host,
        }
    }

    fn subtree(&self) -> GeneralSubtree {
        match &self.0 {
            Host::Domain(name) => GeneralSubtree::DnsName(name.clone()),
            Host::Ipv4(ip) => GeneralSubtree::IpAddress(CidrSubnet::V4(ip.octets(), [u8::MAX; 4])),
            Host::Ipv6(ip) => GeneralSubtree::IpAddress(CidrSubnet::V6(ip.octets(), [u8::MAX; 16])),
        }
    }
}

/// Name constraints that permit these hosts only; none without hosts. A kind of name without a permitted host is
/// forbidden as a whole, since constraints apply to each kind by itself.
pub(super) fn constraints(hosts: &[PermittedHost]) -> Option<NameConstraints> {
    if hosts.is_empty() {
        return None;
    }
    let has_name = hosts.iter().any(|host| matches!(host.0, Host::Domain(_)));
    let has_address = hosts.iter().any(|host| !matches!(host.0, Host::Domain(_)));
    let mut permitted_subtrees: Vec<_> = hosts.iter().map(PermittedHost::subtree).collect();
    if !has_name {
        // The reserved top-level name that no host has (RFC 6761 6.4).
        permitted_subtrees.push(GeneralSubtree::DnsName(NO_HOST.to_owned()));
    }
    let all = [CidrSubnet::V4([0; 4], [0; 4]), CidrSubnet::V6([0; 16], [0; 16])];
    let excluded = all.map(GeneralSubtree::IpAddress);
    let excluded_subtrees = if has_address { Vec::new() } else { excluded.into() };
    Some(NameConstraints { permitted_subtrees, excluded_subtrees })
}

const NO_HOST: &str = "invalid";

/// Hosts that the name constraints of a certificate permit; `None` if they have another form than
/// [`constraints`] makes.
pub(super) fn permitted(constraints: Option<pkix::NameConstraints>) -> Option<Vec<PermittedHost>> {
    let Some(constraints) = constraints else { return Some(Vec::new()) };
    let permitted = constraints.permitted_subtrees?;
    let hosts = permitted.into_iter().filter_map(|subtree| match subtree.base {
        GeneralName::DnsName(name) if name.as_str() == NO_HOST => None,
        GeneralName::DnsName(name) => Some(name.as_str().parse().ok()),
        GeneralName::IpAddress(bytes) => Some(address(bytes.as_bytes()).map(PermittedHost)),
        _ => Some(None),
    });
    hosts.collect()
}

/// Single address of a subnet, whose address and mask are given.
fn address(bytes: &[u8]) -> Option<Host> {
    let (ip, mask) = bytes.split_at(bytes.len() / 2);
    if mask.iter().any(|byte| *byte != u8::MAX) {
        return None;
    }
    match ip.len() {
        4 => Some(Host::Ipv4(Ipv4Addr::from(<[u8; 4]>::try_from(ip).ok()?))),
        16 => Some(Host::Ipv6(Ipv6Addr::from(<[u8; 16]>::try_from(ip).ok()?))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permitted_name_includes_the_names_below_it() {
        let includes = |permitted: &str, host: &str| {
            permitted.parse::<PermittedHost>().unwrap().includes(&Host::parse(host).unwrap())
        };
        assert!(includes("Example.org", "example.org"));
        assert!(includes("example.org", "a.b.example.org"));
        assert!(includes("10.0.0.1", "10.0.0.1"));
        assert!(includes("[::1]", "[::1]"));
        for (permitted, host) in [
            ("example.org", "badexample.org"),
            ("a.example.org", "example.org"),
            ("example.org", "example.org.evil.net"),
            ("10.0.0.1", "10.0.0.2"),
            ("10.0.0.1", "example.org"),
        ] {
            assert!(!includes(permitted, host), "{permitted} {host}");
        }
    }

    #[test]
    fn invalid_permitted_hosts_are_rejected() {
        for text in ["", ".", "example.org.", ".example.org", "*.example.org", "a/b", "a b", "a:80"]
        {
            assert!(text.parse::<PermittedHost>().is_err(), "{text}");
        }
    }
}
