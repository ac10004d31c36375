//! Histories of databases: the documents at a past moment, databases that were dropped, and the removal of what is kept no
//! longer.

mod dropped;
mod mass_loss;
mod restore;

use std::time::Duration;

use feedsync_couch::DatabaseName;
use feedsync_store::{Database, DatabaseChange, History, Moment, PastPage, PastRange, StoreError};

pub use mass_loss::{LOSS_PERCENT, LOSS_PERIOD, MIN_LOST_DOCUMENTS, MassLoss};
pub use restore::{MAX_REFUSALS, RestoreError, RestoreRequest, RestoreSummary};

use crate::endpoint::Endpoint;

/// Maximum number of ended revisions that one transaction removes.
const EXPIRY_BATCH: usize = 500;

impl Endpoint {
    /// Switches the history of a database on or off, if the database still has the same epoch. A history that is
    /// switched off is given up: [`expire_histories`](Self::expire_histories) removes it.
    pub async fn set_history(
        &self,
        Database { name, epoch, .. }: &Database,
        history: History,
    ) -> Result<Database, StoreError> {
        let change = DatabaseChange { history: Some(history), ..DatabaseChange::default() };
        self.databases().change_database(name, *epoch, change).await
    }

    /// Returns documents as they were at a moment.
    pub async fn documents_at(
        &self,
        name: &DatabaseName,
        moment: Moment,
        range: PastRange,
        most_bytes: u64,
    ) -> Result<PastPage, StoreError> {
        self.databases().documents_at(name, moment, range, most_bytes).await
    }

    /// Removes revisions that ended longer ago than the histories of their databases keep them, histories that are switched
    /// off, and databases that were dropped longer ago than their histories are kept. A failure does not stop the others and
    /// is returned at the end.
    pub async fn expire_histories(&self) -> Result<(), StoreError> {
        // A database that never had a history has no moment of a last write.
        let is_due = |database: &Database| database.past.last > Moment::default();
        let mut failure = Ok(());
        for database in self.databases_that(is_due).await? {
            match self.expire_history(&database).await {
                // It was dropped in the meantime.
                Ok(()) | Err(StoreError::NoDatabase(_)) => {}
                failed => failure = failure.and(failed),
            }
        }
        failure
    }

    async fn expire_history(&self, database: &Database) -> Result<(), StoreError> {
        let period = database.history.seconds().map(Duration::from_secs);
        let before = period.map_or(Moment::default(), |period| self.ago(period));
        let databases = self.databases();
        while databases.expire_history(&database.name, before, EXPIRY_BATCH).await? {}
        Ok(())
    }

    /// The moment that is this period ago.
    fn ago(&self, period: Duration) -> Moment {
        let period = u64::try_from(period.as_micros()).unwrap_or(u64::MAX);
        Moment::from_micros(self.environment().now().micros().saturating_sub(period))
    }
}
