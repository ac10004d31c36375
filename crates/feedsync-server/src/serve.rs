//! Listening: without a user on loopback addresses only, within bounds, until told to stop.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use feedsync_endpoint::Endpoint;
use feedsync_store::StoreError;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::config::{Config, Limits};
use crate::hub::Hub;
use crate::router::application;
use crate::stall::Impatient;
use crate::sweep;

/// Why a hub does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Asked to listen where other machines could reach it, without a user.
    #[error(
        "{0} can be reached from other machines, and nobody would have to sign in: add a user first, \
         or listen on a loopback address, such as 127.0.0.1:4287 or [::1]:4287"
    )]
    NotLoopback(SocketAddr),
    /// The system refused.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The store cannot tell who the users are.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The task that served is gone.
    #[error("the hub stopped of itself")]
    Stopped,
}

/// A hub that is listening.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Serving {
    /// Where it listens; the port is the real one.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until it has stopped and its connections are closed.
    pub async fn finished(self) -> Result<(), ServeError> {
        self.task.await.map_err(|_| ServeError::Stopped)
    }
}

/// Begins to listen; ready once requests are answered. When `shutdown` is ready, no more connections
/// are taken and open answers have [`Limits::drain_time`] to end.
pub async fn serve(
    endpoint: Endpoint,
    config: Config,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Serving, ServeError> {
    let address = config.listen;
    if endpoint.store().users().await?.is_empty() {
        if !config.is_loopback() {
            return Err(ServeError::NotLoopback(address));
        }
        tracing::warn!("there is no user: whoever is on this machine may do everything");
    }
    let refused = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    Ok(Serving { address, task: tokio::spawn(run(listener, endpoint, config, shutdown)) })
}

async fn run(
    listener: TcpListener,
    endpoint: Endpoint,
    config: Config,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let limits = config.limits;
    let (stop, stopping) = watch::channel(false);
    let hub = Hub::new(endpoint.clone(), config, stopping);
    let service = TowerToHyperService::new(application(hub));
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    connections.spawn(sweep::hourly(endpoint.clone()));
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => continue,
            accepted = accept(&listener, &room) => accepted,
        };
        let Some((stream, permit)) = accepted else { continue };
        let stream = TokioIo::new(Impatient::new(stream, limits.answer_pause));
        let connection = builder(&limits).serve_connection(stream, service.clone());
        let connection = graceful.watch(connection);
        connections.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended");
            }
            drop(permit);
        });
    }
    drop(listener);
    stop.send_replace(true);
    if timeout(limits.drain_time, graceful.shutdown()).await.is_err() {
        tracing::warn!("answers that were still being sent are cut off");
    }
    connections.shutdown().await;
}

fn builder(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.head_time).max_buf_size(64 << 10);
    builder
}

/// The next connection, once there is room for it.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Events are small and must not wait for more.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "a connection will be slower than it could be");
            }
            Some((stream, permit))
        }
        Err(error) => {
            // Mostly too many open files: others must end first.
            tracing::warn!(%error, "a connection could not be taken");
            sleep(Duration::from_millis(100)).await;
            None
        }
    }
}
