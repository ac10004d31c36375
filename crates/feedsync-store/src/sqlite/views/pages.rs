//! Pages of rows of a view.

use feedsync_couch::DatabaseName;
use feedsync_couch::view::PositionRange;
use rusqlite::{Connection, Row, params};

use super::sets;
use crate::database::view_changes::{RangeReader, RowBudget};
use crate::database::{RangesLimit, RowLimit, ViewPage, ViewRanges, ViewRow, ViewState};
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

/// Reads the rows of several ranges with one prepared statement.
pub(in crate::sqlite) fn ranges(
    connection: &Connection,
    name: &DatabaseName,
    state: ViewState,
    ranges: &[PositionRange],
    limit: RangesLimit,
) -> Result<Option<ViewRanges>, StoreError> {
    let DatabaseRow { id, database, .. } = database_rows::require(connection, name)?;
    let Some(view) = sets::in_state(connection, id, &state)? else { return Ok(None) };
    let sql = if limit.is_descending { DESCENDING } else { ASCENDING };
    let mut statement = connection.prepare_cached(sql)?;
    let mut reader = RangeReader::new(limit);
    let most = i64::try_from(reader.most_of_range()).unwrap_or(i64::MAX);
    for (number, range) in ranges.iter().enumerate() {
        let values = params![view.set, view.number, range.from, range.to, most, 0];
        let mut found = statement.query(values)?;
        while let Some(row) = found.next()? {
            if !reader.take(number, view_row(row, 0)?) {
                return Ok(Some(ViewRanges { database, ranges: reader.into_ranges() }));
            }
        }
    }
    reader.end_before(ranges.len());
    Ok(Some(ViewRanges { database, ranges: reader.into_ranges() }))
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
