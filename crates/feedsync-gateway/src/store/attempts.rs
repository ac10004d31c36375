//! Replacements of resources whose outcome at the server is unknown.

use feedsync_bitsy::interceptor::Attempt;
use rusqlite::{Connection, params};

use super::columns::{self, Columns};
use super::error::StoreError;

pub(super) fn put(connection: &Connection, attempt: &Attempt) -> Result<(), StoreError> {
    let Attempt { partition, location, content } = attempt;
    let sql = "INSERT INTO attempt VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
    connection.prepare_cached(sql)?.execute(params![
        partition.bytes(),
        location.as_str(),
        columns::digest(Some(content)),
        columns::length(Some(content)),
    ])?;
    Ok(())
}

pub(super) fn gone(connection: &Connection, attempt: &Attempt) -> Result<(), StoreError> {
    let Attempt { partition, location, content } = attempt;
    let sql = "DELETE FROM attempt WHERE partition = ?1 AND location = ?2 AND body = ?3";
    connection.prepare_cached(sql)?.execute(params![
        partition.bytes(),
        location.as_str(),
        columns::digest(Some(content)),
    ])?;
    Ok(())
}

/// Returns all attempts in the order in which they were made.
pub(super) fn all(connection: &Connection) -> Result<Vec<Attempt>, StoreError> {
    let mut attempts = Vec::new();
    let mut statement = connection.prepare("SELECT * FROM attempt ORDER BY rowid")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut row = Columns::of(row);
        let (partition, location) = (row.partition()?, row.location()?);
        attempts.push(Attempt { partition, location, content: row.content()? });
    }
    Ok(attempts)
}
