//! The complete gateway: the proxy, the control port, and the background work.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::event::ErrorId;
use feedsync_bitsy::interceptor::{
    self, Content, ControlError, Event, Representation, Step, Stored as _,
};
use feedsync_bitsy::location::Location;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;

use crate::config::{Config, StoreConfig};
use crate::control::{
    ChangeError, ChangeRequest, Control, ControlServing, ControlStartError, InterceptorHandle,
    StoreFailed,
};
use crate::driver::{Driver, DriverError, Environment};
use crate::proxy::{self, Proxy, ServeError, Serving};
use crate::store::{Store, StoreError};
use crate::upstream::Origins;

/// Error of the start of a gateway.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The proxy port cannot be opened.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The control port cannot be made.
    #[error(transparent)]
    Control(#[from] ControlStartError),
    /// The control port cannot be opened.
    #[error("cannot listen on {address}: {source}")]
    ControlListen {
        /// Address of the listener.
        address: SocketAddr,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The control port would be reachable from other machines.
    #[error(
        "other machines could reach the control port at {0}: use a loopback address, such as \
         127.0.0.1:5024"
    )]
    NotLoopback(SocketAddr),
}

/// A running gateway.
pub struct Running {
    proxy: Serving,
    control: ControlServing,
    port: Control,
    background: JoinHandle<()>,
}

impl Running {
    /// Address of the proxy.
    pub fn address(&self) -> SocketAddr {
        self.proxy.address()
    }

    /// Address of the control port.
    pub fn control(&self) -> SocketAddr {
        self.control.address()
    }

    /// State of the control port.
    pub fn port(&self) -> &Control {
        &self.port
    }

    /// Waits until all parts have ended.
    pub async fn finished(self) -> Result<(), ServeError> {
        self.proxy.finished().await?;
        self.control.finished().await.map_err(|_| ServeError::Stopped)?;
        self.background.await.map_err(|_| ServeError::Stopped)
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (proxy, control) = (self.address(), self.control());
        f.debug_struct("Running").field("face", &proxy).field("control", &control).finish()
    }
}

/// Starts the gateway; completes once requests are answered.
pub async fn start(
    config: &Config,
    keep: &StoreConfig,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Running, StartError> {
    start_with(config, keep, Origins::default(), shutdown).await
}

/// Like [`start`], with additional roots and another resolver.
pub async fn start_with(
    config: &Config,
    keep: &StoreConfig,
    origins: Origins,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Running, StartError> {
    if !keep.control.ip().is_loopback() {
        return Err(StartError::NotLoopback(keep.control));
    }
    let store = Arc::new(opened(&keep.data, keep)?);
    let proxy = Proxy::new(config, origins)?;
    let reachable = proxy.addresses().reachable.clone();
    let driver = Driver::new(store, keep.settings, Environment::default(), reachable)?;
    config.newsreaders.iter().for_each(|newsreader| driver.watch(newsreader.mount.base()));
    let pages = config.allow_origins.iter().filter_map(|page| page.to_string().parse().ok());
    let pages: Vec<Location> = pages.collect();
    let interceptor_handle: Arc<dyn InterceptorHandle> =
        Arc::clone(&driver) as Arc<dyn InterceptorHandle>;
    let interception = proxy.tls_interception().cloned();
    let hubs = config.local_hubs.clone();
    let port = Control::new(interceptor_handle, &keep.data, pages, hubs, interception)?;
    let stopping = watch::Sender::new(false);
    let stopped = |mut stopping: watch::Receiver<bool>| async move {
        // An error means that the sender is gone, which has the same effect.
        let _ = stopping.wait_for(|stops| *stops).await;
    };
    let control = crate::control::serve(keep.control, port.clone(), stopped(stopping.subscribe()));
    let control = control
        .await
        .map_err(|source| StartError::ControlListen { address: keep.control, source })?;
    let upstream = proxy.upstream().clone();
    let proxy = proxy.with(Arc::clone(&driver));
    proxy.addresses().own.add(control.address());
    let proxy = proxy::listen(config, proxy, stopped(stopping.subscribe())).await?;
    let (stops, stop) = (ShutdownGuard(stopping.clone()), stopped(stopping.subscribe()));
    let background = tokio::spawn(async move {
        // Dropped however the task ends, which stops the gateway: it must not accept edits that would never
        // leave.
        let _stops = stops;
        driver.run(upstream, stop).await;
    });
    tokio::spawn(async move {
        shutdown.await;
        stopping.send_replace(true);
    });
    Ok(Running { proxy, control, port, background })
}

/// Stops the rest of the gateway when it is dropped.
struct ShutdownGuard(watch::Sender<bool>);

impl Drop for ShutdownGuard {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

fn opened(directory: &Path, keep: &StoreConfig) -> Result<Store, StoreError> {
    Store::open(directory, keep.quota).map(|(store, _)| store)
}

#[async_trait]
impl InterceptorHandle for Driver {
    fn inspect(&self, inspect: &mut dyn FnMut(&interceptor::State)) {
        Driver::inspect(self, |state| inspect(state));
    }

    async fn change(&self, requested: ChangeRequest) -> Result<(), ChangeError> {
        let changed = Driver::change(self, |state, cx| Ok(parted(requested(state, cx.now))));
        let changed = changed.await;
        // A change without stored effect may still make something due.
        self.wake();
        Ok(changed.map_err(failed)??)
    }

    async fn retry(&self, error: ErrorId) -> Result<(), ChangeError> {
        let changed =
            Driver::change(self, |state, cx| Ok(parted(state.delivery().retry(cx, error)?)));
        Ok(changed.await.map_err(failed)??)
    }

    async fn content(&self, content: Content) -> Result<Vec<u8>, StoreFailed> {
        Driver::content(self, &content).map_err(|error| StoreFailed(Box::new(error)))
    }

    async fn representation(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Result<Option<Representation>, StoreFailed> {
        let read = self.read(|_, cx| cx.stored.representation(partition, location));
        read.map_err(|error| StoreFailed(Box::new(error)))
    }

    async fn stream(&self, content: Content) -> Result<axum::body::Body, StoreFailed> {
        Ok(axum::body::Body::new(self.body(&content).await.map_err(failed)?))
    }

    fn events(&self) -> broadcast::Receiver<Arc<Event>> {
        Driver::events(self)
    }
}

/// Turns a refused change into an empty step.
fn parted(requested: Result<Step, ControlError>) -> (Result<(), ControlError>, Step) {
    match requested {
        Ok(step) => (Ok(()), step),
        Err(error) => (Err(error), Step::default()),
    }
}

fn failed(error: DriverError) -> StoreFailed {
    StoreFailed(Box::new(error))
}
