//! Pages of items, and the recoverable list. Each page is read at one moment, in its own transaction.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use deadpool_postgres::{Client, Transaction};
use feedsync_core::{Item, ItemId};
use tokio_postgres::Row;

use super::collections::{self, CollectionRow};
use super::pipeline::{Parameter, Pipeline};
use super::pool;
use super::rows::{self, bound, get, item_columns, parsed};
use crate::columns::{moment, parse};
use crate::error::StoreError;
use crate::identity::LedgerEntry;
use crate::name::CollectionName;
use crate::order::ChangeNumber;
use crate::stored::{
    self, ChangePage, Discarded, DiscardedId, ItemPage, Page, PageLimit, Recent, Selection,
    StoredItem,
};

/// Number of rows that are fetched at once, so that a page that ends by its size has fetched few rows in
/// vain.
const CHUNK: usize = 100;

macro_rules! select_items {
    ($condition:literal) => {
        concat!(
            "SELECT ",
            item_columns!(),
            " FROM items WHERE collection = (SELECT id FROM collections WHERE name = $1) AND ",
            $condition
        )
    };
}

const CHANGES: &str = select_items!("number > $2 AND number <= $3 ORDER BY number LIMIT $4");

const BY_ID: &str = select_items!("id > $2 ORDER BY id LIMIT $3");

pub(super) const BY_IDS: &str = select_items!("id = ANY($2) ORDER BY id");

/// The query for a selection; each kind of selection has an index that contains only selected rows.
fn listing_sql(selection: &Selection) -> &'static str {
    macro_rules! select {
        ($condition:literal) => {
            concat!(
                "SELECT ",
                item_columns!(),
                " FROM items WHERE collection = (SELECT id FROM collections WHERE name = $1) \
                  AND number < $2 AND ",
                $condition,
                " AND ($3::text IS NULL OR position($3 IN lower(payload COLLATE \"C\")) > 0) \
                  ORDER BY number DESC LIMIT $4"
            )
        };
    }
    match (selection.conflicted, selection.deleted) {
        (false, false) => select!("NOT deleted"),
        (false, true) => select!("true"),
        (true, false) => select!("conflicts > 0 AND NOT deleted"),
        (true, true) => select!("conflicts > 0"),
    }
}

pub(super) async fn items(
    client: &mut Client,
    name: &CollectionName,
    ids: &[ItemId],
) -> Result<Vec<StoredItem>, StoreError> {
    let transaction = pool::snapshot(client).await?;
    let ids: Vec<&str> = ids.iter().map(ItemId::as_str).collect();
    let name_text = name.as_str();
    let mut pipeline = Pipeline::default();
    pipeline.add(collections::BY_NAME, vec![&name_text]);
    pipeline.add(BY_IDS, vec![&name_text, &ids]);
    let [found, items] = pipeline.run_all(&transaction).await?;
    let collection_row = collection_row(found.first(), name)?;
    rows::stored(&transaction, collection_row.id, &items).await
}

pub(super) async fn changes(
    client: &mut Client,
    name: &CollectionName,
    after: ChangeNumber,
    up_to: Option<ChangeNumber>,
    limit: PageLimit,
) -> Result<ChangePage, StoreError> {
    let (first, last) = (bound(after), up_to.map_or(i64::MAX, bound));
    let (collection, page) = page(client, name, CHANGES, &[&first, &last], limit).await?;
    let bound = up_to.map_or(collection.last, |up_to| up_to.min(collection.last));
    Ok(ChangePage::new(collection, page, after, bound))
}

pub(super) async fn items_by_id(
    client: &mut Client,
    name: &CollectionName,
    after: Option<&ItemId>,
    limit: PageLimit,
) -> Result<ItemPage, StoreError> {
    let after = after.map_or("", ItemId::as_str);
    let (collection, page) = page(client, name, BY_ID, &[&after], limit).await?;
    Ok(ItemPage { collection, items: page.items, more: page.more })
}

pub(super) async fn id_before(
    client: &mut Client,
    name: &CollectionName,
    before: Option<&ItemId>,
    places: NonZeroUsize,
) -> Result<Option<ItemId>, StoreError> {
    let id = collections::require(client, name).await?.id;
    let skipped = i64::try_from(places.get() - 1).unwrap_or(i64::MAX);
    let before = before.map_or(stored::BEYOND_IDS, ItemId::as_str);
    let statement = client
        .prepare_cached(
            "SELECT id FROM items WHERE collection = $1 AND id < $2
             ORDER BY id DESC LIMIT 1 OFFSET $3",
        )
        .await?;
    let row = client.query_opt(&statement, &[&id, &before, &skipped]).await?;
    row.as_ref().map(|row| parsed(row, 0)).transpose()
}

pub(super) async fn last_before(
    client: &mut Client,
    name: &CollectionName,
    recent: Recent,
) -> Result<ChangeNumber, StoreError> {
    let id = collections::require(client, name).await?.id;
    let mut last = ChangeNumber::ZERO;
    for (sql, bound) in [
        (
            "SELECT number FROM items WHERE collection = $1 ORDER BY number DESC LIMIT 1 OFFSET $2",
            recent.count.map(|count| i64::try_from(count).unwrap_or(i64::MAX)),
        ),
        (
            "SELECT number FROM items WHERE collection = $1 AND edited < $2
             ORDER BY number DESC LIMIT 1",
            recent.from.map(|from| i64::try_from(from.micros()).unwrap_or(i64::MAX)),
        ),
    ] {
        let Some(bound) = bound else { continue };
        let statement = client.prepare_cached(sql).await?;
        if let Some(row) = client.query_opt(&statement, &[&id, &bound]).await? {
            last = last.max(rows::number(&row, 0)?);
        }
    }
    Ok(last)
}

pub(super) async fn listing(
    client: &mut Client,
    name: &CollectionName,
    selection: &Selection,
    limit: PageLimit,
) -> Result<ItemPage, StoreError> {
    let before = selection.before.map_or(i64::MAX, bound);
    let containing = selection.containing.as_deref().map(str::to_ascii_lowercase);
    // No stored text contains NUL.
    if containing.as_ref().is_some_and(|text| text.contains('\0')) {
        let collection = collections::require(client, name).await?.collection;
        return Ok(ItemPage { collection, items: Vec::new(), more: false });
    }
    let sql = listing_sql(selection);
    let (collection, page) = page(client, name, sql, &[&before, &containing], limit).await?;
    Ok(ItemPage { collection, items: page.items, more: page.more })
}

fn collection_row(row: Option<&Row>, name: &CollectionName) -> Result<CollectionRow, StoreError> {
    collections::collection_row(row.ok_or_else(|| StoreError::NoCollection(name.clone()))?)
}

/// Reads a page; the query's parameters are the collection's name, the given ones, and the limit.
async fn page(
    client: &mut Client,
    name: &CollectionName,
    sql: &str,
    parameters: &[Parameter<'_>],
    limit: PageLimit,
) -> Result<(crate::Collection, Page), StoreError> {
    let transaction = pool::snapshot(client).await?;
    let collection = transaction.prepare_cached(collections::BY_NAME).await?;
    let items = transaction.prepare_cached(sql).await?;
    let name_text = name.as_str();
    // One more, to find out whether there are more; a page limit of zero counts as one.
    let most = i64::try_from(limit.items.max(1)).unwrap_or(i64::MAX).saturating_add(1);
    let by_name: [Parameter<'_>; 1] = [&name_text];
    let all: Vec<Parameter<'_>> = [&name_text as Parameter<'_>]
        .into_iter()
        .chain(parameters.iter().copied())
        .chain([&most as Parameter<'_>])
        .collect();
    let (found, portal) = tokio::try_join!(
        transaction.query_opt(&collection, &by_name),
        transaction.bind(&items, &all),
    )?;
    let CollectionRow { id, collection } = collection_row(found.as_ref(), name)?;
    let mut page = Page::new(limit);
    'page: loop {
        let rows = transaction.query_portal(&portal, CHUNK as i32).await?;
        let is_last = rows.len() < CHUNK;
        for stored in rows::stored(&transaction, id, &rows).await? {
            if !page.push(stored) {
                break 'page;
            }
        }
        if is_last {
            break;
        }
    }
    Ok((collection, page))
}

/// The rows of the ledger for items, by authoring line.
pub(super) const ISSUED: &str = "SELECT item, by, sequence, shown, incarnation FROM ledger
                                  WHERE item = ANY($1) ORDER BY item, by";

pub(super) fn issued(row: &Row) -> Result<LedgerEntry, StoreError> {
    let sequence = |number: i64| {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        feedsync_core::Sequence::new(number)
            .map_err(|error| StoreError::Damaged(format!("a sequence of the ledger: {error}")))
    };
    Ok(LedgerEntry {
        by: parsed(row, 1)?,
        sequence: sequence(get(row, 2)?)?,
        shown: get::<Option<i64>>(row, 3)?.map(sequence).transpose()?,
        incarnation: parsed(row, 4)?,
    })
}

pub(super) async fn discarded(
    client: &mut Client,
    name: &CollectionName,
) -> Result<Vec<Discarded>, StoreError> {
    let transaction = pool::snapshot(client).await?;
    let collection_row = collections::require(&transaction, name).await?;
    let read = async |transaction: &Transaction<'_>, sql: &str| {
        let statement = transaction.prepare_cached(sql).await?;
        Ok::<_, StoreError>(transaction.query(&statement, &[&collection_row.id]).await?)
    };
    let heads = read(
        &transaction,
        "SELECT place, id, at, reason FROM discarded WHERE collection = $1 ORDER BY place",
    )
    .await?;
    let mut versions: BTreeMap<i64, Vec<_>> = BTreeMap::new();
    let rows = read(
        &transaction,
        "SELECT place, updates, deleted, noconflicts, history, format, payload, sync_foreign
           FROM discarded_versions WHERE collection = $1 ORDER BY place, ordinal",
    );
    for row in &rows.await? {
        versions.entry(get(row, 0)?).or_default().push(rows::version(row, 1)?);
    }
    let mut blobs: BTreeMap<i64, Vec<_>> = BTreeMap::new();
    let rows = read(
        &transaction,
        "SELECT place, digest FROM discarded_blobs WHERE collection = $1 ORDER BY place, digest",
    );
    for row in &rows.await? {
        blobs.entry(get(row, 0)?).or_default().push(rows::digest(row, 1)?);
    }
    let mut list = Vec::with_capacity(heads.len());
    for row in &heads {
        let place: i64 = get(row, 0)?;
        let id: ItemId = parse(get::<&str>(row, 1)?)?;
        let mut versions = versions.remove(&place).unwrap_or_default().into_iter();
        let winner = versions
            .next()
            .ok_or_else(|| StoreError::Damaged(format!("discarded {id} has no version")))?;
        list.push(Discarded {
            id: DiscardedId(place as u64),
            collection: name.clone(),
            item: Item { id, winner, conflicts: versions.collect() },
            blobs: blobs.remove(&place).unwrap_or_default(),
            reason: get(row, 3)?,
            at: moment(get(row, 2)?),
        });
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use feedsync_test::postgres::Cluster;

    use super::*;
    use crate::conformance::samples::{create, store_each};
    use crate::conformance::wait;
    use crate::{EndpointName, PostgresStore, SystemEnvironment};

    /// The cost of a page follows the page, not the collection. No page scans or sorts all items, whether the
    /// server has statistics of the table or not.
    #[test]
    fn every_page_is_read_along_an_index() {
        let url = Cluster::shared().database();
        let name = EndpointName::new("tester").unwrap();
        let store = wait(PostgresStore::init(&url, &name, Arc::new(SystemEnvironment))).unwrap();
        let notes = create(&store, "notes").name;
        let listings = (0..4).map(|flags| {
            let (deleted, conflicted) = (flags & 1 != 0, flags & 2 != 0);
            let selection = Selection { deleted, conflicted, ..Selection::default() };
            listing_sql(&selection).replace("$2", "9").replace("$3", "NULL").replace("$4", "3")
        });
        let changes = CHANGES.replace("$2", "1").replace("$3", "9").replace("$4", "3");
        let by_id = BY_ID.replace("$2", "'a'").replace("$3", "3");
        let pages: Vec<String> = [changes, by_id].into_iter().chain(listings).collect();
        for count in [0, 300] {
            let ids: Vec<String> = (0..count).map(|number| format!("item{number}")).collect();
            for id in &ids {
                store_each(&store, &notes, &[id]);
            }
            let analyse = if count == 0 { "" } else { "ANALYZE" };
            for sql in &pages {
                let sql = format!("EXPLAIN {}", sql.replace("$1", "'notes'"));
                let plan = wait(store.run(|node| async move {
                    let client = node.connection().await?;
                    client.batch_execute(analyse).await?;
                    let rows = client.query(&sql, &[]).await?;
                    let lines: Vec<String> =
                        rows.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
                    Ok(lines.join("\n"))
                }))
                .unwrap();
                assert!(plan.contains("Index Scan"), "{plan}");
                assert!(!plan.contains("Sort") && !plan.contains("Seq Scan"), "{plan}");
            }
        }
    }
}
