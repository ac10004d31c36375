//! Updates of views: one of a design document at a time on this node, which all requests await that need its rows.

use feedsync_couch::{DatabaseName, Refusal};
use feedsync_endpoint::documents::DocumentsError;
use feedsync_endpoint::documents::views::Views;
use feedsync_store::{StoredViews, ViewsSignature};

use super::Failure;
use super::shared_runs::{Run, SharedRuns};

/// Views that this node updates. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct ViewUpdates(SharedRuns<(DatabaseName, ViewsSignature), Failed>);

/// Why an update failed; `None` for a failure of the store.
type Failed = Option<Refusal>;

impl ViewUpdates {
    /// Updates views in the background.
    pub(super) fn begin(&self, views: &Views) {
        self.join(views);
    }

    /// Whether this node updates the views at the moment.
    pub(super) fn is_running(&self, views: &Views) -> bool {
        self.0.is_running(&(views.database().clone(), views.signature()))
    }

    /// Waits until the rows of views follow the last change at the time of the call.
    pub(super) async fn wait(&self, views: &Views) -> Result<StoredViews, Failure> {
        let mut stored = views.stored().await?;
        let last = stored.database.last;
        while stored.reached < last {
            match self.join(views).wait().await {
                Ok(()) => {}
                Err(Some(refusal)) => return Err(refusal.into()),
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

    /// The running update, or a new one.
    fn join(&self, views: &Views) -> Run<Failed> {
        let key = (views.database().clone(), views.signature());
        let views = views.clone();
        self.0.join(key, async move {
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
