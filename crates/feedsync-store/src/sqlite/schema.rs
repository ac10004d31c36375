//! Connections and the schema's numbered migrations.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction};

use crate::error::StoreError;

/// "fsyn": distinguishes a store from other SQLite databases.
const APPLICATION_ID: i64 = 0x6673_796e;

/// Migrations in order; each brings the schema to the next version.
const MIGRATIONS: [&str; 11] = [
    include_str!("migrations/001.sql"),
    include_str!("migrations/002.sql"),
    include_str!("migrations/003.sql"),
    include_str!("migrations/004.sql"),
    include_str!("migrations/005.sql"),
    include_str!("migrations/006.sql"),
    include_str!("migrations/007.sql"),
    include_str!("migrations/008.sql"),
    include_str!("migrations/009.sql"),
    include_str!("migrations/010.sql"),
    include_str!("migrations/011.sql"),
];

/// Pause before a writer that found the file locked tries again, and the maximum number of attempts: about a
/// minute in all. The pause is short, since a busy process leaves only short gaps.
const PAUSE: Duration = Duration::from_micros(500);
const MAX_ATTEMPTS: i32 = 100_000;

/// Contents of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contents {
    /// The file is empty.
    Empty,
    /// A store of this schema version.
    Store(i64),
    /// Another program's database.
    Foreign,
}

/// Opens a connection that writes. Every commit is durable before it returns.
pub(super) fn connect(file: &Path) -> Result<Connection, StoreError> {
    let mut connection = Connection::open_with_flags(
        file,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_handler(Some(retry_busy))?;
    connection.set_prepared_statement_cache_capacity(64);
    let settings = "PRAGMA synchronous = FULL;
         PRAGMA fullfsync = ON;
         PRAGMA checkpoint_fullfsync = ON;
         PRAGMA foreign_keys = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -16000;
         PRAGMA wal_autocheckpoint = 4000;
         PRAGMA journal_size_limit = 67108864;";
    match connection.execute_batch(settings) {
        Err(error) if is_not_a_database(&error) => {
            Err(StoreError::Foreign { path: file.to_owned() })
        }
        result => Ok(result.map(|()| connection)?),
    }
}

fn retry_busy(tries: i32) -> bool {
    thread::sleep(PAUSE);
    tries < MAX_ATTEMPTS
}

fn is_not_a_database(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::NotADatabase)
}

/// Opens a connection that only reads.
pub(super) fn connect_reader(file: &Path) -> Result<Connection, StoreError> {
    let connection = connect(file)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -8000;")?;
    Ok(connection)
}

/// Enables incremental vacuum in an empty file, which is only possible before its first page is written.
pub(super) fn begin(connection: &Connection) -> Result<(), StoreError> {
    connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
    enable_wal(connection)
}

/// Enables write-ahead logging, with which readers and writers do not wait for each other. The mode is stored
/// in the file.
pub(super) fn enable_wal(connection: &Connection) -> Result<(), StoreError> {
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode == "wal" {
        Ok(())
    } else {
        Err(StoreError::Database(
            format!("the file system does not allow write-ahead logging (got {mode})").into(),
        ))
    }
}

/// Runs a checkpoint that copies the write-ahead log into the file, except for pages that are still read.
/// Never waits.
pub(super) fn checkpoint_wal(connection: &Connection) -> Result<(), StoreError> {
    Ok(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
}

pub(super) fn contents(connection: &Connection) -> Result<Contents, StoreError> {
    let pragma = |name| connection.query_row(name, [], |row| row.get::<_, i64>(0));
    let result: rusqlite::Result<_> = (|| {
        let application = pragma("PRAGMA application_id")?;
        let version = pragma("PRAGMA user_version")?;
        let tables = pragma("SELECT count(*) FROM sqlite_schema")?;
        Ok(match (application, version, tables) {
            (APPLICATION_ID, version, _) => Contents::Store(version),
            (0, 0, 0) => Contents::Empty,
            _ => Contents::Foreign,
        })
    })();
    match result {
        Err(error) if is_not_a_database(&error) => Ok(Contents::Foreign),
        result => Ok(result?),
    }
}

/// Whether the schema is the one this program writes.
pub(super) fn is_current(contents: Contents) -> bool {
    contents == Contents::Store(MIGRATIONS.len() as i64)
}

/// Migrates the schema; rejects a file that is not a store or that is newer than this program.
pub(super) fn migrate(transaction: &Transaction<'_>, file: &Path) -> Result<(), StoreError> {
    let known = MIGRATIONS.len() as i64;
    let found = match contents(transaction)? {
        Contents::Empty => 0,
        Contents::Store(version) if version <= known => version,
        Contents::Store(found) => {
            return Err(StoreError::Newer { path: file.to_owned(), found, known });
        }
        Contents::Foreign => return Err(StoreError::Foreign { path: file.to_owned() }),
    };
    for migration in MIGRATIONS.iter().skip(found as usize) {
        transaction.execute_batch(migration)?;
    }
    if found < known {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", known)?;
    }
    Ok(())
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            _ => Self::Database(Box::new(error)),
        }
    }
}
