//! Pages of rows of a view. Each page is read at one moment, in its own transaction.

use deadpool_postgres::Client;
use feedsync_couch::DatabaseName;
use feedsync_couch::view::PositionRange;
use tokio_postgres::Row;

use super::sets::{STATE, in_state};
use crate::database::view_changes::{RangeReader, RowBudget};
use crate::database::{RangesLimit, RowLimit, ViewPage, ViewRanges, ViewRow, ViewState};
use crate::error::StoreError;
use crate::postgres::databases::documents;
use crate::postgres::databases::pages::{self, CHUNK};
use crate::postgres::databases::rows::{DatabaseRow, text};
use crate::postgres::pipeline::Parameter;
use crate::postgres::pool;
use crate::postgres::rows::get;

macro_rules! select {
    ($descending:literal) => {
        concat!(
            "SELECT position, level, head, rest, key, value FROM view_rows
              WHERE view_set = $1 AND view = $2 AND position >= $3 AND position < $4
              ORDER BY position",
            $descending,
            " LIMIT $5 OFFSET $6"
        )
    };
}

/// The rows of several ranges, in the order of the ranges.
macro_rules! select_ranges {
    ($descending:literal) => {
        concat!(
            "SELECT r.position, r.level, r.head, r.rest, r.key, r.value, w.number
               FROM unnest($3::bytea[], $4::bytea[]) WITH ORDINALITY w (low, high, number),
                    LATERAL (SELECT position, level, head, rest, key, value FROM view_rows
                              WHERE view_set = $1 AND view = $2 AND position >= w.low AND position < w.high
                              ORDER BY position",
            $descending,
            " LIMIT $5) r ORDER BY w.number"
        )
    };
}

pub(super) const RANGES_ASCENDING: &str = select_ranges!("");
pub(super) const RANGES_DESCENDING: &str = select_ranges!(" DESC");

pub(super) const ASCENDING: &str = select!("");
pub(super) const DESCENDING: &str = select!(" DESC");

pub(in crate::postgres::databases) async fn rows(
    client: &mut Client,
    name: &DatabaseName,
    state: ViewState,
    range: PositionRange,
    limit: RowLimit,
) -> Result<Option<ViewPage>, StoreError> {
    let sql = if limit.is_descending { DESCENDING } else { ASCENDING };
    let (set, view) = (state.views.set as i64, i64::from(state.view));
    let most = i64::try_from(limit.most).unwrap_or(i64::MAX);
    let skip = i64::try_from(limit.skip).unwrap_or(i64::MAX);
    let transaction = pool::snapshot(client).await?;
    let parameters: [Parameter<'_>; 6] = [&set, &view, &range.from, &range.to, &most, &skip];
    let (database_row, portal) = pages::begin(&transaction, name, sql, &parameters).await?;
    let statement = transaction.prepare_cached(STATE).await?;
    let found = transaction.query(&statement, &[&name.as_str(), &set, &view]).await?;
    if in_state(&found, &state)?.is_none() {
        return Ok(None);
    }
    let (mut rows, mut budget) = (Vec::new(), RowBudget::of(&limit));
    loop {
        let (piece, is_last) = pages::next(&transaction, &portal, CHUNK).await?;
        for row in &piece {
            let row = view_row(row, 0)?;
            if !budget.fits(&row) {
                return Ok(Some(ViewPage { database: database_row.database, rows }));
            }
            rows.push(row);
        }
        if is_last {
            return Ok(Some(ViewPage { database: database_row.database, rows }));
        }
    }
}

pub(in crate::postgres::databases) async fn ranges(
    client: &mut Client,
    name: &DatabaseName,
    state: ViewState,
    ranges: &[PositionRange],
    limit: RangesLimit,
) -> Result<Option<ViewRanges>, StoreError> {
    let sql = if limit.is_descending { RANGES_DESCENDING } else { RANGES_ASCENDING };
    let (set, view) = (state.views.set as i64, i64::from(state.view));
    let lows: Vec<&[u8]> = ranges.iter().map(|range| &*range.from).collect();
    let highs: Vec<&[u8]> = ranges.iter().map(|range| &*range.to).collect();
    let mut reader = RangeReader::new(limit);
    let most = i64::try_from(reader.most_of_range()).unwrap_or(i64::MAX);
    let transaction = pool::snapshot(client).await?;
    let parameters: [Parameter<'_>; 5] = [&set, &view, &lows, &highs, &most];
    let (DatabaseRow { database, .. }, portal) =
        pages::begin(&transaction, name, sql, &parameters).await?;
    let statement = transaction.prepare_cached(STATE).await?;
    let found = transaction.query(&statement, &[&name.as_str(), &set, &view]).await?;
    if in_state(&found, &state)?.is_none() {
        return Ok(None);
    }
    loop {
        let (piece, is_last) = pages::next(&transaction, &portal, CHUNK).await?;
        for row in &piece {
            let number = get::<i64>(row, 6)? as usize;
            if !reader.take(number - 1, view_row(row, 0)?) {
                return Ok(Some(ViewRanges { database, ranges: reader.into_ranges() }));
            }
        }
        if is_last {
            reader.end_before(ranges.len());
            return Ok(Some(ViewRanges { database, ranges: reader.into_ranges() }));
        }
    }
}

/// Reads six columns from one on.
pub(super) fn view_row(row: &Row, first: usize) -> Result<ViewRow, StoreError> {
    let text = |column| Ok::<_, StoreError>(text(get(row, first + column)?)?.to_owned());
    Ok(ViewRow {
        position: get(row, first)?,
        level: get::<i64>(row, first + 1)? as u8,
        document: documents::id(get(row, first + 2)?, get(row, first + 3)?)?,
        key: text(4)?,
        value: text(5)?,
    })
}
