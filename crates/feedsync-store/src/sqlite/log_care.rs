//! The files of logs when a store is opened, put back, backed up and checked.

use rusqlite::{Connection, params};

use super::log_files::{self, Key, LogFiles};
use super::log_rows;
use crate::environment::Environment;
use crate::error::StoreError;

/// A backup holds logs in pieces of so many bytes.
const PIECE: usize = 1 << 20;

/// Whether a crash left files of no log, or bytes that were never committed.
pub(super) fn is_tidy(connection: &Connection, files: &LogFiles) -> Result<bool, StoreError> {
    let found = files.found()?;
    if found.is_empty() {
        return Ok(true);
    }
    let known = log_rows::lengths(connection)?;
    Ok(found.iter().all(|(key, found)| known.get(key).is_some_and(|length| found <= length)))
}

/// Removes what a crash left. In a transaction that writes: nobody else has one under way, whose files would
/// look the same.
pub(super) fn tidy(connection: &Connection, files: &LogFiles) -> Result<(), StoreError> {
    let known = log_rows::lengths(connection)?;
    for (key, found) in files.found()? {
        match known.get(&key) {
            None => files.remove(key)?,
            Some(length) if found > *length => files.cut(key, *length)?,
            Some(_) => {}
        }
    }
    Ok(())
}

/// Every log goes on in a new generation: others may have seen more of the last one. Its bytes come from the
/// backup that this is, or else its file gets another name beside the old one, which is a crash's once this
/// is committed.
pub(super) fn settle(
    connection: &Connection,
    files: &LogFiles,
    environment: &dyn Environment,
) -> Result<(), StoreError> {
    let collections: Vec<i64> = connection
        .prepare("SELECT collection FROM logs WHERE NOT removed ORDER BY collection")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let is_packed = is_packed(connection)?;
    for collection in collections {
        let Some(log) = log_rows::find(connection, collection)? else { continue };
        let before = log.place.generation;
        let log = log.renewed(environment.random() as u32, environment.now());
        let key = (collection, log.place.generation);
        match is_packed {
            true => unpack(connection, files, key)?,
            false => files.link((collection, before), key)?,
        }
        log_rows::write(connection, collection, &log)?;
        log_rows::write_earlier(connection, collection, &log)?;
        connection.execute(
            "UPDATE log_snapshots SET generation = ?3 WHERE collection = ?1 AND generation = ?2",
            params![collection, before.to_string(), log.place.generation.to_string()],
        )?;
    }
    if is_packed {
        connection.execute("DROP TABLE log_bytes", [])?;
    }
    Ok(())
}

/// Whether this is a backup: it holds the bytes of logs too.
pub(super) fn is_packed(connection: &Connection) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE name = 'log_bytes'";
    Ok(connection.prepare(sql)?.exists([])?)
}

/// Puts the bytes of all logs into a backup; false if one of them was forgotten since. Earlier generations
/// stay behind: a store that is put back forgets them.
pub(super) fn pack(backup: &mut Connection, files: &LogFiles) -> Result<bool, StoreError> {
    let transaction = backup.transaction()?;
    transaction.execute_batch(
        "DELETE FROM log_generations;
         -- The bytes of logs, piece by piece: only a backup has them.
         CREATE TABLE log_bytes (
           collection INTEGER NOT NULL,
           start      INTEGER NOT NULL,
           bytes      BLOB    NOT NULL,
           PRIMARY KEY (collection, start)
         ) STRICT;",
    )?;
    let mut insert = transaction
        .prepare("INSERT INTO log_bytes (collection, start, bytes) VALUES (?1, ?2, ?3)")?;
    for (key, length) in log_rows::lengths(&transaction)? {
        for start in (0..length).step_by(PIECE) {
            let count = (length - start).min(PIECE as u64) as usize;
            let Some(bytes) = files.read(key, start, count)? else { return Ok(false) };
            insert.execute(params![key.0, start as i64, bytes])?;
        }
    }
    drop(insert);
    transaction.commit()?;
    Ok(true)
}

/// Writes the bytes that a backup holds of a log into a file. What they took is used again.
fn unpack(connection: &Connection, files: &LogFiles, key: Key) -> Result<(), StoreError> {
    let mut statement = connection
        .prepare("SELECT start, bytes FROM log_bytes WHERE collection = ?1 ORDER BY start")?;
    let mut rows = statement.query([key.0])?;
    files.begin(key, &[])?;
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        files.append(key, row.get::<_, i64>(0)? as u64, bytes)?;
    }
    files.sync()?;
    // However many logs there are, one file is open at a time.
    files.left_open();
    Ok(())
}

/// Logs whose files do not hold what is committed, one line each. Others may append and remove meanwhile: what
/// was committed before the files were looked at counts, if it is kept afterwards.
pub(super) fn check(connection: &Connection, files: &LogFiles) -> Result<Vec<String>, StoreError> {
    let mut known = log_rows::lengths(connection)?;
    let found = files.found()?;
    let kept = log_rows::lengths(connection)?;
    known.retain(|key, _| kept.contains_key(key));
    let fault = |(key, length): (Key, u64)| match found.get(&key) {
        None => Some(log_files::missing(&files.path(key))),
        Some(found) if *found < length => Some(log_files::too_short(&files.path(key))),
        Some(_) => None,
    };
    Ok(known.into_iter().filter_map(fault).map(|fault| fault.to_string()).collect())
}
