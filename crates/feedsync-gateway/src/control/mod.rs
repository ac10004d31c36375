//! The control port of the gateway, for programs, for pages of applications (`bitsy.js`), and for people (BITSY
//! 2, appendix C, 4.4).
//!
//! It is separate from the proxy port, so that no page that came through the gateway shares an origin with it.
//! Every request must first pass admission: it names a host that is ours and does not come from a page of a
//! forbidden origin. It also has the token, a session, or the origin of an application. The caller determines
//! what is visible.

mod admission;
mod answer;
mod binding;
mod caller;
mod client;
mod current;
mod errors;
mod events;
mod follows;
mod holds;
mod interceptor_handle;
mod json;
mod links;
mod network;
mod newsreaders;
mod outbox;
mod pages;
mod proxies;
mod refresh;
mod routes;
mod secret;
mod serve;
mod sessions;
mod subscriptions;
mod view;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use feedsync_bitsy::interceptor;
use feedsync_bitsy::location::Location;
use feedsync_http::LocalHubs;
use feedsync_store::{Environment as _, SystemEnvironment};
use tokio::sync::{Mutex, Semaphore, watch};

pub use client::{ADDRESS_FILE, Client, ClientError, DEFAULT_ADDRESS};
pub use holds::HoldsError;
pub use interceptor_handle::{ChangeError, ChangeRequest, InterceptorHandle, StoreFailed};
pub use routes::router;
pub use secret::{Secret, TOKEN_FILE, TokenError};
pub use serve::{ControlServing, serve};

use caller::{Caller, Visibility};
use holds::Holds;
use sessions::Sessions;
use view::Stamp;

use crate::tls_interception::TlsInterception;

/// Maximum number of concurrent event streams.
const MAX_EVENT_STREAMS: usize = 128;

/// State of the control port. Cloning is cheap.
#[derive(Clone)]
pub struct Control(Arc<Inner>);

struct Inner {
    interceptor_handle: Arc<dyn InterceptorHandle>,
    directory: PathBuf,
    token: Secret,
    origins: Vec<Location>,
    sessions: Sessions,
    holds: Mutex<Holds>,
    /// Number of snapshots; it orders two views.
    snapshots: AtomicU64,
    /// Identifier of the counter, which restarts with each start of the gateway.
    count: Arc<str>,
    /// Number of changes made through this port, since events do not report all of them.
    changed: watch::Sender<u64>,
    followers: Arc<Semaphore>,
    /// Hubs of the same user, which admit its programs.
    hubs: Option<LocalHubs>,
    /// Interception of https, whose exceptions the pages show.
    tls_interception: Option<TlsInterception>,
    stopping: watch::Sender<bool>,
}

/// Error of the start of the control port.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlStartError {
    /// The token cannot be written.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The file of holds cannot be read.
    #[error(transparent)]
    Holds(#[from] HoldsError),
}

impl Control {
    /// Creates the control port for a data directory, with a new token. Pages of `origins` are applications;
    /// programs subscribe to feeds of `hubs` without signing in.
    pub fn new(
        interceptor_handle: Arc<dyn InterceptorHandle>,
        directory: &Path,
        origins: Vec<Location>,
        hubs: Option<LocalHubs>,
        tls_interception: Option<TlsInterception>,
    ) -> Result<Self, ControlStartError> {
        Ok(Self(Arc::new(Inner {
            interceptor_handle,
            directory: directory.to_owned(),
            token: Secret::stored_in(directory)?,
            origins,
            sessions: Sessions::default(),
            holds: Mutex::new(Holds::stored_in(directory)?),
            snapshots: AtomicU64::new(1),
            count: format!("{:016x}", SystemEnvironment.random()).into(),
            changed: watch::Sender::new(0),
            followers: Arc::new(Semaphore::new(MAX_EVENT_STREAMS)),
            hubs,
            tls_interception,
            stopping: watch::Sender::new(false),
        })))
    }

    /// Creates a secret for a link that admits one browser, once.
    pub fn link(&self) -> Secret {
        self.0.sessions.link()
    }

    /// Ends all event streams, so that their connections can be closed.
    pub(crate) fn stop(&self) {
        self.0.stopping.send_replace(true);
    }

    /// Takes a snapshot, as visible to a caller. Each snapshot has a greater number than the previous one.
    fn inspect<T>(
        &self,
        caller: &Caller,
        held: BTreeSet<interceptor::SubscriptionId>,
        inspect: impl FnOnce(&interceptor::State, &Visibility<'_>, Stamp<'_>) -> T,
    ) -> T {
        let visibility = Visibility { caller, held };
        let mut inspect = Some(inspect);
        let mut seen = None;
        self.0.interceptor_handle.inspect(&mut |state| {
            if let Some(inspect) = inspect.take() {
                let number = self.0.snapshots.fetch_add(1, Ordering::Relaxed);
                let stamp = Stamp { number, count: &self.0.count };
                seen = Some(inspect(state, &visibility, stamp));
            }
        });
        seen.unwrap_or_else(|| unreachable!("who looks is shown something"))
    }

    /// Takes a snapshot with the subscriptions that the caller holds now.
    async fn see<T>(
        &self,
        caller: &Caller,
        inspect: impl FnOnce(&interceptor::State, &Visibility<'_>, Stamp<'_>) -> T,
    ) -> T {
        let held = self.0.holds.lock().await.of(caller);
        self.inspect(caller, held, inspect)
    }

    /// Makes a change, and notifies the event streams.
    async fn change(&self, requested: ChangeRequest) -> Result<(), ChangeError> {
        self.0.interceptor_handle.change(requested).await?;
        self.0.changed.send_modify(|count| *count += 1);
        Ok(())
    }
}
