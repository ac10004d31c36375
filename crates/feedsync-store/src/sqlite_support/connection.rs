//! Connections and their settings.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::SqliteError;
use super::writer::Durability;

/// Pause before a writer that found the file locked tries again, and the maximum number of attempts: about a
/// minute in all. The pause is short, since a busy process leaves only short gaps.
const PAUSE: Duration = Duration::from_micros(500);
const MAX_ATTEMPTS: i32 = 100_000;

/// Number of prepared statements that a connection caches.
const STATEMENTS: usize = 64;

/// Size to which the write-ahead log is truncated after a checkpoint, in bytes.
const MAX_IDLE_LOG_BYTES: u32 = 64 << 20;

/// Behavior of a connection while another one has the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busy {
    /// Tries again in short intervals for about a minute, since other processes write too.
    Share,
    /// Waits with growing pauses, up to this duration.
    Wait(Duration),
}

/// Settings of the connections to a file.
///
/// In addition, the data of the file and of checkpoints is synchronized completely on each system, the schema
/// is not trusted, and temporary tables are in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Failures that a commit survives, unless the [`Writer`](super::Writer) sets it for each commit.
    pub durability: Durability,
    /// Whether foreign keys are enforced.
    pub foreign_keys: bool,
    /// Size of the page cache of a connection that writes, in KiB.
    pub cache: u32,
    /// Size of the page cache of a connection that reads, in KiB.
    pub reader_cache: u32,
    /// Size of the write-ahead log that causes a checkpoint, in pages.
    pub checkpoint: u32,
    /// Behavior of a connection while another one has the lock.
    pub busy: Busy,
}

impl Settings {
    /// Opens a connection that writes to an existing file.
    pub fn connect(&self, file: &Path) -> Result<Connection, SqliteError> {
        let mut connection = Connection::open_with_flags(
            file,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        match self.busy {
            Busy::Share => connection.busy_handler(Some(retry_busy))?,
            Busy::Wait(timeout) => connection.busy_timeout(timeout)?,
        }
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        let Self { cache, checkpoint, .. } = self;
        let settings = format!(
            "PRAGMA synchronous = {};
             PRAGMA fullfsync = ON;
             PRAGMA checkpoint_fullfsync = ON;
             PRAGMA foreign_keys = {};
             PRAGMA trusted_schema = OFF;
             PRAGMA temp_store = MEMORY;
             PRAGMA cache_size = -{cache};
             PRAGMA wal_autocheckpoint = {checkpoint};
             PRAGMA journal_size_limit = {MAX_IDLE_LOG_BYTES};",
            self.durability.synchronous(),
            if self.foreign_keys { "ON" } else { "OFF" },
        );
        match connection.execute_batch(&settings) {
            Ok(()) => Ok(connection),
            Err(error) => Err(SqliteError::of_file(error, file)),
        }
    }

    /// Opens a connection that only reads.
    pub fn connect_reader(&self, file: &Path) -> Result<Connection, SqliteError> {
        let connection = self.connect(file)?;
        let settings =
            format!("PRAGMA query_only = ON; PRAGMA cache_size = -{};", self.reader_cache);
        connection.execute_batch(&settings)?;
        Ok(connection)
    }
}

fn retry_busy(tries: i32) -> bool {
    thread::sleep(PAUSE);
    tries < MAX_ATTEMPTS
}
