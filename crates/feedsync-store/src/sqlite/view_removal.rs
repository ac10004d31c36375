//! Removal of stored views, also by a program that does not use them.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::sweep_limits::{SWEEP_BYTES, SWEEP_ROWS};
use crate::error::StoreError;

/// Drops the views of a database. Their rows are swept later.
pub(super) fn drop_views(connection: &Connection, database: i64) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE view_sets SET database = NULL WHERE database = ?1")?
        .execute([database])?;
    Ok(())
}

/// Removes a piece of the rows of dropped views; returns whether there was one.
pub(super) fn sweep(connection: &Connection) -> Result<bool, StoreError> {
    let sql = "SELECT id FROM view_sets WHERE database IS NULL LIMIT 1";
    let dropped: Option<i64> =
        connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
    let Some(set) = dropped else { return Ok(false) };
    if let Some((view, position)) = last_of_piece(connection, set)? {
        connection
            .prepare_cached(
                "DELETE FROM view_rows WHERE view_set = ?1 AND (view, position) <= (?2, ?3)",
            )?
            .execute(params![set, view, position])?;
        return Ok(true);
    }
    let sql = "DELETE FROM view_nodes WHERE view_set = ?1 AND (view, level, position) IN
                 (SELECT view, level, position FROM view_nodes WHERE view_set = ?1 LIMIT ?2)";
    if connection.prepare_cached(sql)?.execute([set, SWEEP_ROWS])? == 0 {
        connection
            .prepare_cached("DELETE FROM stored_views WHERE view_set = ?1")?
            .execute([set])?;
        connection.prepare_cached("DELETE FROM view_sets WHERE id = ?1")?.execute([set])?;
    }
    Ok(true)
}

/// View and position of the last row to remove at once, if there is any.
fn last_of_piece(connection: &Connection, set: i64) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT view, position, octet_length(key) + octet_length(value) FROM view_rows
          WHERE view_set = ?1 ORDER BY view, position LIMIT ?2",
    )?;
    let mut rows = statement.query([set, SWEEP_ROWS])?;
    let (mut last, mut left) = (None, SWEEP_BYTES);
    while let Some(row) = rows.next()?.filter(|_| left > 0) {
        last = Some((row.get(0)?, row.get(1)?));
        left -= row.get::<_, i64>(2)?;
    }
    Ok(last)
}
