//! Sets of views: their creation, their state, and the counts of their rows.

use feedsync_couch::DatabaseName;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::database::{Database, MAX_VIEWS, StoredViews, ViewState, ViewsId, ViewsSignature};
use crate::error::StoreError;
use crate::order::ChangeNumber;
use crate::sqlite::database_rows::{self, DatabaseRow};

pub(super) const STATE: &str = "SELECT s.id, s.removals, s.reached, v.rows, v.has_contents
                                  FROM stored_views v JOIN view_sets s ON s.id = v.view_set
                                 WHERE v.view_set = ?1 AND v.view = ?2 AND s.database = ?3";

/// A view in the store.
pub(super) struct StoredView {
    pub(super) set: i64,
    pub(super) number: u32,
    pub(super) rows: u64,
    /// Whether contents of its nodes may be stored.
    pub(super) has_contents: bool,
}

/// The stored views of a signature, if there are any.
pub(in crate::sqlite) fn find(
    connection: &Connection,
    name: &DatabaseName,
    signature: &ViewsSignature,
) -> Result<Option<StoredViews>, StoreError> {
    let DatabaseRow { id, database, .. } = database_rows::require(connection, name)?;
    let mut statement = connection.prepare_cached(
        "SELECT id, removals, reached FROM view_sets WHERE database = ?1 AND signature = ?2",
    )?;
    let found = statement.query_row(params![id, signature.0], id_and_change).optional()?;
    found.map(|found| stored(connection, database, found)).transpose()
}

/// The stored views of a signature. If there are none, they are created, unless there are too many others.
pub(in crate::sqlite) fn begin(
    connection: &Connection,
    name: &DatabaseName,
    signature: &ViewsSignature,
    views: usize,
) -> Result<Option<StoredViews>, StoreError> {
    if let Some(found) = find(connection, name, signature)? {
        return Ok(Some(found));
    }
    let DatabaseRow { id: database, .. } = database_rows::require(connection, name)?;
    let sql = "SELECT count(*) FROM view_sets WHERE database = ?1";
    let count: i64 = connection.prepare_cached(sql)?.query_row([database], |row| row.get(0))?;
    if count >= MAX_VIEWS as i64 {
        return Ok(None);
    }
    let sql = "INSERT INTO view_sets (database, signature) VALUES (?1, ?2) RETURNING id";
    let set: i64 = connection
        .prepare_cached(sql)?
        .query_row(params![database, signature.0], |row| row.get(0))?;
    for view in 0..views {
        connection
            .prepare_cached("INSERT INTO stored_views (view_set, view) VALUES (?1, ?2)")?
            .execute(params![set, view as i64])?;
    }
    find(connection, name, signature)
}

/// Drops the views of a database, except those of some signatures. Their rows are swept later.
pub(in crate::sqlite) fn drop_others(
    connection: &Connection,
    name: &DatabaseName,
    kept: &[ViewsSignature],
) -> Result<(), StoreError> {
    let database = database_rows::require(connection, name)?.id;
    let mut statement =
        connection.prepare_cached("SELECT id, signature FROM view_sets WHERE database = ?1")?;
    let sets = statement.query_map([database], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let sets: Vec<(i64, [u8; 32])> = sets.collect::<Result<_, _>>()?;
    for (set, _) in sets.iter().filter(|(_, signature)| !kept.contains(&ViewsSignature(*signature)))
    {
        connection
            .prepare_cached("UPDATE view_sets SET database = NULL WHERE id = ?1")?
            .execute([set])?;
    }
    Ok(())
}

/// The view in a state, if it is in it.
pub(super) fn in_state(
    connection: &Connection,
    database: i64,
    state: &ViewState,
) -> Result<Option<StoredView>, StoreError> {
    let mut statement = connection.prepare_cached(STATE)?;
    let values = params![state.views.set as i64, state.view, database];
    let found = statement.query_row(values, |row| {
        let view = StoredView {
            set: row.get(0)?,
            number: state.view,
            rows: row.get::<_, i64>(3)? as u64,
            has_contents: row.get(4)?,
        };
        Ok((id_and_change(row)?, view))
    });
    let found = found.optional()?.filter(|((id, reached), _)| state.is_met(*id, *reached));
    Ok(found.map(|(_, view)| view))
}

/// The change that the rows of a set follow; `None` if the database has no such set.
pub(super) fn reached(
    connection: &Connection,
    database: i64,
    views: ViewsId,
) -> Result<Option<ChangeNumber>, StoreError> {
    let sql = "SELECT id, removals, reached FROM view_sets WHERE id = ?1 AND database = ?2";
    let values = params![views.set as i64, database];
    let found = connection.prepare_cached(sql)?.query_row(values, id_and_change).optional()?;
    Ok(found.map(|(_, reached)| reached))
}

/// The views of a set, in the order of their numbers.
pub(super) fn views(connection: &Connection, set: i64) -> Result<Vec<StoredView>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT view, rows, has_contents FROM stored_views WHERE view_set = ?1 ORDER BY view",
    )?;
    let views = statement.query_map([set], |row| {
        let (number, rows) = (row.get(0)?, row.get::<_, i64>(1)? as u64);
        Ok(StoredView { set, number, rows, has_contents: row.get(2)? })
    })?;
    Ok(views.collect::<Result<_, _>>()?)
}

fn stored(
    connection: &Connection,
    database: Database,
    (id, reached): (ViewsId, ChangeNumber),
) -> Result<StoredViews, StoreError> {
    let views = views(connection, id.set as i64)?;
    Ok(StoredViews { id, database, reached, rows: views.iter().map(|view| view.rows).collect() })
}

/// Reads the id of a set, the number of removals, and the change that its rows follow.
fn id_and_change(row: &Row<'_>) -> rusqlite::Result<(ViewsId, ChangeNumber)> {
    let number = |column| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)? as u64);
    let id = ViewsId { set: number(0)?, removals: number(1)? };
    Ok((id, ChangeNumber::new(number(2)?)))
}
