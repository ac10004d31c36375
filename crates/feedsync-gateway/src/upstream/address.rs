//! Resolves names, and checks which addresses may be connected to.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use async_trait::async_trait;
use feedsync_fetch::is_public;
use url::Host;

use crate::target::{Access, Authority};
use crate::upstream::error::{NotSent, Refused, UpstreamError};

/// Resolver of host names.
#[async_trait]
pub trait Resolve: fmt::Debug + Send + Sync {
    /// Returns all addresses of a name, the preferred one first.
    async fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// The system's resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((name, port)).await?.collect())
    }
}

/// Returns the addresses of an authority that may be connected to, at least one.
pub(crate) async fn addresses(
    resolver: &dyn Resolve,
    authority: &Authority,
    access: Access,
) -> Result<Vec<SocketAddr>, UpstreamError> {
    let failed = |source| NotSent::Resolve { authority: authority.clone(), source };
    let port = authority.port();
    let mut found = match authority.host() {
        Host::Ipv4(ip) => vec![SocketAddr::from((*ip, port))],
        Host::Ipv6(ip) => vec![SocketAddr::from((*ip, port))],
        Host::Domain(name) => resolver.resolve(name, port).await.map_err(failed)?,
    };
    if found.is_empty() {
        return Err(
            failed(io::Error::new(io::ErrorKind::NotFound, "the name has no address")).into()
        );
    }
    if access == Access::Public {
        found.retain(|address| is_public(address.ip()));
    }
    if found.is_empty() {
        return Err(Refused::Private { authority: authority.clone() }.into());
    }
    Ok(found)
}
