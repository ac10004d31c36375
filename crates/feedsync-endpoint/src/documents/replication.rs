//! Replications that clients of a server request, and their execution.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use feedsync_couch::Refusal;
use feedsync_couch::replicate::{RemoteAddress, ReplicateRequest};
use feedsync_couch::replication::{ReplicationStats, UpdateSequence};
use tokio::sync::watch;

use super::validation::Author;
use crate::endpoint::Endpoint;

/// Carries out replications.
#[async_trait]
pub trait Replicator: Send + Sync + 'static {
    /// Checks an address and its headers without a request; returns the address without credentials and query.
    fn check(&self, remote: &RemoteAddress) -> Result<String, Refusal>;

    /// Replicates until all documents were transferred, or until the job is stopped. Local databases are those of
    /// `endpoint`.
    async fn replicate(
        &self,
        endpoint: &Endpoint,
        job: ReplicationJob,
    ) -> Result<ReplicationOutcome, Refusal>;
}

/// A replication to be carried out.
#[derive(Debug, Clone)]
pub struct ReplicationJob {
    /// The request.
    pub request: ReplicateRequest,
    /// User on whose behalf documents are written to a local database.
    pub author: Author,
    /// Progress, which the replicator updates.
    pub progress: Arc<SharedProgress>,
    /// Becomes true when the replication is to end.
    pub stop: watch::Receiver<bool>,
}

/// Outcome of a replication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicationOutcome {
    /// Position in the changes of the source at which it began.
    pub began_at: UpdateSequence,
    /// Position up to which everything was replicated.
    pub reached: UpdateSequence,
    /// Statistics.
    pub stats: ReplicationStats,
}

/// Progress of a running replication.
#[derive(Debug, Default)]
pub struct SharedProgress(Mutex<ReplicationProgress>);

/// Progress of a replication at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplicationProgress {
    /// Number of changed documents that were listed by the source.
    pub examined: u64,
    /// Number of changes that follow those, if known.
    pub pending: Option<u64>,
    /// Position up to which everything was replicated.
    pub reached: Option<UpdateSequence>,
    /// Statistics up to that position.
    pub stats: ReplicationStats,
}

impl SharedProgress {
    /// Changes the progress.
    pub fn update(&self, change: impl FnOnce(&mut ReplicationProgress)) {
        change(&mut self.lock());
    }

    /// Returns the progress up to now.
    pub fn now(&self) -> ReplicationProgress {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, ReplicationProgress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
