//! State that all resources share.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use axum::body::Bytes;
use feedsync_aggregator::Newsreading;
use feedsync_endpoint::Endpoint;
use feedsync_endpoint::documents::replication::Replicator;
use feedsync_http::LocalProof;
use feedsync_store::EndpointName;
use tokio::sync::{Mutex, OnceCell, Semaphore, watch};

use crate::access::Access;
use crate::access::assertions::AssertionKeys;
use crate::authority;
use crate::collections::live::Live;
use crate::config::Config;
use crate::configuration::Switch;
use crate::couch::compactions::RunningCompactions;
use crate::couch::database_updates::updates::DatabaseUpdates;
use crate::couch::index_builds::IndexBuilds;
use crate::couch::known::KnownRevisions;
use crate::couch::replications::RunningReplications;
use crate::couch::replicator::jobs::DocumentJobs;
use crate::couch::view_updates::ViewUpdates;
use crate::http::clients::Clients;
use crate::http::counters::{Metrics, TimedStore, Timings};
use crate::http::html::Cleaning;
use crate::http::permits::LargeBodyBudget;
use crate::http::problem::Problem;
use crate::http::response_budget::ResponseBudget;
use crate::http::response_cache::ResponseCache;
use crate::mass_losses::MassLosses;
use crate::web_package::WebPackage;

/// Maximum number of uploads in memory at once.
pub(crate) const MAX_STORING_UPLOADS: usize = 2;

/// Components that a hub serves.
#[derive(Clone)]
pub struct HubParts {
    /// Collections and users.
    pub endpoint: Endpoint,
    /// Newsreading, if the hub stores articles.
    pub newsreading: Option<Newsreading>,
    /// Secret by which a gateway of the same user proves that it forwards requests of programs on this
    /// machine.
    pub local_proof: Option<LocalProof>,
    /// Carries out replications that administrators request. Without it, the hub refuses them.
    pub replicator: Option<Arc<dyn Replicator>>,
    /// Keys of other systems that sign users in to databases.
    pub assertion_keys: AssertionKeys,
}

impl From<Endpoint> for HubParts {
    fn from(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            newsreading: None,
            local_proof: None,
            replicator: None,
            assertion_keys: AssertionKeys::default(),
        }
    }
}

/// Shared state of all requests. It is cloned for every layer that a request passes, so it counts one
/// reference and not one for each part.
#[derive(Clone)]
pub(crate) struct Hub(Arc<Shared>);

/// The endpoint, the configuration and the budgets of the hub. A hub process holds no other state.
pub(crate) struct Shared {
    pub(crate) endpoint: Endpoint,
    pub(crate) config: Arc<Config>,
    name: OnceCell<EndpointName>,
    /// Authentication and authorization.
    pub(crate) access: Arc<Access>,
    /// Slots for documents in memory.
    pub(crate) uploads: Arc<Semaphore>,
    /// Budget for bodies of unusual size in memory.
    pub(crate) large: LargeBodyBudget,
    /// Slots for media and blobs that are being received.
    pub(crate) receiving: Arc<Semaphore>,
    /// Slots for media and blobs in memory.
    pub(crate) storing: Arc<Semaphore>,
    /// Budget for responses in memory.
    pub(crate) response_budget: ResponseBudget,
    /// Budget for responses about databases.
    pub(crate) database_response_budget: ResponseBudget,
    /// Budget for attachments of unusual size in memory, while they are sent.
    pub(crate) large_attachments: LargeBodyBudget,
    /// Cache of recent responses.
    pub(crate) response_cache: ResponseCache,
    /// Cache of stored revisions of documents.
    pub(crate) revisions: KnownRevisions,
    /// Running compactions of databases.
    pub(crate) compacting: RunningCompactions,
    /// Carries out replications that administrators request.
    pub(crate) replicator: Option<Arc<dyn Replicator>>,
    /// Running replications.
    pub(crate) replications: RunningReplications,
    /// Replications that documents of `_replicator` describe.
    pub(crate) document_jobs: DocumentJobs,
    /// Record of created, changed and removed databases.
    pub(crate) database_updates: DatabaseUpdates,
    /// Running builds of indexes of databases.
    pub(crate) index_builds: IndexBuilds,
    /// Running updates of views of databases.
    pub(crate) view_updates: ViewUpdates,
    /// Lock that is held while the indexes of a database are counted and one is created.
    pub(crate) index_creation: Arc<Mutex<()>>,
    /// Slots for event streams.
    pub(crate) followers: Arc<Semaphore>,
    /// Usage of each client.
    pub(crate) clients: Clients,
    /// Admission of work on HTML.
    pub(crate) cleaning: Cleaning,
    /// Counters.
    pub(crate) metrics: Arc<Metrics>,
    /// Durations of store operations.
    pub(crate) timings: Arc<Timings>,
    /// Number of databases of which a large part was deleted within an hour.
    pub(crate) lossy_databases: Arc<AtomicU64>,
    /// Mass losses of databases.
    pub(crate) mass_losses: MassLosses,
    /// Whether the hub was asked to stop.
    pub(crate) draining: Arc<AtomicBool>,
    /// Lock that is held while the collections of a user are counted and one is created.
    pub(crate) collections: Arc<Mutex<()>>,
    /// Newsreading, if the hub stores articles.
    pub(crate) newsreading: Option<Newsreading>,
    /// Secret of a proxy that forwards requests of programs on this machine.
    pub(crate) local_proof: Option<LocalProof>,
    /// Files of the package for web pages.
    pub(crate) web_package: WebPackage,
    /// Certificate of the authority that signed the one of the hub, in DER.
    pub(crate) authority: Option<Bytes>,
    /// Shared readers of followed collections.
    pub(crate) live: Live,
    /// Becomes true once the hub stops; streams without an end then end.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Hub {
    pub(crate) fn new(served: HubParts, config: Config, stopping: watch::Receiver<bool>) -> Self {
        let HubParts { endpoint, newsreading, local_proof, replicator, assertion_keys } = served;
        let timings = Arc::new(Timings::default());
        let store = TimedStore { store: Arc::clone(endpoint.store()), timings: timings.clone() };
        let endpoint = endpoint.over(Arc::new(store));
        let endpoint = match config.functions {
            Switch::On => endpoint,
            Switch::Off => endpoint.without_functions(),
        };
        let clients = Clients::new(config.limits);
        Self(Arc::new(Shared {
            access: Arc::new(Access::new(endpoint.clone(), &config, assertion_keys)),
            cleaning: Cleaning::new(clients.clone()),
            clients,
            metrics: Arc::default(),
            timings,
            lossy_databases: Arc::default(),
            mass_losses: MassLosses::default(),
            draining: Arc::default(),
            large: LargeBodyBudget::new(config.limits.body_bytes),
            uploads: Arc::new(Semaphore::new(config.limits.uploads)),
            receiving: Arc::new(Semaphore::new(config.limits.uploads)),
            storing: Arc::new(Semaphore::new(MAX_STORING_UPLOADS)),
            response_budget: ResponseBudget::new(config.limits.answers),
            database_response_budget: ResponseBudget::new(config.limits.answers),
            large_attachments: LargeBodyBudget::new(config.limits.body_bytes),
            response_cache: ResponseCache::new(),
            revisions: KnownRevisions::new(),
            compacting: RunningCompactions::default(),
            view_updates: ViewUpdates::default(),
            replicator,
            replications: RunningReplications::default(),
            document_jobs: DocumentJobs::new(),
            database_updates: DatabaseUpdates::new(endpoint.environment().random()),
            index_builds: IndexBuilds::default(),
            index_creation: Arc::default(),
            followers: Arc::new(Semaphore::new(config.limits.followers)),
            collections: Arc::default(),
            newsreading,
            local_proof,
            authority: authority::load(config.tls.authority.as_deref()),
            web_package: WebPackage::load(config.web_package.as_deref()),
            live: Live::new(endpoint.clone(), stopping.clone()),
            endpoint,
            config: Arc::new(config),
            name: OnceCell::new(),
            stopping,
        }))
    }

    /// Name of the endpoint, which never changes.
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
