//! Writing the results of updates, with one statement for each table.

use deadpool_postgres::Transaction;

use super::batch_state::DocumentBatchState;
use super::bodies::{self, Bodies};
use super::documents::{Document, Documents};
use super::indexes::IndexChanges;
#[cfg(not(feature = "queries"))]
use super::indexes::remove_documents;
use super::past_rows;
use super::rows::{DatabaseColumns, DatabaseRow, WRITE};
#[cfg(feature = "queries")]
use super::views::remove_documents;
use crate::error::StoreError;
use crate::postgres::pipeline::Pipeline;

const DELETE_DOCUMENTS: &str = "DELETE FROM documents WHERE database = $1 AND number = ANY($2)";

/// Writes in one round trip, after one that reads bodies, if indexes depend on them, and others that remove rows of views,
/// if documents are removed. Rows are removed before new ones are inserted.
pub(super) async fn write(
    transaction: &Transaction<'_>,
    held: &DocumentBatchState,
) -> Result<(), StoreError> {
    let id = &held.database_row.id;
    let forgotten = held.changed.iter().filter(|id| held.document(id).is_none());
    let forgotten = forgotten.filter_map(|id| held.stored.get(id));
    let forgotten: Vec<i64> = forgotten.map(|number| number.get() as i64).collect();
    let changed = held.changed.iter().filter_map(|id| held.document(id));
    let documents = Documents::of(changed);
    let gone: Vec<i64> = held.gone.iter().map(|number| *number as i64).collect();
    let gone = &gone[..];
    let new = Bodies::of(&held.bodies);
    let past = held.past.columns();
    let moved = &past.moved[..];
    let written = DatabaseColumns::of(&held.database_row);
    let indexes = IndexChanges::of(transaction, held).await?;
    remove_documents(transaction, *id, &held.removed).await?;

    let mut pipeline = Pipeline::default();
    pipeline.add_for(forgotten.len(), DELETE_DOCUMENTS, vec![id, &forgotten]);
    bodies::remove(&mut pipeline, id, &gone);
    documents.add_to(&mut pipeline, id);
    new.add_to(&mut pipeline, id);
    past_rows::remove_origins(&mut pipeline, id, &moved);
    past.add_to(&mut pipeline, id);
    indexes.add_to(&mut pipeline, id);
    pipeline.add(WRITE, written.parameters());
    pipeline.run(transaction).await?;
    Ok(())
}

/// Writes changed documents and their database's row, and removes bodies that are no longer referred to.
pub(super) async fn rewrite(
    transaction: &Transaction<'_>,
    database_row: &DatabaseRow,
    documents: &[Document],
    gone: &[i64],
) -> Result<(), StoreError> {
    let documents = Documents::of(documents);
    let written = DatabaseColumns::of(database_row);
    let mut pipeline = Pipeline::default();
    bodies::remove(&mut pipeline, &database_row.id, &gone);
    documents.add_to(&mut pipeline, &database_row.id);
    pipeline.add(WRITE, written.parameters());
    pipeline.run(transaction).await?;
    Ok(())
}
