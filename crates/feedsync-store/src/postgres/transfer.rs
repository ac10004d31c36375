//! Transfer from and to a PostgreSQL store.

use std::collections::BTreeMap;

use async_trait::async_trait;
use deadpool_postgres::{GenericClient as _, Transaction};
use feedsync_core::{By, ItemId, Update};
use feedsync_couch::{AttachmentDigest, DatabaseName, LocalId};
use futures_util::FutureExt as _;

use super::acts::{Acts, INSERT_ACTS};
use super::databases::moving;
use super::rows::{digest, get, maybe_moment, micros, parsed};
use super::{Node, PostgresStore, collections, log_rows, logs, read, remotes, write};
use crate::blob::Digest;
use crate::collection::Collection;
use crate::columns;
use crate::database::{KeptBody, LocalDocument};
use crate::error::StoreError;
use crate::identity::Issued;
use crate::log::Keyed;
use crate::name::CollectionName;
use crate::order::{Moment, Number};
use crate::people::Act;
use crate::remote::{Remote, RemoteId};
use crate::stored::{Discarded, DiscardedId, PageLimit};
use crate::transfer::{Marks, MovedDocument, Part, Transfer};

#[async_trait]
impl Transfer for PostgresStore {
    async fn marks(&self) -> Result<Marks, StoreError> {
        self.run(|node| async move {
            let client = node.connection().await?;
            let sql = "SELECT next_remote, next_discarded, last_epoch, last_dropped_generation
                         FROM endpoint";
            let row = client.query_one(sql, &[]).await?;
            Ok(Marks {
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
    ) -> Result<Vec<(ItemId, Vec<Issued>)>, StoreError> {
        let after = after.map_or(String::new(), ToString::to_string);
        self.run(move |node| async move {
            let client = node.connection().await?;
            let sql = "SELECT item, by, sequence, shown, incarnation FROM ledger
                        WHERE item IN (SELECT DISTINCT item FROM ledger WHERE item > $1
                                        ORDER BY item LIMIT $2)
                        ORDER BY item, by";
            let statement = client.prepare_cached(sql).await?;
            let mut items: Vec<(ItemId, Vec<Issued>)> = Vec::new();
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
            let shelf = collections::require(&client, &name).await?;
            let sql = "SELECT id, vector FROM purged WHERE collection = $1 AND id > $2
                        ORDER BY id LIMIT $3";
            let statement = client.prepare_cached(sql).await?;
            let rows = client.query(&statement, &[&shelf.id, &after, &(limit as i64)]).await?;
            rows.iter().map(|row| Ok((parsed(row, 0)?, columns::updates(get(row, 1)?)?))).collect()
        })
        .await
    }

    async fn log_keys(&self, collection: &CollectionName) -> Result<Vec<Keyed>, StoreError> {
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
        self.run(|node| async move { moving::next_body(&node.connection().await?, &name).await })
            .await
    }

    async fn ordered_documents(
        &self,
        database: &DatabaseName,
        after: Number,
        limit: PageLimit,
    ) -> Result<Vec<MovedDocument>, StoreError> {
        let name = database.clone();
        self.run(move |node| async move {
            moving::documents(&mut node.connection().await?, &name, after, limit).await
        })
        .await
    }

    async fn bodies(
        &self,
        database: &DatabaseName,
        after: u64,
        limit: PageLimit,
    ) -> Result<Vec<(u64, KeptBody)>, StoreError> {
        let name = database.clone();
        self.run(move |node| async move {
            moving::bodies(&mut node.connection().await?, &name, after, limit).await
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
            moving::local_documents(&mut node.connection().await?, &name, after.as_ref(), limit)
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
            moving::attachments(&mut node.connection().await?, &name, after.as_ref(), limit).await
        })
        .await
    }

    async fn load(&self, part: Part) -> Result<(), StoreError> {
        self.write(|transaction, node| load(transaction, node, part).boxed()).await
    }
}

async fn load(transaction: &Transaction<'_>, node: &Node, part: Part) -> Result<(), StoreError> {
    match part {
        Part::Begin { retired, marks } => {
            retire(transaction, &retired, node.environment.now()).await?;
            begin_at(transaction, &marks).await
        }
        Part::End => {
            transaction.execute("UPDATE endpoint SET unfinished = false", &[]).await?;
            Ok(())
        }
        Part::Ledger(rows) => {
            let issued: BTreeMap<(ItemId, By), Issued> = rows
                .into_iter()
                .flat_map(|(item, rows)| {
                    rows.into_iter().map(move |row| ((item.clone(), row.by.clone()), row))
                })
                .collect();
            write::write_ledger(transaction, &issued).await
        }
        Part::Collection(collection) => add(transaction, node, collection).await,
        Part::Items(name, items) => {
            let shelf = collections::require(transaction, &name).await?;
            write::insert_items(transaction, shelf.id, &items).await
        }
        Part::Purged(name, rows) => {
            let shelf = collections::require(transaction, &name).await?;
            write::write_purged(transaction, shelf.id, &rows).await
        }
        Part::Discarded(list) => discard(transaction, &list).await,
        Part::Log(name, moved) => {
            logs::begin_moved(transaction, &*node.environment, &name, moved).await
        }
        Part::LogBytes(name, bytes) => logs::extend_moved(transaction, &name, &bytes).await,
        Part::Database(database, next_body) => {
            moving::begin(transaction, &*node.environment, database, next_body).await
        }
        Part::Documents(name, documents) => {
            moving::take_documents(transaction, &name, documents).await
        }
        Part::Bodies(name, bodies) => moving::take_bodies(transaction, &name, &bodies).await,
        Part::Remotes(list) => remember(transaction, &list).await,
        Part::Acts(acts) => {
            let acts: Vec<(Moment, Act)> =
                acts.into_iter().map(|recorded| (recorded.at, recorded.act)).collect();
            transaction.execute(INSERT_ACTS, &Acts::of(&acts).parameters()).await?;
            Ok(())
        }
    }
}

async fn begin_at(transaction: &Transaction<'_>, marks: &Marks) -> Result<(), StoreError> {
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
    let shelf = collections::require(transaction, &collection.name).await?;
    write::advance(transaction, shelf.id, &collection).await
}

async fn discard(transaction: &Transaction<'_>, list: &[Discarded]) -> Result<(), StoreError> {
    let Some(first) = list.first() else { return Ok(()) };
    let shelf = collections::require(transaction, &first.collection).await?;
    let placed = list.iter().map(|discarded| (discarded.id.0 as i64, discarded));
    write::insert_discarded(transaction, shelf.id, placed).await
}

async fn remember(transaction: &Transaction<'_>, list: &[Remote]) -> Result<(), StoreError> {
    for remote in list {
        let shelf = collections::require(transaction, &remote.collection).await?;
        remotes::insert(transaction, shelf.id, remote).await?;
    }
    Ok(())
}
