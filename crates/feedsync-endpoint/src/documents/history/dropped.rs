//! Databases that are dropped while they keep a history. Each is kept under another name until the period of its history has
//! passed, and can be brought back until then.

use std::sync::Arc;

use feedsync_couch::{DatabaseName, MAX_DATABASE_NAME_BYTES};
use feedsync_store::{Database, Databases, Dropped, Epoch, Moment, StoreError};

use crate::documents::PAGE;
use crate::endpoint::Endpoint;

/// Stands between the name that a dropped database had and its epoch.
const MARK: &str = "$dropped-";

/// Number of bytes of an epoch's text.
const EPOCH_BYTES: usize = 25;

/// Whether a name has the form of those under which dropped databases are kept. Databases cannot be created under it.
pub fn is_dropped_name(name: &DatabaseName) -> bool {
    let epoch = name.as_str().rsplit_once(MARK).map(|(_, epoch)| epoch);
    epoch.is_some_and(|epoch| epoch.parse::<Epoch>().is_ok())
}

impl Endpoint {
    /// Drops a database on behalf of a user. Returns whether it is kept: one that keeps a history and was ever written to is,
    /// unless it is the database of users or of replications.
    pub async fn drop_database(
        &self,
        database: &Database,
        author: Option<Arc<str>>,
    ) -> Result<bool, StoreError> {
        let Database { name, epoch, past, .. } = database;
        let databases = self.databases();
        let is_written = database.documents + database.deleted > 0 || past.bytes > 0;
        if past.since.is_none() || !is_written || name.is_system() {
            databases.drop_database(name, *epoch).await?;
            return Ok(false);
        }
        let kept_as = kept_name(name, *epoch)?;
        let moment = self.environment().now().max(past.last);
        let dropped = Dropped { name: name.clone(), moment, author };
        match databases.rename_database(name, *epoch, &kept_as, Some(dropped)).await? {
            true => Ok(true),
            false => Err(StoreError::Damaged(format!("the name {kept_as} is taken"))),
        }
    }

    /// Brings a dropped database back under the name that it had. Returns whether that was done: it is not if another database
    /// has the name by now, or if the database was not dropped.
    pub async fn undrop_database(&self, kept: &Database) -> Result<bool, StoreError> {
        let Some(dropped) = &kept.dropped else { return Ok(false) };
        self.databases().rename_database(&kept.name, kept.epoch, &dropped.name, None).await
    }

    /// Returns the databases that had a name when they were dropped, and that are still kept: the last one first.
    pub async fn dropped_databases(
        &self,
        name: &DatabaseName,
    ) -> Result<Vec<Database>, StoreError> {
        let (databases, prefix) = (self.databases(), kept_prefix(name));
        let (mut after, mut found) = (name_of(&prefix)?, Vec::new());
        loop {
            let page = Databases::databases(&*databases, Some(&after), PAGE).await?;
            let count = page.len();
            let Some(last) = page.last().map(|last| last.name.clone()) else { break };
            let is_meant = |kept: &Database| {
                kept.dropped.as_ref().is_some_and(|dropped| dropped.name == *name)
            };
            found.extend(page.into_iter().filter(is_meant));
            if count < PAGE || !last.as_str().starts_with(&prefix) {
                break;
            }
            after = last;
        }
        found.sort_by_key(|kept| std::cmp::Reverse(moment_of(kept)));
        Ok(found)
    }

    /// Returns all databases that were dropped and are still kept, by name.
    pub async fn all_dropped_databases(&self) -> Result<Vec<Database>, StoreError> {
        self.databases_that(|database| database.dropped.is_some()).await
    }

    /// Returns the database that had a name at a moment: one that was dropped since, or the present one. The history of the
    /// latter may begin later.
    pub async fn database_at(
        &self,
        name: &DatabaseName,
        moment: Moment,
    ) -> Result<Option<Database>, StoreError> {
        let present = self.databases().database(name).await?;
        if present.as_ref().is_some_and(|present| present.created <= moment) {
            return Ok(present);
        }
        let dropped = self.dropped_databases(name).await?;
        let then = |kept: &Database| kept.created <= moment && Some(moment) < moment_of(kept);
        Ok(dropped.into_iter().find(then).or(present))
    }
}

/// When a database was dropped.
fn moment_of(kept: &Database) -> Option<Moment> {
    kept.dropped.as_ref().map(|dropped| dropped.moment)
}

/// The name under which a database is kept after it was dropped. No other database has its epoch.
fn kept_name(name: &DatabaseName, epoch: Epoch) -> Result<DatabaseName, StoreError> {
    name_of(&format!("{}{epoch}", kept_prefix(name)))
}

/// Beginning of the names under which databases of a name are kept. Long names are cut.
fn kept_prefix(name: &DatabaseName) -> String {
    let most = MAX_DATABASE_NAME_BYTES - MARK.len() - EPOCH_BYTES;
    // Names are ASCII.
    let name = name.as_str();
    format!("{}{MARK}", &name[..name.len().min(most)])
}

fn name_of(text: &str) -> Result<DatabaseName, StoreError> {
    text.parse().map_err(|refusal| StoreError::Damaged(format!("{text}: {refusal}")))
}
