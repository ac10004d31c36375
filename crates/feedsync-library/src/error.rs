//! What can go wrong in a library, by culprit.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use feedsync_newsreader::FeedNumber;

/// Why a library did not do what it was asked. Whatever the error, nothing was changed, except where
/// [`LibraryError::Unknown`] says that this is not known.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The caller named a feed that is not here.
    #[error("there is no feed {0}")]
    NoFeed(FeedNumber),
    /// The caller gave or asked for more than is kept or answered.
    #[error("{part} has more than {most} {unit}")]
    TooMuch {
        /// What is too large.
        part: String,
        /// How much it may have.
        most: usize,
        /// Of what.
        unit: &'static str,
    },
    /// The caller's decision what to keep of a list panicked.
    #[error("what was to decide on articles panicked")]
    Decision,
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
    /// The file is another program's.
    #[error("{path} does not hold articles of feedsync")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// What is kept cannot be read back. All of it can be fetched again.
    #[error("the kept articles are damaged: {0}")]
    Damaged(String),
    /// The disk has no room.
    #[error("there is no room left on the disk for articles")]
    Full,
    /// The operating system failed.
    #[error("{path}: {source}")]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The database failed.
    #[error("the database of articles failed: {0}")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The commit failed or the library stopped in the middle: what was asked may or may not be there.
    #[error("the library stopped before it could tell whether the change was made: {0}")]
    Unknown(String),
}

impl LibraryError {
    /// Whether the file itself is at fault, so that another one in its place would do.
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
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged(error.to_string()),
            _ => Self::Database(Box::new(error)),
        }
    }
}
