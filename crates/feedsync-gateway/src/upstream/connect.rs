//! Connections to origins: checked against the permissions, with a timeout, and encrypted for `https`.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use feedsync_http::WriteTimeoutStream;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use url::Host;

use crate::config::Limits;
use crate::target::{Access, Addresses, Authority};
use crate::upstream::address::{Resolve, addresses};
use crate::upstream::client_certificates::{CertificateRequests, observed};
use crate::upstream::error::{NotSent, Refused, UpstreamError};
use crate::upstream::pool::Key;

/// A bidirectional byte stream.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// Establishes connections.
pub(crate) struct Connector {
    addresses: Addresses,
    resolver: Arc<dyn Resolve>,
    tls: TlsConnector,
    limits: Limits,
    certificate_requests: CertificateRequests,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Connector {
    pub(crate) fn new(
        addresses: Addresses,
        resolver: Arc<dyn Resolve>,
        tls: TlsConnector,
        limits: Limits,
    ) -> Self {
        let certificate_requests = CertificateRequests::default();
        Self { addresses, resolver, tls, limits, certificate_requests }
    }

    /// Returns the access of requests to an authority.
    pub(crate) fn access(&self, authority: &Authority) -> Result<Access, Refused> {
        let access = self.addresses.reachable.access(authority);
        access.ok_or_else(|| Refused::NotReachable(authority.clone()))
    }

    /// Returns the access of tunnels to an authority.
    pub(crate) fn tunnel(&self, authority: &Authority) -> Result<Access, Refused> {
        let access = self.addresses.reachable.tunnel(authority);
        access.ok_or_else(|| Refused::NotReachable(authority.clone()))
    }

    /// Opens a connection for requests.
    pub(crate) async fn open(
        &self,
        key: &Key,
    ) -> Result<(Box<dyn Stream>, SocketAddr), UpstreamError> {
        let authority = &key.authority;
        let stream = self.connect(authority, key.access).await?;
        let peer = stream.peer_addr();
        let peer =
            peer.map_err(|source| NotSent::Connect { authority: authority.clone(), source })?;
        let stream = WriteTimeoutStream::new(stream, self.limits.answer_pause);
        if !key.secure {
            return Ok((Box::new(stream), peer));
        }
        let failed = |source| NotSent::Encrypt { authority: authority.clone(), source };
        let name = server_name(authority).map_err(failed)?;
        let encrypted = timeout(self.limits.connect_time, self.tls.connect(name, stream));
        let (encrypted, was_requested) = observed(encrypted).await;
        if was_requested || matches!(encrypted, Ok(Ok(_))) {
            self.certificate_requests.record(authority, was_requested);
        }
        match encrypted {
            Ok(encrypted) => Ok((Box::new(encrypted.map_err(failed)?), peer)),
            Err(_) => Err(NotSent::Late(authority.clone()).into()),
        }
    }

    /// Whether the server of an authority asks for a client certificate, if that was observed recently.
    pub(crate) fn requests_certificate(&self, authority: &Authority) -> Option<bool> {
        self.certificate_requests.known(authority)
    }

    /// Connects to one of the permitted addresses. Each attempt gets a share of the time limit.
    pub(crate) async fn connect(
        &self,
        authority: &Authority,
        access: Access,
    ) -> Result<TcpStream, UpstreamError> {
        let late = || NotSent::Late(authority.clone());
        let deadline = Instant::now() + self.limits.connect_time;
        let found = addresses(self.resolver.as_ref(), authority, access);
        let found = timeout_at(deadline, found).await.map_err(|_| late())??;
        let mut failure = late();
        for (tried, address) in found.iter().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            let rest = u32::try_from(found.len() - tried).unwrap_or(u32::MAX);
            match timeout(left / rest, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return self.checked(stream, *address, authority),
                Ok(Err(source)) => {
                    failure = NotSent::Connect { authority: authority.clone(), source };
                }
                Err(_) => failure = late(),
            }
        }
        Err(failure.into())
    }

    /// Returns the connection, unless it leads to the gateway itself.
    fn checked(
        &self,
        stream: TcpStream,
        address: SocketAddr,
        authority: &Authority,
    ) -> Result<TcpStream, UpstreamError> {
        let failed = |source| NotSent::Connect { authority: authority.clone(), source };
        let local = stream.local_addr().map_err(failed)?;
        let peer = stream.peer_addr().unwrap_or(address);
        if self.addresses.own.is_end_of(peer, local) {
            return Err(Refused::Loop(authority.clone()).into());
        }
        stream.set_nodelay(true).map_err(failed)?;
        Ok(stream)
    }
}

fn server_name(authority: &Authority) -> io::Result<ServerName<'static>> {
    match authority.host() {
        Host::Domain(name) => {
            ServerName::try_from(name.clone()).map_err(|error| io::Error::other(error.to_string()))
        }
        Host::Ipv4(ip) => Ok(ServerName::IpAddress((*ip).into())),
        Host::Ipv6(ip) => Ok(ServerName::IpAddress((*ip).into())),
    }
}
