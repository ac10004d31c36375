//! Numbered migrations of a schema.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::{SqliteError, is_not_a_database};

/// The schema of a kind of file.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// Number in the file that distinguishes it from files of other programs.
    pub application: i64,
    /// Statements in order; each brings the schema to the next version.
    pub migrations: &'static [&'static str],
}

/// Contents of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// The file is empty.
    Empty,
    /// The file has this version of the schema.
    Known(i64),
    /// The file belongs to another program.
    Foreign,
}

impl Schema {
    /// The version that this program writes.
    pub const fn version(&self) -> i64 {
        self.migrations.len() as i64
    }

    /// Returns the contents of a file, which is not changed.
    pub fn contents(&self, connection: &Connection) -> Result<Contents, SqliteError> {
        let pragma = |name| connection.query_row(name, [], |row| row.get::<_, i64>(0));
        let result: rusqlite::Result<_> = (|| {
            let application = pragma("PRAGMA application_id")?;
            let version = pragma("PRAGMA user_version")?;
            let tables = pragma("SELECT count(*) FROM sqlite_schema")?;
            Ok(match (application, version, tables) {
                (application, version, _) if application == self.application => {
                    Contents::Known(version)
                }
                (0, 0, 0) => Contents::Empty,
                _ => Contents::Foreign,
            })
        })();
        match result {
            Err(error) if is_not_a_database(&error) => Ok(Contents::Foreign),
            result => Ok(result?),
        }
    }

    /// Migrates a file, and enables write-ahead logging. Rejects a file of another program, or one that is
    /// newer than this program, before anything is written.
    pub fn open(&self, connection: &mut Connection, file: &Path) -> Result<(), SqliteError> {
        let found = self.found(connection, file)?;
        enable_wal(connection)?;
        if found < self.version() {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            self.migrate(&transaction, file)?;
            transaction.commit()?;
        }
        Ok(())
    }

    /// Migrates a file in a transaction that has its lock, since another process may have migrated it
    /// meanwhile.
    pub fn migrate(&self, transaction: &Transaction<'_>, file: &Path) -> Result<(), SqliteError> {
        let found = self.found(transaction, file)?;
        let missing = usize::try_from(found).ok().and_then(|found| self.migrations.get(found..));
        for migration in missing.unwrap_or_default() {
            transaction.execute_batch(migration)?;
        }
        if found < self.version() {
            transaction.pragma_update(None, "application_id", self.application)?;
            transaction.pragma_update(None, "user_version", self.version())?;
        }
        Ok(())
    }

    /// The version of a file that this program can use; zero if it is empty.
    fn found(&self, connection: &Connection, file: &Path) -> Result<i64, SqliteError> {
        let known = self.version();
        match self.contents(connection)? {
            Contents::Empty => Ok(0),
            Contents::Known(found) if (0..=known).contains(&found) => Ok(found),
            Contents::Known(found) => {
                Err(SqliteError::Newer { path: file.to_owned(), found, known })
            }
            Contents::Foreign => Err(SqliteError::Foreign { path: file.to_owned() }),
        }
    }
}

/// Enables write-ahead logging, with which readers and writers do not wait for each other. The mode is stored
/// in the file.
pub fn enable_wal(connection: &Connection) -> Result<(), SqliteError> {
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode == "wal" {
        Ok(())
    } else {
        let reason = format!("the file system does not allow write-ahead logging (got {mode})");
        Err(SqliteError::Database(reason.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "CREATE TABLE one (a)";
    const OLD: Schema = Schema { application: 7, migrations: &[FIRST] };
    const NEW: Schema = Schema { application: 7, migrations: &[FIRST, "CREATE TABLE two (b)"] };
    const OTHER: Schema = Schema { application: 8, migrations: &[FIRST] };

    #[test]
    fn old_schemas_are_migrated_and_newer_and_foreign_ones_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.db");
        let mut connection = Connection::open(&file).unwrap();
        assert_eq!(NEW.contents(&connection).unwrap(), Contents::Empty);
        for _ in 0..2 {
            OLD.open(&mut connection, &file).unwrap();
            assert_eq!(NEW.contents(&connection).unwrap(), Contents::Known(1));
        }
        connection.execute("INSERT INTO one VALUES (1)", []).unwrap();
        NEW.open(&mut connection, &file).unwrap();
        let rows = "SELECT (SELECT count(*) FROM one), (SELECT count(*) FROM two)";
        let counts: (i64, i64) =
            connection.query_row(rows, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(counts, (1, 0));
        let newer = OLD.open(&mut connection, &file);
        assert!(matches!(newer, Err(SqliteError::Newer { found: 2, known: 1, .. })), "{newer:?}");
        let foreign = OTHER.open(&mut connection, &file);
        assert!(matches!(foreign, Err(SqliteError::Foreign { .. })), "{foreign:?}");
        drop(connection);
        std::fs::write(&file, "no database at all, but a text").unwrap();
        let mut connection = Connection::open(&file).unwrap();
        let text = NEW.open(&mut connection, &file);
        assert!(matches!(text, Err(SqliteError::Foreign { .. })), "{text:?}");
    }
}
