//! Databases that are dropped while they keep a history. Each is kept under another name until the period of its history has
//! passed, and can be brought back until then.

use std::sync::Arc;

use feedsync_couch::DatabaseName;
use feedsync_store::{CollectionName, Database, Moment, StoreError};

use crate::endpoint::Endpoint;

impl Endpoint {
    /// Drops a database on behalf of a user. Returns whether it is kept
    /// ([`Database::is_kept_when_dropped`](feedsync_store::Database::is_kept_when_dropped)).
    pub async fn drop_database(
        &self,
        database: &Database,
        author: Option<Arc<str>>,
    ) -> Result<bool, StoreError> {
        let Database { name, epoch, .. } = database;
        self.databases().drop_and_keep_database(name, *epoch, author).await
    }

    /// Brings a dropped database back under the name that it had. Returns whether that was done: it is not if another database
    /// or a collection has the name by now, or if the database was not dropped.
    pub async fn undrop_database(&self, kept: &Database) -> Result<bool, StoreError> {
        let Some(dropped) = &kept.dropped else { return Ok(false) };
        if let Ok(name) = CollectionName::new(dropped.name.as_str())
            && self.find_collection(&name).await?.is_some()
        {
            return Ok(false);
        }
        self.databases().undrop_database(&kept.name, kept.epoch).await
    }

    /// Returns the databases that were dropped and are still kept, of a name or all: the last one first.
    pub async fn dropped_databases(
        &self,
        name: Option<&DatabaseName>,
    ) -> Result<Vec<Database>, StoreError> {
        self.databases().dropped_databases(name).await
    }

    /// Returns the database that had a name at a moment: one that was dropped since, or the present one. If none had it then,
    /// returns one that existed, or the present one, whose history begins later.
    pub async fn database_at(
        &self,
        name: &DatabaseName,
        moment: Moment,
    ) -> Result<Option<Database>, StoreError> {
        let databases = self.databases();
        let present = databases.database(name).await?;
        if present.as_ref().is_some_and(|present| present.named <= moment) {
            return Ok(present);
        }
        let mut then = databases.dropped_databases(Some(name)).await?;
        let is_dropped_later =
            |kept: &Database| kept.dropped.as_ref().is_none_or(|dropped| moment < dropped.moment);
        then.retain(is_dropped_later);
        if let Some(found) = then.iter().find(|kept| kept.named <= moment) {
            return Ok(Some(found.clone()));
        }
        // A database that was brought back had the name before, too.
        let existed = then.into_iter().chain(present.clone()).filter(|it| it.created <= moment);
        Ok(existed.max_by_key(|it| it.created).or(present))
    }
}
