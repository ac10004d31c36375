//! The files of logs when a store is opened, put back and checked.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior, params};

use super::log_files::{self, Key, LogFiles};
use super::{life, log_pack, log_rows};
use crate::environment::Environment;
use crate::error::StoreError;
use crate::log::{Generation, Log};

/// What is to be done to files when a store is opened. If logs were not settled just now, one whose file holds
/// more whole lines than are committed goes on in a new generation: these may have been committed and
/// read, and then an older state of the database was put back, together with what tells that of others. A crash
/// between writing and committing leaves the same, and is taken for it: that costs those who follow the
/// log a look at the new generation.
pub(super) fn put_in_order(
    connection: &mut Connection,
    directory: &Path,
    environment: &dyn Environment,
    is_settled: bool,
) -> Result<(), StoreError> {
    let files = LogFiles::of(directory);
    if is_tidy(connection, &files)? {
        return Ok(());
    }
    if !is_settled {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if settle_longer(&transaction, &files, environment)? {
            life::begin(&transaction, directory)?;
        }
        transaction.commit()?;
    }
    // Only now: while the new generation was not committed, its file was the old one's.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tidy(&transaction, &files)?;
    Ok(transaction.commit()?)
}

/// Whether there are neither files of no log nor bytes that were never committed.
fn is_tidy(connection: &Connection, files: &LogFiles) -> Result<bool, StoreError> {
    let found = files.found()?;
    if found.is_empty() {
        return Ok(true);
    }
    let known = log_rows::lengths(connection)?;
    Ok(found.iter().all(|(key, found)| known.get(key).is_some_and(|length| found <= length)))
}

/// Removes what a crash left. In a transaction that writes: nobody else has one under way, whose files would
/// look the same.
fn tidy(connection: &Connection, files: &LogFiles) -> Result<(), StoreError> {
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

/// As for [`put_in_order`], and in a transaction that writes; whether there was such a log.
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
        // An earlier generation had ended where it ends, whatever was put back.
        if log.place.generation == generation && files.has_line_behind(key, *length)? {
            let log = log.gone_on(environment.random() as u32, environment.now());
            files.link(key, (collection, log.place.generation))?;
            write_next(connection, collection, generation, &log)?;
            is_any = true;
        }
    }
    Ok(is_any)
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
        write_next(connection, collection, before, &log)?;
    }
    if is_packed {
        connection.execute("DROP TABLE log_bytes", [])?;
    }
    Ok(())
}

/// Writes a log that goes on in another generation than before, and what its snapshot stands for.
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
