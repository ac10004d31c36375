//! Replication of databases of documents, by CouchDB's protocol: whatever a source has and a target has not is written
//! there, conflicts and deletions included.
//!
//! - Source and target are each a database of a server ([`RemoteDatabase`]: a hub, CouchDB, pouchdb-server) or of a store
//!   here ([`StoredDatabase`]).
//! - Many batches are on their way at once, so that how far a server is costs little; memory is bounded all the same.
//! - How far it is stands in local documents on both sides, written once all before is durable: what is interrupted goes
//!   on there. Whatever is carried twice changes nothing.
//! - A document that a target refuses is reported, and keeps nothing else back.

mod batch;
mod carrier;
mod checkpoints;
mod error;
mod feed;
mod progress;
mod remote;
mod replica;
mod stored;

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use feedsync_couch::ChangesFilter;
use feedsync_couch::replication::Place;
use feedsync_store::Environment;
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};

use batch::Batch;
use carrier::Carrier;
use checkpoints::CheckpointLog;
use feed::Feed;

pub use error::ReplicationError;
pub use progress::{Replicated, ReplicationProgress};
pub use remote::{OnWait, Patience, RemoteDatabase};
pub use replica::{Changes, Local, Replica};
pub use stored::StoredDatabase;

/// So many batches may be carried before their turn.
const MOST_AHEAD: u64 = 64;

/// Who wants a replication to end waits so long for it to be written down how far it is.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What is replicated, and how.
#[derive(Debug, Clone, Default)]
pub struct Replication {
    /// Which documents.
    pub filter: ReplicationFilter,
    /// Whether it goes on once all is there, each time something changes.
    pub is_continuous: bool,
    /// Whether the target is made if it is not there.
    pub creates_target: bool,
    /// Whether all is looked at again that was replicated before.
    pub from_beginning: bool,
    /// How much is done at once.
    pub pace: ReplicationPace,
}

/// How much is done at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicationPace {
    /// So many changes are asked for at once.
    pub page: usize,
    /// So many documents are compared, and carried, at once.
    pub batch: usize,
    /// So many batches are on their way at once.
    pub batches: usize,
    /// How often it is written down how far it is.
    pub checkpoint: Duration,
}

impl Default for ReplicationPace {
    /// 2,000 changes, 8 batches of 500 documents, every 5 seconds.
    fn default() -> Self {
        Self { page: 2_000, batch: 500, batches: 8, checkpoint: Duration::from_secs(5) }
    }
}

/// Which documents are replicated.
#[derive(Debug, Clone, Default)]
pub enum ReplicationFilter {
    /// All.
    #[default]
    All,
    /// Those that a selector means.
    Selector {
        /// As JSON.
        text: String,
        /// What that says.
        filter: Arc<ChangesFilter>,
    },
    /// Those of these ids.
    Ids(Vec<String>),
}

impl Replication {
    /// Replicates until all is there, or until `stop`.
    pub async fn run(
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
            // Nothing was done that could be written down.
            () = &mut stop => return Ok(Replicated { has_checkpoints: true, ..Replicated::default() }),
        };
        let after = log.began_at().cloned().unwrap_or_else(Place::beginning);
        progress.begins(log.began_at().is_some());
        let filter = Arc::new(self.filter.clone());
        let run = Run {
            feed: Feed::follow(
                Arc::clone(&source),
                filter,
                after,
                self.pace.page,
                self.is_continuous,
            ),
            pace: self.pace,
            carrier: Carrier::new(source, target),
            log,
            waiting: VecDeque::new(),
            tasks: JoinSet::new(),
            finished: BTreeMap::new(),
            next: 0,
            first: 0,
            report: Replicated::default(),
        };
        run.until(stop, progress).await
    }
}

/// A replication under way.
struct Run {
    feed: Feed,
    pace: ReplicationPace,
    carrier: Carrier,
    log: CheckpointLog,
    /// Batches that nobody carries yet, by number.
    waiting: VecDeque<(u64, Batch)>,
    tasks: JoinSet<Result<(u64, Batch, Replicated), ReplicationError>>,
    /// Batches that were carried before their turn.
    finished: BTreeMap<u64, (Option<Place>, Replicated)>,
    /// The number of the next batch.
    next: u64,
    /// That of the first batch which is not finished.
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
            self.carry();
            tokio::select! {
                () = &mut stop => break,
                page = self.feed.next(), if !is_at_end && self.has_room() => {
                    match page? {
                        Some(page) => {
                            let pending = page.pending;
                            let batches = Batch::of(page, self.pace.batch);
                            let count = batches.iter().map(|it| it.documents.len() as u64).sum();
                            progress.looked(count, pending);
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
                    progress.carried(batch.documents.len() as u64);
                    self.finished.insert(number, (batch.last, done));
                    self.advance(progress);
                }
                () = sleep_until(self.log.due()), if self.log.is_behind() => tokio::select! {
                    written = self.log.write() => written?,
                    () = &mut stop => break,
                },
            }
        }
        // What is on its way is carried again next time.
        self.tasks.abort_all();
        if self.log.is_behind() {
            match is_at_end {
                true => self.log.write().await?,
                // Who wants to end waits for no server. What is not written down is looked at again next time.
                false => drop(timeout(LAST_WORDS, self.log.write()).await),
            }
        }
        self.report.has_checkpoints = self.log.is_kept();
        Ok(self.report)
    }

    /// Whether more may be read: one batch that takes long holds up the others.
    fn has_room(&self) -> bool {
        self.waiting.is_empty() && self.next - self.first < MOST_AHEAD
    }

    /// Sets out with batches that wait.
    fn carry(&mut self) {
        while self.tasks.len() < self.pace.batches
            && let Some((number, batch)) = self.waiting.pop_front()
        {
            let carrier = self.carrier.clone();
            self.tasks.spawn(async move {
                let done = carrier.carry(&batch.documents).await?;
                Ok((number, batch, done))
            });
        }
    }

    /// Counts what is finished, as far as all before it is.
    fn advance(&mut self, progress: &dyn ReplicationProgress) {
        while let Some((last, done)) = self.finished.remove(&self.first) {
            self.first += 1;
            // It is told before it is passed.
            done.refused.iter().for_each(|refused| progress.refused(refused));
            self.report.add(done);
            if let Some(last) = last {
                self.log.reaches(last, self.report.worked);
            }
        }
    }
}
