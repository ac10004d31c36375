//! Errors of a library, by cause.

use std::io;
use std::path::{Path, PathBuf};

use feedsync_reader_api::FeedNumber;
#[cfg(feature = "postgres")]
use feedsync_store::StoreError;
use feedsync_store::sqlite_support::{SqliteError, TaskError};

/// Error of a library. No error changes the library, except that the effect of [`LibraryError::Unknown`] is
/// unknown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// The feed does not exist.
    #[error("there is no feed {0}")]
    NoFeed(FeedNumber),
    /// The caller exceeded a limit.
    #[error("{part} has more than {most} {unit}")]
    TooMuch {
        /// Description of the value that is too large.
        part: String,
        /// The limit.
        most: usize,
        /// Unit of the limit.
        unit: &'static str,
    },
    /// A query or a change panicked. Nothing was written.
    #[error("internal error: a query or change of articles panicked")]
    Decision,
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
    /// The file belongs to another program.
    #[error("{path} is not an article database of feedsync")]
    Foreign {
        /// Path of the file.
        path: PathBuf,
    },
    /// The stored data cannot be read. All of it can be fetched again.
    #[error("the article database is damaged: {0}")]
    Damaged(String),
    /// The disk is full.
    #[error("the disk is full: articles cannot be stored")]
    Full,
    /// The operating system failed.
    #[error("{path}: {source}")]
    File {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The database failed.
    #[error("the article database failed: {0}")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The commit failed, or the library stopped during it. The change may or may not be stored.
    #[error("the article database failed, and it is not known whether the change was made: {0}")]
    Unknown(String),
}

impl LibraryError {
    /// Whether the file itself is damaged, so that a new one would work.
    pub(crate) fn is_damage(&self, file: &Path) -> bool {
        matches!(self, Self::Damaged(_) | Self::Foreign { .. }) || file.is_dir()
    }

    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::File { path: path.to_owned(), source },
        }
    }
}

impl From<rusqlite::Error> for LibraryError {
    fn from(error: rusqlite::Error) -> Self {
        SqliteError::from(error).into()
    }
}

#[cfg(feature = "postgres")]
impl From<feedsync_store::postgres_support::Error> for LibraryError {
    fn from(error: feedsync_store::postgres_support::Error) -> Self {
        StoreError::from(error).into()
    }
}

#[cfg(feature = "postgres")]
impl From<StoreError> for LibraryError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Newer { path, found, known } => Self::Newer { path, found, known },
            StoreError::Full => Self::Full,
            StoreError::Damaged(reason) => Self::Damaged(reason),
            StoreError::Unknown(reason) => Self::Unknown(reason),
            error => Self::Database(Box::new(error)),
        }
    }
}

impl From<SqliteError> for LibraryError {
    fn from(error: SqliteError) -> Self {
        match error {
            SqliteError::Foreign { path } => Self::Foreign { path },
            SqliteError::Newer { path, found, known } => Self::Newer { path, found, known },
            SqliteError::Full => Self::Full,
            SqliteError::Damaged(reason) => Self::Damaged(reason),
            SqliteError::Database(error) => Self::Database(error),
            SqliteError::Panicked => Self::Decision,
            SqliteError::Unknown(reason) => Self::Unknown(reason),
        }
    }
}

impl TaskError for LibraryError {
    fn is_full_disk(&self) -> bool {
        matches!(self, Self::Full)
    }

    fn is_damaged_file(&self) -> bool {
        matches!(self, Self::Damaged(_))
    }
}
