//! Nodes of views: pages of them, and storing and forgetting of their contents.

use feedsync_couch::DatabaseName;
use feedsync_couch::view::PositionRange;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::sets::{self, StoredView};
use crate::database::view_changes::ViewChange;
use crate::database::{NodeContent, ViewNode, ViewState};
use crate::error::StoreError;
use crate::sqlite::database_rows;

pub(super) const NODES: &str = "
    SELECT position, rows, reduction FROM view_nodes
     WHERE view_set = ?1 AND view = ?2 AND level = ?3 AND position >= ?4 AND position < ?5
     ORDER BY position LIMIT ?6";

/// The last node before a position.
pub(super) const LAST_BEFORE: &str = "
    SELECT position FROM view_nodes
     WHERE view_set = ?1 AND view = ?2 AND level = ?3 AND position < ?4
     ORDER BY position DESC LIMIT 1";

pub(super) const PUT: &str = "
    UPDATE view_nodes SET rows = ?5, reduction = ?6
     WHERE view_set = ?1 AND view = ?2 AND level = ?3 AND position = ?4";

pub(in crate::sqlite) fn nodes(
    connection: &Connection,
    name: &DatabaseName,
    (state, level): (ViewState, u8),
    range: &PositionRange,
    most: usize,
) -> Result<Option<Vec<ViewNode>>, StoreError> {
    let database = database_rows::require(connection, name)?.id;
    let Some(view) = sets::in_state(connection, database, &state)? else { return Ok(None) };
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(NODES)?;
    let values = params![view.set, view.number, level, range.from, range.to, most];
    let nodes = statement.query_map(values, |row| {
        let (rows, reduction): (Option<i64>, _) = (row.get(1)?, row.get(2)?);
        let content = rows.map(|rows| NodeContent { rows: rows as u64, reduction });
        Ok(ViewNode { position: row.get(0)?, content })
    })?;
    Ok(Some(nodes.collect::<Result<_, _>>()?))
}

pub(in crate::sqlite) fn put_nodes(
    connection: &Connection,
    name: &DatabaseName,
    state: ViewState,
    level: u8,
    nodes: &[(Vec<u8>, NodeContent)],
) -> Result<bool, StoreError> {
    let database = database_rows::require(connection, name)?.id;
    let Some(view) = sets::in_state(connection, database, &state)? else { return Ok(false) };
    let mut statement = connection.prepare_cached(PUT)?;
    for (position, NodeContent { rows, reduction }) in nodes {
        let rows = *rows as i64;
        statement.execute(params![view.set, view.number, level, position, rows, reduction])?;
    }
    if !view.has_contents && !nodes.is_empty() {
        let sql = "UPDATE stored_views SET has_contents = 1 WHERE view_set = ?1 AND view = ?2";
        connection.prepare_cached(sql)?.execute(params![view.set, view.number])?;
    }
    Ok(true)
}

/// Removes and adds the nodes that rows begin, and forgets the contents of those whose rows change.
pub(super) fn apply(
    connection: &Connection,
    view: &StoredView,
    change: &ViewChange,
) -> Result<(), StoreError> {
    let mut remove = connection.prepare_cached(
        "DELETE FROM view_nodes WHERE view_set = ?1 AND view = ?2 AND level = ?3 AND position = ?4",
    )?;
    for (level, position) in change.removed_nodes() {
        remove.execute(params![view.set, view.number, level, position])?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO view_nodes (view_set, view, level, position) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for (level, position) in change.added_nodes() {
        insert.execute(params![view.set, view.number, level, position])?;
    }
    // Without any contents, as during the first build, there is nothing to look for.
    match view.has_contents {
        true => forget(connection, view, change),
        false => Ok(()),
    }
}

fn forget(
    connection: &Connection,
    view: &StoredView,
    change: &ViewChange,
) -> Result<(), StoreError> {
    let mut last_before = connection.prepare_cached(LAST_BEFORE)?;
    let mut put = connection.prepare_cached(PUT)?;
    for (level, bounds) in change.bounds_of_forgotten() {
        let mut forgotten: Option<Vec<u8>> = None;
        for bound in bounds {
            if forgotten.as_ref().is_some_and(|position| *position < bound) {
                continue;
            }
            let values = params![view.set, view.number, level, bound];
            forgotten = last_before.query_row(values, |row| row.get(0)).optional()?;
            // Nor is there a node before the bounds that follow.
            let Some(position) = &forgotten else { break };
            let nothing = None::<i64>;
            put.execute(params![view.set, view.number, level, position, nothing, nothing])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{pages, sets, update};
    use super::*;
    use crate::sqlite::schema::SCHEMA;

    /// Pages, lookups and removals follow the order of a table or an index. None scans or sorts all rows.
    #[test]
    fn rows_and_nodes_are_found_along_their_keys() {
        let connection = Connection::open_in_memory().unwrap();
        for migration in SCHEMA.migrations {
            connection.execute_batch(migration).unwrap();
        }
        let of_range = "PRIMARY KEY (view_set=? AND view=? AND position>? AND position<?)";
        let of_level = "PRIMARY KEY (view_set=? AND view=? AND level=? AND ";
        for (sql, steps) in [
            (pages::ASCENDING, vec![of_range.to_owned()]),
            (pages::DESCENDING, vec![of_range.to_owned()]),
            (NODES, vec![format!("{of_level}position>? AND position<?)")]),
            (LAST_BEFORE, vec![format!("{of_level}position<?)")]),
            (PUT, vec![format!("{of_level}position=?)")]),
            (
                update::OF_DOCUMENT,
                vec!["INDEX view_rows_by_document (view_set=? AND document=?)".to_owned()],
            ),
            (
                sets::STATE,
                vec![
                    "INTEGER PRIMARY KEY (rowid=?)".to_owned(),
                    "PRIMARY KEY (view_set=? AND view=?)".to_owned(),
                ],
            ),
        ] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let values = vec![1; statement.parameter_count()];
            let values = rusqlite::params_from_iter(values);
            let found = statement.query_map(values, |row| row.get::<_, String>(3)).unwrap();
            let found: Vec<String> = found.map(Result::unwrap).collect();
            assert_eq!(found.len(), steps.len(), "{found:?}");
            for (found, step) in found.iter().zip(steps) {
                assert!(found.starts_with("SEARCH ") && found.ends_with(&step), "{found}");
            }
        }
    }
}
