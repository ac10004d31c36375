//! Errors of SQLite files, by cause.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why an SQLite file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum SqliteError {
    /// The file belongs to another program.
    #[error("{path} belongs to another program")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer version of the program wrote the file.
    #[error("{path} has the schema {found}, and this version knows {known}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema that this version knows.
        known: i64,
    },
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// The contents of the file are damaged.
    #[error("{0}")]
    Damaged(String),
    /// The database failed.
    #[error("{0}")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A task panicked. Nothing of it was written.
    #[error("a task panicked")]
    Panicked,
    /// The commit failed, or the writing thread stopped. The change may or may not be stored.
    #[error("{0}")]
    Unknown(String),
}

/// An error of tasks: what they fail with by themselves, and what the file fails with.
pub trait TaskError:
    std::fmt::Display + From<SqliteError> + From<rusqlite::Error> + Send + 'static
{
    /// Whether the disk was full.
    fn is_full_disk(&self) -> bool;

    /// Whether the contents of the file are damaged.
    fn is_damaged_file(&self) -> bool;
}

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged(error.to_string()),
            _ => Self::Database(Box::new(error)),
        }
    }
}

impl SqliteError {
    /// The error of a thread that cannot be started.
    pub(super) fn thread(error: std::io::Error) -> Self {
        Self::Database(Box::new(error))
    }

    /// Turns the error of a file that is no database into [`Foreign`](Self::Foreign).
    pub(super) fn of_file(error: rusqlite::Error, path: &Path) -> Self {
        match is_not_a_database(&error) {
            true => Self::Foreign { path: path.to_owned() },
            false => error.into(),
        }
    }
}

pub(super) fn is_not_a_database(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::NotADatabase)
}
