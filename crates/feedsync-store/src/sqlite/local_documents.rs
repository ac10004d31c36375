//! Rows of documents that are not replicated.

use feedsync_couch::{DatabaseName, LocalId};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::database_rows;
use crate::database::LocalDocument;
use crate::error::StoreError;

pub(super) fn find(
    connection: &Connection,
    name: &DatabaseName,
    id: &LocalId,
) -> Result<Option<LocalDocument>, StoreError> {
    let database_row = database_rows::require(connection, name)?.id;
    let read = |row: &Row<'_>| {
        Ok(LocalDocument { revision: row.get::<_, i64>(0)? as u64, body: row.get(1)? })
    };
    let mut statement = connection.prepare_cached(
        "SELECT revision, text FROM local_documents WHERE database = ?1 AND id = ?2",
    )?;
    Ok(statement.query_row(params![database_row, id.as_str()], read).optional()?)
}

/// Writes or removes a document; returns whether one existed.
pub(super) fn put(
    connection: &Connection,
    database_row: i64,
    id: &LocalId,
    document: Option<LocalDocument>,
) -> Result<bool, StoreError> {
    let sql = "DELETE FROM local_documents WHERE database = ?1 AND id = ?2
               RETURNING octet_length(text)";
    let gone: Option<i64> = connection
        .prepare_cached(sql)?
        .query_row(params![database_row, id.as_str()], |row| row.get(0))
        .optional()?;
    let bytes = document.as_ref().map_or(0, |document| document.body.len() as i64);
    let sql = "UPDATE databases SET local_bytes = local_bytes + ?2 WHERE id = ?1";
    let change = bytes - gone.unwrap_or_default();
    connection.prepare_cached(sql)?.execute(params![database_row, change])?;
    if let Some(document) = document {
        let sql =
            "INSERT INTO local_documents (database, id, revision, text) VALUES (?1, ?2, ?3, ?4)";
        let LocalDocument { revision, body } = document;
        connection.prepare_cached(sql)?.execute(params![
            database_row,
            id.as_str(),
            revision as i64,
            body
        ])?;
    }
    Ok(gone.is_some())
}
