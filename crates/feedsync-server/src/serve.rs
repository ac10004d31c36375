//! Listening: without a user on loopback addresses and for local clients only, within limits, until shutdown.

use std::future::poll_fn;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use feedsync_http::WriteTimeoutStream;
use feedsync_store::StoreError;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::config::{Config, Limits, RemoteExposure};
use crate::couch::replicator;
use crate::http::connections::{Connections, REFUSED};
use crate::http::peer::{Peer, WithPeer};
use crate::http::tls::{Certificate, CertificateError, ChallengeError};
use crate::hub::{Hub, HubParts};
use crate::operations::{bridges, losses, sweep};
use crate::router::application;

/// Reason why a hub does not listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A listening address can be reached from other machines, and there is no user.
    #[error(
        "other machines could use {0} without signing in, because this hub has no users: add a \
         user first (feedsync user add), or listen on a loopback address, such as 127.0.0.1:4287 \
         or [::1]:4287"
    )]
    NotLoopback(SocketAddr),
    /// A setting says that other machines can reach the hub, and there is no user.
    #[error(
        "with the setting {0}, other machines could use the hub without signing in, because it has \
         no users: add a user first (feedsync user add), or remove the setting"
    )]
    RemotelyReachable(&'static str),
    /// The system refused to listen.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Address that was refused.
        address: SocketAddr,
        /// Error of the system.
        source: io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The store cannot return the users.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The serving task has ended unexpectedly.
    #[error("the hub stopped unexpectedly")]
    Stopped,
}

impl ServeError {
    /// Reason why a hub with this configuration must not listen without a user, if there is one.
    pub fn without_user(config: &Config) -> Option<Self> {
        Some(match config.remote_exposure()? {
            RemoteExposure::Listens(wide) => Self::NotLoopback(wide),
            RemoteExposure::Set(name) => Self::RemotelyReachable(name),
        })
    }
}

/// A hub that is listening.
#[derive(Debug)]
pub struct Serving {
    addresses: Vec<SocketAddr>,
    couch_addresses: Vec<SocketAddr>,
    certificate: ServedCertificate,
    task: JoinHandle<()>,
}

/// The certificate of a hub that runs. Without a certificate its methods do nothing.
#[derive(Debug, Clone)]
pub struct ServedCertificate(Option<Arc<Certificate>>);

impl ServedCertificate {
    /// Has the hub answer an authority that checks a name by the protocol `acme-tls/1` (RFC 8737). `digest` is the SHA-256 of
    /// the key authorization.
    pub fn answer_challenge(&self, name: &str, digest: &[u8]) -> Result<(), ChallengeError> {
        self.0.as_ref().map_or(Ok(()), |certificate| certificate.answer_challenge(name, digest))
    }

    /// When it should be renewed. `None` without a certificate.
    pub fn renewal(&self) -> Option<SystemTime> {
        self.0.as_ref()?.renewal()
    }

    /// Ends the answers to an authority.
    pub fn end_challenges(&self) {
        if let Some(certificate) = &self.0 {
            certificate.end_challenges();
        }
    }

    /// Reads its files again, for connections made from now on. On an error nothing changes.
    pub fn reload(&self) -> Result<(), CertificateError> {
        self.0.as_ref().map_or(Ok(()), |certificate| certificate.reload())
    }
}

impl Serving {
    /// First address that it listens on, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// Addresses that it listens on; at least one.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Addresses at whose root databases are served.
    pub fn couch_addresses(&self) -> &[SocketAddr] {
        &self.couch_addresses
    }

    /// Whether it encrypts connections itself.
    pub fn is_encrypted(&self) -> bool {
        self.certificate.0.is_some()
    }

    /// Its certificate.
    pub fn certificate(&self) -> ServedCertificate {
        self.certificate.clone()
    }

    /// Waits until it has stopped and its connections are closed.
    pub async fn finished(self) -> Result<(), ServeError> {
        self.task.await.map_err(|_| ServeError::Stopped)
    }
}

/// Starts to listen; it is ready once requests are served. When `shutdown` completes, `/healthz` reports it
/// for [`Limits::drain_notice`]; then no more connections are accepted, and open responses have
/// [`Limits::drain_time`] to end.
pub async fn serve(
    served: impl Into<HubParts>,
    config: Config,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Serving, ServeError> {
    let served = served.into();
    if !served.endpoint.has_users().await? {
        if let Some(refused) = ServeError::without_user(&config) {
            return Err(refused);
        }
        tracing::warn!("no user exists: every program on this machine has full access");
    }
    let certificate = Certificate::configured(&config.tls)?.map(Arc::new);
    let (mut listeners, mut addresses, mut couch_addresses) = (Vec::new(), Vec::new(), Vec::new());
    let hub = config.listen.iter().map(|address| (*address, false));
    let couch = config.couch_listen.iter().map(|address| (*address, true));
    for (address, is_for_databases) in hub.chain(couch) {
        let refused = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let bound = listener.local_addr().map_err(refused)?;
        if is_for_databases { &mut couch_addresses } else { &mut addresses }.push(bound);
        listeners.push(Listener { listener, is_for_databases });
    }
    if addresses.is_empty() {
        let address = SocketAddr::from(([0, 0, 0, 0], 0));
        let source =
            io::Error::new(io::ErrorKind::InvalidInput, "no address to listen on is configured");
        return Err(ServeError::Listen { address, source });
    }
    let reload = ServedCertificate(certificate.clone());
    let task = tokio::spawn(run(listeners, certificate, served, config, shutdown));
    Ok(Serving { addresses, couch_addresses, certificate: reload, task })
}

/// A listening socket.
struct Listener {
    listener: TcpListener,
    /// Whether its address serves databases at the root.
    is_for_databases: bool,
}

async fn run(
    listeners: Vec<Listener>,
    certificate: Option<Arc<Certificate>>,
    served: HubParts,
    config: Config,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let limits = config.limits;
    let (stop, stopping) = watch::channel(false);
    let endpoint = served.endpoint.clone();
    let open = Connections::new(&config);
    let hub = Hub::new(served, config, stopping.clone());
    let draining = Arc::clone(&hub.draining);
    let replications = hub.replications.clone();
    let documents = tokio::spawn(replicator::run(hub.clone()));
    let watched = hub.clone();
    let application = application(hub);
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    let most = limits.collection_items as u64;
    connections.spawn(bridges::all(endpoint.with_item_limit(most)));
    connections.spawn(losses::watch(watched));
    connections.spawn(sweep::hourly(endpoint, limits));
    connections.spawn(reloading(certificate.clone()));
    let mut shutdown = std::pin::pin!(async {
        shutdown.await;
        draining.store(true, Ordering::Relaxed);
        sleep(limits.drain_notice).await;
    });
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => continue,
            accepted = accept(&listeners, &room) => accepted,
        };
        let Some((stream, (address, is_for_databases), permit)) = accepted else { continue };
        let peer = Peer { address, secure: certificate.is_some(), is_for_databases };
        let connection = match open.take(address.ip()) {
            Ok(connection) => connection,
            Err(full) => {
                tracing::debug!(%address, %full, "connection closed");
                // The write does not block, and a client that does not read it is closed all the same.
                if certificate.is_none()
                    && let Ok(mut stream) = stream.into_std()
                {
                    let _ = stream.write(REFUSED);
                }
                continue;
            }
        };
        let service = WithPeer::new(application.clone(), peer, connection);
        let stream = WriteTimeoutStream::new(stream, limits.answer_pause);
        let watcher = graceful.watcher();
        let certificate = certificate.clone();
        let mut stopping = stopping.clone();
        connections.spawn(async move {
            match certificate {
                None => converse(stream, service, &limits, watcher).await,
                Some(certificate) => {
                    let encrypted = tokio::select! {
                        encrypted = timeout(limits.head_time, certificate.encrypt(stream)) => encrypted,
                        _ = stopping.wait_for(|stopping| *stopping) => return,
                    };
                    match encrypted {
                        Ok(Ok(Some(stream))) => converse(stream, service, &limits, watcher).await,
                        Ok(Ok(None)) => tracing::debug!("an authority has checked a name"),
                        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
                        Err(_) => tracing::debug!("TLS handshake timed out"),
                    }
                }
            }
            drop(permit);
        });
    }
    drop(listeners);
    stop.send_replace(true);
    // Replications write their checkpoints meanwhile.
    let end_documents = documents.abort_handle();
    let ended = async { tokio::join!(graceful.shutdown(), replications.ended(), documents) };
    if timeout(limits.drain_time, ended).await.is_err() {
        tracing::warn!("shutdown: aborting responses that are still being sent");
    }
    end_documents.abort();
    connections.shutdown().await;
}

/// Serves the requests of one connection.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: WithPeer,
    limits: &Limits,
    watcher: Watcher,
) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.head_time).max_buf_size(64 << 10);
    let stream = service.lines().of(stream);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "connection ended");
    }
}

/// Accepts the next connection, once there is a slot for it.
async fn accept(
    listeners: &[Listener],
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, (SocketAddr, bool), OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await.ok()?;
    let next = poll_fn(|context| {
        for Listener { listener, is_for_databases } in listeners {
            if let Poll::Ready(accepted) = listener.poll_accept(context) {
                let accepted = accepted.map(|(stream, from)| (stream, (from, *is_for_databases)));
                return Poll::Ready(accepted);
            }
        }
        Poll::Pending
    });
    match next.await {
        Ok((stream, address)) => {
            // Events are small and must not be delayed.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "cannot set TCP_NODELAY");
            }
            Some((stream, address, permit))
        }
        Err(error) => {
            // The usual cause is too many open files; other connections must end first.
            tracing::warn!(%error, "cannot accept a connection");
            sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

/// Reloads the certificate on the system's signal.
async fn reloading(certificate: Option<Arc<Certificate>>) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::hangup()) {
            Ok(mut hangup) => {
                while hangup.recv().await.is_some() {
                    match certificate.as_ref().map(|certificate| certificate.reload()) {
                        None => tracing::info!("SIGHUP: no certificate to reload"),
                        Some(Ok(())) => tracing::info!("certificate reloaded"),
                        Some(Err(error)) => {
                            tracing::error!(%error, "certificate unchanged");
                        }
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "cannot listen for SIGHUP"),
        }
    }
    #[cfg(not(unix))]
    drop(certificate);
    std::future::pending().await
}
