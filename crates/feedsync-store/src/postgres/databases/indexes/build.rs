//! Building of indexes, piece by piece.

use std::ops::Bound;

use deadpool_postgres::Transaction;
use feedsync_couch::DatabaseName;
use feedsync_couch::index::INDEX_VERSION;

use super::definitions::{self, Definitions, is_current};
use super::rows::{INSERT, IndexRow, RowColumns};
use super::winners::WinnerScan;
use crate::database::indexing::{BUILD_BYTES, MaintainedIndex, Progress, next_to_build};
use crate::error::StoreError;
use crate::postgres::databases::pages::{first_behind, first_within};
use crate::postgres::databases::rows::{self, DatabaseColumns, DatabaseRow, Indexing, LOCK, WRITE};
use crate::postgres::pipeline::Pipeline;

/// Adds documents to the indexes that contain the fewest; returns whether there may be more to do. The lock of the
/// database excludes writers until the piece is committed.
pub(in crate::postgres::databases) async fn build(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    most: usize,
) -> Result<bool, StoreError> {
    let database_row = rows::lock(transaction, LOCK, name).await?;
    let DatabaseRow { id, indexing, .. } = database_row;
    if !is_current(indexing) {
        define(transaction, database_row).await?;
        return Ok(true);
    }
    let indexes = definitions::all(transaction, id, indexing).await?;
    let Some((after, behind)) = next_to_build(&indexes) else { return Ok(false) };
    let Built { rows, progress } = read(transaction, &database_row, (after, &behind), most).await?;
    let columns = RowColumns::of(rows);
    let mut pipeline = Pipeline::default();
    columns.add_to(&mut pipeline, INSERT);
    pipeline.run(transaction).await?;
    let built: Vec<i64> = behind.iter().map(|index| index.id.0 as i64).collect();
    definitions::set_progress(transaction, &built, &progress).await?;
    Ok(true)
}

/// Rows of indexes for consecutive documents.
struct Built {
    rows: Vec<IndexRow>,
    progress: Progress,
}

async fn read(
    transaction: &Transaction<'_>,
    database_row: &DatabaseRow,
    (after, behind): (String, &[&MaintainedIndex]),
    most: usize,
) -> Result<Built, StoreError> {
    let most = most.max(1);
    let bounds = (first_within(Bound::Excluded(after)), first_behind(Bound::Unbounded));
    let name = &database_row.database.name;
    let mut scan = WinnerScan::begin(transaction, name, bounds, most).await?;
    let (mut rows, mut last, mut count, mut left) = (Vec::new(), None, 0, BUILD_BYTES);
    while left > 0 {
        let piece = scan.next(transaction, database_row.id, left).await?;
        let Some((id, _)) = piece.documents.last() else { break };
        last = Some(id.to_string());
        count += piece.documents.len();
        left = left.saturating_sub(piece.bytes);
        for (id, winner) in &piece.documents {
            let Some(winner) = winner else { continue };
            rows.extend(behind.iter().filter_map(|index| {
                let key = index.key(id, winner)?;
                Some(IndexRow { index: index.id, key, id: id.clone() })
            }));
        }
    }
    let is_cut_off = count == most || left == 0;
    let progress = last.filter(|_| is_cut_off).map_or(Progress::Complete, Progress::Through);
    Ok(Built { rows, progress })
}

/// Defines the indexes of all design documents, in place of those with rows of another version.
async fn define(
    transaction: &Transaction<'_>,
    mut database_row: DatabaseRow,
) -> Result<(), StoreError> {
    definitions::drop_all(transaction, database_row.id).await?;
    let from = first_within(Bound::Included("_design/".to_owned()));
    let bounds = (from, first_behind(Bound::Excluded("_design0".to_owned())));
    let name = &database_row.database.name;
    let mut scan = WinnerScan::begin(transaction, name, bounds, usize::MAX).await?;
    let mut definitions = Definitions::default();
    loop {
        let piece = scan.next(transaction, database_row.id, BUILD_BYTES).await?;
        if piece.documents.is_empty() {
            break;
        }
        for (id, winner) in &piece.documents {
            definitions.define(id, winner.as_ref());
        }
    }
    let count = definitions.indexes.len() as u64;
    database_row.indexing = Indexing { count, version: INDEX_VERSION };
    let changes = definitions.changes_since(&[]);
    let written = DatabaseColumns::of(&database_row);
    let mut pipeline = Pipeline::default();
    changes.add_to(&mut pipeline, &database_row.id);
    pipeline.add(WRITE, written.parameters());
    pipeline.run(transaction).await?;
    Ok(())
}
