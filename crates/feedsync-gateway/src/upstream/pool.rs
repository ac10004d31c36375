//! Idle connections, and the limits on concurrent requests.
//!
//! A request first acquires its permits. It then takes an idle connection, and opens a new one only if there is
//! none. There are thus never more connections to an authority than permits.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::client::conn::http1::SendRequest;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::config::Limits;
use crate::proxy::Body;
use crate::target::{Access, Authority};
use crate::upstream::error::NotSent;

/// Properties that a shared connection must match. A connection that needed a named authority is not used for
/// other access.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) authority: Authority,
    pub(crate) access: Access,
    pub(crate) secure: bool,
}

/// A connection that is closed when it is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) sender: SendRequest<Body>,
    /// Address of the peer.
    pub(crate) peer: SocketAddr,
    task: AbortHandle,
}

impl Connection {
    pub(crate) fn new(sender: SendRequest<Body>, peer: SocketAddr, task: AbortHandle) -> Self {
        Self { sender, peer, task }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Permits of one request to be in progress.
#[derive(Debug)]
pub(crate) struct ConnectionPermits {
    _of_authority: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

#[derive(Debug)]
pub(crate) struct Pool {
    authorities: Mutex<HashMap<Authority, Arc<Semaphore>>>,
    all: Arc<Semaphore>,
    idle: Mutex<HashMap<Key, Vec<(Instant, Connection)>>>,
    limits: Limits,
}

impl Pool {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            authorities: Mutex::default(),
            all: Arc::new(Semaphore::new(limits.all_connections)),
            idle: Mutex::default(),
            limits,
        }
    }

    /// Acquires the permits of a request.
    pub(crate) async fn permits(
        &self,
        authority: &Authority,
    ) -> Result<ConnectionPermits, NotSent> {
        let busy = || NotSent::Busy(authority.clone());
        let own = self.authority(authority);
        // The permit of the authority comes first, so that requests to a slow origin do not take permits from
        // others.
        let both = async {
            let of_authority = own.acquire_owned().await.ok()?;
            let of_all = Arc::clone(&self.all).acquire_owned().await.ok()?;
            Some(ConnectionPermits { _of_authority: of_authority, _of_all: of_all })
        };
        timeout(self.limits.connect_time, both).await.ok().flatten().ok_or_else(busy)
    }

    /// Returns the most recently used idle connection that is still open.
    pub(crate) fn take(&self, key: &Key) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let connections = idle.get_mut(key)?;
        let now = Instant::now();
        while let Some((since, connection)) = connections.pop() {
            if now.duration_since(since) < self.limits.idle_time && connection.sender.is_ready() {
                return Some(connection);
            }
        }
        None
    }

    /// Keeps a connection for the next request, up to [`Limits::all_connections`] in total.
    pub(crate) fn put(self: &Arc<Self>, key: Key, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.is_empty() {
            // The previous sweeper ended when no connection was idle.
            tokio::spawn(Arc::clone(self).sweep());
        }
        if idle.values().map(Vec::len).sum::<usize>() < self.limits.all_connections {
            idle.entry(key).or_default().push((Instant::now(), connection));
        }
    }

    /// Closes connections that were idle for too long, until none is idle.
    async fn sweep(self: Arc<Self>) {
        loop {
            sleep(self.limits.idle_time).await;
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            idle.retain(|_, connections| {
                connections.retain(|(since, connection)| {
                    now.duration_since(*since) < self.limits.idle_time
                        && !connection.sender.is_closed()
                });
                !connections.is_empty()
            });
            if idle.is_empty() {
                return;
            }
        }
    }

    fn authority(&self, authority: &Authority) -> Arc<Semaphore> {
        let mut authorities = self.authorities.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = authorities.get(authority) {
            return Arc::clone(known);
        }
        // An unused semaphore is equivalent to a new one.
        authorities.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
        let semaphore = Arc::new(Semaphore::new(self.limits.origin_connections));
        authorities.insert(authority.clone(), Arc::clone(&semaphore));
        semaphore
    }
}
