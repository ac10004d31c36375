//! Pages of documents by their keys in an index. Each page is read at one moment, in its own transaction.

use deadpool_postgres::{Client, Transaction};
use feedsync_couch::plan::KeyRange;
use feedsync_couch::{DatabaseName, DocumentId};
use tokio_postgres::{Portal, Row};

use super::definitions::is_current;
use crate::database::{IndexPage, IndexRange};
use crate::error::StoreError;
use crate::postgres::databases::documents;
use crate::postgres::databases::pages::{self, CHUNK, Page};
use crate::postgres::databases::rows::DatabaseRow;
use crate::postgres::pipeline::Parameter;
use crate::postgres::pool;
use crate::postgres::rows::get;

/// Documents by key between two bounds, which are excluded. The conditions on columns of one table narrow the scan of
/// the primary key, and the others decide among ids that share an indexed prefix. Those are sorted; the primary key
/// has the order of all others. Each document is looked up by its key.
macro_rules! select_by_key {
    ($descending:literal) => {
        concat!(
            "SELECT d.head, d.rest, d.number, d.tree, r.key
               FROM index_rows r,
                    LATERAL (SELECT * FROM documents t
                              WHERE t.database = (SELECT id FROM databases WHERE name = $1)
                                AND t.head = r.head AND t.digest = r.digest LIMIT 1) d
              WHERE r.index_id = $2 AND (r.key, r.head) >= ($3, $4) AND (r.key, r.head) <= ($6, $7)
                AND (r.key, r.head, d.rest) > ($3, $4, $5) AND (r.key, r.head, d.rest) < ($6, $7, $8)
              ORDER BY r.key",
            $descending,
            ", r.head",
            $descending,
            ", d.rest",
            $descending,
            " LIMIT $9"
        )
    };
}

pub(in crate::postgres::databases) const ASCENDING: &str = select_by_key!("");
pub(in crate::postgres::databases) const DESCENDING: &str = select_by_key!(" DESC");

const IS_BUILT: &str =
    "SELECT 1 FROM document_indexes WHERE id = $1 AND database = $2 AND reached IS NULL";

/// A key and an id. No id is empty, so an empty one is before all documents with the key.
type Position = (Vec<u8>, Vec<u8>);

pub(in crate::postgres::databases) async fn by_key(
    client: &mut Client,
    name: &DatabaseName,
    range: IndexRange,
    mut page: Page,
) -> Result<Option<IndexPage>, StoreError> {
    let sql = if range.is_descending { DESCENDING } else { ASCENDING };
    let (index, most) = (range.index.0 as i64, i64::try_from(range.most).unwrap_or(i64::MAX));
    let ((from, from_id), (to, to_id)) = bounds(range);
    let (from_head, from_rest) = documents::split(&from_id);
    let (to_head, to_rest) = documents::split(&to_id);
    let transaction = pool::snapshot(client).await?;
    let parameters: [Parameter<'_>; 9] =
        [&name.as_str(), &index, &from, &from_head, &from_rest, &to, &to_head, &to_rest, &most];
    let (database_row, portal) = pages::begin(&transaction, name, sql, &parameters).await?;
    if !is_built(&transaction, &database_row, index).await? {
        return Ok(None);
    }
    let documents = read(&transaction, database_row.id, &portal, &mut page).await?;
    Ok(Some(IndexPage { database: database_row.database, documents }))
}

/// The bounds of the rows that are left after the previous page.
fn bounds(range: IndexRange) -> (Position, Position) {
    let KeyRange { start, end } = range.keys;
    let (start, end) = ((start, Vec::new()), (end, Vec::new()));
    let after = range.after.map(|(key, id): (_, DocumentId)| (key, id.to_string().into_bytes()));
    match (after, range.is_descending) {
        (None, _) => (start, end),
        (Some(after), false) => (start.max(after), end),
        (Some(after), true) => (start, end.min(after)),
    }
}

async fn is_built(
    transaction: &Transaction<'_>,
    database_row: &DatabaseRow,
    index: i64,
) -> Result<bool, StoreError> {
    let statement = transaction.prepare_cached(IS_BUILT).await?;
    let found = transaction.query_opt(&statement, &[&index, &database_row.id]).await?;
    Ok(found.is_some() && is_current(database_row.indexing))
}

async fn read(
    transaction: &Transaction<'_>,
    database: i64,
    portal: &Portal,
    page: &mut Page,
) -> Result<Vec<(Vec<u8>, crate::database::LoadedDocument)>, StoreError> {
    let mut documents = Vec::new();
    loop {
        let (rows, is_last) = pages::next(transaction, portal, CHUNK).await?;
        let stored: Vec<_> = rows.iter().map(documents::stored).collect::<Result<_, _>>()?;
        let read = page.read(transaction, database, stored).await?;
        let is_full = read.len() < rows.len();
        let key = |row: &Row| get::<Vec<u8>>(row, 4);
        let keys = rows.iter().take(read.len()).map(key).collect::<Result<Vec<_>, _>>()?;
        documents.extend(keys.into_iter().zip(read));
        if is_last || is_full {
            return Ok(documents);
        }
    }
}
