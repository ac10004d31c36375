//! Connections and the schema's numbered migrations.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::error::StoreError;

/// "fsgw": distinguishes this database from those of other programs.
const APPLICATION_ID: i64 = 0x6673_6777;

/// Migrations, each to the next version of the schema; the newest is last.
const MIGRATIONS: [&str; 4] = [
    include_str!("schema.sql"),
    include_str!("newsreaders.sql"),
    include_str!("stalls.sql"),
    include_str!("failures.sql"),
];

/// Timeout for locks. There is no other writer, but a reader may briefly block a checkpoint of the log.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens a connection for writing. A commit survives the end of the process; it survives a power failure only
/// after the log was synchronised.
pub(super) fn connect(file: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(
        file,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(64);
    let settings = "PRAGMA synchronous = NORMAL;
         PRAGMA fullfsync = ON;
         PRAGMA checkpoint_fullfsync = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -8000;
         PRAGMA wal_autocheckpoint = 16000;
         PRAGMA journal_size_limit = 67108864;";
    match connection.execute_batch(settings) {
        Err(error) if is_not_a_database(&error) => {
            Err(StoreError::Foreign { path: file.to_owned() })
        }
        result => Ok(result.map(|()| connection)?),
    }
}

/// Opens a read-only connection.
pub(super) fn connect_reader(file: &Path) -> Result<Connection, StoreError> {
    let connection = connect(file)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -2000;")?;
    Ok(connection)
}

/// Migrates the schema to the current version. Refuses databases of other programs and of newer versions.
pub(super) fn migrate(connection: &mut Connection, file: &Path) -> Result<(), StoreError> {
    let foreign = || StoreError::Foreign { path: file.to_owned() };
    let pragma = |name| connection.query_row(name, [], |row| row.get::<_, i64>(0));
    let read: rusqlite::Result<_> = (|| {
        Ok((
            pragma("PRAGMA application_id")?,
            pragma("PRAGMA user_version")?,
            pragma("SELECT count(*) FROM sqlite_schema")?,
        ))
    })();
    let known = MIGRATIONS.len() as i64;
    let found = match read {
        Ok((APPLICATION_ID, found, _)) if found > known => {
            return Err(StoreError::Newer { path: file.to_owned(), found, known });
        }
        Ok((APPLICATION_ID, found, _)) => found,
        Ok((0, 0, 0)) => 0,
        Ok(_) => return Err(foreign()),
        Err(error) if is_not_a_database(&error) => return Err(foreign()),
        Err(error) => return Err(error.into()),
    };
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        let text = format!("the file system does not allow write-ahead logging (got {mode})");
        return Err(StoreError::File {
            path: file.to_owned(),
            source: std::io::Error::other(text),
        });
    }
    if found < known {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for migration in MIGRATIONS.iter().skip(found as usize) {
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", known)?;
        transaction.commit()?;
    }
    Ok(())
}

fn is_not_a_database(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::NotADatabase)
}
