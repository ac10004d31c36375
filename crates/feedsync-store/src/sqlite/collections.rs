//! Rows of collections, of the endpoint's identity, and of its epochs.

use std::collections::BTreeMap;

use feedsync_core::By;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::rows::parsed;
use super::{database_rows, log_rows};
use crate::collection::{Alteration, Collection, PRIVATE_TO};
use crate::columns::{moment, parse};
use crate::environment::Environment;
use crate::error::StoreError;
use crate::identity::{self, Identity};
use crate::name::{CollectionName, EndpointName, UserId};
use crate::order::{ChangeNumber, Epoch, Moment};

macro_rules! select_collections {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, title, format, feed_id, epoch_began, epoch_tail, last, horizon, \
             sent, live, deleted, conflicted, created, edited, bytes FROM collections ",
            $rest
        )
    };
}

/// A collection and the id of its row.
pub(super) struct CollectionRow {
    pub(super) id: i64,
    pub(super) collection: Collection,
}

pub(super) fn find(
    connection: &Connection,
    name: &CollectionName,
) -> Result<Option<CollectionRow>, StoreError> {
    let mut statement = connection.prepare_cached(select_collections!("WHERE name = ?1"))?;
    let mut rows = statement.query([name.as_str()])?;
    rows.next()?.map(|row| collection_row(connection, row)).transpose()
}

pub(super) fn require(
    connection: &Connection,
    name: &CollectionName,
) -> Result<CollectionRow, StoreError> {
    find(connection, name)?.ok_or_else(|| StoreError::NoCollection(name.clone()))
}

/// Applies a decision to a collection; returns its new state, or its last one.
pub(super) fn alter(
    connection: &Connection,
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
                && find(connection, name)?.is_some()
            {
                return Err(StoreError::CollectionExists(name.clone()));
            }
            let before = collection_row.collection.clone();
            collection_row.collection.change_at(change, now);
            rewrite(connection, &collection_row)?;
            database_rows::rename_bridged(connection, &before, &collection_row.collection.name)?;
        }
        Alteration::Drop => {
            database_rows::drop_bridged(connection, &collection_row.collection)?;
            log_rows::drop_with(connection, collection_row.id)?;
            connection.execute("DELETE FROM collections WHERE id = ?1", [collection_row.id])?;
        }
    }
    Ok(collection_row.collection)
}

/// The collections that are private to a user.
pub(super) fn private_to(
    connection: &Connection,
    user: &UserId,
) -> Result<Vec<CollectionRow>, StoreError> {
    let mut statement = connection.prepare_cached(select_collections!(
        "WHERE id IN (SELECT collection FROM settings WHERE name = ?1 AND value = ?2)"
    ))?;
    let mut rows = statement.query([PRIVATE_TO, user.as_str()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(collection_row(connection, row)?);
    }
    Ok(found)
}

pub(super) fn all(connection: &Connection) -> Result<Vec<Collection>, StoreError> {
    let mut statement = connection.prepare_cached(select_collections!("ORDER BY name"))?;
    let mut rows = statement.query([])?;
    let mut collections = Vec::new();
    while let Some(row) = rows.next()? {
        collections.push(collection_row(connection, row)?.collection);
    }
    Ok(collections)
}

/// Collections after a name, which may be empty.
pub(super) fn after(
    connection: &Connection,
    after: &str,
    most: usize,
) -> Result<Vec<Collection>, StoreError> {
    let mut statement =
        connection.prepare_cached(select_collections!("WHERE name > ?1 ORDER BY name LIMIT ?2"))?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![after, most])?;
    let mut collections = Vec::new();
    while let Some(row) = rows.next()? {
        collections.push(collection_row(connection, row)?.collection);
    }
    Ok(collections)
}

fn collection_row(connection: &Connection, row: &Row<'_>) -> Result<CollectionRow, StoreError> {
    let id = row.get(0)?;
    let number =
        |column| Ok::<_, rusqlite::Error>(ChangeNumber::new(row.get::<_, i64>(column)? as u64));
    let count = |column| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)? as u64);
    let collection = Collection {
        name: parsed(row, 1)?,
        title: row.get(2)?,
        format: parsed(row, 3)?,
        feed_id: row.get(4)?,
        epoch: Epoch::stored(moment(row.get(5)?), row.get(6)?),
        last: number(7)?,
        horizon: number(8)?,
        sent: number(9)?,
        live: count(10)?,
        deleted: count(11)?,
        conflicted: count(12)?,
        created: moment(row.get(13)?),
        edited: moment(row.get(14)?),
        bytes: count(15)?,
        settings: settings(connection, id)?,
    };
    Ok(CollectionRow { id, collection })
}

fn settings(connection: &Connection, id: i64) -> Result<BTreeMap<String, String>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT name, value FROM settings WHERE collection = ?1 ORDER BY name")?;
    let rows = statement.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn insert(connection: &Connection, collection: &Collection) -> Result<(), StoreError> {
    connection.execute(
        "INSERT INTO collections (name, title, format, feed_id, epoch_began, epoch_tail, last,
                                  horizon, sent, live, deleted, conflicted, created, edited)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, 0, 0, 0, 0, ?7, ?8)",
        params![
            collection.name.as_str(),
            collection.title,
            collection.format.name(),
            collection.feed_id,
            collection.epoch.began(),
            collection.epoch.tail(),
            collection.created,
            collection.edited,
        ],
    )?;
    write_settings(connection, connection.last_insert_rowid(), &collection.settings)
}

/// Writes the columns that a [`crate::CollectionChange`] may change.
pub(super) fn rewrite(
    connection: &Connection,
    collection_row: &CollectionRow,
) -> Result<(), StoreError> {
    let CollectionRow { id, collection } = collection_row;
    connection.execute(
        "UPDATE collections SET name = ?2, title = ?3, format = ?4, edited = ?5 WHERE id = ?1",
        params![
            id,
            collection.name.as_str(),
            collection.title,
            collection.format.name(),
            collection.edited,
        ],
    )?;
    connection.execute("DELETE FROM settings WHERE collection = ?1", [id])?;
    write_settings(connection, *id, &collection.settings)
}

fn write_settings(
    connection: &Connection,
    id: i64,
    settings: &BTreeMap<String, String>,
) -> Result<(), StoreError> {
    for (name, value) in settings {
        connection.execute(
            "INSERT INTO settings (collection, name, value) VALUES (?1, ?2, ?3)",
            params![id, name, value],
        )?;
    }
    Ok(())
}

/// Writes the columns that an update changes.
pub(super) fn advance(
    connection: &Connection,
    id: i64,
    collection: &Collection,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE collections SET last = ?2, horizon = ?3, live = ?4, deleted = ?5,
                                    conflicted = ?6, edited = ?7, sent = ?8, bytes = ?9
              WHERE id = ?1",
        )?
        .execute(params![
            id,
            collection.last,
            collection.horizon,
            collection.live as i64,
            collection.deleted as i64,
            collection.conflicted as i64,
            collection.edited,
            collection.sent,
            collection.bytes as i64,
        ])?;
    Ok(())
}

/// Begins an epoch that is later than all epochs of this store.
pub(super) fn begin_epoch(
    connection: &Connection,
    environment: &dyn Environment,
) -> Result<Epoch, StoreError> {
    let last: Option<i64> =
        connection.query_row("SELECT last_epoch FROM endpoint", [], |row| row.get(0))?;
    let tail = environment.random() as u32;
    let epoch = Epoch::begin(last.map(moment), environment.now(), tail);
    connection.execute("UPDATE endpoint SET last_epoch = ?1", [epoch.began()])?;
    Ok(epoch)
}

pub(super) fn identity(connection: &Connection) -> Result<Identity, StoreError> {
    let name: String =
        connection.prepare_cached("SELECT name FROM endpoint")?.query_row([], |row| row.get(0))?;
    let mut statement =
        connection.prepare_cached("SELECT \"by\" FROM incarnations ORDER BY ordinal")?;
    let mut rows = statement.query([])?;
    let mut incarnations: Vec<By> = Vec::new();
    while let Some(row) = rows.next()? {
        incarnations.push(parsed(row, 0)?);
    }
    let by = incarnations
        .pop()
        .ok_or_else(|| StoreError::Damaged("an endpoint without incarnation".to_owned()))?;
    Ok(Identity { name: parse::<EndpointName>(&name)?, by, retired: incarnations })
}

pub(super) fn reincarnate(
    connection: &Connection,
    by: &By,
    began: Moment,
) -> Result<(), StoreError> {
    connection.execute(
        "INSERT INTO incarnations (\"by\", began) VALUES (?1, ?2)",
        params![by.as_str(), began],
    )?;
    Ok(())
}

/// Creates an endpoint in an empty schema.
pub(super) fn found(
    connection: &Connection,
    name: &EndpointName,
    place: &str,
    environment: &dyn Environment,
) -> Result<(), StoreError> {
    connection.execute(
        "INSERT INTO endpoint (one, name, place, next_discarded) VALUES (1, ?1, ?2, 1)",
        params![name.as_str(), place],
    )?;
    reincarnate(connection, &identity::mint(name, environment), environment.now())
}

/// Whether the store is complete; `false` during a transfer into it.
pub(super) fn is_finished(connection: &Connection) -> Result<bool, StoreError> {
    Ok(connection.query_row("SELECT NOT unfinished FROM endpoint", [], |row| row.get(0))?)
}

/// Whether the store is at its recorded location.
pub(super) fn is_at_location(connection: &Connection, place: &str) -> Result<bool, StoreError> {
    let known: Option<String> =
        connection.query_row("SELECT place FROM endpoint", [], |row| row.get(0)).optional()?;
    known
        .map(|known| known == place)
        .ok_or_else(|| StoreError::Damaged("a store without endpoint".to_owned()))
}

/// Handles a copy or a restored earlier state: a new incarnation signs from now on, and every collection
/// begins a new epoch.
pub(super) fn settle(
    connection: &Connection,
    place: &str,
    environment: &dyn Environment,
) -> Result<(), StoreError> {
    let name = identity(connection)?.name;
    reincarnate(connection, &identity::mint(&name, environment), environment.now())?;
    for collection in all(connection)? {
        let epoch = begin_epoch(connection, environment)?;
        connection.execute(
            "UPDATE collections SET epoch_began = ?2, epoch_tail = ?3 WHERE name = ?1",
            params![collection.name.as_str(), epoch.began(), epoch.tail()],
        )?;
    }
    let epoch = begin_epoch(connection, environment)?;
    connection.execute(
        "UPDATE databases SET epoch_began = ?1, epoch_tail = ?2",
        params![epoch.began(), epoch.tail()],
    )?;
    connection.execute("UPDATE endpoint SET place = ?1", [place])?;
    Ok(())
}
