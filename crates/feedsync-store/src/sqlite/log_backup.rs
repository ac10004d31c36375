//! The bytes of logs in a backup, in pieces, with a report of bytes that damaged logs lack.

use std::fmt;

use rusqlite::{Connection, Transaction, params};

use super::log_files::{self, Key, LogFiles};
use super::log_rows;
use super::rows::parsed;
use crate::error::StoreError;
use crate::log::{Log, LogPosition};
use crate::name::CollectionName;
use crate::transfer::TransferredLog;

/// Size of the pieces of logs in a backup, in bytes.
const CHUNK_BYTES: usize = 1 << 20;

/// Maximum number of attempts to copy a log. A log may be removed while the others are copied; then its
/// current state is read again.
const MAX_ATTEMPTS: usize = 5;

/// Report of a backup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "it may lack bytes of logs"]
pub struct BackupReport {
    /// Logs of which it lacks committed bytes. Everything else is complete.
    pub damaged: Vec<DamagedLog>,
}

impl BackupReport {
    /// Whether the backup is complete.
    pub fn is_complete(&self) -> bool {
        self.damaged.is_empty()
    }
}

/// A log whose file lacks committed bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLog {
    /// Collection of the log.
    pub collection: CollectionName,
    /// Description of the fault of its file.
    pub fault: String,
    /// Number of committed bytes.
    pub committed: u64,
    /// Number of its bytes in the backup, which are the complete lines of the file.
    pub kept: u64,
}

impl fmt::Display for DamagedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, committed, kept, .. } = self;
        write!(f, "{fault}; of its {committed} bytes the backup has {kept}, in whole lines")
    }
}

/// Whether this is a backup, which contains the bytes of logs.
pub(super) fn contains_logs(connection: &Connection) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE name = 'log_bytes'";
    Ok(connection.prepare(sql)?.exists([])?)
}

/// Copies the bytes of all logs into a backup of `source`. Earlier generations are not copied, because a
/// restored store removes them. A log that was removed meanwhile is copied in its current state.
pub(super) fn pack(
    backup: &mut Connection,
    source: &Connection,
    files: &LogFiles,
) -> Result<BackupReport, StoreError> {
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
    let mut packing = LogPacker { backup: &transaction, source, files };
    let mut damaged = Vec::new();
    for (collection, name) in names(&transaction)? {
        damaged.extend(packing.log(collection, name)?);
    }
    transaction.commit()?;
    Ok(BackupReport { damaged })
}

/// The collections that have a log.
fn names(backup: &Connection) -> Result<Vec<(i64, CollectionName)>, StoreError> {
    let sql = "SELECT c.id, c.name FROM logs l JOIN collections c ON c.id = l.collection
                WHERE NOT l.removed ORDER BY c.id";
    let mut statement = backup.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut names = Vec::new();
    while let Some(row) = rows.next()? {
        names.push((row.get(0)?, parsed(row, 1)?));
    }
    Ok(names)
}

struct LogPacker<'a> {
    backup: &'a Transaction<'a>,
    source: &'a Connection,
    files: &'a LogFiles,
}

impl LogPacker<'_> {
    fn log(
        &mut self,
        collection: i64,
        name: CollectionName,
    ) -> Result<Option<DamagedLog>, StoreError> {
        let mut tries = 0;
        loop {
            let Some(log) = log_rows::find(self.backup, collection)? else { return Ok(None) };
            if log.removed {
                return Ok(None);
            }
            let LogPosition { generation, length } = log.place;
            let key = (collection, generation);
            let fault = match self.files.reader(key, 0) {
                Ok(Some(reader)) => self.copy(collection, length, reader)?,
                Ok(None) if tries < MAX_ATTEMPTS && self.is_forgotten(key)? => {
                    tries += 1;
                    self.reread_log(collection, log)?;
                    continue;
                }
                Ok(None) => Some(log_files::missing(&self.files.path(key))),
                Err(fault) => Some(fault),
            };
            let Some(fault) = fault else { return Ok(None) };
            let kept = self.truncate_to_lines(collection)?;
            self.shorten(collection, log, kept)?;
            let fault = fault.to_string();
            return Ok(Some(DamagedLog { collection: name, fault, committed: length, kept }));
        }
    }

    /// Copies the given number of bytes; if the file has fewer, copies those and returns a description of the
    /// fault.
    fn copy(
        &self,
        collection: i64,
        length: u64,
        mut reader: log_files::LogReader,
    ) -> Result<Option<StoreError>, StoreError> {
        let mut insert = self.backup.prepare_cached(
            "INSERT INTO log_bytes (collection, start, bytes) VALUES (?1, ?2, ?3)",
        )?;
        for start in (0..length).step_by(CHUNK_BYTES) {
            let count = (length - start).min(CHUNK_BYTES as u64) as usize;
            let (bytes, fault) = reader.next(count);
            if !bytes.is_empty() {
                insert.execute(params![collection, start as i64, bytes])?;
            }
            if fault.is_some() {
                return Ok(fault);
            }
        }
        Ok(None)
    }

    /// Whether no row refers to the file of a generation any more.
    fn is_forgotten(&self, key: Key) -> Result<bool, StoreError> {
        Ok(!log_rows::lengths(self.source)?.contains_key(&key))
    }

    /// Replaces a log by its current state; a log of a dropped collection is recorded as removed.
    fn reread_log(&self, collection: i64, before: Log) -> Result<(), StoreError> {
        let now = self.source.unchecked_transaction()?;
        let log = log_rows::find(&now, collection)?;
        let log = log.unwrap_or(Log { removed: true, snapshot: None, ..before });
        let keys = log_rows::all_keyed(&now, collection)?;
        let snapshot = log_rows::snapshot_content(&now, collection)?;
        now.commit()?;
        log_rows::delete_side_rows(self.backup, collection)?;
        log_rows::write_moved(self.backup, collection, &TransferredLog { log, keys, snapshot })
    }

    /// Removes the bytes after the last line feed; returns the remaining number.
    fn truncate_to_lines(&self, collection: i64) -> Result<u64, StoreError> {
        let last = "SELECT start, bytes FROM log_bytes WHERE collection = ?1
                     ORDER BY start DESC LIMIT 1";
        let mut last = self.backup.prepare(last)?;
        loop {
            let mut rows = last.query([collection])?;
            let Some(row) = rows.next()? else { return Ok(0) };
            let start: i64 = row.get(0)?;
            let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            let lines = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            let bytes = bytes[..lines].to_vec();
            drop(rows);
            if lines > 0 {
                let sql = "UPDATE log_bytes SET bytes = ?3 WHERE collection = ?1 AND start = ?2";
                self.backup.execute(sql, params![collection, start, bytes])?;
                return Ok(start as u64 + lines as u64);
            }
            let sql = "DELETE FROM log_bytes WHERE collection = ?1 AND start = ?2";
            self.backup.execute(sql, params![collection, start])?;
        }
    }

    /// Records the loss of the log's end. Its snapshot may cover more than the remaining bytes, and all keys
    /// are removed, since the appends may be among the lost bytes.
    fn shorten(&self, collection: i64, mut log: Log, kept: u64) -> Result<(), StoreError> {
        log.place.length = kept;
        log_rows::write(self.backup, collection, &log)?;
        self.backup.execute("DELETE FROM log_keys WHERE collection = ?1", [collection])?;
        self.backup.execute(
            "UPDATE log_snapshots SET covers = min(covers, ?3)
              WHERE collection = ?1 AND generation = ?2",
            params![collection, log.place.generation.to_string(), kept as i64],
        )?;
        Ok(())
    }
}

/// Writes the bytes of logs in a backup to files. The space of the removed rows is reused.
pub(super) fn unpack(
    connection: &Connection,
    files: &LogFiles,
    key: Key,
) -> Result<(), StoreError> {
    let mut statement = connection
        .prepare("SELECT start, bytes FROM log_bytes WHERE collection = ?1 ORDER BY start")?;
    let mut rows = statement.query([key.0])?;
    files.begin(key, &[])?;
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        files.append(key, row.get::<_, i64>(0)? as u64, bytes)?;
    }
    files.sync()?;
    // Only one file is open at a time, however many logs there are.
    files.left_open();
    Ok(())
}

#[cfg(all(test, feature = "conformance"))]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::conformance::logs::{append, begun, done, read_all};
    use crate::conformance::samples::create;
    use crate::conformance::{TestEnvironment, wait};
    use crate::log::{Append, Expected, Logs as _, NewSnapshot};
    use crate::sqlite::schema::SETTINGS;
    use crate::sqlite::{SqliteStore, copy};
    use crate::{EndpointName, ItemStore as _, Transfer as _};

    fn environment(seed: u64) -> Arc<TestEnvironment> {
        Arc::new(TestEnvironment::new(seed))
    }

    /// Restores a backup whose database is copied before `change`, and whose logs are packed after it.
    fn backed_up(store: &SqliteStore, parent: &Path, change: impl FnOnce()) -> SqliteStore {
        let file = parent.join("backup");
        std::fs::write(&file, "").unwrap();
        let source = SETTINGS.connect_reader(&parent.join("data/feedsync.db")).unwrap();
        let mut target = copy::copy(&source, &file).unwrap();
        change();
        assert!(pack(&mut target, &source, &store.files).unwrap().is_complete());
        drop(target);
        SqliteStore::restore(&file, &parent.join("restored"), environment(2)).unwrap()
    }

    fn init(parent: &Path) -> SqliteStore {
        let name = EndpointName::new("anna").unwrap();
        SqliteStore::init(&parent.join("data"), &name, environment(1)).unwrap()
    }

    /// Removing logs during a backup never makes the backup fail, however often it happens.
    #[test]
    fn a_log_that_is_removed_while_others_are_copied_is_backed_up_as_it_then_stands() {
        let parent = tempfile::tempdir().unwrap();
        let store = init(parent.path());
        let names = ["again", "dropped", "gone", "stays"].map(|name| create(&store, name).name);
        let [again, dropped, gone, stays] = &names;
        for name in &names {
            begun(&store, name, b"before\n");
        }
        let restored = backed_up(&store, parent.path(), || {
            done(wait(store.remove_log(again, Expected::Present, None)));
            let keyed =
                Append { key: Some("key".to_owned()), ..append(Expected::Absent, b"after\n") };
            let covers = done(wait(store.append_to_log(again, keyed))).place;
            let (media_type, bytes) = ("text/plain".to_owned(), b"all".to_vec());
            let snapshot = NewSnapshot { covers, media_type, bytes };
            done(wait(store.put_log_snapshot(again, snapshot)));
            done(wait(store.remove_log(gone, Expected::Present, None)));
            wait(store.drop_collection(dropped)).unwrap();
        });
        let log = |name| wait(restored.log(name)).unwrap().unwrap();
        let bytes = |name| read_all(&restored, name, log(name).place.generation);
        assert_eq!(bytes(again), Some(b"after\n".to_vec()));
        assert_eq!(wait(restored.log_snapshot(again)).unwrap().unwrap().1, b"all");
        assert_eq!(wait(restored.log_keys(again)).unwrap().len(), 1);
        assert_eq!(bytes(stays), Some(b"before\n".to_vec()));
        assert!(log(gone).removed && log(dropped).removed);
        assert_eq!(wait(restored.check()).unwrap(), Vec::<String>::new());
    }
}
