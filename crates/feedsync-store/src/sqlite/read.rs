//! Pages of items, and the recoverable list.

use std::num::NonZeroUsize;

use feedsync_core::{Item, ItemId};
use rusqlite::{Connection, OptionalExtension as _, Params, params};

use super::collections;
use super::rows::{self, change_key, item_columns, parsed};
use crate::columns::moment;
use crate::error::StoreError;
use crate::name::CollectionName;
use crate::order::ChangeNumber;
use crate::stored::{
    self, ChangePage, Discarded, DiscardedId, ItemPage, Page, PageLimit, Recent, Selection,
    StoredItem,
};

const CHANGES: &str = concat!(
    "SELECT ",
    item_columns!(),
    " FROM items WHERE change_key > ?1 AND change_key <= ?2 ORDER BY change_key"
);

const BY_ID: &str = concat!(
    "SELECT ",
    item_columns!(),
    " FROM items WHERE collection = ?1 AND id > ?2 ORDER BY id"
);

/// The query for a selection; each kind of selection has an index that contains only selected rows.
fn listing_sql(selection: &Selection) -> &'static str {
    macro_rules! select {
        ($source:literal, $condition:literal) => {
            concat!(
                "SELECT ",
                item_columns!(),
                " FROM items ",
                $source,
                " WHERE change_key > ?1 AND change_key < ?2 AND ",
                $condition,
                " AND (?3 IS NULL OR instr(lower(payload), ?3) > 0) ORDER BY change_key DESC"
            )
        };
    }
    match (selection.conflicted, selection.deleted) {
        (false, false) => select!("INDEXED BY items_live", "deleted = 0"),
        (false, true) => select!("", "true"),
        (true, false) => {
            select!("INDEXED BY items_conflicted", "conflicts > 0 AND deleted = 0")
        }
        (true, true) => select!("INDEXED BY items_conflicted", "conflicts > 0"),
    }
}

pub(super) fn items(
    connection: &Connection,
    name: &CollectionName,
    mut ids: Vec<ItemId>,
) -> Result<Vec<StoredItem>, StoreError> {
    let collection_row = collections::require(connection, name)?;
    ids.sort_unstable();
    ids.dedup();
    let mut items = Vec::new();
    for id in &ids {
        items.extend(super::update::item(connection, collection_row.id, id)?);
    }
    Ok(items)
}

pub(super) fn changes(
    connection: &Connection,
    name: &CollectionName,
    after: ChangeNumber,
    up_to: Option<ChangeNumber>,
    limit: PageLimit,
) -> Result<ChangePage, StoreError> {
    let collection_row = collections::require(connection, name)?;
    let last = collection_row.collection.last;
    let bound = up_to.map_or(last, |up_to| up_to.min(last));
    let mut page = Page::new(limit);
    let range = params![change_key(collection_row.id, after), change_key(collection_row.id, bound)];
    fill(connection, &mut page, CHANGES, range)?;
    Ok(ChangePage::new(collection_row.collection, page, after, bound))
}

pub(super) fn items_by_id(
    connection: &Connection,
    name: &CollectionName,
    after: Option<&ItemId>,
    limit: PageLimit,
) -> Result<ItemPage, StoreError> {
    let collection_row = collections::require(connection, name)?;
    let mut page = Page::new(limit);
    let range = params![collection_row.id, after.map_or("", ItemId::as_str)];
    fill(connection, &mut page, BY_ID, range)?;
    Ok(ItemPage { collection: collection_row.collection, items: page.items, more: page.more })
}

pub(super) fn id_before(
    connection: &Connection,
    name: &CollectionName,
    before: Option<&ItemId>,
    places: NonZeroUsize,
) -> Result<Option<ItemId>, StoreError> {
    let collection_row = collections::require(connection, name)?;
    let skipped = i64::try_from(places.get() - 1).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(
        "SELECT id FROM items WHERE collection = ?1 AND id < ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3",
    )?;
    let before = before.map_or(stored::BEYOND_IDS, ItemId::as_str);
    let mut rows = statement.query(params![collection_row.id, before, skipped])?;
    rows.next()?.map(|row| parsed(row, 0)).transpose()
}

pub(super) fn last_before(
    connection: &Connection,
    name: &CollectionName,
    recent: Recent,
) -> Result<ChangeNumber, StoreError> {
    let id = collections::require(connection, name)?.id;
    let keys = (change_key(id, ChangeNumber::ZERO), change_key(id, ChangeNumber::MAX));
    let mut last = ChangeNumber::ZERO;
    for (sql, bound) in [
        (
            "SELECT change_key FROM items WHERE change_key BETWEEN ?1 AND ?2
             ORDER BY change_key DESC LIMIT 1 OFFSET ?3",
            recent.count.map(|count| i64::try_from(count).unwrap_or(i64::MAX)),
        ),
        (
            "SELECT change_key FROM items WHERE change_key BETWEEN ?1 AND ?2 AND edited < ?3
             ORDER BY change_key DESC LIMIT 1",
            recent.from.map(|from| i64::try_from(from.micros()).unwrap_or(i64::MAX)),
        ),
    ] {
        let Some(bound) = bound else { continue };
        let mut statement = connection.prepare_cached(sql)?;
        let found = statement.query_row(params![keys.0, keys.1, bound], |row| row.get(0));
        last = last.max(found.optional()?.map_or(ChangeNumber::ZERO, rows::number));
    }
    Ok(last)
}

pub(super) fn listing(
    connection: &Connection,
    name: &CollectionName,
    selection: &Selection,
    limit: PageLimit,
) -> Result<ItemPage, StoreError> {
    let collection_row = collections::require(connection, name)?;
    let first = change_key(collection_row.id, ChangeNumber::ZERO);
    let before = match selection.before {
        Some(before) => change_key(collection_row.id, before),
        None => change_key(collection_row.id + 1, ChangeNumber::ZERO),
    };
    let text = selection.containing.as_deref().map(str::to_ascii_lowercase);
    let mut page = Page::new(limit);
    fill(connection, &mut page, listing_sql(selection), params![first, before, text])?;
    Ok(ItemPage { collection: collection_row.collection, items: page.items, more: page.more })
}

fn fill(
    connection: &Connection,
    page: &mut Page,
    sql: &str,
    parameters: impl Params,
) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    while let Some(row) = rows.next()? {
        if !page.push(rows::stored(connection, row)?) {
            break;
        }
    }
    Ok(())
}

pub(super) fn discarded(
    connection: &Connection,
    name: &CollectionName,
) -> Result<Vec<Discarded>, StoreError> {
    let collection_row = collections::require(connection, name)?;
    let mut statement = connection.prepare_cached(
        "SELECT place, id, at, reason FROM discarded WHERE collection = ?1 ORDER BY place",
    )?;
    let mut versions = connection.prepare_cached(
        "SELECT updates, deleted, noconflicts, history, format, payload, sync_foreign
           FROM discarded_versions WHERE collection = ?1 AND place = ?2 ORDER BY ordinal",
    )?;
    let mut digests = connection.prepare_cached(
        "SELECT digest FROM discarded_blobs WHERE collection = ?1 AND place = ?2 ORDER BY digest",
    )?;
    let mut list = Vec::new();
    let mut found = statement.query([collection_row.id])?;
    while let Some(row) = found.next()? {
        let place: i64 = row.get(0)?;
        let id: ItemId = parsed(row, 1)?;
        let mut rows = versions.query([collection_row.id, place])?;
        let winner = match rows.next()? {
            Some(row) => rows::version(row, 0)?,
            None => return Err(StoreError::Damaged(format!("discarded {id} has no version"))),
        };
        let mut conflicts = Vec::new();
        while let Some(row) = rows.next()? {
            conflicts.push(rows::version(row, 0)?);
        }
        let mut rows = digests.query([collection_row.id, place])?;
        let mut blobs = Vec::new();
        while let Some(row) = rows.next()? {
            blobs.push(parsed(row, 0)?);
        }
        list.push(Discarded {
            id: DiscardedId(place as u64),
            collection: name.clone(),
            item: Item { id, winner, conflicts },
            blobs,
            reason: row.get(3)?,
            at: moment(row.get(2)?),
        });
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cost of a page follows the page, not the collection. No page scans or sorts all items.
    #[test]
    fn every_page_is_read_along_an_index() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("migrations/001.sql")).unwrap();
        let listings = (0..4).map(|flags| {
            let (deleted, conflicted) = (flags & 1 != 0, flags & 2 != 0);
            listing_sql(&Selection { deleted, conflicted, ..Selection::default() })
        });
        for sql in [CHANGES, BY_ID].into_iter().chain(listings) {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let range = params![1, 2, "text"];
            let range = &range[..statement.parameter_count()];
            let steps = statement.query_map(range, |row| row.get::<_, String>(3)).unwrap();
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            assert_eq!(steps.len(), 1, "{steps:?}");
            assert!(steps[0].starts_with("SEARCH items USING"), "{steps:?}");
        }
    }
}
