//! The files of logs when a store is opened, put back and checked.

use rusqlite::{Connection, params};

use super::log_files::{self, Key, LogFiles};
use super::log_pack;
use super::log_rows;
use crate::environment::Environment;
use crate::error::StoreError;

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
    let is_packed = log_pack::is_packed(connection)?;
    for collection in collections {
        let Some(log) = log_rows::find(connection, collection)? else { continue };
        let before = log.place.generation;
        let log = log.renewed(environment.random() as u32, environment.now());
        let key = (collection, log.place.generation);
        match is_packed {
            true => log_pack::unpack(connection, files, key)?,
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
