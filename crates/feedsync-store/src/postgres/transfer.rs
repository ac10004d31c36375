//! Transfer from and to a PostgreSQL store.

use std::collections::BTreeMap;

use async_trait::async_trait;
use deadpool_postgres::{GenericClient as _, Transaction};
use feedsync_core::{By, ItemId, Update};
use feedsync_couch::{AttachmentDigest, DatabaseName, LocalId};
use futures_util::FutureExt as _;

use super::acts::{Acts, INSERT_ACTS};
use super::databases::{past_documents, transfer};
use super::node::Node;
use super::rows::{digest, get, maybe_moment, micros, parsed};
use super::{PostgresStore, collections, log_rows, logs, read, remotes, write};
use crate::blob::Digest;
use crate::collection::Collection;
use crate::columns;
use crate::database::{EndedRevision, LocalDocument, StoredBody, WriteOrigin};
use crate::error::StoreError;
use crate::identity::LedgerEntry;
use crate::log::KeyedAppend;
use crate::name::CollectionName;
use crate::order::{ChangeNumber, Moment};
use crate::people::AuditAction;
use crate::remote::{Remote, RemoteId};
use crate::stored::{Discarded, DiscardedId, PageLimit};
use crate::transfer::{IdBounds, Transfer, TransferPart, TransferredDocument};

#[async_trait]
impl Transfer for PostgresStore {
    async fn marks(&self) -> Result<IdBounds, StoreError> {
        self.run(|node| async move {
            let client = node.connection().await?;
            let sql = "SELECT next_remote, next_discarded, last_epoch, last_dropped_generation
                         FROM endpoint";
            let row = client.query_one(sql, &[]).await?;
            Ok(IdBounds {
                next_remote: RemoteId(get::<i64>(&row, 0)? as u64),
                next_discarded: DiscardedId(get::<i64>(&row, 1)? as u64),
                last_epoch: maybe_moment(&row, 2)?,
                last_dropped_generation: get::<i64>(&row, 3)? as u64,
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
        self.run(move |node| async move {
            let client = node.connection().await?;
            let sql = "SELECT item, by, sequence, shown, incarnation FROM ledger
                        WHERE item IN (SELECT DISTINCT item FROM ledger WHERE item > $1
                                        ORDER BY item LIMIT $2)
                        ORDER BY item, by";
            let statement = client.prepare_cached(sql).await?;
            let mut items: Vec<(ItemId, Vec<LedgerEntry>)> = Vec::new();
            for row in &client.query(&statement, &[&after, &(limit as i64)]).await? {
                let item: ItemId = parsed(row, 0)?;
                match items.last_mut().filter(|(last, _)| *last == item) {
                    Some((_, rows)) => rows.push(read::issued(row)?),
                    None => items.push((item, vec![read::issued(row)?])),
                }
            }
            Ok(items)
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
        self.run(move |node| async move {
            let client = node.connection().await?;
            let collection_row = collections::require(&client, &name).await?;
            let sql = "SELECT id, vector FROM purged WHERE collection = $1 AND id > $2
                        ORDER BY id LIMIT $3";
            let statement = client.prepare_cached(sql).await?;
            let rows =
                client.query(&statement, &[&collection_row.id, &after, &(limit as i64)]).await?;
            rows.iter().map(|row| Ok((parsed(row, 0)?, columns::updates(get(row, 1)?)?))).collect()
        })
        .await
    }

    async fn log_keys(&self, collection: &CollectionName) -> Result<Vec<KeyedAppend>, StoreError> {
        let name = collection.clone();
        self.run(|node| async move { log_rows::all_keyed(&node.connection().await?, &name).await })
            .await
    }

    async fn blobs(&self, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>, StoreError> {
        self.run(move |node| async move {
            let client = node.connection().await?;
            let after = after.map_or(Vec::new(), |digest| digest.as_bytes().to_vec());
            let sql = "SELECT digest FROM blobs WHERE digest > $1 ORDER BY digest LIMIT $2";
            let statement = client.prepare_cached(sql).await?;
            let rows = client.query(&statement, &[&after, &(limit as i64)]).await?;
            rows.iter().map(|row| digest(row, 0)).collect()
        })
        .await
    }

    async fn next_body(&self, database: &DatabaseName) -> Result<u64, StoreError> {
        let name = database.clone();
        self.run(|node| async move { transfer::next_body(&node.connection().await?, &name).await })
            .await
    }

    async fn ordered_documents(
        &self,
        database: &DatabaseName,
        after: ChangeNumber,
        limit: PageLimit,
    ) -> Result<Vec<TransferredDocument>, StoreError> {
        let name = database.clone();
        self.run(move |node| async move {
            transfer::documents(&mut node.connection().await?, &name, after, limit).await
        })
        .await
    }

    async fn bodies(
        &self,
        database: &DatabaseName,
        after: u64,
        limit: PageLimit,
    ) -> Result<Vec<(u64, StoredBody)>, StoreError> {
        let name = database.clone();
        self.run(move |node| async move {
            transfer::bodies(&mut node.connection().await?, &name, after, limit).await
        })
        .await
    }

    async fn body_origins(
        &self,
        database: &DatabaseName,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, WriteOrigin)>, StoreError> {
        let name = database.clone();
        self.run(move |node| async move {
            past_documents::origins(&mut node.connection().await?, &name, after, limit).await
        })
        .await
    }

    async fn all_ended(
        &self,
        database: &DatabaseName,
        after: u64,
        limit: usize,
    ) -> Result<Vec<EndedRevision>, StoreError> {
        let name = database.clone();
        self.run(move |node| async move {
            past_documents::all_ended(&mut node.connection().await?, &name, after, limit).await
        })
        .await
    }

    async fn local_documents(
        &self,
        database: &DatabaseName,
        after: Option<&LocalId>,
        limit: PageLimit,
    ) -> Result<Vec<(LocalId, LocalDocument)>, StoreError> {
        let (name, after) = (database.clone(), after.cloned());
        self.run(move |node| async move {
            transfer::local_documents(&mut node.connection().await?, &name, after.as_ref(), limit)
                .await
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
        self.run(move |node| async move {
            transfer::attachments(&mut node.connection().await?, &name, after.as_ref(), limit).await
        })
        .await
    }

    async fn load(&self, part: TransferPart) -> Result<(), StoreError> {
        self.write(|transaction, node| load(transaction, node, part).boxed()).await
    }
}

async fn load(
    transaction: &Transaction<'_>,
    node: &Node,
    part: TransferPart,
) -> Result<(), StoreError> {
    match part {
        TransferPart::Begin { retired, marks } => {
            retire(transaction, &retired, node.environment.now()).await?;
            begin_at(transaction, &marks).await
        }
        TransferPart::End => {
            transaction.execute("UPDATE endpoint SET unfinished = false", &[]).await?;
            Ok(())
        }
        TransferPart::Ledger(rows) => {
            let issued: BTreeMap<(ItemId, By), LedgerEntry> = rows
                .into_iter()
                .flat_map(|(item, rows)| {
                    rows.into_iter().map(move |row| ((item.clone(), row.by.clone()), row))
                })
                .collect();
            write::write_ledger(transaction, &issued).await
        }
        TransferPart::Collection(collection) => add(transaction, node, collection).await,
        TransferPart::Items(name, items) => {
            let collection_row = collections::require(transaction, &name).await?;
            write::insert_items(transaction, collection_row.id, &items).await
        }
        TransferPart::Purged(name, rows) => {
            let collection_row = collections::require(transaction, &name).await?;
            write::write_purged(transaction, collection_row.id, &rows).await
        }
        TransferPart::Discarded(list) => discard(transaction, &list).await,
        TransferPart::Log(name, moved) => {
            logs::begin_transferred(transaction, &*node.environment, &name, moved).await
        }
        TransferPart::LogBytes(name, bytes) => {
            logs::extend_transferred(transaction, &name, &bytes).await
        }
        TransferPart::Database(database, next_body) => {
            transfer::begin(transaction, &*node.environment, database, next_body).await
        }
        TransferPart::Documents(name, documents) => {
            transfer::take_documents(transaction, &name, documents).await
        }
        TransferPart::Bodies(name, bodies) => {
            transfer::take_bodies(transaction, &name, &bodies).await
        }
        TransferPart::BodyOrigins(name, origins) => {
            transfer::take_origins(transaction, &name, &origins).await
        }
        TransferPart::Ended(name, ended) => transfer::take_ended(transaction, &name, &ended).await,
        TransferPart::Remotes(list) => remember(transaction, &list).await,
        TransferPart::Acts(acts) => {
            let acts: Vec<(Moment, AuditAction)> =
                acts.into_iter().map(|recorded| (recorded.at, recorded.act)).collect();
            transaction.execute(INSERT_ACTS, &Acts::of(&acts).parameters()).await?;
            Ok(())
        }
    }
}

async fn begin_at(transaction: &Transaction<'_>, marks: &IdBounds) -> Result<(), StoreError> {
    let sql = "UPDATE endpoint SET unfinished = true,
                                   next_remote = greatest(next_remote, $1),
                                   next_discarded = greatest(next_discarded, $2),
                                   last_epoch = greatest(last_epoch, $3),
                                   last_dropped_generation = greatest(last_dropped_generation, $4)";
    let next_remote = marks.next_remote.0 as i64;
    let next_discarded = marks.next_discarded.0 as i64;
    let last_epoch = marks.last_epoch.map(micros);
    let last_dropped = marks.last_dropped_generation as i64;
    transaction.execute(sql, &[&next_remote, &next_discarded, &last_epoch, &last_dropped]).await?;
    Ok(())
}

/// Inserts retired incarnations before the one that was minted when the store was founded.
async fn retire(
    transaction: &Transaction<'_>,
    lines: &[By],
    began: Moment,
) -> Result<(), StoreError> {
    for (by, ordinal) in lines.iter().zip(-(lines.len() as i64)..) {
        transaction
            .execute(
                "INSERT INTO incarnations (ordinal, by, began) OVERRIDING SYSTEM VALUE
                 VALUES ($1, $2, $3)",
                &[&ordinal, &by.as_str(), &micros(began)],
            )
            .await?;
    }
    Ok(())
}

async fn add(
    transaction: &Transaction<'_>,
    node: &Node,
    collection: Collection,
) -> Result<(), StoreError> {
    let epoch = collections::begin_epoch(transaction, &*node.environment).await?;
    let collection = Collection { epoch, ..collection };
    collections::insert(transaction, &collection).await?;
    let collection_row = collections::require(transaction, &collection.name).await?;
    write::advance(transaction, collection_row.id, &collection).await
}

async fn discard(transaction: &Transaction<'_>, list: &[Discarded]) -> Result<(), StoreError> {
    let Some(first) = list.first() else { return Ok(()) };
    let collection_row = collections::require(transaction, &first.collection).await?;
    let placed = list.iter().map(|discarded| (discarded.id.0 as i64, discarded));
    write::insert_discarded(transaction, collection_row.id, placed).await
}

async fn remember(transaction: &Transaction<'_>, list: &[Remote]) -> Result<(), StoreError> {
    for remote in list {
        let collection_row = collections::require(transaction, &remote.collection).await?;
        remotes::insert(transaction, collection_row.id, remote).await?;
    }
    Ok(())
}
