//! Maintenance of log files when a store is opened, restored and checked.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior, params};

use super::log_files::{self, Key, LogFiles};
use super::{log_backup, log_rows, nonce};
use crate::environment::Environment;
use crate::error::StoreError;
use crate::log::{Generation, Log};

/// Repairs log files when a store is opened. Unless logs were settled just now, a log whose file has more
/// complete lines than are committed continues in a new generation. These lines may have been committed and
/// read, before an older state of the database was restored together with the file of its nonce. A crash
/// between writing and committing leaves the same state and is handled in the same way. This costs the log's
/// followers one extra request for the new generation.
pub(super) fn repair(
    connection: &mut Connection,
    directory: &Path,
    environment: &dyn Environment,
    is_settled: bool,
) -> Result<(), StoreError> {
    let files = LogFiles::of(directory);
    if is_clean(connection, &files)? {
        return Ok(());
    }
    if !is_settled {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if settle_longer(&transaction, &files, environment)? {
            nonce::begin(&transaction, directory)?;
        }
        transaction.commit()?;
    }
    // This must follow the commit: until then the file of the new generation was that of the old one.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    clean_up(&transaction, &files)?;
    Ok(transaction.commit()?)
}

/// Whether there are neither files without a log nor bytes after the committed lengths.
fn is_clean(connection: &Connection, files: &LogFiles) -> Result<bool, StoreError> {
    let found = files.found()?;
    if found.is_empty() {
        return Ok(true);
    }
    let known = log_rows::lengths(connection)?;
    Ok(found.iter().all(|(key, found)| known.get(key).is_some_and(|length| found <= length)))
}

/// Removes files and bytes that a crash left. The caller holds the lock for writing, so that no other
/// transaction is in progress, whose files would look the same.
fn clean_up(connection: &Connection, files: &LogFiles) -> Result<(), StoreError> {
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

/// Continues logs with uncommitted lines as [`repair`] describes, within a transaction that writes;
/// returns whether there were any.
fn settle_longer(
    connection: &Connection,
    files: &LogFiles,
    environment: &dyn Environment,
) -> Result<bool, StoreError> {
    let known = log_rows::lengths(connection)?;
    let mut is_any = false;
    for (key, found) in files.found()? {
        let (collection, generation) = key;
        let Some(length) = known.get(&key).filter(|length| found > **length) else { continue };
        let Some(log) = log_rows::find(connection, collection)? else { continue };
        // An earlier generation ended at its committed length, even if the database was restored.
        if log.place.generation == generation && files.has_line_behind(key, *length)? {
            let log = log.continued(environment.random() as u32, environment.now());
            files.link(key, (collection, log.place.generation))?;
            write_next(connection, collection, generation, &log)?;
            is_any = true;
        }
    }
    Ok(is_any)
}

/// Continues every log in a new generation, because others may have seen more of the last one. Its bytes come
/// from the backup that is being restored. Otherwise its file gets a second name; the file with the old name
/// is removed like those that a crash left.
pub(super) fn settle(
    connection: &Connection,
    files: &LogFiles,
    environment: &dyn Environment,
) -> Result<(), StoreError> {
    let collections: Vec<i64> = connection
        .prepare("SELECT collection FROM logs WHERE NOT removed ORDER BY collection")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let contains_logs = log_backup::contains_logs(connection)?;
    for collection in collections {
        let Some(log) = log_rows::find(connection, collection)? else { continue };
        let before = log.place.generation;
        let log = log.renewed(environment.random() as u32, environment.now());
        let key = (collection, log.place.generation);
        match contains_logs {
            true => log_backup::unpack(connection, files, key)?,
            false => files.link((collection, before), key)?,
        }
        write_next(connection, collection, before, &log)?;
    }
    if contains_logs {
        connection.execute_batch("DROP TABLE log_bytes; DROP TABLE IF EXISTS backup_files;")?;
    }
    Ok(())
}

/// Writes a log that continues in another generation, and the position that its snapshot covers.
fn write_next(
    connection: &Connection,
    collection: i64,
    before: Generation,
    log: &Log,
) -> Result<(), StoreError> {
    log_rows::write(connection, collection, log)?;
    log_rows::write_earlier(connection, collection, log)?;
    connection.execute(
        "UPDATE log_snapshots SET generation = ?3 WHERE collection = ?1 AND generation = ?2",
        params![collection, before.to_string(), log.place.generation.to_string()],
    )?;
    Ok(())
}

/// Logs whose files lack committed bytes, one line each. Concurrent appends and removals are tolerated: only
/// bytes count that were committed before the files were examined and are still referred to afterwards.
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
