//! What all resources share.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use feedsync_endpoint::Endpoint;
use feedsync_reading::Newsreading;
use feedsync_store::EndpointName;
use tokio::sync::{Mutex, OnceCell, Semaphore, watch};

use crate::access::Access;
use crate::answers::Answers;
use crate::body::LargeBodies;
use crate::clients::Clients;
use crate::config::Config;
use crate::couch::{Compacting, KnownRevisions};
use crate::html::Cleaning;
use crate::kept::Kept;
use crate::live::Live;
use crate::local_hubs::LocalProof;
use crate::metrics::{Metrics, TimedStore, Timings};
use crate::problem::Problem;
use crate::upload::STORING;

/// What a hub serves.
#[derive(Clone)]
pub struct Served {
    /// Its collections and people.
    pub endpoint: Endpoint,
    /// What people read, if it keeps articles.
    pub newsreading: Option<Newsreading>,
    /// Secret that a gateway of the same user shows when it asks for programs of this machine.
    pub local_proof: Option<LocalProof>,
}

impl From<Endpoint> for Served {
    fn from(endpoint: Endpoint) -> Self {
        Self { endpoint, newsreading: None, local_proof: None }
    }
}

/// What all requests share, each with a handle of its own: cloned for every layer that a request
/// passes, so that it counts one reference and not each part's.
#[derive(Clone)]
pub(crate) struct Hub(Arc<Shared>);

/// The endpoint behind the hub, how it is configured, and what is scarce. A hub process holds no other
/// state.
pub(crate) struct Shared {
    pub(crate) endpoint: Endpoint,
    pub(crate) config: Arc<Config>,
    name: OnceCell<EndpointName>,
    /// Who may do what.
    pub(crate) access: Arc<Access>,
    /// Documents that may be in memory.
    pub(crate) uploads: Arc<Semaphore>,
    /// Bodies that are larger than others may be, and in memory.
    pub(crate) large: LargeBodies,
    /// Media and blobs that may be on their way in.
    pub(crate) receiving: Arc<Semaphore>,
    /// Media and blobs that may be in memory.
    pub(crate) storing: Arc<Semaphore>,
    /// Answers that may be in memory.
    pub(crate) answers: Answers,
    /// Those about databases.
    pub(crate) database_answers: Answers,
    /// Attachments that are larger than usual, and in memory to be sent.
    pub(crate) large_attachments: LargeBodies,
    /// Answers that were sent lately.
    pub(crate) kept: Kept,
    /// Revisions of documents that are known to be here.
    pub(crate) revisions: KnownRevisions,
    /// Databases that are compacted.
    pub(crate) compacting: Compacting,
    /// Event streams that may be open.
    pub(crate) followers: Arc<Semaphore>,
    /// What each client uses.
    pub(crate) clients: Clients,
    /// Admission of work on HTML.
    pub(crate) cleaning: Cleaning,
    /// What is counted.
    pub(crate) metrics: Arc<Metrics>,
    /// How long the store takes.
    pub(crate) timings: Arc<Timings>,
    /// Whether the hub was told to stop.
    pub(crate) draining: Arc<AtomicBool>,
    /// Held by whoever makes a collection, from counting what they own to making it.
    pub(crate) collections: Arc<Mutex<()>>,
    /// What people read here, if the hub keeps articles.
    pub(crate) newsreading: Option<Newsreading>,
    /// Secret of a proxy that asks for programs of this machine.
    pub(crate) local_proof: Option<LocalProof>,
    /// What is read for all of them.
    pub(crate) live: Live,
    /// True once the hub stops: streams without an end then end.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Hub {
    pub(crate) fn new(served: Served, config: Config, stopping: watch::Receiver<bool>) -> Self {
        let Served { endpoint, newsreading, local_proof } = served;
        let timings = Arc::new(Timings::default());
        let store = TimedStore { store: Arc::clone(endpoint.store()), timings: timings.clone() };
        let endpoint = Endpoint::new(Arc::new(store), Arc::clone(endpoint.environment()));
        let clients = Clients::new(config.limits);
        Self(Arc::new(Shared {
            access: Arc::new(Access::new(endpoint.clone(), &config)),
            cleaning: Cleaning::new(clients.clone()),
            clients,
            metrics: Arc::default(),
            timings,
            draining: Arc::default(),
            large: LargeBodies::new(config.limits.body_bytes),
            uploads: Arc::new(Semaphore::new(config.limits.uploads)),
            receiving: Arc::new(Semaphore::new(config.limits.uploads)),
            storing: Arc::new(Semaphore::new(STORING)),
            answers: Answers::new(config.limits.answers),
            database_answers: Answers::new(config.limits.answers),
            large_attachments: LargeBodies::new(config.limits.body_bytes),
            kept: Kept::new(),
            revisions: KnownRevisions::new(),
            compacting: Compacting::default(),
            followers: Arc::new(Semaphore::new(config.limits.followers)),
            collections: Arc::default(),
            newsreading,
            local_proof,
            live: Live::new(endpoint.clone(), stopping.clone()),
            endpoint,
            config: Arc::new(config),
            name: OnceCell::new(),
            stopping,
        }))
    }

    /// The endpoint's name, which is given once.
    pub(crate) async fn name(&self) -> Result<&EndpointName, Problem> {
        let read = || async { Ok(self.endpoint.identity().await?.name) };
        self.name.get_or_try_init(read).await
    }
}

impl Deref for Hub {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}
