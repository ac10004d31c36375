//! The record of a process, which is brought up to date for requests.

use std::collections::BTreeMap;
use std::time::Duration;

use feedsync_couch::DatabaseName;
use feedsync_store::{Databases, StoreError};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::record::{Record, state};

/// Number of databases per read, and of rows per piece of a response.
pub(super) const PAGE: usize = 1_000;

/// The record of a process, and when it was last brought up to date.
pub(crate) struct DatabaseUpdates(Mutex<(Option<Instant>, Record)>);

impl DatabaseUpdates {
    pub(crate) fn new(name: u64) -> Self {
        Self(Mutex::new((None, Record::new(name))))
    }

    /// Returns the record. It is brought up to date if it is older than this.
    pub(super) async fn record(
        &self,
        databases: &dyn Databases,
        most_age: Duration,
    ) -> Result<MutexGuard<'_, (Option<Instant>, Record)>, StoreError> {
        let mut record = self.0.lock().await;
        if record.0.is_some_and(|read| read.elapsed() < most_age) {
            return Ok(record);
        }
        let (mut all, mut after, begun) = (BTreeMap::new(), None::<DatabaseName>, Instant::now());
        loop {
            let page = databases.databases(after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.name.clone());
            let present = page.into_iter().filter(|database| database.dropped.is_none());
            all.extend(present.map(|database| (database.name.clone(), state(&database))));
        }
        record.1.observe(&all);
        record.0 = Some(begun);
        Ok(record)
    }

    /// The position after an event.
    pub(super) async fn sequence(&self, number: u64) -> String {
        self.0.lock().await.1.sequence(number)
    }
}
