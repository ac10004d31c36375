//! The settings of connections, and the schema's numbered migrations.

use feedsync_store::sqlite_support::{Busy, Durability, Schema, Settings};
use rusqlite::Connection;

use crate::library::error::LibraryError;

/// The schema of a library.
pub(super) const SCHEMA: Schema = Schema {
    // "fslb"
    application: 0x6673_6c62,
    migrations: &[
        include_str!("migrations/001.sql"),
        include_str!("migrations/002.sql"),
        include_str!("migrations/003.sql"),
        include_str!("migrations/004.sql"),
    ],
};

/// Settings of the connections.
pub(super) const SETTINGS: Settings = Settings {
    durability: Durability::Process,
    foreign_keys: true,
    cache: 16_000,
    reader_cache: 8_000,
    checkpoint: 1_000,
    busy: Busy::Share,
};

/// Checks the whole file; takes time in proportion to its size.
pub(super) fn check(connection: &Connection) -> Result<(), LibraryError> {
    let said: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if said == "ok" { Ok(()) } else { Err(LibraryError::Damaged(said)) }
}

/// Creates an empty database for tests.
#[cfg(test)]
pub(super) fn empty() -> (tempfile::TempDir, Connection) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(super::FILE);
    std::fs::write(&file, b"").unwrap();
    let mut connection = SETTINGS.connect(&file).unwrap();
    SCHEMA.open(&mut connection, &file).unwrap();
    (directory, connection)
}
