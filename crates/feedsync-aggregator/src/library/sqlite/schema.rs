//! Connections and the schema's numbered migrations.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::library::error::LibraryError;

/// "fslb": distinguishes a library from databases of other programs.
const APPLICATION_ID: i64 = 0x6673_6c62;

/// Migrations, each to the next version of the schema; the newest is last.
const MIGRATIONS: [&str; 4] = [
    include_str!("migrations/001.sql"),
    include_str!("migrations/002.sql"),
    include_str!("migrations/003.sql"),
    include_str!("migrations/004.sql"),
];

/// Interval and number of attempts while another process writes, in total about a minute.
const RETRY_PAUSE: Duration = Duration::from_micros(500);
const MAX_TRIES: i32 = 100_000;

/// Opens a connection for writing.
pub(super) fn connect(file: &Path) -> Result<Connection, LibraryError> {
    let mut connection = Connection::open_with_flags(
        file,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_handler(Some(retry_if_busy))?;
    connection.set_prepared_statement_cache_capacity(64);
    let settings = "PRAGMA synchronous = NORMAL;
         PRAGMA fullfsync = ON;
         PRAGMA checkpoint_fullfsync = ON;
         PRAGMA foreign_keys = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -16000;
         PRAGMA journal_size_limit = 67108864;";
    match connection.execute_batch(settings) {
        Err(error) if is_not_a_database(&error) => {
            Err(LibraryError::Foreign { path: file.to_owned() })
        }
        result => Ok(result.map(|()| connection)?),
    }
}

fn retry_if_busy(tries: i32) -> bool {
    thread::sleep(RETRY_PAUSE);
    tries < MAX_TRIES
}

/// Opens a read-only connection.
pub(super) fn connect_reader(file: &Path) -> Result<Connection, LibraryError> {
    let connection = connect(file)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -8000;")?;
    Ok(connection)
}

/// Checks the whole file; takes time in proportion to its size.
pub(super) fn check(connection: &Connection) -> Result<(), LibraryError> {
    let said: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if said == "ok" { Ok(()) } else { Err(LibraryError::Damaged(said)) }
}

/// Migrates the schema to the current version. Refuses databases of other programs and of newer versions.
pub(super) fn migrate(connection: &mut Connection, file: &Path) -> Result<(), LibraryError> {
    // Checked before the first write, since the file may belong to another program.
    let found = version(connection, file)?;
    write_ahead(connection, file)?;
    if found == MIGRATIONS.len() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated it meanwhile.
    let found = version(&transaction, file)?;
    if found < MIGRATIONS.len() {
        for migration in &MIGRATIONS[found..] {
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
    }
    Ok(transaction.commit()?)
}

/// Version of the schema; 0 for an empty file.
fn version(connection: &Connection, file: &Path) -> Result<usize, LibraryError> {
    let pragma = |name| connection.query_row(name, [], |row| row.get::<_, i64>(0));
    let read: rusqlite::Result<_> = (|| {
        let application = pragma("PRAGMA application_id")?;
        let version = pragma("PRAGMA user_version")?;
        Ok((application, version, pragma("SELECT count(*) FROM sqlite_schema")?))
    })();
    let foreign = || LibraryError::Foreign { path: file.to_owned() };
    match read {
        Ok((0, 0, 0)) => Ok(0),
        Ok((APPLICATION_ID, found, _)) => match usize::try_from(found) {
            Ok(found) if found <= MIGRATIONS.len() => Ok(found),
            _ => {
                let known = MIGRATIONS.len() as i64;
                Err(LibraryError::Newer { path: file.to_owned(), found, known })
            }
        },
        Ok(_) => Err(foreign()),
        Err(error) if is_not_a_database(&error) => Err(foreign()),
        Err(error) => Err(error.into()),
    }
}

/// Enables write-ahead logging, so that readers and writers do not block each other. The mode is stored in the
/// file.
fn write_ahead(connection: &Connection, file: &Path) -> Result<(), LibraryError> {
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode == "wal" {
        return Ok(());
    }
    let text = format!("the file system does not allow write-ahead logging (got {mode})");
    Err(LibraryError::file(file, std::io::Error::other(text)))
}

fn is_not_a_database(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::NotADatabase)
}

/// Creates an empty database for tests.
#[cfg(test)]
pub(super) fn empty() -> (tempfile::TempDir, Connection) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(super::FILE);
    std::fs::write(&file, b"").unwrap();
    let mut connection = connect(&file).unwrap();
    migrate(&mut connection, &file).unwrap();
    (directory, connection)
}
