//! What can go wrong in a store, by culprit.

use std::io;
use std::path::{Path, PathBuf};

use feedsync_offline::interceptor::Digest;
use rusqlite::ErrorCode;

/// Why a store did not do what it was asked. Whatever the error, nothing was changed, except where
/// [`StoreError::Unknown`] says that this is not known.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk has no room.
    #[error("there is no room left on the disk")]
    Full,
    /// Another gateway uses the directory.
    #[error(
        "{directory} is in use by another gateway: stop that one, or give this one a data directory of \
         its own"
    )]
    InUse {
        /// The data directory.
        directory: PathBuf,
    },
    /// A newer version of the program wrote it.
    #[error(
        "{path} was written by a newer version of feedsync (schema {found}, this version knows \
         {known}); update the program"
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// The schema it has.
        found: i64,
        /// The newest schema that is known here.
        known: i64,
    },
    /// The database is another program's.
    #[error("{path} is not the store of a gateway: give it a data directory of its own")]
    Foreign {
        /// The database.
        path: PathBuf,
    },
    /// What is stored cannot be read back.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// Bytes that are not those that were stored: the disk, or somebody, has changed them.
    #[error("the stored bytes with the digest {0} are damaged and are not used")]
    Rotten(Digest),
    /// Bytes that are not stored, or not any more.
    #[error("no bytes with the digest {0} are stored")]
    NoContent(Digest),
    /// The operating system failed.
    #[error("{path}: {source}")]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The database failed.
    #[error("the database failed: {0}")]
    Database(#[source] rusqlite::Error),
    /// The disk would not say that it holds what was written; the store takes nothing more until it is
    /// opened again.
    #[error("the disk failed, and what was written last may be lost: {0}; start the gateway again")]
    Unknown(String),
}

impl StoreError {
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::File { path: path.to_owned(), source },
        }
    }

    /// Whether bytes that were stored cannot be had any more.
    pub fn is_rotten(&self) -> bool {
        matches!(self, Self::Rotten(_) | Self::NoContent(_))
    }

    /// Whether it is for want of room, which may pass.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged(error.to_string()),
            _ => Self::Database(error),
        }
    }
}
