//! The one way by which requests of the gateway leave: HTTP/1.1 to origins, streamed both ways.
//!
//! - What is sent and what comes is not read: nothing is decompressed, no redirect is followed, and no
//!   header is added but `Via` and `Host`.
//! - Whether an address may be reached is looked at when it is connected to, on what its name resolves
//!   to at that moment, so that a public name cannot be pointed into the local network (DNS rebinding).
//! - An error tells whether the origin may have got the request: what certainly was not sent can be sent
//!   again.
//! - Connections to one authority, and all of them, are bounded; those that are idle are used again.

mod address;
mod connect;
mod error;
mod exchange;
mod expect;
mod pool;
mod sent;
mod signed;
mod tls;

use std::sync::Arc;

use http::header::{CONTENT_LENGTH, HOST, HeaderMap, HeaderValue, TRANSFER_ENCODING, VIA};
use http::uri::PathAndQuery;
use http::{Request, Response, Uri, Version};
use hyper::body::Body as _;
use rustls::pki_types::CertificateDer;
use tokio::net::TcpStream;

use crate::config::Limits;
use crate::face::Body;
use crate::programs;
use crate::target::{self, Access, Addresses, Authority};
use feedsync_offline::location::Location;
use feedsync_server::LocalHubs;

pub use address::{Resolve, SystemResolver};
pub(crate) use error::cause;
pub use error::{NotSent, Refused, UpstreamError};
pub use tls::RootsError;

use connect::Connector;
use pool::{Key, Pool};

/// What the gateway calls itself on the way (RFC 9110 7.6.3).
pub const PSEUDONYM: &str = "feedsync";

/// Sends requests to origins. Cheap to clone; clones share connections.
#[derive(Debug, Clone)]
pub struct Upstream {
    connector: Arc<Connector>,
    pool: Arc<Pool>,
    limits: Limits,
    hubs: Option<LocalHubs>,
}

/// What else than the bounds an upstream is made with.
#[derive(Debug, Clone)]
pub struct Origins {
    /// Roots that are trusted besides those of the system.
    pub roots: Vec<CertificateDer<'static>>,
    /// Who knows the addresses of names.
    pub resolver: Arc<dyn Resolve>,
}

impl Default for Origins {
    fn default() -> Self {
        Self { roots: Vec::new(), resolver: Arc::new(SystemResolver) }
    }
}

impl Upstream {
    /// An upstream without connections. Reads the roots that the system trusts.
    pub fn new(addresses: Addresses, origins: Origins, limits: Limits) -> Result<Self, RootsError> {
        let tls = tls::connector(origins.roots)?;
        let connector = Connector::new(addresses, origins.resolver, tls, limits);
        let (connector, pool) = (Arc::new(connector), Arc::new(Pool::new(limits)));
        Ok(Self { connector, pool, limits, hubs: None })
    }

    /// The same with hubs that requests of programs of this machine show their proof to.
    pub(crate) fn with_hubs(self, hubs: Option<LocalHubs>) -> Self {
        Self { hubs, ..self }
    }

    /// Whether a hub of this user runs where an address is, or did once.
    pub(crate) fn knows_hub_at(&self, location: &Location) -> bool {
        self.hubs.as_ref().is_some_and(|hubs| programs::hub_is_known_at(hubs, location))
    }

    /// Sends a request to an origin, and returns once the head of a final answer has come. Of the
    /// request's own address only path and query count.
    ///
    /// Dropped before that, the request may have arrived or not. Dropping the body of the answer closes
    /// the connection.
    pub async fn send(
        &self,
        origin: &target::Target,
        request: Request<Body>,
    ) -> Result<Response<Body>, UpstreamError> {
        let authority = Authority::of(&origin.location);
        let access = self.connector.access(&authority)?;
        let key = Key { authority, access, secure: origin.location.is_secure() };
        let request = prepared(request, origin.host());
        exchange::exchange(self, key, request).await
    }

    /// Sends a request of the gateway's own, on the word of what is at `source`. It may go to any public
    /// address, since feeds name others; to a private one only as others may, and on its own word or that of
    /// something else in the local network.
    pub async fn send_own(
        &self,
        location: &Location,
        source: &Location,
        request: Request<Body>,
    ) -> Result<Response<Body>, UpstreamError> {
        let authority = Authority::of(location);
        let source = Authority::of(source);
        let is_trusted = source == authority || target::is_near(source.host());
        let access = match self.connector.access(&authority) {
            Err(Refused::NotReachable(_)) => Access::Public,
            Ok(_) if !is_trusted => Access::Public,
            access => access?,
        };
        let key = Key { authority, access, secure: location.is_secure() };
        let (mut request, path) = (request, target::path_of(location));
        *request.uri_mut() = Uri::from(path);
        exchange::exchange(self, key, prepared(request, target::host_of(location))).await
    }

    /// Connects to an authority for a tunnel.
    pub async fn tunnel(&self, authority: &Authority) -> Result<TcpStream, UpstreamError> {
        let access = self.connector.tunnel(authority)?;
        self.connector.connect(authority, access).await
    }
}

/// The request as it is written: in origin form, for the origin's host, in HTTP/1.1.
fn prepared(mut request: Request<Body>, host: &str) -> Request<Body> {
    let received = request.version();
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    *request.version_mut() = Version::HTTP_11;
    let headers = request.headers_mut();
    // An address that a location has is one that a header may have.
    headers.insert(HOST, HeaderValue::from_str(host).unwrap_or(HeaderValue::from_static("")));
    append_via(headers, received);
    if request.body().size_hint().exact() == Some(0) {
        // A length that nothing comes of would swallow the next request.
        request.headers_mut().remove(CONTENT_LENGTH);
    }
    if request.body().size_hint().exact().is_none() {
        // Said by ourselves: methods that usually have no body would lose it.
        request.headers_mut().insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    request
}

/// Says that a message has come through here, and in which version it came (RFC 9110 7.6.3).
pub(crate) fn append_via(headers: &mut HeaderMap, received: Version) {
    let via = match received {
        Version::HTTP_10 => const { HeaderValue::from_static("1.0 feedsync") },
        _ => const { HeaderValue::from_static("1.1 feedsync") },
    };
    headers.append(VIA, via);
}
