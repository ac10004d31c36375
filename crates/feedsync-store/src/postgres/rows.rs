//! Conversion of items to and from rows, many rows at a time.

use std::collections::HashMap;
use std::str::FromStr;

use deadpool_postgres::Transaction;
use feedsync_core::{History, Item, ItemId, Payload, Updates, Version};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::pipeline::{Parameter, Pipeline};
use crate::blob::Digest;
use crate::columns::{self, damaged, history_text, moment, parse};
use crate::error::StoreError;
use crate::order::{ChangeNumber, Moment};
use crate::stored::StoredItem;

/// The columns that [`stored`] reads, in order.
macro_rules! item_columns {
    () => {
        "number, id, edited, created_here, origin, conflicts, blobs, updates, deleted, \
         noconflicts, history, format, payload, sync_foreign"
    };
}
pub(super) use item_columns;

const CONFLICTS: &str = "SELECT number, updates, deleted, noconflicts, history, format, payload,
                                sync_foreign
                           FROM conflicts WHERE collection = $1 AND number = ANY($2)
                          ORDER BY number, ordinal";

const BLOBS: &str = "SELECT number, digest FROM item_blobs
                      WHERE collection = $1 AND number = ANY($2) ORDER BY number, digest";

/// Reads a column.
pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, StoreError> {
    Ok(row.try_get(column)?)
}

pub(super) fn parsed<T: FromStr>(row: &Row, column: usize) -> Result<T, StoreError>
where
    T::Err: std::fmt::Display,
{
    parse(get::<&str>(row, column)?)
}

pub(super) fn optional<T: FromStr>(row: &Row, column: usize) -> Result<Option<T>, StoreError>
where
    T::Err: std::fmt::Display,
{
    get::<Option<&str>>(row, column)?.map(parse).transpose()
}

pub(super) fn maybe_moment(row: &Row, column: usize) -> Result<Option<Moment>, StoreError> {
    Ok(get::<Option<i64>>(row, column)?.map(moment))
}

pub(super) fn number(row: &Row, column: usize) -> Result<ChangeNumber, StoreError> {
    Ok(ChangeNumber::new(get::<i64>(row, column)? as u64))
}

pub(super) fn micros(moment: Moment) -> i64 {
    moment.micros() as i64
}

/// A number as a bound; greater numbers than the column can hold become its maximum.
pub(super) fn bound(number: ChangeNumber) -> i64 {
    i64::try_from(number.get()).unwrap_or(i64::MAX)
}

pub(super) fn digest(row: &Row, column: usize) -> Result<Digest, StoreError> {
    let bytes = get::<&[u8]>(row, column)?;
    let bytes = bytes.try_into().map_err(|error| damaged("a digest", &error))?;
    Ok(Digest::from_bytes(bytes))
}

/// Replaces NUL in texts for people: PostgreSQL cannot store it, and no XML or JSON document contains it
/// unescaped.
pub(super) fn text(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Reads seven columns from `first` on: updates, deleted, noconflicts, history, format, payload,
/// sync_foreign.
pub(super) fn version(row: &Row, first: usize) -> Result<Version<Payload>, StoreError> {
    let updates: i64 = get(row, first)?;
    let count = u32::try_from(updates).map_err(|error| damaged(&updates.to_string(), &error))?;
    Ok(Version {
        updates: Updates::new(count).map_err(|error| damaged(&updates.to_string(), &error))?,
        deleted: get(row, first + 1)?,
        noconflicts: get(row, first + 2)?,
        history: History::from_updates(columns::updates(get(row, first + 3)?)?)
            .ok_or_else(|| StoreError::Damaged("a version without history".to_owned()))?,
        payload: Payload::from_parsed(parsed(row, first + 4)?, get::<&str>(row, first + 5)?)
            .with_sync_foreign(get::<Option<&str>>(row, first + 6)?),
    })
}

/// The items of rows of `items`, with their rows in other tables.
pub(super) async fn stored(
    transaction: &Transaction<'_>,
    collection: i64,
    rows: &[Row],
) -> Result<Vec<StoredItem>, StoreError> {
    let mut items = Vec::with_capacity(rows.len());
    let mut with_conflicts: Vec<i64> = Vec::new();
    let mut with_blobs: Vec<i64> = Vec::new();
    for row in rows {
        let change: i64 = get(row, 0)?;
        if get::<i64>(row, 5)? > 0 {
            with_conflicts.push(change);
        }
        if get::<i64>(row, 6)? > 0 {
            with_blobs.push(change);
        }
        let id: ItemId = parsed(row, 1)?;
        let mut item = Item { id, winner: version(row, 7)?, conflicts: Vec::new() };
        // Earlier versions of this program stored histories of any length.
        item.shorten_histories();
        items.push(StoredItem {
            item,
            number: number(row, 0)?,
            edited: moment(get(row, 2)?),
            created_here: get(row, 3)?,
            origin: columns::origin(get(row, 4)?),
            blobs: Vec::new(),
        });
    }
    if with_conflicts.is_empty() && with_blobs.is_empty() {
        return Ok(items);
    }
    let mut pipeline = Pipeline::default();
    pipeline.add(CONFLICTS, vec![&collection, &with_conflicts]);
    pipeline.add(BLOBS, vec![&collection, &with_blobs]);
    let [conflicts, blobs] = pipeline.run_all(transaction).await?;
    let place = |(place, stored): (usize, &StoredItem)| (stored.number, place);
    let places: HashMap<ChangeNumber, usize> = items.iter().enumerate().map(place).collect();
    for row in &conflicts {
        if let Some(place) = places.get(&number(row, 0)?) {
            items[*place].item.conflicts.push(version(row, 1)?);
        }
    }
    items
        .iter_mut()
        .filter(|stored| !stored.item.conflicts.is_empty())
        .for_each(|stored| stored.item.shorten_histories());
    for row in &blobs {
        if let Some(place) = places.get(&number(row, 0)?) {
            items[*place].blobs.push(digest(row, 1)?);
        }
    }
    Ok(items)
}

/// The columns of many versions, to write them in one statement.
#[derive(Default)]
pub(super) struct Versions<'a> {
    updates: Vec<i64>,
    deleted: Vec<bool>,
    noconflicts: Vec<Option<bool>>,
    history: Vec<String>,
    format: Vec<&'static str>,
    payload: Vec<&'a str>,
    sync_foreign: Vec<Option<&'a str>>,
}

impl<'a> Versions<'a> {
    pub(super) fn push(&mut self, version: &'a Version<Payload>) {
        self.updates.push(version.updates.get().into());
        self.deleted.push(version.deleted);
        self.noconflicts.push(version.noconflicts);
        self.history.push(history_text(version.history.updates()));
        self.format.push(version.payload.format().name());
        self.payload.push(version.payload.text());
        self.sync_foreign.push(version.payload.sync_foreign());
    }

    pub(super) fn parameters(&self) -> [Parameter<'_>; 7] {
        [
            &self.updates,
            &self.deleted,
            &self.noconflicts,
            &self.history,
            &self.format,
            &self.payload,
            &self.sync_foreign,
        ]
    }
}
