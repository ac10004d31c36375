//! What all resources share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::extract::FromRef;
use feedsync_endpoint::Endpoint;
use tokio::sync::{Mutex, Semaphore, watch};

use crate::access::Access;
use crate::answers::Answers;
use crate::clients::Clients;
use crate::config::Config;
use crate::live::Live;
use crate::metrics::{Metrics, TimedStore, Timings};
use crate::upload::STORING;

/// The endpoint behind the hub, how it is configured, and what is scarce. Cheap to clone; a hub
/// process holds no other state.
#[derive(Clone)]
pub(crate) struct Hub {
    pub(crate) endpoint: Endpoint,
    pub(crate) config: Arc<Config>,
    /// Who may do what.
    pub(crate) access: Arc<Access>,
    /// Documents that may be in memory.
    pub(crate) uploads: Arc<Semaphore>,
    /// Media and blobs that may be on their way in.
    pub(crate) receiving: Arc<Semaphore>,
    /// Media and blobs that may be in memory.
    pub(crate) storing: Arc<Semaphore>,
    /// Answers that may be in memory.
    pub(crate) answers: Answers,
    /// Event streams that may be open.
    pub(crate) followers: Arc<Semaphore>,
    /// What each client uses.
    pub(crate) clients: Clients,
    /// What is counted.
    pub(crate) metrics: Arc<Metrics>,
    /// How long the store takes.
    pub(crate) timings: Arc<Timings>,
    /// Whether the hub was told to stop.
    pub(crate) draining: Arc<AtomicBool>,
    /// Held by whoever makes a collection, from counting what they own to making it.
    pub(crate) collections: Arc<Mutex<()>>,
    /// What is read for all of them.
    pub(crate) live: Live,
    /// True once the hub stops: streams without an end then end.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Hub {
    pub(crate) fn new(endpoint: Endpoint, config: Config, stopping: watch::Receiver<bool>) -> Self {
        let timings = Arc::new(Timings::default());
        let store = TimedStore { store: Arc::clone(endpoint.store()), timings: timings.clone() };
        let endpoint = Endpoint::new(Arc::new(store), Arc::clone(endpoint.environment()));
        Self {
            access: Arc::new(Access::new(endpoint.clone(), &config)),
            clients: Clients::new(config.limits),
            metrics: Arc::default(),
            timings,
            draining: Arc::default(),
            uploads: Arc::new(Semaphore::new(config.limits.uploads)),
            receiving: Arc::new(Semaphore::new(config.limits.uploads)),
            storing: Arc::new(Semaphore::new(STORING)),
            answers: Answers::new(config.limits.answers),
            followers: Arc::new(Semaphore::new(config.limits.followers)),
            collections: Arc::default(),
            live: Live::new(endpoint.clone(), stopping.clone()),
            endpoint,
            config: Arc::new(config),
            stopping,
        }
    }
}

impl FromRef<Hub> for Arc<Config> {
    fn from_ref(hub: &Hub) -> Self {
        Arc::clone(&hub.config)
    }
}
