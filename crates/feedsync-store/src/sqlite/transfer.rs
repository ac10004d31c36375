//! An SQLite store that is moved.

use std::sync::Arc;

use async_trait::async_trait;
use feedsync::{By, ItemId, Update};
use rusqlite::{Connection, params};

use super::rows::{self, parsed};
use super::{SqliteStore, collections, people, remotes, update};
use crate::blob::Digest;
use crate::collection::Collection;
use crate::columns;
use crate::environment::Environment;
use crate::error::StoreError;
use crate::identity::Issued;
use crate::name::CollectionName;
use crate::transfer::{Part, Transfer};

#[async_trait]
impl Transfer for SqliteStore {
    async fn ledger(
        &self,
        after: Option<&ItemId>,
        limit: usize,
    ) -> Result<Vec<(ItemId, Vec<Issued>)>, StoreError> {
        let after = after.map_or(String::new(), ToString::to_string);
        self.readers
            .read(move |connection| {
                let mut statement = connection.prepare_cached(
                    "SELECT DISTINCT item FROM ledger WHERE item > ?1 ORDER BY item LIMIT ?2",
                )?;
                let mut found = statement.query(params![after, limit as i64])?;
                let mut rows = Vec::new();
                while let Some(row) = found.next()? {
                    let item: ItemId = parsed(row, 0)?;
                    let issued = update::issued(connection, &item)?;
                    rows.push((item, issued));
                }
                Ok(rows)
            })
            .await
    }

    async fn purged(
        &self,
        collection: &CollectionName,
        after: Option<&ItemId>,
        limit: usize,
    ) -> Result<Vec<(ItemId, Vec<Update>)>, StoreError> {
        let name = collection.clone();
        let after = after.map_or(String::new(), ToString::to_string);
        self.readers
            .read(move |connection| {
                let shelf = collections::require(connection, &name)?;
                let mut statement = connection.prepare_cached(
                    "SELECT id, vector FROM purged WHERE collection = ?1 AND id > ?2
                      ORDER BY id LIMIT ?3",
                )?;
                let mut found = statement.query(params![shelf.id, after, limit as i64])?;
                let mut rows = Vec::new();
                while let Some(row) = found.next()? {
                    let vector: String = row.get(1)?;
                    rows.push((parsed(row, 0)?, columns::updates(&vector)?));
                }
                Ok(rows)
            })
            .await
    }

    async fn blobs(&self, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>, StoreError> {
        let after = after.map_or(String::new(), |digest| digest.to_string());
        self.readers
            .read(move |connection| {
                let mut statement = connection.prepare_cached(
                    "SELECT digest FROM blobs WHERE digest > ?1 ORDER BY digest LIMIT ?2",
                )?;
                let mut found = statement.query(params![after, limit as i64])?;
                let mut digests = Vec::new();
                while let Some(row) = found.next()? {
                    digests.push(parsed(row, 0)?);
                }
                Ok(digests)
            })
            .await
    }

    async fn load(&self, part: Part) -> Result<(), StoreError> {
        let environment = Arc::clone(&self.environment);
        self.writer.run(move |connection| load(connection, &*environment, part)).await
    }
}

fn load(
    connection: &Connection,
    environment: &dyn Environment,
    part: Part,
) -> Result<(), StoreError> {
    match part {
        Part::Retired(lines) => retire(connection, environment, &lines)?,
        Part::Ledger(rows) => {
            for (item, issued) in &rows {
                for issued in issued {
                    update::issue(connection, item, issued)?;
                }
            }
        }
        Part::Collection(collection) => {
            let began = collection.epoch.began();
            connection.execute(
                "UPDATE endpoint SET last_epoch = max(coalesce(last_epoch, 0), ?1)",
                [began],
            )?;
            let epoch = collections::begin_epoch(connection, environment)?;
            let collection = Collection { epoch, ..collection };
            collections::insert(connection, &collection)?;
            let id = collections::require(connection, &collection.name)?.id;
            collections::advance(connection, id, &collection)?;
            connection.execute(
                "UPDATE collections SET sent = ?2 WHERE id = ?1",
                params![id, collection.sent],
            )?;
        }
        Part::Items(name, items) => {
            let shelf = collections::require(connection, &name)?;
            for stored in &items {
                rows::insert(connection, shelf.id, stored)?;
            }
        }
        Part::Purged(name, rows) => {
            let shelf = collections::require(connection, &name)?;
            for (item, vector) in &rows {
                update::purge(connection, shelf.id, item, vector)?;
            }
        }
        Part::Discarded(list) => {
            for discarded in &list {
                let shelf = collections::require(connection, &discarded.collection)?;
                update::discard(connection, shelf.id, discarded)?;
            }
        }
        Part::Remotes(list) => {
            for remote in &list {
                let shelf = collections::require(connection, &remote.collection)?;
                connection.execute(
                    "INSERT INTO remotes (id, collection, name, url) VALUES (?1, ?2, ?3, ?4)",
                    params![remote.id.0 as i64, shelf.id, remote.name, remote.url],
                )?;
                remotes::change(connection, remote)?;
            }
        }
        Part::Acts(acts) => {
            for recorded in &acts {
                people::insert_act(connection, recorded.at, &recorded.act)?;
            }
        }
    }
    Ok(())
}

/// They come before the one that was minted when the store was founded.
fn retire(
    connection: &Connection,
    environment: &dyn Environment,
    lines: &[By],
) -> Result<(), StoreError> {
    for (by, ordinal) in lines.iter().zip(-(lines.len() as i64)..) {
        connection.execute(
            "INSERT INTO incarnations (ordinal, \"by\", began) VALUES (?1, ?2, ?3)",
            params![ordinal, by.as_str(), environment.now()],
        )?;
    }
    Ok(())
}
