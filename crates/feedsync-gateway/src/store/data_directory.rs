//! The data directory of a gateway: accessible to its owner only, and locked by one process at a time.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use feedsync_store::owned;

use super::error::StoreError;

/// Name of the database.
pub(super) const DATABASE: &str = "gateway.db";

/// Name of the lock file of the process that uses the directory.
const LOCK: &str = "gateway.lock";

/// Name of the directory of large contents.
pub(super) const CONTENTS: &str = "contents";

/// Name of the file that reserves space for a full disk.
const RESERVE: &str = "reserve";

/// A locked data directory; dropping it releases the lock.
#[derive(Debug)]
pub(super) struct DataDirectory {
    directory: PathBuf,
    _lock: File,
}

impl DataDirectory {
    /// Locks a directory, and creates it if necessary.
    pub(super) fn take(directory: &Path) -> Result<Self, StoreError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::file(&path, source)
        };
        owned::make_directory(directory).map_err(failed(directory))?;
        // The process may change its working directory.
        let directory = directory.canonicalize().map_err(failed(directory))?;
        let lock = directory.join(LOCK);
        let file = owned::make_file(&lock).map_err(failed(&lock))?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => StoreError::InUse { directory: directory.clone() },
            TryLockError::Error(source) => StoreError::file(&lock, source),
        })?;
        let place = Self { directory, _lock: file };
        let database = place.database();
        owned::make_file(&database).map_err(failed(&database))?;
        owned::make_directory(&place.contents()).map_err(failed(&place.contents()))?;
        owned::sync_directory(&place.directory).map_err(failed(&place.directory))?;
        Ok(place)
    }

    pub(super) fn database(&self) -> PathBuf {
        self.directory.join(DATABASE)
    }

    /// Path of the write-ahead log.
    pub(super) fn log(&self) -> PathBuf {
        self.directory.join(format!("{DATABASE}-wal"))
    }

    pub(super) fn reserve(&self) -> PathBuf {
        self.directory.join(RESERVE)
    }

    pub(super) fn contents(&self) -> PathBuf {
        self.directory.join(CONTENTS)
    }
}
