//! Rows of logs.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::log_files::Key;
use super::rows::parsed;
use crate::columns::moment;
use crate::error::StoreError;
use crate::log::{
    EndedGeneration, Generation, KeyedAppend, Log, LogPosition, LogSnapshot, MAX_APPEND_KEYS,
};
use crate::name::CollectionName;
use crate::transfer::TransferredLog;

pub(super) fn find(connection: &Connection, collection: i64) -> Result<Option<Log>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT generation, length, media_type, removed, began, changed
           FROM logs WHERE collection = ?1",
    )?;
    let mut rows = statement.query([collection])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let mut log = Log {
        place: place(row, 0)?,
        media_type: row.get(2)?,
        removed: row.get(3)?,
        began: moment(row.get(4)?),
        changed: moment(row.get(5)?),
        earlier: Default::default(),
        snapshot: snapshot(connection, collection)?,
    };
    let mut statement = connection.prepare_cached(
        "SELECT generation, length, ended FROM log_generations WHERE collection = ?1",
    )?;
    let mut rows = statement.query([collection])?;
    while let Some(row) = rows.next()? {
        let LogPosition { generation, length } = place(row, 0)?;
        log.earlier.insert(generation, EndedGeneration { length, at: moment(row.get(2)?) });
    }
    Ok(Some(log))
}

/// A position, read from two columns from `first` on.
pub(super) fn place(row: &Row<'_>, first: usize) -> Result<LogPosition, StoreError> {
    let length: i64 = row.get(first + 1)?;
    Ok(LogPosition { generation: parsed(row, first)?, length: length as u64 })
}

pub(super) fn snapshot(
    connection: &Connection,
    collection: i64,
) -> Result<Option<LogSnapshot>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT generation, covers, media_type, digest, length(content), stored
           FROM log_snapshots WHERE collection = ?1",
    )?;
    let mut rows = statement.query([collection])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(LogSnapshot {
        covers: place(row, 0)?,
        media_type: row.get(2)?,
        digest: parsed(row, 3)?,
        length: row.get::<_, i64>(4)? as u64,
        stored: moment(row.get(5)?),
    }))
}

/// Bytes of the snapshot.
pub(super) fn snapshot_content(
    connection: &Connection,
    collection: i64,
) -> Result<Option<Vec<u8>>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT content FROM log_snapshots WHERE collection = ?1")?;
    Ok(statement.query_row([collection], |row| row.get(0)).optional()?)
}

pub(super) fn keyed(
    connection: &Connection,
    collection: i64,
    key: &str,
) -> Result<Option<KeyedAppend>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT generation, ends, key, digest, length
           FROM log_keys WHERE collection = ?1 AND key = ?2",
    )?;
    let mut rows = statement.query(params![collection, key])?;
    rows.next()?.map(read_keyed).transpose()
}

/// All stored keyed appends of a log, oldest first.
pub(super) fn all_keyed(
    connection: &Connection,
    collection: i64,
) -> Result<Vec<KeyedAppend>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT generation, ends, key, digest, length
           FROM log_keys WHERE collection = ?1 ORDER BY ordinal",
    )?;
    let mut rows = statement.query([collection])?;
    let mut keyed = Vec::new();
    while let Some(row) = rows.next()? {
        keyed.push(read_keyed(row)?);
    }
    Ok(keyed)
}

fn read_keyed(row: &Row<'_>) -> Result<KeyedAppend, StoreError> {
    Ok(KeyedAppend {
        end: place(row, 0)?,
        key: row.get(2)?,
        digest: parsed(row, 3)?,
        length: row.get::<_, i64>(4)? as u64,
    })
}

pub(super) fn write(connection: &Connection, collection: i64, log: &Log) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO logs (collection, generation, length, media_type, removed, began, changed)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (collection) DO UPDATE
             SET generation = excluded.generation, length = excluded.length,
                 media_type = excluded.media_type, removed = excluded.removed,
                 began = excluded.began, changed = excluded.changed",
        )?
        .execute(params![
            collection,
            log.place.generation.to_string(),
            log.place.length as i64,
            log.media_type,
            log.removed,
            log.began,
            log.changed,
        ])?;
    Ok(())
}

/// Writes a log without earlier generations, keys or snapshot.
pub(super) fn write_moved(
    connection: &Connection,
    collection: i64,
    moved: &TransferredLog,
) -> Result<(), StoreError> {
    let TransferredLog { log, keys, snapshot } = moved;
    write(connection, collection, log)?;
    for key in keys {
        write_key(connection, collection, key)?;
    }
    if let (Some(snapshot), Some(content)) = (&log.snapshot, snapshot) {
        write_snapshot(connection, collection, snapshot, content)?;
    }
    Ok(())
}

pub(super) fn write_earlier(
    connection: &Connection,
    collection: i64,
    log: &Log,
) -> Result<(), StoreError> {
    connection.execute("DELETE FROM log_generations WHERE collection = ?1", [collection])?;
    let mut statement = connection.prepare_cached(
        "INSERT INTO log_generations (collection, generation, length, ended)
         VALUES (?1, ?2, ?3, ?4)",
    )?;
    for (generation, EndedGeneration { length, at }) in &log.earlier {
        statement.execute(params![collection, generation.to_string(), *length as i64, at])?;
    }
    Ok(())
}

pub(super) fn delete_side_rows(connection: &Connection, collection: i64) -> Result<(), StoreError> {
    connection.execute("DELETE FROM log_keys WHERE collection = ?1", [collection])?;
    connection.execute("DELETE FROM log_snapshots WHERE collection = ?1", [collection])?;
    Ok(())
}

pub(super) fn write_key(
    connection: &Connection,
    collection: i64,
    keyed: &KeyedAppend,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO log_keys (collection, key, digest, length, generation, ends)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            collection,
            keyed.key,
            keyed.digest.to_string(),
            keyed.length as i64,
            keyed.end.generation.to_string(),
            keyed.end.length as i64,
        ])?;
    connection
        .prepare_cached(
            "DELETE FROM log_keys WHERE collection = ?1 AND ordinal <=
               (SELECT ordinal FROM log_keys WHERE collection = ?1
                 ORDER BY ordinal DESC LIMIT 1 OFFSET ?2)",
        )?
        .execute(params![collection, MAX_APPEND_KEYS as i64])?;
    Ok(())
}

pub(super) fn write_snapshot(
    connection: &Connection,
    collection: i64,
    snapshot: &LogSnapshot,
    content: &[u8],
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO log_snapshots
               (collection, generation, covers, media_type, digest, stored, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            collection,
            snapshot.covers.generation.to_string(),
            snapshot.covers.length as i64,
            snapshot.media_type,
            snapshot.digest.to_string(),
            snapshot.stored,
            content,
        ])?;
    Ok(())
}

pub(super) fn generations(log: Option<&Log>) -> Vec<Generation> {
    log.map_or(Vec::new(), |log| log.generations().map(|(generation, _)| generation).collect())
}

/// The greatest generation number of dropped logs.
pub(super) fn last_dropped(connection: &Connection) -> Result<u64, StoreError> {
    let sql = "SELECT last_dropped_generation FROM endpoint";
    let last: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(last as u64)
}

/// Records the generation of a collection's log before the collection is dropped, so that logs created later
/// get greater numbers.
pub(super) fn drop_with(connection: &Connection, collection: i64) -> Result<(), StoreError> {
    let Some(log) = find(connection, collection)? else { return Ok(()) };
    connection.execute(
        "UPDATE endpoint SET last_dropped_generation = max(last_dropped_generation, ?1)",
        [log.place.generation.number() as i64],
    )?;
    Ok(())
}

/// The generations of a collection's log, whose files are removed with the collection.
pub(super) fn keys(connection: &Connection, collection: i64) -> Result<Vec<Key>, StoreError> {
    let generations = generations(find(connection, collection)?.as_ref());
    Ok(generations.into_iter().map(|generation| (collection, generation)).collect())
}

/// For each collection with a log, a text that differs after each change of the log.
pub(super) fn marks(
    connection: &Connection,
) -> Result<HashMap<CollectionName, String>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT c.name, concat_ws(' ', l.generation, l.length, l.removed, s.generation, s.covers)
           FROM logs l JOIN collections c ON c.id = l.collection
           LEFT JOIN log_snapshots s ON s.collection = l.collection",
    )?;
    let mut rows = statement.query([])?;
    let mut marks = HashMap::new();
    while let Some(row) = rows.next()? {
        marks.insert(parsed(row, 0)?, row.get(1)?);
    }
    Ok(marks)
}

/// Committed lengths of all stored generations, in bytes.
pub(super) fn lengths(connection: &Connection) -> Result<BTreeMap<Key, u64>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT collection, generation, length FROM logs WHERE NOT removed
         UNION ALL SELECT collection, generation, length FROM log_generations",
    )?;
    let mut rows = statement.query([])?;
    let mut lengths = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let LogPosition { generation, length } = place(row, 1)?;
        lengths.insert((row.get(0)?, generation), length);
    }
    Ok(lengths)
}
