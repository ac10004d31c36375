//! Updates of the rows of views, and the removal of the rows of documents that are removed from the database.

use feedsync_couch::{DatabaseName, DocumentId};
use rusqlite::{Connection, params};

use super::nodes;
use super::pages::view_row;
use super::sets::{self, StoredView};
use crate::database::view_changes::{ViewChange, changes_of_views};
use crate::database::{DocumentRows, ViewRow, ViewsUpdate};
use crate::error::StoreError;
use crate::sqlite::database_rows;

// Without statistics, the planner would read all rows of the set.
pub(super) const OF_DOCUMENT: &str = "
    SELECT view, position, level, document, key, value
      FROM view_rows INDEXED BY view_rows_by_document
     WHERE view_set = ?1 AND document = ?2";

/// Applies an update, if the rows follow the change after which it begins.
pub(in crate::sqlite) fn update(
    connection: &Connection,
    name: &DatabaseName,
    mut update: ViewsUpdate,
) -> Result<bool, StoreError> {
    let database = database_rows::require(connection, name)?.id;
    let Some(reached) = sets::reached(connection, database, update.views)? else {
        return Ok(false);
    };
    let set = update.views.set as i64;
    let views = sets::views(connection, set)?;
    update.check(views.len())?;
    if reached != update.after {
        return Ok(false);
    }
    let mut earlier = Vec::new();
    if views.iter().any(|view| view.rows > 0) {
        for rows in &update.documents {
            rows_of(connection, set, &rows.document, &mut earlier)?;
        }
    }
    let mut is_there =
        connection.prepare_cached("SELECT 1 FROM documents WHERE database = ?1 AND id = ?2")?;
    for rows in &mut update.documents {
        let has_rows = rows.views.iter().any(|rows| !rows.is_empty());
        if has_rows && !is_there.exists(params![database, rows.document.as_str()])? {
            rows.views.clear();
        }
    }
    apply(connection, &views, earlier, update.documents)?;
    connection
        .prepare_cached("UPDATE view_sets SET reached = ?2 WHERE id = ?1")?
        .execute(params![set, update.reached])?;
    Ok(true)
}

/// Removes the rows of a document that is removed from the database.
pub(in crate::sqlite) fn remove_document(
    connection: &Connection,
    database: i64,
    document: &DocumentId,
) -> Result<(), StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT id FROM view_sets WHERE database = ?1")?;
    let sets = statement.query_map([database], |row| row.get(0))?;
    let sets: Vec<i64> = sets.collect::<Result<_, _>>()?;
    for set in sets {
        let mut earlier = Vec::new();
        rows_of(connection, set, document, &mut earlier)?;
        if earlier.is_empty() {
            continue;
        }
        apply(connection, &sets::views(connection, set)?, earlier, Vec::new())?;
        connection
            .prepare_cached("UPDATE view_sets SET removals = removals + 1 WHERE id = ?1")?
            .execute([set])?;
    }
    Ok(())
}

fn rows_of(
    connection: &Connection,
    set: i64,
    document: &DocumentId,
    found: &mut Vec<(u32, ViewRow)>,
) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(OF_DOCUMENT)?;
    let mut rows = statement.query(params![set, document.as_str()])?;
    while let Some(row) = rows.next()? {
        found.push((row.get(0)?, view_row(row, 1)?));
    }
    Ok(())
}

/// Replaces earlier rows.
fn apply(
    connection: &Connection,
    views: &[StoredView],
    earlier: Vec<(u32, ViewRow)>,
    documents: Vec<DocumentRows>,
) -> Result<(), StoreError> {
    let changes = changes_of_views(views.len(), earlier, documents);
    for (view, change) in views.iter().zip(&changes).filter(|(_, change)| !change.is_empty()) {
        write_rows(connection, view, change)?;
        nodes::apply(connection, view, change)?;
        let rows = change.count(view.rows) as i64;
        connection
            .prepare_cached("UPDATE stored_views SET rows = ?3 WHERE view_set = ?1 AND view = ?2")?
            .execute(params![view.set, view.number, rows])?;
    }
    Ok(())
}

fn write_rows(
    connection: &Connection,
    view: &StoredView,
    change: &ViewChange,
) -> Result<(), StoreError> {
    let mut remove = connection.prepare_cached(
        "DELETE FROM view_rows WHERE view_set = ?1 AND view = ?2 AND position = ?3",
    )?;
    for row in &change.removed {
        remove.execute(params![view.set, view.number, row.position])?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO view_rows (view_set, view, position, level, document, key, value)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for ViewRow { position, level, document, key, value } in &change.added {
        let (set, number, document) = (view.set, view.number, document.as_str());
        insert.execute(params![set, number, position, level, document, key, value])?;
    }
    Ok(())
}
