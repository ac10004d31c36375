//! Transfer from and to an SQLite store.

use std::sync::Arc;

use async_trait::async_trait;
use feedsync_core::{By, ItemId, Update};
use feedsync_couch::{AttachmentDigest, DatabaseName, LocalId};
use rusqlite::{Connection, Row, params};

use super::log_files::LogFiles;
use super::rows::{self, parsed};
use super::{
    SqliteStore, acts, collections, database_rows, database_transfer, log_rows, logs,
    past_documents, remotes, update,
};
use crate::blob::Digest;
use crate::collection::Collection;
use crate::columns;
use crate::database::{EndedRevision, LocalDocument, StoredBody, WriteOrigin};
use crate::environment::Environment;
use crate::error::StoreError;
use crate::identity::LedgerEntry;
use crate::log::KeyedAppend;
use crate::name::CollectionName;
use crate::order::ChangeNumber;
use crate::remote::RemoteId;
use crate::stored::{DiscardedId, PageLimit};
use crate::transfer::{IdBounds, Transfer, TransferPart, TransferredDocument};

#[async_trait]
impl Transfer for SqliteStore {
    async fn marks(&self) -> Result<IdBounds, StoreError> {
        let sql =
            "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'remotes'), 0) + 1,
                          next_discarded, last_epoch, last_dropped_generation FROM endpoint";
        self.readers
            .read(move |connection| {
                let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
                let marks: (i64, i64, Option<i64>, i64) = connection.query_row(sql, [], read)?;
                Ok(IdBounds {
                    next_remote: RemoteId(marks.0 as u64),
                    next_discarded: DiscardedId(marks.1 as u64),
                    last_epoch: marks.2.map(columns::moment),
                    last_dropped_generation: marks.3 as u64,
                })
            })
            .await
    }

    async fn ledger(
        &self,
        after: Option<&ItemId>,
        limit: usize,
    ) -> Result<Vec<(ItemId, Vec<LedgerEntry>)>, StoreError> {
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
                let collection_row = collections::require(connection, &name)?;
                let mut statement = connection.prepare_cached(
                    "SELECT id, vector FROM purged WHERE collection = ?1 AND id > ?2
                      ORDER BY id LIMIT ?3",
                )?;
                let mut found = statement.query(params![collection_row.id, after, limit as i64])?;
                let mut rows = Vec::new();
                while let Some(row) = found.next()? {
                    let vector: String = row.get(1)?;
                    rows.push((parsed(row, 0)?, columns::updates(&vector)?));
                }
                Ok(rows)
            })
            .await
    }

    async fn log_keys(&self, collection: &CollectionName) -> Result<Vec<KeyedAppend>, StoreError> {
        let name = collection.clone();
        self.readers
            .read(move |connection| {
                log_rows::all_keyed(connection, collections::require(connection, &name)?.id)
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

    async fn next_body(&self, database: &DatabaseName) -> Result<u64, StoreError> {
        let name = database.clone();
        self.readers
            .read(move |connection| Ok(database_rows::require(connection, &name)?.next_body))
            .await
    }

    async fn ordered_documents(
        &self,
        database: &DatabaseName,
        after: ChangeNumber,
        limit: PageLimit,
    ) -> Result<Vec<TransferredDocument>, StoreError> {
        let name = database.clone();
        self.readers
            .read(move |connection| database_transfer::documents(connection, &name, after, limit))
            .await
    }

    async fn bodies(
        &self,
        database: &DatabaseName,
        after: u64,
        limit: PageLimit,
    ) -> Result<Vec<(u64, StoredBody)>, StoreError> {
        let name = database.clone();
        self.readers
            .read(move |connection| database_transfer::bodies(connection, &name, after, limit))
            .await
    }

    async fn body_origins(
        &self,
        database: &DatabaseName,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, WriteOrigin)>, StoreError> {
        let name = database.clone();
        self.readers
            .read(move |connection| past_documents::origins(connection, &name, after, limit))
            .await
    }

    async fn all_ended(
        &self,
        database: &DatabaseName,
        after: u64,
        limit: usize,
    ) -> Result<Vec<EndedRevision>, StoreError> {
        let name = database.clone();
        self.readers
            .read(move |connection| past_documents::all_ended(connection, &name, after, limit))
            .await
    }

    async fn local_documents(
        &self,
        database: &DatabaseName,
        after: Option<&LocalId>,
        limit: PageLimit,
    ) -> Result<Vec<(LocalId, LocalDocument)>, StoreError> {
        let (name, after) = (database.clone(), after.cloned());
        self.readers
            .read(move |connection| {
                database_transfer::local_documents(connection, &name, after.as_ref(), limit)
            })
            .await
    }

    async fn attachments(
        &self,
        database: &DatabaseName,
        after: Option<&AttachmentDigest>,
        limit: usize,
    ) -> Result<Vec<AttachmentDigest>, StoreError> {
        let (name, after) = (database.clone(), after.cloned());
        self.readers
            .read(move |connection| {
                database_transfer::attachments(connection, &name, after.as_ref(), limit)
            })
            .await
    }

    async fn load(&self, part: TransferPart) -> Result<(), StoreError> {
        let environment = Arc::clone(&self.environment);
        let files = Arc::clone(&self.files);
        self.writer.run(move |connection| load(connection, &files, &*environment, part)).await
    }
}

fn load(
    connection: &Connection,
    files: &LogFiles,
    environment: &dyn Environment,
    part: TransferPart,
) -> Result<(), StoreError> {
    match part {
        TransferPart::Begin { retired, marks } => {
            connection.execute("UPDATE endpoint SET unfinished = 1", [])?;
            retire(connection, environment, &retired)?;
            begin_at(connection, &marks)?;
        }
        TransferPart::End => drop(connection.execute("UPDATE endpoint SET unfinished = 0", [])?),
        TransferPart::Ledger(rows) => {
            for (item, issued) in &rows {
                for issued in issued {
                    update::issue(connection, item, issued)?;
                }
            }
        }
        TransferPart::Collection(collection) => {
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
        TransferPart::Items(name, items) => {
            let collection_row = collections::require(connection, &name)?;
            for stored in &items {
                rows::insert(connection, collection_row.id, stored)?;
            }
        }
        TransferPart::Purged(name, rows) => {
            let collection_row = collections::require(connection, &name)?;
            for (item, vector) in &rows {
                update::purge(connection, collection_row.id, item, vector)?;
            }
        }
        TransferPart::Discarded(list) => {
            for discarded in &list {
                let collection_row = collections::require(connection, &discarded.collection)?;
                update::discard(connection, collection_row.id, discarded)?;
            }
        }
        TransferPart::Log(name, moved) => {
            let collection = collections::require(connection, &name)?.id;
            logs::begin_transferred(connection, files, environment, collection, moved)?;
        }
        TransferPart::LogBytes(name, bytes) => {
            let collection = collections::require(connection, &name)?.id;
            logs::extend_transferred(connection, files, collection, &bytes)?;
        }
        TransferPart::Database(database, next_body) => {
            database_transfer::begin(connection, environment, database, next_body)?;
        }
        TransferPart::Documents(name, documents) => {
            database_transfer::take_documents(connection, &name, documents)?;
        }
        TransferPart::Bodies(name, bodies) => {
            database_transfer::take_bodies(connection, &name, &bodies)?
        }
        TransferPart::BodyOrigins(name, origins) => {
            database_transfer::take_origins(connection, &name, &origins)?
        }
        TransferPart::Ended(name, ended) => {
            database_transfer::take_ended(connection, &name, &ended)?
        }
        TransferPart::Remotes(list) => {
            for remote in &list {
                remotes::put_back(connection, remote)?;
            }
        }
        TransferPart::Acts(acts) => {
            for recorded in &acts {
                acts::insert_act(connection, recorded.at, &recorded.act)?;
            }
        }
    }
    Ok(())
}

fn begin_at(connection: &Connection, marks: &IdBounds) -> Result<(), StoreError> {
    connection.execute(
        "UPDATE endpoint SET next_discarded = max(next_discarded, ?1),
                             last_epoch = nullif(max(coalesce(last_epoch, -1), coalesce(?2, -1)), -1),
                             last_dropped_generation = max(last_dropped_generation, ?3)",
        params![
            marks.next_discarded.0 as i64,
            marks.last_epoch,
            marks.last_dropped_generation as i64
        ],
    )?;
    // In `sqlite_sequence` SQLite stores the highest id that each table ever had; a table without rows so far
    // has no entry.
    let given = marks.next_remote.0 as i64 - 1;
    connection.execute(
        "INSERT INTO sqlite_sequence (name, seq)
         SELECT 'remotes', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'remotes')",
        [],
    )?;
    connection
        .execute("UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'remotes'", [given])?;
    Ok(())
}

/// Inserts retired incarnations before the one that was minted when the store was founded.
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
