//! Consistency check of indexes: their rows must follow from the documents.

use std::collections::BTreeMap;

use feedsync_couch::{DatabaseName, DocumentId};
use rusqlite::{Connection, params};

use super::definitions::{self, is_current};
use super::upkeep::stored_winner;
use crate::database::IndexId;
use crate::database::indexing::{MaintainedIndex, winner_of};
use crate::error::StoreError;
use crate::sqlite::database_rows::{self, DatabaseRow};
use crate::sqlite::rows::parsed;

/// Indexes with missing or surplus rows, and databases with a wrong number of indexes, one line each.
pub(in crate::sqlite) fn faults(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut names: Vec<DatabaseName> = Vec::new();
    let sql = "SELECT name FROM databases WHERE name IS NOT NULL ORDER BY name";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        names.push(parsed(row, 0)?);
    }
    let mut faults = Vec::new();
    for name in names {
        let database_row = database_rows::require(connection, &name)?;
        if is_current(&database_row) {
            check(connection, &database_row, &mut faults)?;
        }
    }
    Ok(faults)
}

fn check(
    connection: &Connection,
    database_row: &DatabaseRow,
    faults: &mut Vec<String>,
) -> Result<(), StoreError> {
    let name = &database_row.database.name;
    let defined = count(connection, "document_indexes WHERE database = ?1", database_row.id)?;
    if defined != database_row.indexing.count {
        let stored = database_row.indexing.count;
        faults.push(format!("{name} has {defined} indexes, but counts {stored}"));
        return Ok(());
    }
    let indexes = definitions::all(connection, database_row)?;
    if indexes.is_empty() {
        return Ok(());
    }
    let mut expected: BTreeMap<IndexId, Option<u64>> =
        indexes.iter().map(|index| (index.id, Some(0))).collect();
    let mut statement =
        connection.prepare_cached("SELECT id, tree FROM documents WHERE database = ?1")?;
    let mut rows = statement.query([database_row.id])?;
    while let Some(row) = rows.next()? {
        let id: DocumentId = parsed(row, 0)?;
        let Some((revision, number)) = winner_of(&database_rows::tree(row, 1)?) else { continue };
        let winner = stored_winner(connection, database_row.id, revision, number)?;
        let Some(winner) = winner else { continue };
        for index in indexes.iter().filter(|index| index.progress.includes(&id)) {
            let Some(key) = index.key(&id, &winner) else { continue };
            let is_there = has_row(connection, index, &key, &id)?;
            // Without one of its rows, an index cannot have the right number.
            let counted = expected.entry(index.id).or_default();
            *counted = counted.filter(|_| is_there).map(|rows| rows + 1);
        }
    }
    for index in &indexes {
        let rows = count(connection, "index_rows WHERE index_id = ?1", index.id.0 as i64)?;
        if expected.get(&index.id) != Some(&Some(rows)) {
            let (design, index) = (&index.definition.design, &index.definition.name);
            faults.push(format!("the index {index} of {name}/{design} differs from the documents"));
        }
    }
    Ok(())
}

fn count(connection: &Connection, of: &str, id: i64) -> Result<u64, StoreError> {
    let sql = format!("SELECT count(*) FROM {of}");
    Ok(connection.query_row(&sql, [id], |row| row.get::<_, i64>(0))? as u64)
}

fn has_row(
    connection: &Connection,
    index: &MaintainedIndex,
    key: &[u8],
    id: &DocumentId,
) -> Result<bool, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT 1 FROM index_rows WHERE index_id = ?1 AND key = ?2 AND document = ?3",
    )?;
    Ok(statement.exists(params![index.id.0 as i64, key, id.as_str()])?)
}
