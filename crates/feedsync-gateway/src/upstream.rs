//! The only path by which requests of the gateway leave: HTTP/1.1 to origins, streamed in both directions.
//!
//! - Contents are not interpreted: nothing is decompressed, no redirect is followed, and no header field is added
//!   except `Via` and `Host`.
//! - Permission to reach an address is checked at connect time, on the addresses that the name resolves to at
//!   that moment. A public name can therefore not be pointed into the local network (DNS rebinding).
//! - An error tells whether the origin may have received the request. A request that certainly was not sent can
//!   be sent again.
//! - The number of connections to one authority and in total is limited; idle ones are reused.

mod address;
mod client_certificates;
mod connect;
mod connection_auth;
mod error;
mod exchange;
mod expect;
mod pool;
mod sent_notifier;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use feedsync_http::LocalHubs;
use http::header::{CONTENT_LENGTH, HOST, HeaderMap, HeaderValue, TRANSFER_ENCODING, VIA};
use http::uri::PathAndQuery;
use http::{Request, Response, Uri, Version};
use hyper::body::Body as _;
use rustls::pki_types::CertificateDer;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::config::Limits;
use crate::programs;
use crate::proxy::Body;
use crate::target::{self, Access, Addresses, Authority};
use feedsync_bitsy::location::Location;

pub use address::{Resolve, SystemResolver};
pub(crate) use error::cause;
pub use error::{NotSent, Refused, UpstreamError};
pub use tls::RootsError;

use connect::Connector;
use pool::{Key, Pool};

/// Pseudonym of the gateway in `Via` (RFC 9110 7.6.3).
pub const PSEUDONYM: &str = "feedsync";

/// Timeout of a connection that only observes a server.
const OBSERVATION_TIMEOUT: Duration = Duration::from_secs(3);

/// Sends requests to origins. Cheap to clone; clones share connections.
#[derive(Debug, Clone)]
pub struct Upstream {
    connector: Arc<Connector>,
    pool: Arc<Pool>,
    limits: Limits,
    hubs: Option<LocalHubs>,
    /// Permits for documents whose addresses are mapped.
    pub(crate) documents: Arc<Semaphore>,
}

/// Settings of an upstream besides the limits.
#[derive(Debug, Clone)]
pub struct Origins {
    /// Trusted root certificates in addition to those of the system. Authorities of gateways are never trusted.
    pub roots: Vec<CertificateDer<'static>>,
    /// Resolver of host names.
    pub resolver: Arc<dyn Resolve>,
}

impl Default for Origins {
    fn default() -> Self {
        Self { roots: Vec::new(), resolver: Arc::new(SystemResolver) }
    }
}

impl Upstream {
    /// Creates an upstream without connections. Loads the root certificates of the system.
    pub fn new(addresses: Addresses, origins: Origins, limits: Limits) -> Result<Self, RootsError> {
        let tls = tls::connector(origins.roots)?;
        let connector = Connector::new(addresses, origins.resolver, tls, limits);
        let (connector, pool) = (Arc::new(connector), Arc::new(Pool::new(limits)));
        let documents = crate::rewrite::permits(&limits);
        Ok(Self { connector, pool, limits, hubs: None, documents })
    }

    /// Limits for each message.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Adds hubs to which requests of programs of this machine send their proof.
    pub(crate) fn with_hubs(self, hubs: Option<LocalHubs>) -> Self {
        Self { hubs, ..self }
    }

    /// Whether a hub of this user runs at an address, or ran there before.
    pub(crate) fn knows_hub_at(&self, location: &Location) -> bool {
        self.hubs.as_ref().is_some_and(|hubs| programs::hub_is_known_at(hubs, location))
    }

    /// Sends a request to an origin; returns once the head of a final response has arrived. Only the path and
    /// query of the request's own address are used.
    ///
    /// If the future is dropped earlier, the request may have arrived or not. Dropping the response body closes
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

    /// Sends a request of the gateway's own, to an address that the resource at `source` named. It may go to any
    /// public address, since feeds refer to others. A private address needs the usual permission, and `source`
    /// must have the same authority or be in the local network.
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

    /// Whether the server of an authority asks for a client certificate. Unless that was observed recently, this
    /// connects to it if `may_connect`. A server that cannot be reached in time asks for nothing.
    pub(crate) async fn requests_client_certificate(
        &self,
        authority: &Authority,
        may_connect: bool,
    ) -> bool {
        if let Some(known) = self.connector.requests_certificate(authority) {
            return known;
        }
        if let (true, Ok(access)) = (may_connect, self.connector.access(authority)) {
            let key = Key { authority: authority.clone(), access, secure: true };
            if let Ok(Err(error)) = timeout(OBSERVATION_TIMEOUT, self.connector.open(&key)).await {
                tracing::debug!(%error, "cannot observe whether a server asks for a client certificate");
            }
        }
        self.connector.requests_certificate(authority) == Some(true)
    }

    /// Connects to an authority for a tunnel.
    pub async fn tunnel(&self, authority: &Authority) -> Result<TcpStream, UpstreamError> {
        let access = self.connector.tunnel(authority)?;
        self.connector.connect(authority, access).await
    }
}

/// Prepares a request for sending: in origin form, with the host of the origin, in HTTP/1.1.
fn prepared(mut request: Request<Body>, host: &str) -> Request<Body> {
    let received = request.version();
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    *request.version_mut() = Version::HTTP_11;
    let headers = request.headers_mut();
    // The host of a valid location is always a valid header value.
    headers.insert(HOST, HeaderValue::from_str(host).unwrap_or(HeaderValue::from_static("")));
    append_via(headers, received);
    if request.body().size_hint().exact() == Some(0) {
        // A length without a body would make the origin treat the next request as the body.
        request.headers_mut().remove(CONTENT_LENGTH);
    }
    if request.body().size_hint().exact().is_none() {
        // Set explicitly, since the HTTP library would omit the body for methods that usually have none.
        request.headers_mut().insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    request
}

/// Adds the gateway to `Via`, with the HTTP version of the received message (RFC 9110 7.6.3).
pub(crate) fn append_via(headers: &mut HeaderMap, received: Version) {
    let via = match received {
        Version::HTTP_10 => const { HeaderValue::from_static("1.0 feedsync") },
        _ => const { HeaderValue::from_static("1.1 feedsync") },
    };
    headers.append(VIA, via);
}
