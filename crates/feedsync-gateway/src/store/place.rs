//! The data directory of a gateway: for its owner only, and for one process at a time.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use feedsync_store::owned;

use super::error::StoreError;

/// The database.
pub(super) const DATABASE: &str = "gateway.db";

/// What the process that uses the directory holds locked.
const LOCK: &str = "gateway.lock";

/// Where large contents are.
pub(super) const CONTENTS: &str = "contents";

/// What is kept back for a full disk.
const RESERVE: &str = "reserve";

/// A directory that is ours as long as this lives.
#[derive(Debug)]
pub(super) struct Place {
    directory: PathBuf,
    _lock: File,
}

impl Place {
    /// Takes a directory, and makes what is not there.
    pub(super) fn take(directory: &Path) -> Result<Self, StoreError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::file(&path, source)
        };
        owned::make_directory(directory).map_err(failed(directory))?;
        // A process may go to another directory.
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

    /// Where the database writes first.
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
