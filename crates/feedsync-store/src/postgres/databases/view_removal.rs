//! Removal of stored views, also by a program that does not use them.

use deadpool_postgres::Transaction;

use super::sweep::{BYTES, ROWS};
use crate::error::StoreError;
use crate::postgres::rows::get;

const DROP: &str = "UPDATE view_sets SET database = NULL WHERE database = $1";

pub(super) const DROPPED: &str =
    "SELECT id FROM view_sets WHERE database IS NULL LIMIT 1 FOR UPDATE SKIP LOCKED";

pub(super) const FIRST_ROWS: &str = "
    SELECT view, position, (octet_length(key) + octet_length(value))::bigint FROM view_rows
     WHERE view_set = $1 ORDER BY view, position LIMIT $2";

pub(super) const REMOVE_ROWS: &str =
    "DELETE FROM view_rows WHERE view_set = $1 AND (view, position) <= ($2, $3)";

pub(super) const REMOVE_NODES: &str = "
    DELETE FROM view_nodes WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM view_nodes WHERE view_set = $1 ORDER BY view, level, position LIMIT $2))";

/// Drops the views of a database. Their rows are swept later.
pub(super) async fn drop_views(
    transaction: &Transaction<'_>,
    database: i64,
) -> Result<(), StoreError> {
    let statement = transaction.prepare_cached(DROP).await?;
    transaction.execute(&statement, &[&database]).await?;
    Ok(())
}

/// Removes one piece of the rows of dropped views; returns whether there was one. Nothing adds rows to them.
pub(super) async fn sweep(transaction: &Transaction<'_>) -> Result<bool, StoreError> {
    let statement = transaction.prepare_cached(DROPPED).await?;
    let Some(row) = transaction.query_opt(&statement, &[]).await? else { return Ok(false) };
    let set: i64 = get(&row, 0)?;
    if let Some((view, position)) = last_of_piece(transaction, set).await? {
        let statement = transaction.prepare_cached(REMOVE_ROWS).await?;
        transaction.execute(&statement, &[&set, &view, &position]).await?;
        return Ok(true);
    }
    let statement = transaction.prepare_cached(REMOVE_NODES).await?;
    if transaction.execute(&statement, &[&set, &ROWS]).await? == 0 {
        transaction.execute("DELETE FROM stored_views WHERE view_set = $1", &[&set]).await?;
        transaction.execute("DELETE FROM view_sets WHERE id = $1", &[&set]).await?;
    }
    Ok(true)
}

/// View and position of the last row to remove at once, if there is any.
async fn last_of_piece(
    transaction: &Transaction<'_>,
    set: i64,
) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
    let statement = transaction.prepare_cached(FIRST_ROWS).await?;
    let (mut last, mut bytes) = (None, 0);
    for row in &transaction.query(&statement, &[&set, &ROWS]).await? {
        last = Some((get(row, 0)?, get(row, 1)?));
        bytes += get::<i64>(row, 2)?;
        if bytes >= BYTES {
            break;
        }
    }
    Ok(last)
}
