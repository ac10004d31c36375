//! The collection that owns a database.

use feedsync_couch::{DatabaseName, Json};
use feedsync_store::{CollectionName, Database, StoreError};

use crate::endpoint::Endpoint;

/// Member of a bridged database's security object that names its collection, by the immutable feed id.
pub(crate) const COLLECTION_MEMBER: &str = "fs:collection";

/// Owner of a database, as seen from one collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseOwner {
    /// The collection itself.
    Collection,
    /// Another collection, or none.
    Other,
    /// A collection that was removed.
    Removed,
}

/// Returns the feed id of the collection that a database says it is bridged to.
pub(crate) fn bridged_feed_id(database: &Database) -> Option<String> {
    // Nearly no database has this member.
    let security =
        database.security.as_ref().filter(|security| security.contains(COLLECTION_MEMBER))?;
    let security = Json::read(security.clone().into_bytes()).ok()?;
    Some(security.root().member(COLLECTION_MEMBER)?.value.string()?.into_owned())
}

impl Endpoint {
    /// Whether an existing database prevents a collection of this name from being bridged. The feed id is
    /// that of the collection, if it exists.
    pub async fn is_database_taken(
        &self,
        name: &CollectionName,
        feed_id: Option<&str>,
    ) -> Result<bool, StoreError> {
        let Ok(name) = name.as_str().parse::<DatabaseName>() else { return Ok(false) };
        let Some(found) = self.store.database(&name).await? else {
            return Ok(false);
        };
        Ok(self.database_owner(&found, feed_id).await? == DatabaseOwner::Other)
    }

    pub(crate) async fn database_owner(
        &self,
        database: &Database,
        feed_id: Option<&str>,
    ) -> Result<DatabaseOwner, StoreError> {
        let Some(of) = bridged_feed_id(database) else { return Ok(DatabaseOwner::Other) };
        if feed_id == Some(&*of) {
            return Ok(DatabaseOwner::Collection);
        }
        let is_there = self.store.collections().await?.iter().any(|it| it.feed_id == of);
        Ok(if is_there { DatabaseOwner::Other } else { DatabaseOwner::Removed })
    }
}
