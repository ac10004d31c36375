//! Reachable authorities, and those that may have private addresses.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use feedsync_bitsy::location::Location;
use feedsync_fetch::is_public;
use feedsync_http::LocalHubs;
use url::Host;

use crate::programs;
use crate::target::allowed::Allowed;
use crate::target::authority::Authority;
use crate::target::mount::Mount;

/// Access to an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// At public addresses only: a pattern allows the authority, and its name may resolve to any address.
    Public,
    /// At private addresses, too: exactly this authority is mounted, subscribed or allowed.
    MemberAddress,
}

/// Authorities that are mounted, subscribed or allowed. Cloning is cheap; clones share one set, which follows the
/// subscriptions.
#[derive(Debug, Clone, Default)]
pub struct Reachable {
    mounts: Arc<[Mount]>,
    allowed: Arc<[Allowed]>,
    /// Number of subscriptions that need an authority.
    subscribed: Arc<RwLock<HashMap<Authority, usize>>>,
    /// Hubs that are reachable while they run.
    hubs: Option<LocalHubs>,
}

impl Reachable {
    /// Creates the set with the configured mounts and patterns.
    pub fn new(mounts: Vec<Mount>, allowed: Vec<Allowed>) -> Self {
        let (mounts, allowed) = (mounts.into(), allowed.into());
        Self { mounts, allowed, ..Self::default() }
    }

    /// Returns the set for programs of this machine, which also reach hubs of this user.
    pub(crate) fn of_programs(&self, hubs: Option<LocalHubs>) -> Self {
        Self { hubs, ..self.clone() }
    }

    /// Adds a subscription that needs an authority.
    pub fn subscribe(&self, authority: Authority) {
        let mut subscribed = self.subscribed.write().unwrap_or_else(PoisonError::into_inner);
        *subscribed.entry(authority).or_default() += 1;
    }

    /// Removes a subscription that needed an authority.
    pub fn unsubscribe(&self, authority: &Authority) {
        let mut subscribed = self.subscribed.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = subscribed.get_mut(authority) {
            *count -= 1;
            if *count == 0 {
                subscribed.remove(authority);
            }
        }
    }

    /// Returns the access of requests to an authority, if allowed.
    pub fn access(&self, authority: &Authority) -> Option<Access> {
        if self.is_mounted(authority) {
            return Some(Access::MemberAddress);
        }
        let subscribed = self.is_subscribed(authority).then(|| subscribed(authority));
        let allowed = self.allowed.iter().filter_map(|allowed| allowed.access(authority));
        let found = allowed.chain(subscribed).max();
        if found != Some(Access::MemberAddress)
            && self.hubs.as_ref().is_some_and(|hubs| programs::hub_runs_at(hubs, authority))
        {
            return Some(Access::MemberAddress);
        }
        found
    }

    /// Returns the access of tunnels to an authority, if allowed: on port 443, and on other named ports.
    pub fn tunnel(&self, authority: &Authority) -> Option<Access> {
        // Mounts and subscriptions have an explicit or default port, which counts as named. Port 80 is plain HTTP
        // and needs no tunnel.
        if authority.port() != 80 && self.is_mounted(authority) {
            return Some(Access::MemberAddress);
        }
        let is_subscribed = authority.port() != 80 && self.is_subscribed(authority);
        let subscribed = is_subscribed.then(|| subscribed(authority));
        let allowed = self.allowed.iter().filter_map(|allowed| allowed.tunnel(authority));
        allowed.chain(subscribed).max()
    }

    /// All mounts.
    pub(crate) fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// Whether an authority for tunnels is named itself: mounted, subscribed, or allowed without a star.
    pub fn is_named(&self, authority: &Authority) -> bool {
        let is_allowed =
            |allowed: &Allowed| allowed.tunnel(authority) == Some(Access::MemberAddress);
        self.is_mounted(authority)
            || self.is_subscribed(authority)
            || self.allowed.iter().any(is_allowed)
    }

    /// Returns the mount with a name.
    pub(crate) fn mount(&self, name: &str) -> Option<&Mount> {
        self.mounts.iter().find(|mount| mount.name() == name)
    }

    /// Returns the innermost mount that contains an address.
    pub(crate) fn mount_of(&self, location: &Location) -> Option<&Mount> {
        let above = |mount: &&Mount| location.as_str().starts_with(mount.base().as_str());
        self.mounts.iter().filter(above).max_by_key(|mount| mount.base().as_str().len())
    }

    fn is_mounted(&self, authority: &Authority) -> bool {
        self.mounts.iter().any(|mount| mount.authority() == authority)
    }

    fn is_subscribed(&self, authority: &Authority) -> bool {
        let subscribed = self.subscribed.read().unwrap_or_else(PoisonError::into_inner);
        subscribed.contains_key(authority)
    }
}

/// Access to a subscribed authority. The owner of a public name may point it into the local network. An IP
/// address or a local name cannot be redirected that way.
fn subscribed(authority: &Authority) -> Access {
    if is_local(authority.host()) { Access::MemberAddress } else { Access::Public }
}

/// Whether a host is an IP address, or a name that only the local network resolves.
pub(crate) fn is_local<S: AsRef<str>>(host: &Host<S>) -> bool {
    match host {
        Host::Ipv4(_) | Host::Ipv6(_) => true,
        Host::Domain(name) => {
            let name = name.as_ref().trim_end_matches('.');
            let below = ["localhost", "local", "lan", "internal", "home.arpa"];
            let is_below = |top: &&str| name.strip_suffix(*top).is_some_and(|it| it.ends_with('.'));
            !name.contains('.') || below.iter().any(is_below)
        }
    }
}

/// Whether a host is in the local network itself, and so may refer to other local hosts.
pub(crate) fn is_near<S: AsRef<str>>(host: &Host<S>) -> bool {
    match host {
        Host::Ipv4(ip) => !is_public((*ip).into()),
        Host::Ipv6(ip) => !is_public((*ip).into()),
        Host::Domain(_) => is_local(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_reached_while_a_subscription_needs_it() {
        let reachable = Reachable::default();
        let feed: Authority = "example.org:443".parse().unwrap();
        assert_eq!(reachable.access(&feed), None);
        let other = reachable.clone();
        other.subscribe(feed.clone());
        other.subscribe(feed.clone());
        assert_eq!(reachable.access(&feed), Some(Access::Public));
        reachable.unsubscribe(&feed);
        assert_eq!(reachable.access(&feed), Some(Access::Public));
        reachable.unsubscribe(&feed);
        reachable.unsubscribe(&feed);
        assert_eq!(reachable.access(&feed), None);
    }

    #[test]
    fn a_public_name_that_is_subscribed_to_leads_to_no_private_address() {
        let reachable = Reachable::default();
        for (text, access) in [
            ("example.org:80", Access::Public),
            ("notlocal.org:80", Access::Public),
            ("127.0.0.1:8080", Access::MemberAddress),
            ("[::1]:8080", Access::MemberAddress),
            ("nas:80", Access::MemberAddress),
            ("box.local:80", Access::MemberAddress),
            ("a.localhost:80", Access::MemberAddress),
        ] {
            let authority: Authority = text.parse().unwrap();
            reachable.subscribe(authority.clone());
            assert_eq!(reachable.access(&authority), Some(access), "{text}");
        }
    }

    #[test]
    fn a_public_address_is_not_in_the_local_network() {
        for (text, is) in [
            ("93.184.215.14:80", false),
            ("[2606:2800:21f:cb07::1]:80", false),
            ("example.org:80", false),
            ("127.0.0.1:80", true),
            ("192.168.1.1:80", true),
            ("[fd00::1]:80", true),
            ("nas:80", true),
            ("box.local:80", true),
        ] {
            let authority: Authority = text.parse().unwrap();
            assert_eq!(is_near(authority.host()), is, "{text}");
        }
    }

    #[test]
    fn an_authority_that_only_a_star_allows_is_not_named() {
        let allowed = ["*", "*.example.org", "example.com", "box.lan:8443"];
        let allowed = allowed.map(|text| text.parse().unwrap()).to_vec();
        let mounts = vec!["n=https://notes.example/n/".parse().unwrap()];
        let reachable = Reachable::new(mounts, allowed);
        reachable.subscribe("feeds.example:443".parse().unwrap());
        let named = |text: &str| reachable.is_named(&text.parse().unwrap());
        for text in ["example.com:443", "box.lan:8443", "notes.example:443", "feeds.example:443"] {
            assert!(named(text), "{text}");
        }
        for text in ["a.example.org:443", "other.example:443", "box.lan:443", "feeds.example:8443"]
        {
            assert!(!named(text), "{text}");
        }
    }

    #[test]
    fn naming_an_authority_counts_more_than_allowing_it_with_others() {
        let allowed = ["*", "example.org"].map(|text| text.parse().unwrap()).to_vec();
        let mounts = vec!["n=http://box.lan:8080/n/".parse().unwrap()];
        let reachable = Reachable::new(mounts, allowed);
        let access = |text: &str| reachable.access(&text.parse().unwrap());
        assert_eq!(access("example.org:80"), Some(Access::MemberAddress));
        assert_eq!(access("example.com:80"), Some(Access::Public));
        assert_eq!(access("box.lan:8080"), Some(Access::MemberAddress));
        assert_eq!(access("box.lan:22"), Some(Access::Public));
    }
}
