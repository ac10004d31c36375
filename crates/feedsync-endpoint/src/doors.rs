//! A collection that is opened as a database, too: what changed behind one door is carried to the other.
//!
//! Both are whole by themselves. A pass reads what changed on one side since the last pass, makes of it what
//! [`feedsync_couch::mapping`] says, and joins that with what is on the other side, where all that is known already
//! changes nothing. So a pass may be broken off anywhere and made again, by several processes at once, and comes to rest.
//! How far it got is noted in the database, under a name that no client can write.

mod documents;
mod items;
mod place;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use feedsync_couch::{DatabaseName, Json, quoted};
use feedsync_store::{CollectionName, Database, DatabaseChange, Databases, StoreError};

use crate::documents::DocumentsError;
use crate::endpoint::Endpoint;
use crate::error::EndpointError;

pub use place::PLACE;

/// What the rights to a database say that is a door of a collection: those to the collection count.
const OF_COLLECTION: &str = "fs:collection";

/// What the rights to a database say that was one: only who administers the hub has any.
const NOBODY: &str = "{\"members\":{\"roles\":[\"_admin\"]},\"admins\":{\"roles\":[\"_admin\"]}}";

/// A collection that is a database, too, of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Door {
    /// The collection.
    pub collection: CollectionName,
    /// The database.
    pub database: DatabaseName,
}

/// What a pass did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Carried {
    /// Items that documents changed.
    pub items: u64,
    /// Documents that items changed.
    pub documents: u64,
    /// What one side cannot take from the other: it stays where it is.
    pub refused: u64,
    /// Items whose blobs are not here yet: they are looked at again.
    pub waiting: u64,
}

/// Why nothing more was carried over.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// The collection was not changed.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The database was not changed.
    #[error(transparent)]
    Documents(#[from] DocumentsError),
    /// A database is there that nobody opened for the collection.
    #[error(
        "there is a database {0} that is not of the collection: drop it, or call the collection otherwise"
    )]
    Taken(DatabaseName),
    /// The name is none for a database.
    #[error("a collection of this name cannot be a database")]
    Name,
}

impl From<StoreError> for DoorError {
    fn from(error: StoreError) -> Self {
        Self::Endpoint(error.into())
    }
}

/// The collection whose door a database is.
pub fn door_of(database: &Database) -> Option<CollectionName> {
    // Of nearly every database something else is said.
    let security =
        database.security.as_ref().filter(|security| security.contains(OF_COLLECTION))?;
    let security = Json::read(security.clone().into_bytes()).ok()?;
    let name = security.root().member(OF_COLLECTION)?.value.string()?;
    CollectionName::new(&name).ok()
}

/// Whether somebody would say that of a database themselves.
pub fn names_collection(security: &Json) -> bool {
    security.root().member(OF_COLLECTION).is_some()
}

impl Endpoint {
    /// Opens a collection as a database, if it is not open already. The database is made; one that is there for something
    /// else stays what it is.
    pub async fn open_as_database(&self, collection: &CollectionName) -> Result<Door, DoorError> {
        let database: DatabaseName = collection.as_str().parse().map_err(|_| DoorError::Name)?;
        let databases = self.databases();
        let security = format!("{{\"{OF_COLLECTION}\":{}}}", quoted(collection.as_str()));
        let made = databases.create_database(&database, Some(security)).await?;
        let there = match made {
            Some(_) => None,
            None => databases.database(&database).await?,
        };
        if there.is_some_and(|there| door_of(&there).as_ref() != Some(collection)) {
            return Err(DoorError::Taken(database));
        }
        Ok(Door { collection: collection.clone(), database })
    }

    /// Closes what [`open_as_database`](Endpoint::open_as_database) opened: the database stays, with what it holds, and
    /// only who administers the hub has rights to it.
    pub async fn close_as_database(&self, collection: &CollectionName) -> Result<(), StoreError> {
        let Ok(name) = collection.as_str().parse::<DatabaseName>() else { return Ok(()) };
        let databases = self.databases();
        let there = databases.database(&name).await?;
        if there.is_some_and(|there| door_of(&there).as_ref() == Some(collection)) {
            let security = Some(NOBODY.to_owned());
            let change = DatabaseChange { security, ..DatabaseChange::default() };
            databases.change_database(&name, change).await?;
        }
        Ok(())
    }

    /// Carries over what changed behind either door since the last time.
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

/// One pass between the doors.
struct Pass<'a> {
    endpoint: &'a Endpoint,
    door: &'a Door,
    databases: Arc<dyn Databases>,
}

impl Pass<'_> {
    async fn database(&self) -> Result<Database, DoorError> {
        let name = &self.door.database;
        let found = self.databases.database(name).await?;
        let found = found.ok_or_else(|| StoreError::NoDatabase(name.clone()))?;
        match door_of(&found).as_ref() == Some(&self.door.collection) {
            true => Ok(found),
            false => Err(DoorError::Taken(name.clone())),
        }
    }
}
