//! Bridges between a collection and the database of the same name: changes on one side are transferred to the
//! other.
//!
//! Each side is complete on its own. A pass reads what changed on one side since the last pass, maps it as
//! [`feedsync_couch::mapping`] defines, and merges it into the other side. What the other side already has
//! changes nothing. So a pass may be interrupted anywhere and repeated, also by several processes at once,
//! and it reaches a stable state. Its progress is stored in the database, in a document that no client can
//! write.

mod place;
#[cfg(test)]
mod tests;
mod to_documents;
mod to_items;

use std::fmt;
use std::sync::Arc;

use feedsync_couch::{DatabaseName, Json};
use feedsync_store::{Collection, CollectionName, Database, Databases, StoreError};

use crate::documents::DocumentsError;
use crate::endpoint::Endpoint;
use crate::error::EndpointError;
use crate::settings::is_database;

pub use place::PLACE;

/// Member of a bridged database's security object that names its collection, by the immutable feed id.
const OF_COLLECTION: &str = "fs:collection";

/// A bridge between a collection and the database of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Door {
    /// The collection.
    pub collection: CollectionName,
    /// The database.
    pub database: DatabaseName,
    /// Feed id of the collection, which stays when names change.
    feed_id: String,
}

/// Counts of what a pass transferred.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Carried {
    /// Number of items that documents changed.
    pub items: u64,
    /// Number of documents that items changed.
    pub documents: u64,
    /// Number of items and documents that the other side cannot take. They stay where they are.
    pub refused: u64,
    /// The first of these.
    pub left: Vec<Left>,
    /// Number of items whose blobs are missing. They are retried.
    pub waiting: u64,
}

/// An item or a document that was not transferred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Its id.
    pub id: String,
    /// Reason for not transferring it.
    pub why: String,
}

/// Maximum number of refused items and documents that are listed.
const NAMED: usize = 10;

impl Carried {
    fn leave(&mut self, id: &dyn fmt::Display, why: &dyn fmt::Display) {
        self.refused += 1;
        if self.left.len() < NAMED {
            self.left.push(Left { id: id.to_string(), why: why.to_string() });
        }
    }
}

/// Reason for ending a pass.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// The collection was not changed.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The database was not changed.
    #[error(transparent)]
    Documents(#[from] DocumentsError),
}

impl From<StoreError> for DoorError {
    fn from(error: StoreError) -> Self {
        Self::Endpoint(error.into())
    }
}

/// Relation of a database to a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoorOf {
    /// The database is not bridged.
    Nothing,
    /// The database is bridged to a collection.
    Collection(CollectionName),
    /// The database was bridged to a collection that was since closed, renamed or removed.
    Closed,
}

/// Owner of a database, as seen from one collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Belonging {
    /// The collection itself.
    Collection,
    /// Another collection, or none.
    Other,
    /// A collection that was removed.
    Removed,
}

/// Whether a client's security object contains the member that marks a bridged database.
pub fn names_collection(security: &Json) -> bool {
    security.root().member(OF_COLLECTION).is_some()
}

/// Returns the feed id of the collection that a database says it is bridged to.
fn said_of(database: &Database) -> Option<String> {
    // Nearly no database has this member.
    let security =
        database.security.as_ref().filter(|security| security.contains(OF_COLLECTION))?;
    let security = Json::read(security.clone().into_bytes()).ok()?;
    Some(security.root().member(OF_COLLECTION)?.value.string()?.into_owned())
}

impl Endpoint {
    /// Bridges a collection to a database, if it is not bridged already. The database is created. A database
    /// that serves something else, including another collection of that name, is not changed.
    pub async fn open_as_database(&self, name: &CollectionName) -> Result<Door, DoorError> {
        let collection = self.collection(name).await?;
        let database: DatabaseName = name
            .as_str()
            .parse()
            .unwrap_or_else(|_| unreachable!("databases have more names than collections"));
        let databases = self.databases();
        let security = collection.bridge_security();
        self.drop_orphan(&database, &collection).await?;
        let made = databases.create_database(&database, Some(security)).await?;
        let there = match made {
            Some(_) => None,
            None => databases.database(&database).await?,
        };
        match there {
            Some(there) if said_of(&there).as_ref() != Some(&collection.feed_id) => {
                Err(EndpointError::DatabaseTaken(collection.name).into())
            }
            _ => Ok(Door { collection: name.clone(), database, feed_id: collection.feed_id }),
        }
    }

    /// Drops a database of this name that is bridged to a collection which an earlier version removed without
    /// it.
    async fn drop_orphan(
        &self,
        name: &DatabaseName,
        collection: &Collection,
    ) -> Result<(), DoorError> {
        let Some(found) = self.databases().database(name).await? else { return Ok(()) };
        match self.belonging(&found, Some(&collection.feed_id)).await? {
            Belonging::Removed => Ok(self.databases().drop_database(name, found.epoch).await?),
            Belonging::Collection | Belonging::Other => Ok(()),
        }
    }

    /// Whether an existing database prevents a collection of this name from being bridged. The feed id is
    /// that of the collection, if it exists.
    pub async fn is_database_taken(
        &self,
        name: &CollectionName,
        feed_id: Option<&str>,
    ) -> Result<bool, StoreError> {
        let Ok(name) = name.as_str().parse::<DatabaseName>() else { return Ok(false) };
        let Some(found) = self.databases().database(&name).await? else { return Ok(false) };
        Ok(self.belonging(&found, feed_id).await? == Belonging::Other)
    }

    async fn belonging(
        &self,
        database: &Database,
        feed_id: Option<&str>,
    ) -> Result<Belonging, StoreError> {
        let Some(of) = said_of(database) else { return Ok(Belonging::Other) };
        if feed_id == Some(&*of) {
            return Ok(Belonging::Collection);
        }
        let is_there = self.store().collections().await?.iter().any(|it| it.feed_id == of);
        Ok(if is_there { Belonging::Other } else { Belonging::Removed })
    }

    /// Returns the current relation of a database to a collection.
    pub async fn door_of(&self, database: &Database) -> Result<DoorOf, StoreError> {
        let Some(feed_id) = said_of(database) else { return Ok(DoorOf::Nothing) };
        let Ok(name) = CollectionName::new(database.name.as_str()) else {
            return Ok(DoorOf::Closed);
        };
        let collection = self.store().collection(&name).await?;
        let is_open = |it: &Collection| it.feed_id == feed_id && is_database(&it.settings);
        Ok(match collection.is_some_and(|it| is_open(&it)) {
            true => DoorOf::Collection(name),
            false => DoorOf::Closed,
        })
    }

    /// Transfers what changed on either side since the last pass.
    pub async fn carry_over(&self, door: &Door) -> Result<Carried, DoorError> {
        let pass = Pass { endpoint: self, door, databases: self.databases() };
        let mut place = pass.place().await?;
        let mut carried = Carried::default();
        while pass.carry_documents(&mut place, &mut carried).await? {}
        while pass.carry_items(&mut place, &mut carried).await? {}
        carried.waiting = place.waiting.len() as u64;
        Ok(carried)
    }
}

/// One pass over a bridge.
struct Pass<'a> {
    endpoint: &'a Endpoint,
    door: &'a Door,
    databases: Arc<dyn Databases>,
}

impl Pass<'_> {
    /// Returns the collection; an error if another collection has the name now.
    async fn collection(&self) -> Result<Collection, DoorError> {
        let found = self.endpoint.collection(&self.door.collection).await?;
        match found.feed_id == self.door.feed_id {
            true => Ok(found),
            false => Err(EndpointError::DatabaseTaken(self.door.collection.clone()).into()),
        }
    }

    async fn database(&self) -> Result<Database, DoorError> {
        let name = &self.door.database;
        let found = self.databases.database(name).await?;
        let found = found.ok_or_else(|| StoreError::NoDatabase(name.clone()))?;
        match said_of(&found).as_ref() == Some(&self.door.feed_id) {
            true => Ok(found),
            false => Err(EndpointError::DatabaseTaken(self.door.collection.clone()).into()),
        }
    }
}
