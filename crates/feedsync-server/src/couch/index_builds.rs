//! Building of indexes: one build of a database at a time on this node, which all requests await that need an index.

use std::sync::Arc;

use feedsync_couch::DatabaseName;
use feedsync_store::{Databases, Indexes, StoreError, StoredIndex};

use super::shared_runs::{Run, SharedRuns};

/// Number of documents that are added to indexes at once. Other writers get a turn between these pieces.
const PIECE: usize = 2_000;

/// Databases whose indexes this node builds. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexBuilds(SharedRuns<DatabaseName, ()>);

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
        if self.join(databases, name).wait().await.is_err() {
            // The same step fails again, with an error for this request.
            databases.build_indexes(name, PIECE).await?;
        }
        Ok(())
    }

    /// The running build of a database, or a new one.
    fn join(&self, databases: &Arc<dyn Databases>, name: &DatabaseName) -> Run<()> {
        let (databases, database) = (Arc::clone(databases), name.clone());
        self.0.join(name.clone(), async move {
            let built = build(&*databases, &database).await;
            built.map_err(|error| {
                tracing::warn!(%error, %database, "cannot build the indexes of a database");
            })
        })
    }
}

async fn build(databases: &dyn Databases, name: &DatabaseName) -> Result<(), StoreError> {
    while databases.build_indexes(name, PIECE).await? {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use feedsync_store::{EndpointName, MemoryStore, SystemEnvironment};

    use super::*;

    #[tokio::test]
    async fn a_failed_build_is_an_error_of_the_request() {
        let hub = EndpointName::new("hub").unwrap();
        let databases: Arc<dyn Databases> =
            Arc::new(MemoryStore::new(&hub, Arc::new(SystemEnvironment)));
        let (builds, name): (_, DatabaseName) = (IndexBuilds::default(), "notes".parse().unwrap());
        assert!(matches!(builds.wait(&databases, &name).await, Err(StoreError::NoDatabase(_))));
        databases.create_database(&name, Default::default()).await.unwrap().unwrap();
        builds.wait(&databases, &name).await.unwrap();
    }
}
