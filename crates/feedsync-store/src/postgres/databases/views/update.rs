//! Updates of the rows of views, and the removal of the rows of documents that are removed from the database.

use std::collections::{BTreeSet, HashSet};

use deadpool_postgres::Transaction;
use feedsync_couch::{DatabaseName, DocumentId};
use tokio_postgres::Row;

use super::columns::ViewColumns;
use super::pages::view_row;
use super::sets::{self, StoredView};
use crate::database::view_changes::changes_of_views;
use crate::database::{DocumentRows, ViewRow, ViewsUpdate};
use crate::error::StoreError;
use crate::postgres::databases::documents::{self, Keys};
use crate::postgres::databases::rows::{self, LOCK_SHARED};
use crate::postgres::pipeline::Pipeline;
use crate::postgres::rows::get;

/// The rows of documents, with or without their keys and values. The rows of each document are looked up, even if the
/// server's statistics suggest otherwise.
pub(super) const OF_DOCUMENTS: &str = "
    SELECT r.view, r.position, r.level, r.head, r.rest,
           CASE WHEN $4 THEN r.key ELSE '' END, CASE WHEN $4 THEN r.value ELSE '' END
      FROM unnest($2::bytea[], $3::bytea[]) w (head, digest),
           LATERAL (SELECT * FROM view_rows t
                     WHERE t.view_set = $1 AND t.head = w.head AND t.digest = w.digest OFFSET 0) r";

/// Those of some documents that the database has.
pub(super) const PRESENT: &str = "
    SELECT d.head, d.rest FROM unnest($2::bytea[], $3::bytea[]) w (head, digest),
           LATERAL (SELECT t.head, t.rest FROM documents t
                     WHERE t.database = $1 AND t.head = w.head AND t.digest = w.digest LIMIT 1) d";

const LOCK_SETS: &str =
    "SELECT id FROM view_sets WHERE database = $1 ORDER BY id FOR NO KEY UPDATE";

const SET_REACHED: &str = "UPDATE view_sets SET reached = $2 WHERE id = $1";

const COUNT_REMOVAL: &str = "UPDATE view_sets SET removals = removals + 1 WHERE id = $1";

/// Applies an update, if the rows follow the change after which it begins. Others who remove documents wait for the
/// lock of the set, and see the new rows then.
pub(in crate::postgres::databases) async fn update(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    mut update: ViewsUpdate,
) -> Result<bool, StoreError> {
    let database = rows::lock(transaction, LOCK_SHARED, name).await?.id;
    let Some(reached) = sets::lock(transaction, database, update.views).await? else {
        return Ok(false);
    };
    let (set, reached_then) = (update.views.set as i64, update.reached.get() as i64);
    let views = sets::views(transaction, set).await?;
    update.check(views.len())?;
    if reached != update.after {
        return Ok(false);
    }
    let with_rows = update.documents.iter().filter(|rows| !rows.views.iter().all(Vec::is_empty));
    let present = present(transaction, database, with_rows).await?;
    for rows in &mut update.documents {
        if !present.contains(&rows.document) {
            rows.views.clear();
        }
    }
    let mut earlier = Vec::new();
    if views.iter().any(|view| view.rows > 0) {
        let keys = Keys::of(update.documents.iter().map(|rows| &rows.document));
        earlier = of_documents(transaction, set, &keys, true).await?;
    }
    let statement = transaction.prepare_cached(SET_REACHED).await?;
    transaction.execute(&statement, &[&set, &reached_then]).await?;
    replace(transaction, &views, earlier, update.documents).await?;
    Ok(true)
}

/// Removes the rows of documents that are removed from the database, which is locked. Waits for updates of views that
/// may still add rows of them.
pub(in crate::postgres::databases) async fn remove_documents(
    transaction: &Transaction<'_>,
    database: i64,
    documents: &BTreeSet<DocumentId>,
) -> Result<(), StoreError> {
    if documents.is_empty() {
        return Ok(());
    }
    let statement = transaction.prepare_cached(LOCK_SETS).await?;
    let sets = transaction.query(&statement, &[&database]).await?;
    let keys = Keys::of(documents);
    for set in &sets {
        let set: i64 = get(set, 0)?;
        let earlier = of_documents(transaction, set, &keys, false).await?;
        if earlier.is_empty() {
            continue;
        }
        let statement = transaction.prepare_cached(COUNT_REMOVAL).await?;
        transaction.execute(&statement, &[&set]).await?;
        let views = sets::views(transaction, set).await?;
        replace(transaction, &views, earlier, Vec::new()).await?;
    }
    Ok(())
}

/// Replaces earlier rows of the views of a set.
async fn replace(
    transaction: &Transaction<'_>,
    views: &[StoredView],
    earlier: Vec<(u32, ViewRow)>,
    documents: Vec<DocumentRows>,
) -> Result<(), StoreError> {
    let changes = changes_of_views(views.len(), earlier, documents);
    let changed = views.iter().zip(&changes).filter(|(_, change)| !change.is_empty());
    let columns: Vec<_> = changed.map(|(view, change)| ViewColumns::of(view, change)).collect();
    let mut pipeline = Pipeline::default();
    for columns in &columns {
        columns.add_to(&mut pipeline);
    }
    pipeline.run(transaction).await?;
    Ok(())
}

async fn of_documents(
    transaction: &Transaction<'_>,
    set: i64,
    keys: &Keys<'_>,
    with_texts: bool,
) -> Result<Vec<(u32, ViewRow)>, StoreError> {
    let statement = transaction.prepare_cached(OF_DOCUMENTS).await?;
    let rows =
        transaction.query(&statement, &[&set, &keys.heads, &keys.digests, &with_texts]).await?;
    let read = |row: &Row| Ok((get::<i64>(row, 0)? as u32, view_row(row, 1)?));
    rows.iter().map(read).collect()
}

async fn present(
    transaction: &Transaction<'_>,
    database: i64,
    rows: impl Iterator<Item = &DocumentRows>,
) -> Result<HashSet<DocumentId>, StoreError> {
    let keys = Keys::of(rows.map(|rows| &rows.document));
    let statement = transaction.prepare_cached(PRESENT).await?;
    let found = transaction.query(&statement, &[&database, &keys.heads, &keys.digests]).await?;
    found.iter().map(|row| documents::id(get(row, 0)?, get(row, 1)?)).collect()
}
