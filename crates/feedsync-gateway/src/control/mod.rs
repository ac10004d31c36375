//! The port that the gateway is controlled by: for programs, for pages of applications (`bitsy.js`), and for
//! people (BITSY 2, appendix C, 4.4).
//!
//! It is another port than the one that applications read and write through, so that no page that came
//! through the gateway shares an origin with it. Every request is admitted first: it must name a
//! host that is ours, come from no page that was not allowed, and bring the token, a session, or the origin
//! of an application; what it may see is decided by who asks.

mod admission;
mod answer;
mod binding;
mod caller;
mod client;
mod current;
mod decisions;
mod errors;
mod events;
mod file;
mod follows;
mod holds;
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

use feedsync_offline::interceptor::Interceptor;
use feedsync_offline::location::Location;
use feedsync_server::LocalHubs;
use feedsync_store::{Environment as _, SystemEnvironment};
use tokio::sync::{Mutex, Semaphore, watch};

pub use client::{ADDRESS_FILE, Client, ClientError, DEFAULT_ADDRESS};
pub use decisions::{Asked, ChangeError, Decisions, StoreFailed};
pub use holds::HoldsError;
pub use routes::router;
pub use secret::{Secret, TOKEN_FILE, TokenError};
pub use serve::{ControlServing, serve};

use caller::{Caller, Sight};
use holds::Holds;
use sessions::Sessions;
use view::Stamp;

/// How many may follow events at once.
const FOLLOWERS: usize = 128;

/// The control port's state. Cheap to clone.
#[derive(Clone)]
pub struct Control(Arc<Inner>);

struct Inner {
    decisions: Arc<dyn Decisions>,
    directory: PathBuf,
    token: Secret,
    origins: Vec<Location>,
    sessions: Sessions,
    holds: Mutex<Holds>,
    /// Counts looks, so that of two views it is known which was later.
    looks: AtomicU64,
    /// Names this count, which begins again with each start.
    count: Arc<str>,
    /// Changes that were made here, which not always are told as events.
    changed: watch::Sender<u64>,
    followers: Arc<Semaphore>,
    /// Hubs of the same user, which let its programs in.
    hubs: Option<LocalHubs>,
    stopping: watch::Sender<bool>,
}

/// Why there is no control port.
#[derive(Debug, thiserror::Error)]
pub enum ControlStartError {
    /// There is no token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// Who holds what cannot be read.
    #[error(transparent)]
    Holds(#[from] HoldsError),
}

impl Control {
    /// A control port of a gateway whose data directory this is: with a new token in it. Pages of these
    /// origins are applications; programs subscribe to feeds of these hubs without signing in.
    pub fn new(
        decisions: Arc<dyn Decisions>,
        directory: &Path,
        origins: Vec<Location>,
        hubs: Option<LocalHubs>,
    ) -> Result<Self, ControlStartError> {
        Ok(Self(Arc::new(Inner {
            decisions,
            directory: directory.to_owned(),
            token: Secret::kept_in(directory)?,
            origins,
            sessions: Sessions::default(),
            holds: Mutex::new(Holds::kept_in(directory)?),
            looks: AtomicU64::new(1),
            count: format!("{:016x}", SystemEnvironment.random()).into(),
            changed: watch::Sender::new(0),
            followers: Arc::new(Semaphore::new(FOLLOWERS)),
            hubs,
            stopping: watch::Sender::new(false),
        })))
    }

    /// What a link carries that lets one browser in, once.
    pub fn link(&self) -> Secret {
        self.0.sessions.link()
    }

    /// Ends what follows events, so that connections can be closed.
    pub(crate) fn stop(&self) {
        self.0.stopping.send_replace(true);
    }

    /// Looks at how things stand, as somebody may see them. The number of the stamp is greater with each look.
    fn look<T>(
        &self,
        caller: &Caller,
        held: BTreeSet<feedsync_offline::interceptor::KeepingId>,
        look: impl FnOnce(&Interceptor, &Sight<'_>, Stamp) -> T,
    ) -> T {
        let sight = Sight { caller, held };
        let mut look = Some(look);
        let mut seen = None;
        self.0.decisions.look(&mut |interceptor| {
            if let Some(look) = look.take() {
                let number = self.0.looks.fetch_add(1, Ordering::Relaxed);
                let stamp = Stamp { number, count: Arc::clone(&self.0.count) };
                seen = Some(look(interceptor, &sight, stamp));
            }
        });
        seen.unwrap_or_else(|| unreachable!("who looks is shown something"))
    }

    /// The same, with what the caller holds now.
    async fn see<T>(
        &self,
        caller: &Caller,
        look: impl FnOnce(&Interceptor, &Sight<'_>, Stamp) -> T,
    ) -> T {
        let held = self.0.holds.lock().await.of(caller);
        self.look(caller, held, look)
    }

    /// Makes a change that was asked for here.
    async fn change(&self, asked: Asked) -> Result<(), ChangeError> {
        self.0.decisions.change(asked).await?;
        self.0.changed.send_modify(|count| *count += 1);
        Ok(())
    }
}
