//! A collection that is opened as a database, too: what changed behind one door is carried to the other.
//!
//! Both are whole by themselves. A pass reads what changed on one side since the last pass, makes of it what
//! [`feedsync_couch::mapping`] says, and joins that with what is on the other side, where all that is known already
//! changes nothing. So a pass may be broken off anywhere and made again, by several processes at once, and comes to rest.
//! How far it got is noted in the database, under a name that no client can write.

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

/// What is said in place of the rights to a database that is a door: of which collection, by what never changes of that.
const OF_COLLECTION: &str = "fs:collection";

/// A collection that is a database, too, of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Door {
    /// The collection.
    pub collection: CollectionName,
    /// The database.
    pub database: DatabaseName,
    /// Which collection it is, whatever others are called.
    feed_id: String,
}

/// What a pass did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Carried {
    /// Items that documents changed.
    pub items: u64,
    /// Documents that items changed.
    pub documents: u64,
    /// What one side cannot take from the other: it stays where it is.
    pub refused: u64,
    /// The first of these.
    pub left: Vec<Left>,
    /// Items whose blobs are not here yet: they are looked at again.
    pub waiting: u64,
}

/// An item or a document that stays behind one door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Its id.
    pub id: String,
    /// Why it does.
    pub why: String,
}

/// So many of what is left are told of by name.
const NAMED: usize = 10;

impl Carried {
    fn leave(&mut self, id: &dyn fmt::Display, why: &dyn fmt::Display) {
        self.refused += 1;
        if self.left.len() < NAMED {
            self.left.push(Left { id: id.to_string(), why: why.to_string() });
        }
    }
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
}

impl From<StoreError> for DoorError {
    fn from(error: StoreError) -> Self {
        Self::Endpoint(error.into())
    }
}

/// What a database is the door of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoorOf {
    /// Of nothing: it stands alone.
    Nothing,
    /// Of a collection that is open.
    Collection(CollectionName),
    /// Of one that is not, any more: it was closed, renamed or removed.
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

/// Whether somebody would say that of a database themselves.
pub fn names_collection(security: &Json) -> bool {
    security.root().member(OF_COLLECTION).is_some()
}

/// Which collection a database says that it is of.
fn said_of(database: &Database) -> Option<String> {
    // Of nearly every database something else is said.
    let security =
        database.security.as_ref().filter(|security| security.contains(OF_COLLECTION))?;
    let security = Json::read(security.clone().into_bytes()).ok()?;
    Some(security.root().member(OF_COLLECTION)?.value.string()?.into_owned())
}

impl Endpoint {
    /// Opens a collection as a database, if it is not open already. The database is made; one that is there for something
    /// else, another collection of that name included, stays what it is.
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

    /// Drops a database of this name that is bridged to a collection which an earlier version removed without it.
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

    /// Whether a database keeps a collection of this name from being a database too. The feed id is that of the
    /// collection, if it exists.
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

    /// What a database is the door of, now.
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
    /// The collection, as long as the name is not another's.
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
