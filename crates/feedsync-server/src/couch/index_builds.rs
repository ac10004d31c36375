//! Building of indexes: one build of a database at a time on this node, which all requests await that need an index.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use feedsync_couch::DatabaseName;
use feedsync_store::{Databases, Indexes, StoreError, StoredIndex};
use tokio::sync::watch;

/// Number of documents that are added to indexes at once. Other writers get a turn between these pieces.
const PIECE: usize = 2_000;

/// Databases whose indexes this node builds. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexBuilds(Arc<Mutex<HashMap<DatabaseName, Ended>>>);

/// The indexes of a database, also those that do not contain all documents yet.
pub(super) async fn known(
    databases: &dyn Databases,
    name: &DatabaseName,
) -> Result<Vec<StoredIndex>, StoreError> {
    loop {
        let Indexes { indexes, are_built } = databases.indexes(name).await?;
        if are_built || !indexes.is_empty() {
            return Ok(indexes);
        }
        // The first step of a build finds the definitions.
        databases.build_indexes(name, 1).await?;
    }
}

/// Becomes true when a build failed; closed when a build ended.
type Ended = watch::Receiver<bool>;

/// A running build, until it is dropped.
struct Build(IndexBuilds, DatabaseName);

impl IndexBuilds {
    /// Builds the indexes of a database in the background. The build goes on if the client disconnects.
    pub(super) fn begin(&self, databases: &Arc<dyn Databases>, name: &DatabaseName) {
        self.join(databases, name);
    }

    /// Waits until a build of the database ends. Then all indexes contain all documents, except those that were created
    /// meanwhile.
    pub(super) async fn wait(
        &self,
        databases: &Arc<dyn Databases>,
        name: &DatabaseName,
    ) -> Result<(), StoreError> {
        let mut ended = self.join(databases, name);
        while ended.changed().await.is_ok() {}
        let is_failed = *ended.borrow();
        if is_failed {
            // The same step fails again, with an error for this request.
            databases.build_indexes(name, PIECE).await?;
        }
        Ok(())
    }

    /// The running build of a database, or a new one.
    fn join(&self, databases: &Arc<dyn Databases>, name: &DatabaseName) -> Ended {
        let mut running = self.running();
        if let Some(ended) = running.get(name) {
            return ended.clone();
        }
        let (failed, ended) = watch::channel(false);
        running.insert(name.clone(), ended.clone());
        let (build, databases) = (Build(self.clone(), name.clone()), Arc::clone(databases));
        tokio::spawn(async move {
            let outcome = build.run(&*databases).await;
            if let Err(error) = &outcome {
                tracing::warn!(%error, database = %build.1, "cannot build the indexes of a database");
            }
            failed.send_replace(outcome.is_err());
            // No request may join a build that has ended.
            drop(build);
            drop(failed);
        });
        ended
    }

    fn running(&self) -> MutexGuard<'_, HashMap<DatabaseName, Ended>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Build {
    async fn run(&self, databases: &dyn Databases) -> Result<(), StoreError> {
        while databases.build_indexes(&self.1, PIECE).await? {}
        Ok(())
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        self.0.running().remove(&self.1);
    }
}

#[cfg(test)]
mod tests {
    use feedsync_store::{EndpointName, MemoryStore, SystemEnvironment};

    use super::*;

    fn databases() -> Arc<dyn Databases> {
        let name = EndpointName::new("hub").unwrap();
        Arc::new(MemoryStore::new(&name, Arc::new(SystemEnvironment)))
    }

    #[tokio::test]
    async fn concurrent_requests_await_one_build() {
        let (builds, databases) = (IndexBuilds::default(), databases());
        let name: DatabaseName = "notes".parse().unwrap();
        assert!(matches!(builds.wait(&databases, &name).await, Err(StoreError::NoDatabase(_))));
        databases.create_database(&name, None).await.unwrap().unwrap();
        let one = builds.join(&databases, &name);
        let other = builds.join(&databases, &name);
        assert!(one.same_channel(&other));
        builds.wait(&databases, &name).await.unwrap();
        while !builds.running().is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(!builds.join(&databases, &name).same_channel(&one));
    }

    #[tokio::test]
    async fn a_failed_build_is_an_error_of_the_request() {
        let (builds, databases) = (IndexBuilds::default(), databases());
        let name: DatabaseName = "none".parse().unwrap();
        let mut ended = builds.join(&databases, &name);
        while ended.changed().await.is_ok() {}
        assert!(*ended.borrow());
        assert!(builds.running().is_empty());
    }
}
