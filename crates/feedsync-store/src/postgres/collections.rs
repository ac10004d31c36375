//! Rows of collections, of the endpoint's identity, and of its epochs.

use std::collections::BTreeMap;

use deadpool_postgres::{GenericClient, Transaction};
use feedsync_core::By;
use tokio_postgres::Row;

use super::rows::{get, micros, number, parsed, text};
use super::{bridges, log_rows, pool};
use crate::collection::{Alteration, Collection, PRIVATE_TO};
use crate::columns::{moment, parse};
use crate::environment::Environment;
use crate::error::StoreError;
use crate::identity::{self, Identity};
use crate::name::{CollectionName, EndpointName, UserId};
use crate::order::{Epoch, Moment};

/// Reads a collection with its settings at one moment, in one statement.
macro_rules! select_collections {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, title, format, feed_id, epoch_began, epoch_tail, last, horizon, \
             sent, live, deleted, conflicted, created, edited, bytes, \
             ARRAY(SELECT s.name FROM settings s WHERE s.collection = id ORDER BY s.name), \
             ARRAY(SELECT s.value FROM settings s WHERE s.collection = id ORDER BY s.name) \
             FROM collections ",
            $rest
        )
    };
}

pub(super) const BY_NAME: &str = select_collections!("WHERE name = $1");
const ALL: &str = select_collections!("ORDER BY name");
const AFTER: &str = select_collections!("WHERE name > $1 ORDER BY name LIMIT $2");

/// Locks a collection: others cannot change, rename or drop it until the transaction ends. Its values must be
/// read by a later statement.
pub(super) const LOCK: &str = "SELECT id FROM collections WHERE name = $1 FOR NO KEY UPDATE";

/// Identification of the database: the server's cluster, the database, the table, and the server's timeline.
/// A restored dump differs in one of the first three. A server that took over from another one, or that was
/// restored to an earlier moment, differs in the timeline.
const IDENTIFICATION: &str = "SELECT concat_ws(' ', (SELECT system_identifier FROM pg_control_system()), oid, datname, \
                      'feedsync.endpoint'::regclass::oid, \
                      left(pg_walfile_name(pg_current_wal_lsn()), 8)) \
       FROM pg_database WHERE datname = current_database()";

/// A collection and the id of its row.
pub(super) struct CollectionRow {
    pub(super) id: i64,
    pub(super) collection: Collection,
}

pub(super) async fn find(
    client: &impl GenericClient,
    name: &CollectionName,
) -> Result<Option<CollectionRow>, StoreError> {
    let statement = client.prepare_cached(BY_NAME).await?;
    client.query_opt(&statement, &[&name.as_str()]).await?.as_ref().map(collection_row).transpose()
}

pub(super) async fn require(
    client: &impl GenericClient,
    name: &CollectionName,
) -> Result<CollectionRow, StoreError> {
    find(client, name).await?.ok_or_else(|| StoreError::NoCollection(name.clone()))
}

/// Reads the collection and locks it until the transaction ends.
pub(super) async fn lock(
    transaction: &Transaction<'_>,
    name: &CollectionName,
) -> Result<CollectionRow, StoreError> {
    let statement = transaction.prepare_cached(LOCK).await?;
    loop {
        let locked = transaction.query_opt(&statement, &[&name.as_str()]).await?;
        let collection_row = require(transaction, name).await?;
        if is_row_of(locked.as_ref(), &collection_row)? {
            return Ok(collection_row);
        }
    }
}

/// Whether the locked row is the collection's. If the row gives up its name while the lock is awaited,
/// nothing is locked, although another row may have the name by then.
pub(super) fn is_row_of(
    locked: Option<&Row>,
    collection_row: &CollectionRow,
) -> Result<bool, StoreError> {
    Ok(locked.map(|row| get::<i64>(row, 0)).transpose()? == Some(collection_row.id))
}

/// Names of the collections that are private to a user.
pub(super) async fn private_to(
    transaction: &Transaction<'_>,
    user: &UserId,
) -> Result<Vec<CollectionName>, StoreError> {
    let sql = "SELECT c.name FROM collections c JOIN settings s ON s.collection = c.id
                WHERE s.name = $1 AND s.value = $2";
    let rows = transaction.query(sql, &[&PRIVATE_TO, &user.as_str()]).await?;
    rows.iter().map(|row| parsed(row, 0)).collect()
}

pub(super) async fn all(client: &impl GenericClient) -> Result<Vec<Collection>, StoreError> {
    let statement = client.prepare_cached(ALL).await?;
    let rows = client.query(&statement, &[]).await?;
    rows.iter().map(|row| Ok(collection_row(row)?.collection)).collect()
}

/// Collections after a name, which may be empty.
pub(super) async fn after(
    client: &impl GenericClient,
    after: &str,
    most: usize,
) -> Result<Vec<Collection>, StoreError> {
    let statement = client.prepare_cached(AFTER).await?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let rows = client.query(&statement, &[&after, &most]).await?;
    rows.iter().map(|row| Ok(collection_row(row)?.collection)).collect()
}

pub(super) fn collection_row(row: &Row) -> Result<CollectionRow, StoreError> {
    let count = |column| Ok::<_, StoreError>(get::<i64>(row, column)? as u64);
    let names: Vec<String> = get(row, 16)?;
    let values: Vec<String> = get(row, 17)?;
    let collection = Collection {
        name: parsed(row, 1)?,
        title: get(row, 2)?,
        format: parsed(row, 3)?,
        feed_id: get(row, 4)?,
        epoch: Epoch::stored(moment(get(row, 5)?), get::<i64>(row, 6)? as u32),
        last: number(row, 7)?,
        horizon: number(row, 8)?,
        sent: number(row, 9)?,
        live: count(10)?,
        deleted: count(11)?,
        conflicted: count(12)?,
        created: moment(get(row, 13)?),
        edited: moment(get(row, 14)?),
        bytes: count(15)?,
        settings: names.into_iter().zip(values).collect(),
    };
    Ok(CollectionRow { id: get(row, 0)?, collection })
}

pub(super) async fn insert(
    transaction: &Transaction<'_>,
    collection: &Collection,
) -> Result<(), StoreError> {
    let row = transaction
        .query_one(
            "INSERT INTO collections (name, title, format, feed_id, epoch_began, epoch_tail, last,
                                      horizon, sent, live, deleted, conflicted, created, edited)
             VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, 0, 0, 0, $7, $8) RETURNING id",
            &[
                &collection.name.as_str(),
                &text(&collection.title),
                &collection.format.name(),
                &collection.feed_id,
                &micros(collection.epoch.began()),
                &i64::from(collection.epoch.tail()),
                &micros(collection.created),
                &micros(collection.edited),
            ],
        )
        .await?;
    write_settings(transaction, get(&row, 0)?, &collection.settings).await
}

/// Applies a decision to a locked collection; returns its new state, or its last one.
pub(super) async fn alter(
    transaction: &Transaction<'_>,
    mut collection_row: CollectionRow,
    alteration: Alteration,
    now: Moment,
) -> Result<Collection, StoreError> {
    match alteration {
        Alteration::Keep => {}
        Alteration::Change(change) => {
            let others =
                change.name.as_ref().filter(|name| **name != collection_row.collection.name);
            if let Some(name) = others
                && find(transaction, name).await?.is_some()
            {
                return Err(StoreError::CollectionExists(name.clone()));
            }
            let before = collection_row.collection.clone();
            collection_row.collection.change_at(change, now);
            rewrite(transaction, &collection_row)
                .await
                .map_err(|error| name_conflict(error, &collection_row.collection.name))?;
            bridges::rename(transaction, &before, &collection_row.collection.name).await?;
        }
        Alteration::Drop => {
            transaction.batch_execute("SET LOCAL statement_timeout = 0").await?;
            remove(transaction, collection_row.id).await?;
            bridges::remove(transaction, &collection_row.collection).await?;
        }
    }
    Ok(collection_row.collection)
}

/// Converts a violation of uniqueness: another collection took the name after it was looked up.
pub(super) fn name_conflict(error: StoreError, name: &CollectionName) -> StoreError {
    let unique = tokio_postgres::error::SqlState::UNIQUE_VIOLATION;
    match pool::failure(&error).and_then(|failure| failure.0.code()) {
        Some(code) if *code == unique => StoreError::CollectionExists(name.clone()),
        _ => error,
    }
}

/// Writes the columns that a [`crate::CollectionChange`] may change.
async fn rewrite(
    transaction: &Transaction<'_>,
    collection_row: &CollectionRow,
) -> Result<(), StoreError> {
    let CollectionRow { id, collection } = collection_row;
    transaction
        .execute(
            "UPDATE collections SET name = $2, title = $3, format = $4, edited = $5 WHERE id = $1",
            &[
                id,
                &collection.name.as_str(),
                &text(&collection.title),
                &collection.format.name(),
                &micros(collection.edited),
            ],
        )
        .await?;
    transaction.execute("DELETE FROM settings WHERE collection = $1", &[id]).await?;
    write_settings(transaction, *id, &collection.settings).await
}

async fn write_settings(
    transaction: &Transaction<'_>,
    id: i64,
    settings: &BTreeMap<String, String>,
) -> Result<(), StoreError> {
    let names: Vec<String> = settings.keys().map(|name| text(name)).collect();
    let values: Vec<String> = settings.values().map(|value| text(value)).collect();
    transaction
        .execute(
            "INSERT INTO settings (collection, name, value)
             SELECT $1, name, value FROM unnest($2::text[], $3::text[]) s (name, value)",
            &[&id, &names, &values],
        )
        .await?;
    Ok(())
}

/// Removes a collection with all its rows.
async fn remove(transaction: &Transaction<'_>, id: i64) -> Result<(), StoreError> {
    // This comes first: creating a collection also locks the endpoint's row before the name.
    log_rows::drop_with(transaction, id).await?;
    for table in [
        "items",
        "conflicts",
        "item_blobs",
        "purged",
        "discarded",
        "discarded_versions",
        "discarded_blobs",
        "remotes",
        "logs",
        "log_generations",
        "log_bytes",
        "log_keys",
        "log_snapshots",
    ] {
        let sql = format!("DELETE FROM {table} WHERE collection = $1");
        transaction.execute(&sql, &[&id]).await?;
    }
    transaction.execute("DELETE FROM collections WHERE id = $1", &[&id]).await?;
    Ok(())
}

/// Begins an epoch that is later than all epochs of this store.
pub(super) async fn begin_epoch(
    transaction: &Transaction<'_>,
    environment: &dyn Environment,
) -> Result<Epoch, StoreError> {
    let row = transaction.query_one("SELECT last_epoch FROM endpoint FOR UPDATE", &[]).await?;
    let last = get::<Option<i64>>(&row, 0)?.map(moment);
    let tail = environment.random() as u32;
    let epoch = Epoch::begin(last, environment.now(), tail);
    transaction.execute("UPDATE endpoint SET last_epoch = $1", &[&micros(epoch.began())]).await?;
    Ok(epoch)
}

pub(super) async fn identity(client: &impl GenericClient) -> Result<Identity, StoreError> {
    let sql = "SELECT name, ARRAY(SELECT by FROM incarnations ORDER BY ordinal) FROM endpoint";
    let statement = client.prepare_cached(sql).await?;
    let row = client.query_one(&statement, &[]).await?;
    read_identity(&row, 0)
}

/// Reads the name and the incarnations from two columns from `first` on.
pub(super) fn read_identity(row: &Row, first: usize) -> Result<Identity, StoreError> {
    let incarnations: Vec<&str> = get(row, first + 1)?;
    let mut incarnations: Vec<By> =
        incarnations.into_iter().map(parse).collect::<Result<_, _>>()?;
    let by = incarnations
        .pop()
        .ok_or_else(|| StoreError::Damaged("an endpoint without incarnation".to_owned()))?;
    Ok(Identity { name: parsed::<EndpointName>(row, first)?, by, retired: incarnations })
}

pub(super) async fn reincarnate(
    transaction: &Transaction<'_>,
    by: &By,
    began: Moment,
) -> Result<(), StoreError> {
    transaction
        .execute(
            "INSERT INTO incarnations (by, began) VALUES ($1, $2)",
            &[&by.as_str(), &micros(began)],
        )
        .await?;
    Ok(())
}

/// Current identification of the database.
pub(super) async fn identification(client: &impl GenericClient) -> Result<String, StoreError> {
    get(&client.query_one(IDENTIFICATION, &[]).await?, 0)
}

/// Whether another server took over since the store was last settled, or this one was restored.
pub(super) async fn has_moved(client: &impl GenericClient) -> Result<bool, StoreError> {
    let sql = "SELECT place, left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM endpoint";
    let statement = client.prepare_cached(sql).await?;
    let row = client.query_one(&statement, &[]).await?;
    let (identification, timeline): (&str, &str) = (get(&row, 0)?, get(&row, 1)?);
    Ok(!identification.ends_with(timeline))
}

/// Identification of the database when it was last opened; `None` if no endpoint was founded.
pub(super) async fn stored_identification(
    client: &impl GenericClient,
) -> Result<Option<String>, StoreError> {
    let row = client.query_opt("SELECT place FROM endpoint", &[]).await?;
    row.map(|row| get(&row, 0)).transpose()
}

/// Whether a transfer into this store is complete; `None` if no endpoint was founded.
pub(super) async fn is_finished(client: &impl GenericClient) -> Result<Option<bool>, StoreError> {
    let row = client.query_opt("SELECT NOT unfinished FROM endpoint", &[]).await?;
    row.map(|row| get(&row, 0)).transpose()
}

/// Creates an endpoint in an empty schema.
pub(super) async fn found(
    transaction: &Transaction<'_>,
    name: &EndpointName,
    environment: &dyn Environment,
) -> Result<(), StoreError> {
    let identification = identification(transaction).await?;
    transaction
        .execute(
            "INSERT INTO endpoint (one, name, place, next_discarded, next_remote)
             VALUES (1, $1, $2, 1, 1)",
            &[&name.as_str(), &identification],
        )
        .await?;
    reincarnate(transaction, &identity::mint(name, environment), environment.now()).await
}

/// Handles a copy or a restored earlier state: a new incarnation signs from now on, and every collection
/// begins a new epoch. Waits for concurrent changes of collections.
pub(super) async fn settle(
    transaction: &Transaction<'_>,
    environment: &dyn Environment,
) -> Result<(), StoreError> {
    let lock = "SELECT id FROM collections ORDER BY id FOR NO KEY UPDATE";
    let ids: Vec<i64> = transaction
        .query(lock, &[])
        .await?
        .iter()
        .map(|row| get(row, 0))
        .collect::<Result<_, _>>()?;
    let name = identity(transaction).await?.name;
    reincarnate(transaction, &identity::mint(&name, environment), environment.now()).await?;
    for id in ids {
        let epoch = begin_epoch(transaction, environment).await?;
        transaction
            .execute(
                "UPDATE collections SET epoch_began = $2, epoch_tail = $3 WHERE id = $1",
                &[&id, &micros(epoch.began()), &i64::from(epoch.tail())],
            )
            .await?;
    }
    Ok(())
}
