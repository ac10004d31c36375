//! Listener of the control port, with limits and graceful shutdown.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use feedsync_http::WriteTimeoutStream;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tower::ServiceExt as _;

use super::client::ADDRESS_FILE;
use super::{Control, router};
use crate::connection::until_stopped;
use crate::private_file;

/// Maximum number of concurrent connections; further ones wait.
const MAX_CONNECTIONS: usize = 512;

/// Timeout for the head of a request, and for an idle connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum size of the head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// Longest time that a peer may read nothing of what is sent to it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// Time that open responses may take to finish once the gateway stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Local address of a connection, in the extensions of its requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalAddress(pub(crate) SocketAddr);

/// A listening control port.
#[derive(Debug)]
pub struct ControlServing {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl ControlServing {
    /// Local address, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the listener has stopped and its connections are closed.
    pub async fn finished(self) -> io::Result<()> {
        self.task.await.map_err(io::Error::other)
    }
}

/// Starts the listener. Completes once requests are answered and the data directory contains the address. When
/// `shutdown` is ready, no more connections are accepted and the event streams end.
pub async fn serve(
    listen: SocketAddr,
    control: Control,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<ControlServing> {
    let listener = TcpListener::bind(listen).await?;
    let address = listener.local_addr()?;
    let told = control.0.directory.join(ADDRESS_FILE);
    private_file::replace(&told, format!("{address}\n").as_bytes())?;
    let task = tokio::spawn(run(listener, control, shutdown));
    Ok(ControlServing { address, task })
}

async fn run(
    listener: TcpListener,
    control: Control,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let stop = watch::Sender::new(false);
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = async {
            let place = Arc::clone(&room).acquire_owned().await.ok()?;
            Some((place, listener.accept().await))
        };
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => continue,
            accepted = accepted => accepted,
        };
        match accepted {
            Some((place, Ok((stream, _)))) => {
                let (control, stopping) = (control.clone(), stop.subscribe());
                connections.spawn(async move {
                    converse(stream, control, stopping).await;
                    drop(place);
                });
            }
            Some((_, Err(error))) => {
                // Usually too many files are open; other connections must end first.
                tracing::warn!(%error, "cannot accept a connection");
                sleep(Duration::from_millis(100)).await;
            }
            None => break,
        }
    }
    drop(listener);
    control.stop();
    stop.send_replace(true);
    let ended = async { while connections.join_next().await.is_some() {} };
    // Connections that are still open by then are cut off.
    let _ = timeout(DRAIN_TIMEOUT, ended).await;
    connections.shutdown().await;
}

async fn converse(stream: TcpStream, control: Control, stopping: watch::Receiver<bool>) {
    let local_address = stream.local_addr().ok();
    // Events are small and must be sent without delay.
    let _ = stream.set_nodelay(true);
    let routes = router(control);
    let service = service_fn(move |request: http::Request<Incoming>| {
        let mut request: Request = request.map(axum::body::Body::new);
        if let Some(address) = local_address {
            request.extensions_mut().insert(LocalAddress(address));
        }
        routes.clone().oneshot(request)
    });
    let stream = WriteTimeoutStream::new(stream, WRITE_TIMEOUT);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_header_size(MAX_HEAD_BYTES)
        .max_buf_size(2 * MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let end = http1::Connection::graceful_shutdown;
    if let Err(error) = until_stopped(connection, stopping, end).await {
        tracing::debug!(%error, "connection to the control port ended");
    }
}
