//! `_replicator`: a database whose documents are replications that the hub carries out.
//!
//! [`plan`] decides from the documents, the jobs and the time what starts and stops. The task here reads documents, carries
//! the decisions out and notes how replications end. Of several processes over one store, the one that holds the
//! [`lease`] does this. Only administrators of the hub may use the database.

pub(super) mod documents;
pub(crate) mod jobs;
mod lease;
mod plan;
mod record;
mod start;
mod wanted;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use feedsync_couch::{DocumentId, Json, LocalId, integer, text};
use feedsync_store::{Databases, LocalDocument, Notices, StoreError};
use serde_json::json as value;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use lease::{Claim, Lease};
use plan::{Action, RunOutcome, WantedDocuments};
use wanted::{DocumentReader, name};

use super::replications::{MAX_REPLICATIONS, RunningReplication};
use crate::http::stopping::stopped;
use crate::hub::Hub;

/// Interval between checks without an event.
const TICK: Duration = Duration::from_secs(5);

/// Maximum wait for replications to end when the hub stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// Carries out the replications of documents until the hub stops, if this hub carries out replications.
pub(crate) async fn run(hub: Hub) {
    if hub.replicator.is_none() {
        return;
    }
    let mut stopping = hub.stopping.clone();
    let mut runner = Runner::new(hub);
    loop {
        let pause = runner.pass().await;
        tokio::select! {
            () = stopped(&mut stopping) => break,
            () = runner.event(pause) => {}
        }
    }
    runner.finish().await;
}

/// Carries out decisions.
struct Runner {
    hub: Hub,
    databases: Arc<dyn Databases>,
    reader: DocumentReader,
    lease: Lease,
    notices: Notices,
    running: HashMap<DocumentId, RunningReplication>,
    ends: mpsc::UnboundedSender<(DocumentId, RunOutcome)>,
    ended: mpsc::UnboundedReceiver<(DocumentId, RunOutcome)>,
}

impl Runner {
    fn new(hub: Hub) -> Self {
        let environment = hub.endpoint.environment();
        let holder = format!("{:016x}{:016x}", environment.random(), environment.random());
        let databases = hub.endpoint.databases();
        let notices = databases.subscribe_to_database(&name());
        let (ends, ended) = mpsc::unbounded_channel();
        let (reader, lease) = (DocumentReader::default(), Lease::new(holder));
        Self { hub, databases, reader, lease, notices, running: HashMap::new(), ends, ended }
    }

    /// Reads what changed, and does what is to be done. Returns the time until the next pass if there is no event.
    async fn pass(&mut self) -> Duration {
        if let Err(error) = self.reader.refresh(&*self.databases).await {
            tracing::warn!(%error, "cannot read the documents of _replicator");
        }
        if let Err(error) = self.renew_lease().await {
            tracing::warn!(%error, "cannot renew the lease of _replicator");
        }
        let now = self.hub.document_jobs.now();
        let none = WantedDocuments::new();
        let wanted = if self.lease.is_held(now) { self.reader.wanted() } else { &none };
        let free = MAX_REPLICATIONS.saturating_sub(self.hub.replications.all().len());
        let actions = self.hub.document_jobs.jobs().decide(wanted, free, now);
        for action in actions {
            self.carry_out(action).await;
        }
        let next = self.hub.document_jobs.jobs().next_time(now);
        let next = next.map_or(TICK, |next| next.saturating_sub(now));
        next.min(TICK).min(self.lease.pause())
    }

    async fn carry_out(&mut self, action: Action) {
        match action {
            Action::Start(id, revision) => match start::start(&self.hub, &id, &revision).await {
                Ok(running) => {
                    self.running.insert(id.clone(), running.clone());
                    let ends = self.ends.clone();
                    tokio::spawn(async move {
                        let outcome = start::outcome(&running, running.clone().ended().await);
                        let _ = ends.send((id, outcome));
                    });
                }
                Err(outcome) => self.note(&id, outcome),
            },
            Action::Stop(id) => {
                if let Some(running) = self.running.get(&id) {
                    running.stop.send_replace(true);
                }
            }
            Action::Record(id, revision, outcome) => {
                if let Err(error) = record::record(&self.hub, &id, revision, outcome).await {
                    let document = id.as_str();
                    tracing::warn!(%error, document, "cannot write the state of a replication");
                }
            }
        }
    }

    /// Waits for an event or for this time.
    async fn event(&mut self, pause: Duration) {
        tokio::select! {
            is_open = self.notices.next() => {
                if !is_open {
                    sleep(pause).await;
                    self.notices = self.databases.subscribe_to_database(&name());
                }
            }
            Some((id, outcome)) = self.ended.recv() => self.note(&id, outcome),
            () = sleep(pause) => {}
        }
    }

    /// Notes how a run of a replication ended.
    fn note(&mut self, id: &DocumentId, outcome: RunOutcome) {
        self.running.remove(id);
        if let RunOutcome::Crashed(reason) = &outcome {
            tracing::info!(document = id.as_str(), reason, "a replication will be tried again");
        }
        let now = self.hub.document_jobs.now();
        self.hub.document_jobs.jobs().ended(id, outcome, now);
    }

    /// Claims or renews the lease while there is something to carry out.
    async fn renew_lease(&mut self) -> Result<(), StoreError> {
        if self.reader.wanted().is_empty() && self.hub.document_jobs.jobs().is_empty() {
            return self.release_lease().await;
        }
        let now = self.hub.document_jobs.now();
        let Some(database) = self.databases.database(&name()).await? else { return Ok(()) };
        let stored = self.stored_claim().await?;
        let Some(claim) = self.lease.step(stored, now) else { return Ok(()) };
        let body = value!({ "holder": claim.holder, "count": claim.count }).to_string();
        let document = LocalDocument { revision: claim.count, body };
        let (id, epoch) = (lease_id(), database.epoch);
        let written = self.databases.put_local_document(&name(), epoch, &id, Some(document)).await;
        if written.is_err() {
            self.lease.release();
        }
        written.map(drop)
    }

    /// Gives up the lease, so that another process need not wait until it expires.
    async fn release_lease(&mut self) -> Result<(), StoreError> {
        if !self.lease.is_claimed() {
            return Ok(());
        }
        self.lease.release();
        let Some(database) = self.databases.database(&name()).await? else { return Ok(()) };
        let stored = self.stored_claim().await?;
        if stored.is_some_and(|stored| self.lease.is_own(&stored)) {
            let (id, epoch) = (lease_id(), database.epoch);
            self.databases.put_local_document(&name(), epoch, &id, None).await?;
        }
        Ok(())
    }

    async fn stored_claim(&self) -> Result<Option<Claim>, StoreError> {
        let found = match self.databases.local_document(&name(), &lease_id()).await {
            Err(StoreError::NoDatabase(_)) => None,
            found => found?,
        };
        Ok(found.and_then(|found| {
            let body = Json::read(found.body.into_bytes()).ok()?;
            let holder = text(body.root().member("holder")?.value)?.into_owned();
            Some(Claim { holder, count: integer(body.root().member("count")?.value)? })
        }))
    }

    /// Waits until the replications have ended, which stop with the hub, and gives up the lease.
    async fn finish(&mut self) {
        let ended = async {
            while !self.running.is_empty() {
                let Some((id, outcome)) = self.ended.recv().await else { return };
                self.note(&id, outcome);
            }
        };
        let _ = timeout(STOP_TIMEOUT, ended).await;
        if let Err(error) = self.release_lease().await {
            tracing::warn!(%error, "cannot give up the lease of _replicator");
        }
    }
}

/// Local document that stores the lease.
fn lease_id() -> LocalId {
    "feedsync-replicator".parse().unwrap_or_else(|_| unreachable!("it is a short text"))
}
