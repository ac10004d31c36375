//! Pages of documents. Each page is read at one moment, in its own transaction.

use std::collections::HashMap;
use std::ops::Bound;

use deadpool_postgres::{Client, Transaction};
use feedsync_couch::{DatabaseName, DocumentId};
use tokio_postgres::{Portal, Row};

use super::documents::{self, BY_KEYS, Keys};
use super::rows::{self, BY_NAME, DatabaseRow};
use crate::database;
use crate::database::{
    DocumentPage, DocumentRange, LoadedDocument, MAX_COUNTED, SelectBodies, StoredDocument,
};
use crate::error::StoreError;
use crate::postgres::pipeline::{Parameter, Pipeline};
use crate::postgres::pool;
use crate::postgres::rows::get;

/// Number of documents that are fetched at once, so that a page that ends by its size has fetched few in
/// vain.
pub(super) const CHUNK: usize = 100;

/// Documents by id between two bounds, the first bound included. Most ids are shorter than the indexed part,
/// so the index has the order. Those that share an indexed prefix are sorted.
macro_rules! select_by_id {
    ($condition:literal, $descending:literal) => {
        concat!(
            "SELECT head, rest, number, tree, deleted, kind FROM documents
              WHERE database = (SELECT id FROM databases WHERE name = $1)
                AND (head, rest) >= ($2, $3) AND (head, rest) < ($4, $5)",
            $condition,
            " ORDER BY head",
            $descending,
            ", rest",
            $descending,
            " LIMIT $6 OFFSET $7"
        )
    };
}

pub(super) const BY_ID: &str = select_by_id!("", "");

pub(super) fn by_id_sql(range: &DocumentRange) -> &'static str {
    match (range.live_only, range.is_descending) {
        (false, false) => BY_ID,
        (false, true) => select_by_id!("", " DESC"),
        (true, false) => select_by_id!(" AND NOT deleted", ""),
        (true, true) => select_by_id!(" AND NOT deleted", " DESC"),
    }
}

/// Numbers of documents and of live documents by id between two bounds, the first included, up to the
/// counting limit.
pub(super) const COUNT_BY_ID: &str = "SELECT count(*), count(*) FILTER (WHERE NOT deleted) FROM (
       SELECT deleted FROM documents WHERE database = (SELECT id FROM databases WHERE name = $1)
          AND (head, rest) >= ($2, $3) AND (head, rest) < ($4, $5) LIMIT $6) counted";

/// First statement of a page in key order. It disables sorting, so that the server uses the index even where
/// it estimates sorting to be cheap.
pub(super) const IN_ORDER: &str = "SELECT set_config('enable_sort', 'off', true)";

/// The first id within a bound, and the first id beyond it. The immediate successor of an id is that id
/// followed by NUL, and no UTF-8 text contains the byte 255.
pub(super) fn first_within(bound: Bound<String>) -> Vec<u8> {
    match bound {
        Bound::Unbounded => Vec::new(),
        Bound::Included(id) => id.into_bytes(),
        Bound::Excluded(id) => followed(id),
    }
}

pub(super) fn first_behind(bound: Bound<String>) -> Vec<u8> {
    match bound {
        Bound::Unbounded => vec![u8::MAX],
        Bound::Excluded(id) => id.into_bytes(),
        Bound::Included(id) => followed(id),
    }
}

fn followed(id: String) -> Vec<u8> {
    let mut id = id.into_bytes();
    id.push(0);
    id
}

/// Reads documents as long as the page has room.
pub(super) struct Page {
    choose: SelectBodies,
    left: database::PageBudget,
}

impl Page {
    pub(super) fn new(choose: SelectBodies, most: u64) -> Self {
        Self { choose, left: database::PageBudget::of(most) }
    }

    /// The first of the documents; fewer than given if the next one does not fit.
    pub(super) async fn read(
        &mut self,
        transaction: &Transaction<'_>,
        database: i64,
        documents: Vec<StoredDocument>,
    ) -> Result<Vec<LoadedDocument>, StoreError> {
        let mut chosen = Vec::with_capacity(documents.len());
        for document in documents {
            let revisions = (self.choose)(&document);
            if !self.left.fits(&document, &revisions) {
                break;
            }
            chosen.push((document, revisions));
        }
        documents::read(transaction, database, chosen).await
    }
}

/// The database, and a query whose rows are fetched later. Both are read from the transaction's snapshot.
pub(super) async fn begin(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    sql: &str,
    parameters: &[Parameter<'_>],
) -> Result<(DatabaseRow, Portal), StoreError> {
    let in_order = transaction.prepare_cached(IN_ORDER).await?;
    let database = transaction.prepare_cached(BY_NAME).await?;
    let statement = transaction.prepare_cached(sql).await?;
    let by_name: [Parameter<'_>; 1] = [&name.as_str()];
    let (_, found, portal) = tokio::try_join!(
        transaction.query(&in_order, &[]),
        transaction.query(&database, &by_name),
        transaction.bind(&statement, parameters),
    )?;
    Ok((rows::found(&found, name)?, portal))
}

/// The next rows of such a query, with `true` if they are the last.
pub(super) async fn next(
    transaction: &Transaction<'_>,
    portal: &Portal,
    most: usize,
) -> Result<(Vec<Row>, bool), StoreError> {
    let count = i32::try_from(most.max(1)).unwrap_or(i32::MAX);
    let rows = transaction.query_portal(portal, count).await?;
    let is_last = rows.len() < most;
    Ok((rows, is_last))
}

pub(super) async fn documents(
    client: &mut Client,
    name: &DatabaseName,
    ids: &[DocumentId],
    mut page: Page,
) -> Result<DocumentPage, StoreError> {
    let transaction = pool::snapshot(client).await?;
    let name_text = name.as_str();
    let mut documents = Vec::with_capacity(ids.len());
    let mut chunks = ids.chunks(CHUNK);
    let mut chunk = chunks.next().unwrap_or_default();
    loop {
        let keys = Keys::of(chunk);
        let mut pipeline = Pipeline::default();
        pipeline.add(BY_NAME, vec![&name_text]);
        pipeline.add(BY_KEYS, vec![&name_text, &keys.heads, &keys.digests]);
        let [found, rows] = pipeline.run_all(&transaction).await?;
        let DatabaseRow { id: database_row, database, .. } = rows::found(&found, name)?;
        let known: HashMap<DocumentId, StoredDocument> = rows
            .iter()
            .map(|row| documents::stored(row).map(|document| (document.id.clone(), document)))
            .collect::<Result<_, _>>()?;
        let there: Vec<_> = chunk.iter().filter_map(|id| known.get(id).cloned()).collect();
        let mut read = page.read(&transaction, database_row, there).await?.into_iter();
        for id in chunk {
            let document = known.contains_key(id).then(|| read.next());
            if document == Some(None) {
                return Ok(DocumentPage { database, documents });
            }
            documents.push(document.flatten());
        }
        match chunks.next() {
            None => return Ok(DocumentPage { database, documents }),
            Some(next) => chunk = next,
        }
    }
}

pub(super) async fn by_id(
    client: &mut Client,
    name: &DatabaseName,
    range: DocumentRange,
    mut page: Page,
) -> Result<DocumentPage, StoreError> {
    let sql = by_id_sql(&range);
    let (from, to) = (first_within(range.from), first_behind(range.to));
    let ((from, from_rest), (to, to_rest)) = (documents::split(&from), documents::split(&to));
    let most = i64::try_from(range.most).unwrap_or(i64::MAX);
    let skip = i64::try_from(range.skip).unwrap_or(i64::MAX);
    let transaction = pool::snapshot(client).await?;
    let parameters: [Parameter<'_>; 7] =
        [&name.as_str(), &from, &from_rest, &to, &to_rest, &most, &skip];
    let (DatabaseRow { id: database_row, database, .. }, portal) =
        begin(&transaction, name, sql, &parameters).await?;
    let mut documents = Vec::new();
    loop {
        let (rows, is_last) = next(&transaction, &portal, CHUNK).await?;
        let stored: Vec<_> = rows.iter().map(documents::stored).collect::<Result<_, _>>()?;
        let read = page.read(&transaction, database_row, stored).await?;
        let is_full = read.len() < rows.len();
        documents.extend(read.into_iter().map(Some));
        if is_last || is_full {
            return Ok(DocumentPage { database, documents });
        }
    }
}

pub(super) async fn count_by_id(
    client: &mut Client,
    name: &DatabaseName,
    from: Bound<String>,
    to: Bound<String>,
) -> Result<Option<u64>, StoreError> {
    let (from, to) = (first_within(from), first_behind(to));
    let ((from, from_rest), (to, to_rest)) = (documents::split(&from), documents::split(&to));
    let most = MAX_COUNTED as i64 + 1;
    let transaction = pool::snapshot(client).await?;
    let database = rows::find(&transaction, BY_NAME, name).await?;
    database.ok_or_else(|| StoreError::NoDatabase(name.clone()))?;
    let statement = transaction.prepare_cached(COUNT_BY_ID).await?;
    let parameters: [Parameter<'_>; 6] = [&name.as_str(), &from, &from_rest, &to, &to_rest, &most];
    let row = transaction.query_one(&statement, &parameters).await?;
    let (all, live): (i64, i64) = (get(&row, 0)?, get(&row, 1)?);
    Ok((all as u64 <= MAX_COUNTED).then_some(live as u64))
}
