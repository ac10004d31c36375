//! Updates of views: one of a design document at a time on this node, which all requests await that need its rows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use feedsync_couch::{DatabaseName, Refusal, RefusalKind};
use feedsync_endpoint::documents::DocumentsError;
use feedsync_endpoint::documents::views::Views;
use feedsync_store::{ChangeNumber, StoredViews, ViewsSignature};

use super::Failure;
use super::shared_runs::{Run, SharedRuns};

/// Time for which a failed update is not tried again, unless the database changes.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// Maximum number of failed updates that are remembered.
const MAX_FAILURES: usize = 1_000;

/// Views that this node updates. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct ViewUpdates {
    runs: SharedRuns<Key, Failed>,
    failures: Arc<Mutex<HashMap<Key, FailedUpdate>>>,
}

type Key = (DatabaseName, ViewsSignature);

/// Why an update failed; `None` for a failure of the store.
type Failed = Option<Refusal>;

/// A failed update.
#[derive(Debug)]
struct FailedUpdate {
    /// Last change of the database when the update was requested.
    last: ChangeNumber,
    at: Instant,
    refusal: Refusal,
}

impl ViewUpdates {
    /// Updates views in the background.
    pub(super) fn begin(&self, views: &Views) {
        self.join(views);
    }

    /// Whether this node updates the views at the moment.
    pub(super) fn is_running(&self, views: &Views) -> bool {
        self.runs.is_running(&key(views))
    }

    /// Waits until the rows of views follow the last change at the time of the call.
    pub(super) async fn wait(&self, views: &Views) -> Result<StoredViews, Failure> {
        let mut stored = views.stored().await?;
        let last = stored.database.last;
        if stored.reached < last
            && let Some(refusal) = self.known_failure(views, last)
        {
            return Err(refusal.into());
        }
        while stored.reached < last {
            match self.join(views).wait().await {
                Ok(()) => {}
                Err(Some(refusal)) => {
                    self.remember(views, last, &refusal);
                    return Err(refusal.into());
                }
                // The same step fails again, with an error for this request.
                Err(None) => drop(views.update().await?),
            }
            let before = stored.database.epoch;
            stored = views.stored().await?;
            if stored.database.epoch != before {
                break;
            }
        }
        Ok(stored)
    }

    /// Why a recent update failed. A function that takes too long would otherwise be executed again for each request.
    fn known_failure(&self, views: &Views, last: ChangeNumber) -> Option<Refusal> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let failure = failures.get(&key(views))?;
        let is_recent = failure.last == last && failure.at.elapsed() < RETRY_INTERVAL;
        is_recent.then(|| failure.refusal.clone())
    }

    fn remember(&self, views: &Views, last: ChangeNumber, refusal: &Refusal) {
        if refusal.kind == RefusalKind::Unavailable {
            return;
        }
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|_, failure| failure.at.elapsed() < RETRY_INTERVAL);
        if failures.len() < MAX_FAILURES {
            let (at, refusal) = (Instant::now(), refusal.clone());
            failures.insert(key(views), FailedUpdate { last, at, refusal });
        }
    }

    /// The running update, or a new one.
    fn join(&self, views: &Views) -> Run<Failed> {
        let key = key(views);
        let views = views.clone();
        self.runs.join(key, async move {
            views.update().await.map(drop).map_err(|error| match error {
                DocumentsError::Refused(refusal) => Some(refusal),
                DocumentsError::Store(error) => {
                    tracing::warn!(%error, database = %views.database(), "cannot update views");
                    None
                }
            })
        })
    }
}

fn key(views: &Views) -> Key {
    (views.database().clone(), views.signature())
}
