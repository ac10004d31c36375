//! Listener of the proxy, with limits and graceful shutdown.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use feedsync_http::WriteTimeoutStream;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::config::{Config, Limits};
use crate::connection::until_stopped;
use crate::proxy::framing_check::{AmbiguousFraming, Heads};
use crate::proxy::intercepted::AcceptedSlot;
use crate::proxy::{Intercepted, LocalAddress, PeerAddress, Proxy};
use crate::target::Authority;
use crate::tls_interception::CertificateAuthorityError;
use crate::upstream::{Origins, RootsError};

/// Error of the listener.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The operating system refused to listen.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Address of the listener.
        address: SocketAddr,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The root certificates cannot be loaded.
    #[error(transparent)]
    Roots(#[from] RootsError),
    /// The certificate authority for the interception of https cannot be used.
    #[error(transparent)]
    CertificateAuthority(#[from] CertificateAuthorityError),
    /// The listener task ended unexpectedly.
    #[error("the gateway stopped unexpectedly")]
    Stopped,
}

/// A listening proxy.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    proxy: Proxy,
    task: JoinHandle<()>,
}

impl Serving {
    /// Local address, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The proxy that serves the listener.
    pub fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    /// Waits until the listener has stopped and its connections are closed.
    pub async fn finished(self) -> Result<(), ServeError> {
        self.task.await.map_err(|_| ServeError::Stopped)
    }
}

/// Starts to listen; completes once requests are answered. When `shutdown` is ready, no more connections are
/// accepted, and open responses have [`Limits::drain_time`] to finish.
pub async fn serve(
    config: &Config,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Serving, ServeError> {
    serve_with(config, Origins::default(), shutdown).await
}

/// Like [`serve`], with additional roots and another resolver.
pub async fn serve_with(
    config: &Config,
    origins: Origins,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Serving, ServeError> {
    listen(config, Proxy::new(config, origins)?, shutdown).await
}

/// Like [`serve`], with an existing proxy.
pub(crate) async fn listen(
    config: &Config,
    proxy: Proxy,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Serving, ServeError> {
    let refused = |source| ServeError::Listen { address: config.listen, source };
    let listener = TcpListener::bind(config.listen).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    proxy.addresses().own.add(address);
    let task = tokio::spawn(run(listener, proxy.clone(), config.limits, shutdown));
    Ok(Serving { address, proxy, task })
}

async fn run(
    listener: TcpListener,
    proxy: Proxy,
    limits: Limits,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let stop = watch::Sender::new(false);
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = async {
            let place = Arc::clone(&room).acquire_owned().await.ok()?;
            Some((place, accept(&listener).await?))
        };
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => continue,
            accepted = accepted => accepted,
        };
        let Some((place, stream)) = accepted else { continue };
        let (proxy, stopping) = (proxy.clone(), stop.subscribe());
        connections.spawn(async move {
            converse(stream, proxy, &limits, stopping).await;
            drop(place);
        });
    }
    drop(listener);
    stop.send_replace(true);
    let ended = async { while connections.join_next().await.is_some() {} };
    if timeout(limits.drain_time, ended).await.is_err() {
        tracing::warn!("shutdown: aborting responses that are still being sent");
    }
    proxy.cut();
    connections.shutdown().await;
}

/// Properties of a connection that its requests need.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    pub(super) local_address: Option<SocketAddr>,
    pub(super) peer_address: Option<SocketAddr>,
    /// Authority of an intercepted connection.
    pub(super) intercepted: Option<Authority>,
    /// Slot for the rest of the connection once a `CONNECT` was accepted that is intercepted.
    pub(super) accepted: AcceptedSlot,
}

/// Serves the requests of one connection, and those inside if it is intercepted.
async fn converse(
    stream: TcpStream,
    proxy: Proxy,
    limits: &Limits,
    stopping: watch::Receiver<bool>,
) {
    let (local_address, peer_address) = (stream.local_addr().ok(), stream.peer_addr().ok());
    let accepted = AcceptedSlot::default();
    let connection =
        Connection { local_address, peer_address, intercepted: None, accepted: accepted.clone() };
    let stream = WriteTimeoutStream::new(stream, limits.answer_pause);
    if let Err(error) = answer_all(stream, &proxy, connection.clone(), stopping.clone()).await {
        tracing::debug!(%error, "connection ended");
    }
    if let Some(accepted) = accepted.take() {
        Box::pin(proxy.serve_intercepted(accepted, connection, stopping)).await;
    }
}

/// Serves the requests of a stream. Once the gateway stops, only the request in progress is finished.
pub(super) async fn answer_all<S>(
    stream: S,
    proxy: &Proxy,
    of: Connection,
    stopping: watch::Receiver<bool>,
) -> Result<(), hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = proxy.limits;
    let proxy = Arc::new(proxy.clone());
    let heads = Heads::default();
    let read = heads.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let is_ambiguous = read.has_ambiguous_framing(request.method(), request.headers());
        let extensions = request.extensions_mut();
        if is_ambiguous {
            extensions.insert(AmbiguousFraming);
        }
        if let Some(address) = of.local_address {
            extensions.insert(LocalAddress(address));
        }
        if let Some(address) = of.peer_address {
            extensions.insert(PeerAddress(address));
        }
        match &of.intercepted {
            Some(authority) => drop(extensions.insert(Intercepted(authority.clone()))),
            None => drop(extensions.insert(of.accepted.clone())),
        }
        let proxy = Arc::clone(&proxy);
        async move { Ok::<_, Infallible>(proxy.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_headers(limits.head_fields)
        .max_header_size(limits.head_bytes)
        .max_buf_size(limits.head_bytes * 2)
        .preserve_header_case(true)
        .serve_connection(TokioIo::new(heads.of(stream)), service)
        .with_upgrades();
    let end = http1::UpgradeableConnection::graceful_shutdown;
    until_stopped(connection, stopping, end).await
}

async fn accept(listener: &TcpListener) -> Option<TcpStream> {
    match listener.accept().await {
        Ok((stream, _)) => {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "cannot set TCP_NODELAY");
            }
            Some(stream)
        }
        Err(error) => {
            // Usually too many files are open; other connections must end first.
            tracing::warn!(%error, "cannot accept a connection");
            sleep(Duration::from_millis(100)).await;
            None
        }
    }
}
