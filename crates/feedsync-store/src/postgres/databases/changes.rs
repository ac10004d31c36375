//! Pages of changes in order, and their number.

use std::collections::HashMap;

use deadpool_postgres::{Client, Transaction};
use feedsync_couch::{DatabaseName, DocumentId};
use tokio_postgres::Row;

use super::documents::{self, HEAD};
use super::pages::{self, CHUNK, Page};
use super::rows::{self, BY_NAME, DatabaseRow};
use crate::database::{DocumentChanges, Kind, LoadedDocument, SkipKind, StoredDocument};
use crate::error::StoreError;
use crate::order::ChangeNumber;
use crate::postgres::pipeline::Parameter;
use crate::postgres::pool;
use crate::postgres::rows::{bound, get, number};

/// Maximum number of changes that one read examines.
const SCAN_LIMIT: usize = 100_000;

/// Number of index rows that are fetched at once.
const INDEX_CHUNK: usize = 1_000;

/// Reads the index only, until a document itself is required.
macro_rules! select_changes {
    ($columns:literal, $descending:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM documents WHERE database = (SELECT id FROM databases WHERE name = $1)
                AND number > $2 AND number < $3 ORDER BY number",
            $descending,
            " LIMIT $4"
        )
    };
}

pub(super) const CHANGES: &str = select_changes!("number, head, kind", "");
pub(super) const LATEST: &str = select_changes!("number, head, kind", " DESC");

pub(super) const BY_NUMBERS: &str = "SELECT head, rest, number, tree FROM documents
                           WHERE database = $1 AND number = ANY($2)";

const RESTS: &str = "SELECT number, rest FROM documents
                      WHERE database = $1 AND number = ANY($2)";

pub(super) const COUNT_UP_TO: &str = "
    SELECT count(*) FROM documents
     WHERE database = (SELECT id FROM databases WHERE name = $1) AND number <= $2";

pub(super) const COUNT_AFTER: &str = "
    SELECT count(*) FROM documents
     WHERE database = (SELECT id FROM databases WHERE name = $1) AND number > $2";

/// Order and range in which changes are read.
pub(super) struct ChangeRange {
    pub(super) after: ChangeNumber,
    pub(super) before: Option<ChangeNumber>,
    pub(super) most: usize,
    pub(super) is_descending: bool,
}

pub(super) async fn changes(
    client: &mut Client,
    name: &DatabaseName,
    walk: ChangeRange,
    skip_kind: Option<SkipKind>,
    mut page: Page,
) -> Result<DocumentChanges, StoreError> {
    let ChangeRange { after, before, most, is_descending } = walk;
    let sql = if is_descending { LATEST } else { CHANGES };
    // If no change is skipped, each examined change is read.
    let bounded = if skip_kind.is_some() { SCAN_LIMIT } else { most.min(SCAN_LIMIT) };
    let transaction = pool::snapshot(client).await?;
    let (first, last, limit) = (bound(after), before.map_or(i64::MAX, bound), bounded as i64);
    let parameters: [Parameter<'_>; 4] = [&name.as_str(), &first, &last, &limit];
    let (DatabaseRow { id: database_row, database, .. }, portal) =
        pages::begin(&transaction, name, sql, &parameters).await?;
    let mut documents = Vec::new();
    let mut reached = if is_descending { before.unwrap_or(database.last) } else { after };
    let (mut looked_at, mut is_end) = (0, false);
    while documents.len() < most && looked_at < SCAN_LIMIT && !is_end {
        let chunk = match skip_kind {
            Some(_) => INDEX_CHUNK.min(SCAN_LIMIT - looked_at),
            None => CHUNK.min(most - documents.len()).min(SCAN_LIMIT - looked_at),
        };
        let (rows, is_last) = pages::next(&transaction, &portal, chunk).await?;
        looked_at += rows.len();
        let rests = match skip_kind {
            Some(_) => rests(&transaction, database_row, &rows).await?,
            None => HashMap::new(),
        };
        let mut looked = filter_rows(&rows, &rests, skip_kind.as_ref())?.into_iter();
        while let Some(piece) = next_piece(&mut looked, CHUNK.min(most - documents.len())) {
            let numbers: Vec<i64> = piece
                .iter()
                .filter(|change| change.is_read)
                .map(|change| change.number.get() as i64)
                .collect();
            let read = read(&transaction, database_row, &numbers, &mut page).await?;
            // All changes before the first one that does not fit.
            let full = numbers.get(read.len()).map(|number| ChangeNumber::new(*number as u64));
            documents.extend(read);
            let mut passed = piece.iter().map(|change| change.number);
            match full {
                None => reached = passed.next_back().unwrap_or(reached),
                Some(full) => {
                    let before = passed.take_while(|number| *number != full).last();
                    reached = before.unwrap_or(reached);
                    return Ok(DocumentChanges { database, documents, reached, is_end: false });
                }
            }
        }
        is_end = is_last && documents.len() < most && looked_at < SCAN_LIMIT;
    }
    if is_end && !is_descending {
        reached = reached.max(database.last);
    }
    Ok(DocumentChanges { database, documents, reached, is_end })
}

/// An examined change.
struct Change {
    number: ChangeNumber,
    /// Whether it is not skipped.
    is_read: bool,
}

/// The next changes, up to a maximum number of those to read, together with the skipped ones before the
/// following one to read.
fn next_piece(looked: &mut impl Iterator<Item = Change>, most: usize) -> Option<Vec<Change>> {
    let mut piece = Vec::new();
    let mut count = 0;
    while count < most
        && let Some(change) = looked.next()
    {
        count += usize::from(change.is_read);
        piece.push(change);
    }
    (!piece.is_empty()).then_some(piece)
}

/// Applies the filter to rows of the index.
fn filter_rows(
    rows: &[Row],
    rests: &HashMap<i64, Vec<u8>>,
    skip_kind: Option<&SkipKind>,
) -> Result<Vec<Change>, StoreError> {
    let filter_rows = |row: &Row| {
        let skips_kind = match skip_kind {
            None => false,
            Some(skip_kind) => {
                let rest = rests.get(&get(row, 0)?).map_or(&[][..], Vec::as_slice);
                let id: DocumentId = documents::id(get(row, 1)?, rest)?;
                let kind = get::<Option<&[u8]>>(row, 2)?.map(rows::text).transpose()?;
                skip_kind(&id, &Kind::of_column(kind))
            }
        };
        Ok(Change { number: number(row, 0)?, is_read: !skips_kind })
    };
    rows.iter().map(filter_rows).collect()
}

/// The parts of long ids that the index does not contain.
async fn rests(
    transaction: &Transaction<'_>,
    database: i64,
    rows: &[Row],
) -> Result<HashMap<i64, Vec<u8>>, StoreError> {
    let mut long: Vec<i64> = Vec::new();
    for row in rows {
        if get::<&[u8]>(row, 1)?.len() >= HEAD {
            long.push(get(row, 0)?);
        }
    }
    if long.is_empty() {
        return Ok(HashMap::new());
    }
    let statement = transaction.prepare_cached(RESTS).await?;
    let rows = transaction.query(&statement, &[&database, &long]).await?;
    rows.iter().map(|row| Ok((get(row, 0)?, get(row, 1)?))).collect()
}

/// The documents with these numbers, up to the first that does not fit.
async fn read(
    transaction: &Transaction<'_>,
    database: i64,
    numbers: &[i64],
    page: &mut Page,
) -> Result<Vec<LoadedDocument>, StoreError> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let statement = transaction.prepare_cached(BY_NUMBERS).await?;
    let rows = transaction.query(&statement, &[&database, &numbers]).await?;
    let mut known: HashMap<i64, StoredDocument> = HashMap::with_capacity(rows.len());
    for row in &rows {
        known.insert(get(row, 2)?, documents::stored(row)?);
    }
    let missing =
        |number| StoreError::Damaged(format!("the document of change {number} is missing"));
    let in_order = numbers.iter().map(|number| known.remove(number).ok_or_else(|| missing(number)));
    let in_order = in_order.collect::<Result<_, _>>()?;
    page.read(transaction, database, in_order).await
}

pub(super) async fn count(
    client: &mut Client,
    name: &DatabaseName,
    after: ChangeNumber,
) -> Result<u64, StoreError> {
    let transaction = pool::snapshot(client).await?;
    let database = rows::find(&transaction, BY_NAME, name).await?;
    let database = database.ok_or_else(|| StoreError::NoDatabase(name.clone()))?.database;
    if after >= database.last {
        return Ok(0);
    }
    // The side of the number with fewer changes is counted.
    let is_early = after.get() < database.last.get() / 2;
    let sql = if is_early { COUNT_UP_TO } else { COUNT_AFTER };
    let statement = transaction.prepare_cached(sql).await?;
    let row = transaction.query_one(&statement, &[&name.as_str(), &bound(after)]).await?;
    let count = get::<i64>(&row, 0)? as u64;
    let all = database.documents + database.deleted;
    Ok(if is_early { all.saturating_sub(count) } else { count })
}
