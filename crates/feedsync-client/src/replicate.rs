//! Replication of databases of documents, by CouchDB's protocol: everything that a source has and a target
//! lacks is written to the target, including conflicts and deletions.
//!
//! - Source and target are each a database of a server ([`RemoteDatabase`]: a hub, CouchDB, pouchdb-server)
//!   or of a store here ([`StoredDatabase`]).
//! - Many batches are transferred concurrently, so that latency costs little; memory is bounded all the same.
//! - Checkpoints are stored in local documents on both sides, once everything before them is durable. An
//!   interrupted replication continues at a checkpoint. A document that is transferred twice changes nothing.
//! - A document that a target refuses is reported, and does not stop the others.

mod batch;
mod batch_replicator;
mod checkpoints;
mod error;
mod feed;
mod progress;
mod remote;
mod replica;
mod requested;
mod stored;

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use feedsync_couch::replication::UpdateSequence;
use feedsync_store::Environment;
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};
use tracing::Instrument as _;

use batch::Batch;
use batch_replicator::BatchReplicator;
use checkpoints::CheckpointLog;
use feed::Feed;

pub use error::ReplicationError;
pub use feedsync_couch::replicate::ReplicationFilter;
pub use progress::{Replicated, ReplicationProgress};
pub use remote::{OnWait, RemoteDatabase, RetryPolicy};
pub use replica::{ChangesQuery, Replica, ReplicaLocalDocument};
pub use requested::RequestedReplications;
pub use stored::StoredDatabase;

/// Maximum number of batches that are transferred ahead of the first unfinished one.
const MAX_BATCHES_AHEAD: u64 = 64;

/// Maximum wait for a checkpoint to be written after a stop was requested.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Settings of a replication.
#[derive(Debug, Clone, Default)]
pub struct Replication {
    /// Selection of documents.
    pub filter: ReplicationFilter,
    /// Whether the replication continues after all documents were transferred, with each later change.
    pub is_continuous: bool,
    /// Whether the target is created if it does not exist.
    pub creates_target: bool,
    /// Whether checkpoints are ignored, so that all documents are compared again.
    pub from_beginning: bool,
    /// Position in the changes of the source at which the replication begins, whatever the checkpoints say.
    pub since: Option<UpdateSequence>,
    /// Whether checkpoints are neither read nor written.
    pub has_no_checkpoints: bool,
    /// Degree of concurrency.
    pub pace: ReplicationPace,
}

/// Degree of concurrency of a replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicationPace {
    /// Maximum number of changes in one page.
    pub page: usize,
    /// Maximum number of documents in one batch.
    pub batch: usize,
    /// Maximum number of concurrent batches.
    pub batches: usize,
    /// Interval between checkpoints.
    pub checkpoint: Duration,
}

impl Default for ReplicationPace {
    /// Returns pages of 2,000 changes, 8 batches of 500 documents, and a checkpoint every 5 seconds.
    fn default() -> Self {
        Self { page: 2_000, batch: 500, batches: 8, checkpoint: Duration::from_secs(5) }
    }
}

impl Replication {
    /// Replicates until all documents were transferred, or until `stop`.
    pub async fn run(
        &self,
        source: Arc<dyn Replica>,
        target: Arc<dyn Replica>,
        environment: Arc<dyn Environment>,
        progress: &dyn ReplicationProgress,
        stop: impl Future<Output = ()>,
    ) -> Result<Replicated, ReplicationError> {
        let id = format!("{:016x}", environment.random());
        let span = tracing::info_span!("replication", id);
        self.run_within(source, target, environment, progress, stop).instrument(span).await
    }

    async fn run_within(
        &self,
        source: Arc<dyn Replica>,
        target: Arc<dyn Replica>,
        environment: Arc<dyn Environment>,
        progress: &dyn ReplicationProgress,
        stop: impl Future<Output = ()>,
    ) -> Result<Replicated, ReplicationError> {
        let sides = (Arc::clone(&source), Arc::clone(&target));
        let mut stop = pin!(stop);
        let log = tokio::select! {
            log = CheckpointLog::open(self, sides, environment) => log?,
            // Nothing was done that a checkpoint could record.
            () = &mut stop => return Ok(Replicated { has_checkpoints: true, ..Replicated::default() }),
        };
        let began_at = self.since.as_ref().or(log.began_at());
        let after = began_at.cloned().unwrap_or_else(UpdateSequence::beginning);
        let is_resumed = log.began_at().is_some();
        tracing::debug!(is_resumed, "replication begins");
        progress.begins(is_resumed);
        let filter = Arc::new(self.filter.clone());
        let report = Replicated {
            began_at: Some(after.clone()),
            reached: Some(after.clone()),
            ..Replicated::default()
        };
        let run = Run {
            feed: Feed::follow(
                Arc::clone(&source),
                filter,
                after,
                self.pace.page,
                self.is_continuous,
            ),
            pace: self.pace,
            carrier: BatchReplicator::new(source, target),
            log,
            waiting: VecDeque::new(),
            tasks: JoinSet::new(),
            finished: BTreeMap::new(),
            next: 0,
            first: 0,
            report,
        };
        run.until(stop, progress).await
    }
}

/// A running replication.
struct Run {
    feed: Feed,
    pace: ReplicationPace,
    carrier: BatchReplicator,
    log: CheckpointLog,
    /// Batches whose transfer has not started, by number.
    waiting: VecDeque<(u64, Batch)>,
    tasks: JoinSet<Result<(u64, Batch, Replicated), ReplicationError>>,
    /// Batches that finished before earlier ones.
    finished: BTreeMap<u64, (Option<UpdateSequence>, Replicated)>,
    /// Number of the next batch.
    next: u64,
    /// Number of the first unfinished batch.
    first: u64,
    report: Replicated,
}

impl Run {
    async fn until(
        mut self,
        stop: impl Future<Output = ()>,
        progress: &dyn ReplicationProgress,
    ) -> Result<Replicated, ReplicationError> {
        let mut stop = pin!(stop);
        let mut is_at_end = false;
        while !(is_at_end && self.tasks.is_empty() && self.waiting.is_empty()) {
            self.replicate_batch();
            tokio::select! {
                () = &mut stop => break,
                page = self.feed.next(), if !is_at_end && self.has_room() => {
                    match page? {
                        Some(page) => {
                            let pending = page.pending;
                            let batches = Batch::of(page, self.pace.batch);
                            let count = batches.iter().map(|it| it.documents.len() as u64).sum();
                            tracing::debug!(documents = count, pending, "changes were read");
                            progress.examined(count, pending);
                            for batch in batches {
                                self.waiting.push_back((self.next, batch));
                                self.next += 1;
                            }
                        }
                        None => is_at_end = true,
                    }
                }
                Some(done) = self.tasks.join_next() => {
                    let (number, batch, done) = done.map_err(|_| ReplicationError::Ended)??;
                    let documents = batch.documents.len();
                    tracing::debug!(batch = number, documents, "a batch was replicated");
                    progress.replicated(documents as u64);
                    self.finished.insert(number, (batch.last, done));
                    self.advance(progress);
                }
                () = sleep_until(self.log.due()), if self.log.is_behind() => tokio::select! {
                    written = self.log.write() => written?,
                    () = &mut stop => break,
                },
            }
        }
        // Batches that are still being transferred are repeated by the next run.
        self.tasks.abort_all();
        if self.log.is_behind() {
            match is_at_end {
                true => self.log.write().await?,
                // A stop does not wait long for a server. Without the checkpoint, the next run compares more
                // documents again.
                false => drop(timeout(SHUTDOWN_TIMEOUT, self.log.write()).await),
            }
        }
        self.report.has_checkpoints = self.log.is_writable();
        Ok(self.report)
    }

    /// Whether another page may be read. A slow batch stops this once too many later ones are read.
    fn has_room(&self) -> bool {
        self.waiting.is_empty() && self.next - self.first < MAX_BATCHES_AHEAD
    }

    /// Starts the transfer of waiting batches.
    fn replicate_batch(&mut self) {
        while self.tasks.len() < self.pace.batches
            && let Some((number, batch)) = self.waiting.pop_front()
        {
            let carrier = self.carrier.clone();
            self.tasks.spawn(async move {
                let done = carrier.replicate_batch(&batch.documents).await?;
                Ok((number, batch, done))
            });
        }
    }

    /// Counts finished batches, up to the first unfinished one.
    fn advance(&mut self, progress: &dyn ReplicationProgress) {
        while let Some((last, done)) = self.finished.remove(&self.first) {
            self.first += 1;
            // A refusal is reported before a checkpoint passes it.
            done.refused.iter().for_each(|refused| progress.refused(refused));
            self.report.add(done);
            if let Some(last) = last {
                progress.reached(&last, self.report.stats);
                self.report.reached = Some(last.clone());
                self.log.reaches(last, self.report.stats);
            }
        }
    }
}
