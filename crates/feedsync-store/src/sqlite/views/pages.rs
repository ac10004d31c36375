//! Pages of rows of a view.

use feedsync_couch::DatabaseName;
use feedsync_couch::view::PositionRange;
use rusqlite::{Connection, Row, params};

use super::sets;
use crate::database::view_changes::RowBudget;
use crate::database::{RowLimit, ViewPage, ViewRow, ViewState};
use crate::error::StoreError;
use crate::sqlite::database_rows::{self, DatabaseRow};
use crate::sqlite::rows::parsed;

macro_rules! select {
    ($order:literal) => {
        concat!(
            "SELECT position, level, document, key, value FROM view_rows
              WHERE view_set = ?1 AND view = ?2 AND position >= ?3 AND position < ?4
              ORDER BY position ",
            $order,
            " LIMIT ?5 OFFSET ?6"
        )
    };
}

pub(super) const ASCENDING: &str = select!("");
pub(super) const DESCENDING: &str = select!("DESC");

pub(in crate::sqlite) fn rows(
    connection: &Connection,
    name: &DatabaseName,
    state: ViewState,
    range: &PositionRange,
    limit: RowLimit,
) -> Result<Option<ViewPage>, StoreError> {
    let DatabaseRow { id, database, .. } = database_rows::require(connection, name)?;
    let Some(view) = sets::in_state(connection, id, &state)? else { return Ok(None) };
    let sql = if limit.is_descending { DESCENDING } else { ASCENDING };
    let most = i64::try_from(limit.most).unwrap_or(i64::MAX);
    let skip = i64::try_from(limit.skip).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql)?;
    let mut found =
        statement.query(params![view.set, view.number, range.from, range.to, most, skip])?;
    let (mut rows, mut budget) = (Vec::new(), RowBudget::of(&limit));
    while let Some(row) = found.next()? {
        let row = view_row(row, 0)?;
        if !budget.fits(&row) {
            break;
        }
        rows.push(row);
    }
    Ok(Some(ViewPage { database, rows }))
}

/// Reads five columns from one on.
pub(super) fn view_row(row: &Row<'_>, first: usize) -> Result<ViewRow, StoreError> {
    Ok(ViewRow {
        position: row.get(first)?,
        level: row.get(first + 1)?,
        document: parsed(row, first + 2)?,
        key: row.get(first + 3)?,
        value: row.get(first + 4)?,
    })
}
