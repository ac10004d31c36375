//! The settings of connections, and the schema's numbered migrations.

use rusqlite::{Connection, ErrorCode};

use crate::error::StoreError;
use crate::sqlite_support::{
    Busy, Durability, Schema, Settings, SqliteError, TaskError, enable_wal,
};

/// The schema of a store.
pub(super) const SCHEMA: Schema = Schema {
    // "fsyn"
    application: 0x6673_796e,
    migrations: &[
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
        include_str!("migrations/012.sql"),
        include_str!("migrations/013.sql"),
        include_str!("migrations/014.sql"),
        include_str!("migrations/015.sql"),
        include_str!("migrations/016.sql"),
    ],
};

/// Settings of the connections. Every commit is durable before it returns.
pub(super) const SETTINGS: Settings = Settings {
    durability: Durability::Power,
    foreign_keys: true,
    cache: 16_000,
    reader_cache: 8_000,
    checkpoint: 4_000,
    busy: Busy::Share,
};

/// Enables incremental vacuum in an empty file, which is only possible before its first page is written.
pub(super) fn begin(connection: &Connection) -> Result<(), StoreError> {
    connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
    Ok(enable_wal(connection)?)
}

/// Runs a checkpoint that copies the write-ahead log into the file, except for pages that are still read.
/// Never waits.
pub(super) fn checkpoint_wal(connection: &Connection) -> Result<(), StoreError> {
    Ok(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            // Also a damaged file: its error tells where.
            _ => Self::Database(Box::new(error)),
        }
    }
}

impl From<SqliteError> for StoreError {
    fn from(error: SqliteError) -> Self {
        match error {
            SqliteError::Foreign { path } => Self::Foreign { path },
            SqliteError::Newer { path, found, known } => Self::Newer { path, found, known },
            SqliteError::Full => Self::Full,
            SqliteError::Damaged(reason) => Self::Damaged(reason),
            SqliteError::Database(error) => Self::Database(error),
            SqliteError::Panicked => Self::Decision("a decision or read panicked".to_owned()),
            SqliteError::Unknown(reason) => Self::Unknown(reason),
        }
    }
}

impl TaskError for StoreError {
    fn is_full_disk(&self) -> bool {
        matches!(self, Self::Full)
    }

    fn is_damaged_file(&self) -> bool {
        self.is_damaged()
    }
}
