//! The proxy listener that applications use: it determines the meaning of requests and forwards them.
//!
//! A response has the status, the header fields and the bytes that the origin sent. It is streamed, without
//! hop-by-hop fields (RFC 9110 7.6.1) and without trailers. A response that breaks off at the origin also breaks
//! off here. Of interim responses, only `100 Continue` is forwarded; the others are hints that the final response
//! repeats.
//!
//! [`Proxy::answer`] finds the target; [`Proxy::exchange`] sends the request to the origin and reports whether it
//! may have arrived.

mod body;
mod compose;
mod edit;
mod emulate;
mod final_recipient;
mod first_bytes;
mod framing_check;
mod head;
mod hops;
mod intercept;
mod intercepted;
mod links;
mod newsreaders;
mod pages;
mod problem;
mod realms;
mod recode;
mod references;
mod reply;
mod reverse;
mod serve;
mod timeout_body;
mod tunnel;

use std::net::SocketAddr;
use std::sync::Arc;

use http::header::{self, HeaderMap};
use http::{Method, Request, Response, StatusCode, Uri, Version};
use hyper::body::Incoming;
use tokio::sync::{Semaphore, watch};

use crate::config::{Config, Limits};
use crate::driver::Driver;
use crate::mapped::Mapped;
use crate::programs;
use crate::target::{Addresses, Authority, Mode, Newsreader, Target, TargetError};
use crate::tls_interception::TlsInterception;
use crate::upstream::{Origins, PSEUDONYM, Upstream, UpstreamError, append_via};

pub use crate::page_origin::{PageOrigin, PageOriginError};
pub use body::{Body, BodyError};
pub(crate) use references::in_link;
pub(crate) use serve::listen;
pub use serve::{ServeError, Serving, serve, serve_with};
pub(crate) use timeout_body::TimeoutBody;

use compose::Feeds;
use framing_check::AmbiguousFraming;
use head::Head;
use problem::Problem;

/// The proxy that serves applications. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Proxy {
    addresses: Addresses,
    /// Addresses for programs of this machine.
    addresses_of_programs: Addresses,
    upstream: Upstream,
    allow_origins: Arc<[PageOrigin]>,
    limits: Limits,
    newsreaders: Arc<[Newsreader]>,
    /// Permits for documents in which addresses are replaced; none if addresses stay.
    links: Option<Arc<Semaphore>>,
    tunnels: Arc<Semaphore>,
    /// Agent with the stored subscriptions; without it, all requests are forwarded.
    driver: Option<Arc<Driver>>,
    feeds: Arc<Feeds>,
    /// Interception of https; without it, https is tunnelled.
    tls_interception: Option<TlsInterception>,
    cut: watch::Sender<bool>,
}

/// Local address of a connection, in the extensions of its requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalAddress(pub(crate) SocketAddr);

/// Remote address of a connection, in the extensions of its requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerAddress(pub(crate) SocketAddr);

/// Authority of an intercepted connection, in the extensions of its requests.
#[derive(Debug, Clone)]
pub(crate) struct Intercepted(pub(crate) Authority);

/// Meaning of a request.
enum Received {
    /// A request for a resource, as the origin would get it.
    Resource(Box<(Target, Request<Body>)>),
    /// A request that the proxy itself answers.
    OwnResponse(Response<Body>),
}

impl Proxy {
    /// Creates a proxy for the configured targets. The gateway's own addresses are added to [`Proxy::addresses`]
    /// when its listeners open.
    pub fn new(config: &Config, origins: Origins) -> Result<Self, ServeError> {
        let newsreaders = config.newsreaders.iter().map(|newsreader| newsreader.mount.clone());
        let mounts = config.mounts.iter().cloned().chain(newsreaders).collect();
        let reachable = crate::target::Reachable::new(mounts, config.allow.clone());
        let addresses = Addresses { reachable, own: crate::target::OwnAddresses::default() };
        let hubs = config.local_hubs.clone();
        let reachable = addresses.reachable.of_programs(hubs.clone());
        let addresses_of_programs = Addresses { reachable, own: addresses.own.clone() };
        Ok(Self {
            upstream: Upstream::new(addresses_of_programs.clone(), origins, config.limits)?
                .with_hubs(hubs),
            addresses,
            addresses_of_programs,
            allow_origins: config.allow_origins.clone().into(),
            limits: config.limits,
            newsreaders: config.newsreaders.clone().into(),
            links: config.rewrites_links.then(|| crate::rewrite::permits(&config.limits)),
            tunnels: Arc::new(Semaphore::new(config.limits.tunnels)),
            driver: None,
            feeds: Arc::default(),
            tls_interception: config.intercept.as_deref().map(TlsInterception::open).transpose()?,
            cut: watch::Sender::new(false),
        })
    }

    /// Adds a driver, so that requests for stored resources are answered from the store.
    #[must_use]
    pub fn with(self, driver: Arc<Driver>) -> Self {
        Self { driver: Some(driver), ..self }
    }

    /// Reachable addresses, and the gateway's own addresses.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Interception of https, if it is configured.
    pub fn tls_interception(&self) -> Option<&TlsInterception> {
        self.tls_interception.as_ref()
    }

    /// Client for origins.
    pub fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// Answers a request in a content coding that the client accepts. Slow paths are boxed, which keeps the
    /// future of the fast path small.
    pub async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if request.method() == Method::CONNECT {
            let tunnel = Box::pin(self.tunnel(request));
            return tunnel.await.unwrap_or_else(Problem::response);
        }
        let requested = Head::accepting(&request);
        let response = self.respond(request).await;
        recode::recoded(&requested, response)
    }

    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let early = self.emulated_early(&request);
        let preflight = early.as_ref().and_then(|it| it.answer(&request));
        let response = match self.receive(request) {
            Ok(Received::Resource(requested)) => {
                let (target, request) = *requested;
                let emulated = self.emulated(&target, request.headers());
                let response = match emulated.as_ref().and_then(|it| it.answer(&request)) {
                    Some(answer) => answer,
                    None => self.linked(target, request).await,
                };
                return match emulated {
                    Some(emulated) => emulated.adopt(response),
                    None => response,
                };
            }
            Ok(Received::OwnResponse(response)) => preflight.unwrap_or(response),
            Err(problem) => preflight.unwrap_or_else(|| problem.response()),
        };
        match early {
            Some(emulated) => emulated.adopt(response),
            None => response,
        }
    }

    /// Answers a request for a resource.
    async fn resource(&self, target: Target, request: Request<Body>) -> Response<Body> {
        // In reverse mode a browser cannot be recognised reliably.
        let realms_of = matches!(target.mode, Mode::Reverse { .. })
            .then(|| target.location.origin().to_owned());
        let mut response = match &self.driver {
            Some(driver) => match self.newsreader_of(&target) {
                Some(newsreader) => {
                    Box::pin(self.newsread(driver, newsreader, target, request)).await
                }
                None => self.intercept(driver, target, request).await,
            },
            None => Box::pin(self.pass(&target, request)).await,
        };
        if let Some(origin) = realms_of {
            realms::tell(response.headers_mut(), &origin);
        }
        response
    }

    /// Forwards a request with the target that [`Proxy::answer`] found; returns the response of the origin or a
    /// problem response.
    pub async fn pass(&self, target: &Target, request: Request<Body>) -> Response<Body> {
        let answered = match self.exchange(target, request).await {
            Ok(response) => first_bytes::prepared(target, response).await,
            Err(error) => Err(error),
        };
        match answered {
            Ok(response) => response,
            Err(error) => {
                tracing::debug!(%error, "no response from the origin server");
                Problem::from(&error).response()
            }
        }
    }

    /// Sends a request to the origin; returns the response as the application gets it.
    pub async fn exchange(
        &self,
        target: &Target,
        request: Request<Body>,
    ) -> Result<Response<Body>, UpstreamError> {
        let mut response = self.ask(target, request).await?;
        self.show(target, response.headers_mut());
        Ok(response)
    }

    /// Sends a request to the origin; returns the response with the addresses that the origin uses.
    async fn ask(
        &self,
        target: &Target,
        mut request: Request<Body>,
    ) -> Result<Response<Body>, UpstreamError> {
        *request.uri_mut() = Uri::from(target.path.clone());
        let mapping = self
            .driver
            .as_ref()
            .and_then(|driver| driver.inspect(|state| state.mapping_of(&target.location).cloned()));
        let mut response = match mapping {
            Some(mapping) => {
                let mapped = Mapped::new(mapping, &target.location);
                Box::pin(mapped.send(&self.upstream, request)).await?
            }
            None => self.upstream.send(target, request).await?,
        };
        let received = response.version();
        *response.version_mut() = Version::HTTP_11;
        response.extensions_mut().insert(recode::KeepsCoding);
        let headers = response.headers_mut();
        hops::strip(headers);
        append_via(headers, received);
        Ok(response)
    }

    /// Rewrites the header of a response for the application.
    fn show(&self, target: &Target, headers: &mut HeaderMap) {
        if let Mode::Reverse { host, .. } = &target.mode {
            reverse::adopt(headers, host.as_str(), target, &self.addresses_of_programs);
        }
    }

    /// Determines the target of a request, checks whether it is allowed, and removes what is not for the origin.
    fn receive(&self, mut request: Request<Incoming>) -> Result<Received, Problem> {
        if request.extensions().get::<AmbiguousFraming>().is_some() {
            let detail = "the request has both a Content-Length and a Transfer-Encoding";
            return Err(Problem::bad_request(detail));
        }
        check_framing(request.headers())?;
        check_way(request.headers())?;
        if let Some(answer) = final_recipient::answer(&mut request) {
            return Ok(Received::OwnResponse(answer));
        }
        let local_address = request.extensions().get().map(|LocalAddress(address)| *address);
        let peer_address = request.extensions().get().map(|PeerAddress(address)| *address);
        programs::strip(request.headers_mut());
        let is_of_a_program = programs::is_local(request.headers(), peer_address);
        let addresses = if is_of_a_program { &self.addresses_of_programs } else { &self.addresses };
        let (uri, headers) = (request.uri(), request.headers());
        let target = match request.extensions().get() {
            Some(Intercepted(connected)) => addresses.inside(connected, uri, headers),
            None => addresses.target(uri, headers, local_address),
        };
        let target = match target {
            // Relative references of the page must resolve to paths below it.
            Err(TargetError::Unslashed(at) | TargetError::Nested(at)) => {
                return Ok(Received::OwnResponse(final_recipient::moved(&at)));
            }
            target => target?,
        };
        let headers = request.headers_mut();
        if is_of_a_program && self.upstream.knows_hub_at(&target.location) {
            programs::mark(headers);
        }
        if let Mode::Reverse { host, .. } = &target.mode {
            let (host, allowed) = (host.as_str(), &self.allow_origins);
            pages::check(headers, host, &target, &self.addresses, allowed)?;
            pages::restore(headers, host, &target, &self.addresses);
            if pages::is_browser(headers) {
                headers.remove(header::COOKIE);
            }
        }
        hops::strip(headers);
        let pause = self.limits.body_pause;
        let request = request.map(|body| Body::new(TimeoutBody::new(body, pause)));
        Ok(Received::Resource(Box::new((target, request))))
    }

    /// Closes the connections that do not end with those of applications.
    pub(crate) fn cut(&self) {
        self.cut.send_replace(true);
    }
}

/// Refuses transfer codings other than `chunked`, since their contents would lose the coding at this hop. Two
/// lengths are refused where the head is read; a length with a transfer coding is refused where it is detected
/// ([`heads`]). Otherwise the coding counts, the length is not forwarded and the connection ends (RFC 9112 6.1,
/// 6.3).
fn check_framing(headers: &HeaderMap) -> Result<(), Problem> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => Ok(()),
        (Some(one), None) if one.as_bytes().eq_ignore_ascii_case(b"chunked") => Ok(()),
        _ => Err(Problem::new(
            StatusCode::NOT_IMPLEMENTED,
            "transfer-coding",
            "Unsupported Transfer-Encoding",
            "the only supported Transfer-Encoding is chunked",
        )),
    }
}

/// Refuses a request that already came through a gateway of this name (RFC 9110 7.6.3).
fn check_way(headers: &HeaderMap) -> Result<(), Problem> {
    let hops = headers.get_all(header::VIA).iter().filter_map(|value| value.to_str().ok());
    let mut names =
        hops.flat_map(|value| value.split(',')).map(|hop| hop.split_whitespace().nth(1));
    if !names.any(|name| name == Some(PSEUDONYM)) {
        return Ok(());
    }
    let title = "Request loop";
    let detail = "the request already came through this gateway";
    Err(Problem::new(StatusCode::LOOP_DETECTED, "loop", title, detail))
}
