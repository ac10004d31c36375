//! Consistency check of indexes: their rows must follow from the documents.

use std::collections::HashMap;
use std::ops::Bound;

use deadpool_postgres::Transaction;
use feedsync_couch::DatabaseName;
use feedsync_couch::index::INDEX_VERSION;

use super::definitions;
use super::rows::{IndexRow, RowChunk};
use super::winners::{Piece, WinnerScan};
use crate::database::indexing::{BUILD_BYTES, MaintainedIndex};
use crate::error::StoreError;
use crate::postgres::databases::pages::{first_behind, first_within};
use crate::postgres::databases::rows::{self, BY_NAME, DatabaseRow};
use crate::postgres::rows::{get, parsed};

const NAMES: &str = "SELECT name FROM databases
                      WHERE name IS NOT NULL AND indexes > 0 AND index_version = $1";

const COUNTS: &str =
    "SELECT index_id, count(*) FROM index_rows WHERE index_id = ANY($1) GROUP BY 1";

/// Number of the given rows that exist, by their index.
const PRESENT: &str = "
    SELECT w.index_id, count(*)
      FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[]) w (index_id, key, head, digest),
           LATERAL (SELECT 1 FROM index_rows t
                     WHERE t.index_id = w.index_id AND t.key = w.key AND t.head = w.head
                       AND t.digest = w.digest LIMIT 1) r
     GROUP BY 1";

/// Numbers of rows by index.
type Counts = HashMap<i64, i64>;

/// Number of indexes with missing or surplus rows, as one line; empty if there are none.
pub(in crate::postgres) async fn faults(
    transaction: &Transaction<'_>,
) -> Result<Vec<String>, StoreError> {
    let mut count = 0;
    for row in &transaction.query(NAMES, &[&i64::from(INDEX_VERSION)]).await? {
        let name: DatabaseName = parsed(row, 0)?;
        count += differing(transaction, &name).await?;
    }
    let line = || format!("indexes whose rows differ from their documents: {count}");
    Ok((count > 0).then(line).into_iter().collect())
}

async fn differing(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
) -> Result<usize, StoreError> {
    let Some(database_row) = rows::find(transaction, BY_NAME, name).await? else { return Ok(0) };
    let DatabaseRow { id, indexing, .. } = database_row;
    let indexes = definitions::all(transaction, id, indexing).await?;
    let (mut expected, mut present) = (Counts::new(), Counts::new());
    let bounds = (first_within(Bound::Unbounded), first_behind(Bound::Unbounded));
    let mut scan = WinnerScan::begin(transaction, name, bounds, usize::MAX).await?;
    loop {
        let piece = scan.next(transaction, id, BUILD_BYTES).await?;
        if piece.documents.is_empty() {
            break;
        }
        let rows = expected_rows(&indexes, piece);
        for index in &rows.indexes {
            *expected.entry(*index).or_default() += 1;
        }
        for row in &transaction.query(PRESENT, &rows.parameters()).await? {
            *present.entry(get(row, 0)?).or_default() += get::<i64>(row, 1)?;
        }
    }
    let ids: Vec<i64> = indexes.iter().map(|index| index.id.0 as i64).collect();
    let stored = transaction.query(COUNTS, &[&ids]).await?;
    let stored = stored.iter().map(|row| Ok((get(row, 0)?, get(row, 1)?)));
    let stored: Counts = stored.collect::<Result<_, StoreError>>()?;
    let is_same = |id: &&i64| {
        let expected = expected.get(id);
        present.get(id) == expected && stored.get(id) == expected
    };
    Ok(ids.iter().filter(|id| !is_same(id)).count())
}

fn expected_rows(indexes: &[MaintainedIndex], piece: Piece) -> RowChunk {
    let mut rows = RowChunk::default();
    for (id, winner) in piece.documents {
        let Some(winner) = winner else { continue };
        for index in indexes.iter().filter(|index| index.progress.includes(&id)) {
            if let Some(key) = index.key(&id, &winner) {
                rows.push(IndexRow { index: index.id, key, id: id.clone() });
            }
        }
    }
    rows
}
