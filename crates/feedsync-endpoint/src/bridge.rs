//! Bridges between a collection and the database of the same name: changes on one side are transferred to the
//! other.
//!
//! Each side is complete on its own. A pass reads what changed on one side since the last pass, maps it as
//! [`feedsync_couch::mapping`] defines, and merges it into the other side. What the other side already has
//! changes nothing. So a pass may be interrupted anywhere and repeated, also by several processes at once,
//! and it reaches a stable state. Its progress is stored in the database, in a document that no client can
//! write.

mod progress;
#[cfg(test)]
mod tests;
mod to_documents;
mod to_items;

use std::fmt;
use std::sync::Arc;

use feedsync_couch::{DatabaseName, Json};
use feedsync_store::{Collection, CollectionName, Database, Databases, NewDatabase, StoreError};

use crate::database_owner::{COLLECTION_MEMBER, DatabaseOwner, bridged_feed_id};
use crate::documents::validation::Author;
use crate::documents::{DocumentsError, DocumentsWriter};
use crate::endpoint::Endpoint;
use crate::error::EndpointError;
use crate::settings::is_database;

pub use progress::PROGRESS_DOCUMENT;

/// A bridge between a collection and the database of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionBridge {
    /// The collection.
    pub collection: CollectionName,
    /// The database.
    pub database: DatabaseName,
    /// Feed id of the collection, which stays when names change.
    feed_id: String,
}

/// Counts of what a pass transferred.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BridgeReport {
    /// Number of items that documents changed.
    pub items: u64,
    /// Number of documents that items changed.
    pub documents: u64,
    /// Number of items and documents that the other side cannot take. They stay where they are.
    pub refused: u64,
    /// The first of these.
    pub left: Vec<BridgeRefusal>,
    /// Number of items whose blobs are missing. They are retried.
    pub waiting: u64,
}

/// An item or a document that was not transferred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeRefusal {
    /// Its id.
    pub id: String,
    /// Reason for not transferring it.
    pub why: String,
}

/// Maximum number of refused items and documents that are listed.
const MAX_NAMED: usize = 10;

impl BridgeReport {
    fn record_refusal(&mut self, id: &dyn fmt::Display, why: &dyn fmt::Display) {
        self.refused += 1;
        if self.left.len() < MAX_NAMED {
            self.left.push(BridgeRefusal { id: id.to_string(), why: why.to_string() });
        }
    }
}

/// Reason for ending a pass.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The collection was not changed.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The database was not changed.
    #[error(transparent)]
    Documents(#[from] DocumentsError),
}

impl From<StoreError> for BridgeError {
    fn from(error: StoreError) -> Self {
        Self::Endpoint(error.into())
    }
}

/// Relation of a database to a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BridgeStatus {
    /// The database is not bridged.
    Nothing,
    /// The database is bridged to a collection.
    Collection(CollectionName),
    /// The database was bridged to a collection that was since closed, renamed or removed.
    Closed,
}

/// Whether a client's security object contains the member that marks a bridged database.
pub fn names_collection(security: &Json) -> bool {
    security.root().member(COLLECTION_MEMBER).is_some()
}

impl Endpoint {
    /// Bridges a collection to a database, if it is not bridged already. The database is created. A database
    /// that serves something else, including another collection of that name, is not changed.
    pub async fn open_as_database(
        &self,
        name: &CollectionName,
    ) -> Result<CollectionBridge, BridgeError> {
        let collection = self.collection(name).await?;
        let database: DatabaseName = name
            .as_str()
            .parse()
            .unwrap_or_else(|_| unreachable!("databases have more names than collections"));
        let databases = self.databases();
        let security = collection.bridge_security();
        self.drop_orphan(&database, &collection).await?;
        let made =
            databases.create_database(&database, NewDatabase::with_security(security)).await?;
        let there = match made {
            Some(_) => None,
            None => databases.database(&database).await?,
        };
        match there {
            Some(there) if bridged_feed_id(&there).as_ref() != Some(&collection.feed_id) => {
                Err(EndpointError::DatabaseTaken(collection.name).into())
            }
            _ => Ok(CollectionBridge {
                collection: name.clone(),
                database,
                feed_id: collection.feed_id,
            }),
        }
    }

    /// Drops a database of this name that is bridged to a collection which an earlier version removed without
    /// it.
    async fn drop_orphan(
        &self,
        name: &DatabaseName,
        collection: &Collection,
    ) -> Result<(), BridgeError> {
        let Some(found) = self.databases().database(name).await? else { return Ok(()) };
        match self.database_owner(&found, Some(&collection.feed_id)).await? {
            DatabaseOwner::Removed => Ok(self.drop_database(&found, None).await.map(drop)?),
            DatabaseOwner::Collection | DatabaseOwner::Other => Ok(()),
        }
    }

    /// Returns the current relation of a database to a collection.
    pub async fn bridge_status(&self, database: &Database) -> Result<BridgeStatus, StoreError> {
        let Some(feed_id) = bridged_feed_id(database) else { return Ok(BridgeStatus::Nothing) };
        let Ok(name) = CollectionName::new(database.name.as_str()) else {
            return Ok(BridgeStatus::Closed);
        };
        let collection = self.store.collection(&name).await?;
        let is_open = |it: &Collection| it.feed_id == feed_id && is_database(&it.settings);
        Ok(match collection.is_some_and(|it| is_open(&it)) {
            true => BridgeStatus::Collection(name),
            false => BridgeStatus::Closed,
        })
    }

    /// Transfers what changed on either side since the last pass.
    pub async fn synchronize_bridge(
        &self,
        bridge: &CollectionBridge,
    ) -> Result<BridgeReport, BridgeError> {
        let (databases, writer) = (self.databases(), self.documents_writer(Author::SERVER));
        let pass = BridgePass { endpoint: self, bridge, databases, writer };
        let mut progress = pass.progress().await?;
        let mut carried = BridgeReport::default();
        while pass.apply_documents(&mut progress, &mut carried).await? {}
        while pass.apply_items(&mut progress, &mut carried).await? {}
        carried.waiting = progress.waiting.len() as u64;
        Ok(carried)
    }
}

/// One pass over a bridge.
struct BridgePass<'a> {
    endpoint: &'a Endpoint,
    bridge: &'a CollectionBridge,
    databases: Arc<dyn Databases>,
    writer: DocumentsWriter,
}

impl BridgePass<'_> {
    /// Returns the collection; an error if another collection has the name now.
    async fn collection(&self) -> Result<Collection, BridgeError> {
        let found = self.endpoint.collection(&self.bridge.collection).await?;
        match found.feed_id == self.bridge.feed_id {
            true => Ok(found),
            false => Err(EndpointError::DatabaseTaken(self.bridge.collection.clone()).into()),
        }
    }

    async fn database(&self) -> Result<Database, BridgeError> {
        let name = &self.bridge.database;
        let found = self.databases.database(name).await?;
        let found = found.ok_or_else(|| StoreError::NoDatabase(name.clone()))?;
        match bridged_feed_id(&found).as_ref() == Some(&self.bridge.feed_id) {
            true => Ok(found),
            false => Err(EndpointError::DatabaseTaken(self.bridge.collection.clone()).into()),
        }
    }
}
