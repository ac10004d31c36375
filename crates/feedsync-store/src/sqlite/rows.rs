//! Conversion of items to and from rows.

use std::str::FromStr;

use feedsync_core::{History, Item, ItemId, Payload, Version};
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, Row, ToSql, params};

use crate::blob::Digest;
use crate::columns::{self, damaged, history_text, moment, parse};
use crate::error::StoreError;
use crate::order::{ChangeNumber, Moment};
use crate::stored::StoredItem;

/// Bits of a change key that hold the number; the bits above them hold the collection's id.
const NUMBER_BITS: u32 = 40;

/// The columns of [`stored`], in order.
macro_rules! item_columns {
    () => {
        "change_key, id, edited, created_here, origin, conflicts, blobs, updates, deleted, \
         noconflicts, history, format, payload, sync_foreign"
    };
}
pub(super) use item_columns;

pub(super) fn change_key(collection: i64, number: ChangeNumber) -> i64 {
    (collection << NUMBER_BITS) | number.min(ChangeNumber::MAX).get() as i64
}

pub(super) fn number(change_key: i64) -> ChangeNumber {
    ChangeNumber::new(change_key as u64 & ChangeNumber::MAX.get())
}

impl ToSql for Moment {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok((self.micros() as i64).into())
    }
}

impl ToSql for ChangeNumber {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok((self.get() as i64).into())
    }
}

/// Parses a column that may be null.
pub(super) fn optional<T: FromStr>(row: &Row<'_>, column: usize) -> Result<Option<T>, StoreError>
where
    T::Err: std::fmt::Display,
{
    row.get::<_, Option<String>>(column)?.map(|text| parse(&text)).transpose()
}

/// Parses a column; a text that does not parse is reported as damage.
pub(super) fn parsed<T: FromStr>(row: &Row<'_>, column: usize) -> Result<T, StoreError>
where
    T::Err: std::fmt::Display,
{
    let text = row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?;
    parse(text)
}

/// Reads seven columns from `first` on: updates, deleted, noconflicts, history, format, payload,
/// sync_foreign.
pub(super) fn version(row: &Row<'_>, first: usize) -> Result<Version<Payload>, StoreError> {
    let text = |column: usize| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
    let history = text(first + 3)?;
    let updates: u32 = row.get(first)?;
    Ok(Version {
        updates: feedsync_core::Updates::new(updates)
            .map_err(|error| damaged(&updates.to_string(), &error))?,
        deleted: row.get(first + 1)?,
        noconflicts: row.get(first + 2)?,
        history: History::from_updates(columns::updates(history)?)
            .ok_or_else(|| StoreError::Damaged("a version without history".to_owned()))?,
        payload: Payload::from_parsed(parse(text(first + 4)?)?, text(first + 5)?)
            .with_sync_foreign(row.get::<_, Option<String>>(first + 6)?),
    })
}

/// The item of a row of `items`, with its rows in other tables.
pub(super) fn stored(connection: &Connection, row: &Row<'_>) -> Result<StoredItem, StoreError> {
    let change_key: i64 = row.get(0)?;
    let id: ItemId = parsed(row, 1)?;
    let origin = columns::origin(row.get(4)?);
    let mut conflicts = Vec::new();
    if row.get::<_, u32>(5)? > 0 {
        let mut statement = connection.prepare_cached(
            "SELECT updates, deleted, noconflicts, history, format, payload, sync_foreign
               FROM conflicts WHERE change_key = ?1 ORDER BY ordinal",
        )?;
        let mut rows = statement.query([change_key])?;
        while let Some(row) = rows.next()? {
            conflicts.push(version(row, 0)?);
        }
    }
    let mut blobs: Vec<Digest> = Vec::new();
    if row.get::<_, u32>(6)? > 0 {
        let mut statement = connection.prepare_cached(
            "SELECT digest FROM item_blobs WHERE change_key = ?1 ORDER BY digest",
        )?;
        let mut rows = statement.query([change_key])?;
        while let Some(row) = rows.next()? {
            blobs.push(parsed(row, 0)?);
        }
    }
    let mut item = Item { id, winner: version(row, 7)?, conflicts };
    // Earlier versions of this program stored histories of any length.
    item.shorten_histories();
    Ok(StoredItem {
        item,
        number: number(change_key),
        edited: moment(row.get(2)?),
        created_here: row.get(3)?,
        origin,
        blobs,
    })
}

/// Inserts an item under its number; its former row must already be removed.
pub(super) fn insert(
    connection: &Connection,
    collection: i64,
    stored: &StoredItem,
) -> Result<(), StoreError> {
    let key = change_key(collection, stored.number);
    let origin = columns::origin_number(stored.origin);
    let Item { id, winner, conflicts } = &stored.item;
    connection
        .prepare_cached(
            "INSERT INTO items (change_key, collection, id, edited, created_here, origin,
                                conflicts, blobs, updates, deleted, noconflicts, history, format,
                                payload, sync_foreign)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?
        .execute(params![
            key,
            collection,
            id.as_str(),
            stored.edited,
            stored.created_here,
            origin,
            conflicts.len() as i64,
            stored.blobs.len() as i64,
            winner.updates.get(),
            winner.deleted,
            winner.noconflicts,
            history_text(winner.history.updates()),
            winner.payload.format().name(),
            winner.payload.text(),
            winner.payload.sync_foreign(),
        ])?;
    for (ordinal, version) in conflicts.iter().enumerate() {
        connection
            .prepare_cached(
                "INSERT INTO conflicts (change_key, ordinal, updates, deleted, noconflicts,
                                        history, format, payload, sync_foreign)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute(params![
                key,
                ordinal as i64,
                version.updates.get(),
                version.deleted,
                version.noconflicts,
                history_text(version.history.updates()),
                version.payload.format().name(),
                version.payload.text(),
                version.payload.sync_foreign(),
            ])?;
    }
    for digest in &stored.blobs {
        connection
            .prepare_cached("INSERT INTO item_blobs (change_key, digest) VALUES (?1, ?2)")?
            .execute(params![key, digest.to_string()])?;
    }
    Ok(())
}
