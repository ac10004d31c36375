//! Running replications of this process. They end with it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use feedsync_couch::{DocumentId, Refusal, RefusalKind};
use feedsync_endpoint::documents::replication::{ReplicationOutcome, SharedProgress};
use feedsync_store::Moment;
use tokio::sync::watch;

/// Maximum number of running replications.
pub(super) const MAX_REPLICATIONS: usize = 100;

/// Outcome of a replication that has ended.
type Ended = Result<ReplicationOutcome, Refusal>;

/// Running replications, by id. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunningReplications(Arc<Mutex<BTreeMap<String, RunningReplication>>>);

/// A running replication.
#[derive(Debug, Clone)]
pub(crate) struct RunningReplication {
    pub(crate) description: Description,
    pub(crate) progress: Arc<SharedProgress>,
    /// Becomes true when it is to end.
    pub(super) stop: watch::Sender<bool>,
    outcome: watch::Receiver<Option<Ended>>,
}

/// Description of a replication for administrators, without credentials.
#[derive(Debug, Clone)]
pub(crate) struct Description {
    /// Its id, with the options that are part of it.
    pub(super) id: String,
    pub(crate) source: String,
    pub(crate) target: String,
    /// User who started it.
    pub(crate) user: Option<String>,
    /// Document of `_replicator` that describes it.
    pub(super) document: Option<DocumentId>,
    pub(crate) is_continuous: bool,
    pub(super) started: Moment,
}

/// The entry of a running replication, until it is dropped.
struct Entry(RunningReplications, String);

impl RunningReplications {
    /// Starts a replication, or returns the running one with the same id. Refuses one too many.
    pub(super) fn begin<W>(
        &self,
        description: Description,
        work: impl FnOnce(&RunningReplication) -> W,
    ) -> Result<RunningReplication, Refusal>
    where
        W: Future<Output = Ended> + Send + 'static,
    {
        let mut running = self.running();
        if let Some(found) = running.get(&description.id) {
            return Ok(found.clone());
        }
        if running.len() >= MAX_REPLICATIONS {
            let reason = format!(
                "{MAX_REPLICATIONS} replications are running; cancel one, or try again later"
            );
            return Err(RefusalKind::Unavailable.with_reason(reason));
        }
        let (ended, outcome) = watch::channel(None);
        let (stop, _) = watch::channel(false);
        let id = description.id.clone();
        let begun = RunningReplication { description, progress: Arc::default(), stop, outcome };
        let work = work(&begun);
        running.insert(id.clone(), begun.clone());
        let entry = Entry(self.clone(), id);
        tokio::spawn(async move {
            // The entry is removed also if the work panics.
            let entry = entry;
            let outcome = work.await;
            drop(entry);
            ended.send_replace(Some(outcome));
        });
        Ok(begun)
    }

    pub(super) fn find(&self, id: &str) -> Option<RunningReplication> {
        self.running().get(id).cloned()
    }

    /// All of them, in the order of their ids.
    pub(crate) fn all(&self) -> Vec<RunningReplication> {
        self.running().values().cloned().collect()
    }

    /// Waits until the replications that are running now have ended.
    pub(crate) async fn ended(&self) {
        for replication in self.all() {
            let _ = replication.ended().await;
        }
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<String, RunningReplication>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningReplication {
    /// Waits until it has ended.
    pub(super) async fn ended(mut self) -> Ended {
        let failed = || RefusalKind::Internal.with_reason("the replication ended unexpectedly");
        let outcome = self.outcome.wait_for(Option::is_some).await;
        outcome.ok().and_then(|outcome| outcome.clone()).unwrap_or_else(|| Err(failed()))
    }

    /// Ends it.
    pub(super) async fn cancel(self) {
        self.stop.send_replace(true);
        let _ = self.ended().await;
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.0.running().remove(&self.1);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    fn description(id: usize) -> Description {
        Description {
            id: id.to_string(),
            source: "a".to_owned(),
            target: "b".to_owned(),
            user: None,
            document: None,
            is_continuous: true,
            started: Moment::from_micros(0),
        }
    }

    #[tokio::test]
    async fn the_number_of_replications_is_bounded() {
        let running = RunningReplications::default();
        for id in 0..MAX_REPLICATIONS {
            running.begin(description(id), |_| pending()).unwrap();
        }
        let refused = running.begin(description(MAX_REPLICATIONS), |_| pending()).unwrap_err();
        assert_eq!(refused.kind, RefusalKind::Unavailable);
        // Joining a running one is always possible.
        running.begin(description(0), |_| pending()).unwrap();
        assert_eq!(running.all().len(), MAX_REPLICATIONS);
    }

    #[tokio::test]
    async fn a_replication_that_panics_has_ended() {
        let running = RunningReplications::default();
        let begun = running.begin(description(1), |_| async { panic!("in a test") }).unwrap();
        assert_eq!(begun.ended().await.unwrap_err().kind, RefusalKind::Internal);
        assert!(running.find("1").is_none());
    }
}
