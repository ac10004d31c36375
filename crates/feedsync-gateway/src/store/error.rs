//! Errors of a store, by cause.

use std::io;
use std::path::{Path, PathBuf};

use feedsync_bitsy::interceptor::Digest;
use feedsync_store::sqlite_support::SqliteError;

/// Error of a store. No error changes the store, except that the effect of [`StoreError::Unknown`] is unknown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// Another gateway uses the directory.
    #[error(
        "{directory} is in use by another gateway: stop that gateway, or use another data directory"
    )]
    InUse {
        /// The data directory.
        directory: PathBuf,
    },
    /// A newer version of the program wrote the database.
    #[error(
        "{path} was written by a newer version of feedsync (schema {found}, this version knows \
         {known}); update the program"
    )]
    Newer {
        /// Path of the database.
        path: PathBuf,
        /// Schema version of the database.
        found: i64,
        /// Newest schema version that this program supports.
        known: i64,
    },
    /// The database belongs to another program.
    #[error("{path} is not the store of a gateway: use a separate data directory for the gateway")]
    Foreign {
        /// Path of the database.
        path: PathBuf,
    },
    /// The stored data cannot be read.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// The stored bytes differ from those that were written.
    #[error("the stored bytes with the digest {0} are damaged, so they are not used")]
    Corrupt(Digest),
    /// The bytes are not stored, or no longer stored.
    #[error("no bytes with the digest {0} are stored")]
    NoContent(Digest),
    /// The operating system failed.
    #[error("{path}: {source}")]
    File {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The database failed.
    #[error("the database failed: {0}")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The disk did not confirm a write. The store accepts nothing more until it is opened again.
    #[error("the disk failed, and the last changes may be lost: {0}; restart the gateway")]
    Unknown(String),
}

impl StoreError {
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::File { path: path.to_owned(), source },
        }
    }

    /// Whether stored bytes are damaged or missing.
    pub fn is_corrupt(&self) -> bool {
        matches!(self, Self::Corrupt(_) | Self::NoContent(_))
    }

    /// Whether the disk is full, which may be temporary.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        SqliteError::from(error).into()
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
            SqliteError::Unknown(reason) => Self::Unknown(reason),
            error @ SqliteError::Panicked => Self::Database(Box::new(error)),
        }
    }
}
