//! Errors of a store, by cause.

use std::io;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
use std::path::Path;
use std::path::PathBuf;

use feedsync_couch::DatabaseName;

use crate::name::{CollectionName, UserName};

/// Why a store did not carry out a request. Nothing was changed, unless the error is [`StoreError::Unknown`]:
/// then the outcome is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The caller named a collection that does not exist.
    #[error("there is no collection {0}")]
    NoCollection(CollectionName),
    /// The caller named a new collection as an existing one.
    #[error("there is already a collection {0}")]
    CollectionExists(CollectionName),
    /// The caller named a database that does not exist.
    #[error("there is no database {0}")]
    NoDatabase(DatabaseName),
    /// A database has used all its change numbers.
    #[error("the database {0} has used all its change numbers; replicate it into a new one")]
    DatabaseNumbersExhausted(DatabaseName),
    /// The caller named a remote that does not exist.
    #[error("there is no such remote")]
    NoRemote,
    /// The collection already has a remote of this address.
    #[error("the collection already has the remote {0}")]
    RemoteExists(String),
    /// The caller named a user that does not exist.
    #[error("there is no user {0}")]
    NoUser(UserName),
    /// The caller named a new user as an existing one.
    #[error("there is already a user {0}")]
    UserExists(UserName),
    /// The change would leave no user who may administer the store.
    #[error(
        "{0} is the last administrator who can sign in; make another user an administrator first"
    )]
    LastAdministrator(UserName),
    /// The caller named a token that does not exist.
    #[error("unknown token")]
    NoToken,
    /// A decision wrote a key that its update does not name, or removed an item that is not there: a bug in
    /// this program.
    #[error("internal error: invalid change: {0}")]
    Decision(String),
    /// The store has no such part: it stores items only.
    #[error("this store has no {0}")]
    Unsupported(&'static str),
    /// A collection has used all its change numbers.
    #[error("the collection {0} has used all its change numbers; export it into a new one")]
    NumbersExhausted(CollectionName),
    /// A newer version of the program wrote this store.
    #[error(
        "{path} was written by a newer version of feedsync (schema {found}, this version knows \
         {known}); update the program"
    )]
    Newer {
        /// The database file.
        path: PathBuf,
        /// The schema it has.
        found: i64,
        /// The newest schema that this version knows.
        known: i64,
    },
    /// The file is not a store.
    #[error("{path} is not a feedsync store")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// There is no store, or there already is one.
    #[error("{path}: {reason}")]
    Place {
        /// The directory or file.
        path: PathBuf,
        /// Description of the fault.
        reason: &'static str,
    },
    /// Another store is being moved into this one, or the move was interrupted.
    #[error(
        "{path} is incomplete: feedsync store migrate is still filling it, or was interrupted. Wait for \
         it, or delete this store and migrate again"
    )]
    Unfinished {
        /// The directory or database.
        path: PathBuf,
    },
    /// A store could not be moved into another one.
    #[error("the migration failed: {0}")]
    Transfer(&'static str),
    /// A stored value cannot be read back.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// Stored bytes do not have their digest: the disk has changed them.
    #[error("{0} is damaged: the stored bytes do not match their digest")]
    DigestMismatch(String),
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// The operating system failed.
    #[error("{path}: {source}")]
    File {
        /// The file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The database failed.
    #[error("the database failed: {0}")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The commit failed, or the store stopped during it. The requested change may or may not have been made.
    #[error("the store failed, and it is not known whether the change was made: {0}")]
    Unknown(String),
}

impl StoreError {
    /// The error of a file or directory.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::File { path: path.to_owned(), source },
        }
    }

    /// Tells whether the disk was full, which may be temporary. SQLite reports an I/O error where the file
    /// that its processes share cannot grow.
    pub fn is_full(&self) -> bool {
        #[cfg(feature = "sqlite")]
        if self
            .sqlite()
            .is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
        {
            return true;
        }
        matches!(self, Self::Full)
    }

    /// Tells whether the store is unusable because its bytes were changed.
    pub fn is_damaged(&self) -> bool {
        #[cfg(feature = "sqlite")]
        if self.sqlite().is_some_and(|error| {
            use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
            matches!(error.code, DatabaseCorrupt | NotADatabase)
        }) {
            return true;
        }
        matches!(self, Self::Damaged(_) | Self::Foreign { .. })
    }

    #[cfg(feature = "sqlite")]
    fn sqlite(&self) -> Option<&rusqlite::ffi::Error> {
        let Self::Database(source) = self else { return None };
        source.downcast_ref::<rusqlite::Error>()?.sqlite_error()
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn database_whose_shared_file_cannot_grow_is_full() {
        let failed = |code| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            StoreError::from(error).is_full()
        };
        assert!(failed(ffi::SQLITE_FULL));
        assert!(failed(ffi::SQLITE_IOERR_SHMSIZE));
        assert!(!failed(ffi::SQLITE_IOERR_READ));
        assert!(!failed(ffi::SQLITE_CORRUPT));
    }

    #[test]
    fn corrupt_file_is_damaged() {
        for (code, is_damaged) in [
            (ffi::SQLITE_CORRUPT, true),
            (ffi::SQLITE_NOTADB, true),
            (ffi::SQLITE_BUSY, false),
            (ffi::SQLITE_IOERR_READ, false),
        ] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(StoreError::from(error).is_damaged(), is_damaged, "{code}");
        }
        assert!(StoreError::Damaged(String::new()).is_damaged());
    }
}
