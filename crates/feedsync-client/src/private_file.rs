//! Files that only their owner can read, and that are replaced atomically.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::atomic_file::{FileReaders, beside, replace_by};

/// A file in a directory; neither needs to exist.
#[derive(Debug, Clone)]
pub(crate) struct PrivateFile {
    directory: PathBuf,
    name: &'static str,
}

/// Reason for failing to use a file.
#[derive(Debug)]
pub(crate) struct PrivateFileError {
    /// The file or directory.
    pub(crate) path: PathBuf,
    /// Message of the system.
    pub(crate) source: io::Error,
}

/// Excludes other writers of the file until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl PrivateFile {
    pub(crate) fn within(directory: &Path, name: &'static str) -> Self {
        Self { directory: directory.to_owned(), name }
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join(self.name)
    }

    /// Opens the file; `None` if it does not exist.
    pub(crate) fn open(&self) -> Result<Option<File>, PrivateFileError> {
        match File::open(self.path()) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(PrivateFileError { path: self.path(), source }),
        }
    }

    /// Waits until no other process changes the file. `waiting` is called first if one does.
    pub(crate) fn lock(&self, waiting: impl FnOnce()) -> Result<Lock, PrivateFileError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| PrivateFileError { path, source }
        };
        builder.create(&self.directory).map_err(failed(&self.directory))?;
        let guard = beside(&self.path(), ".lock");
        let file = guarding(&guard).map_err(failed(&guard))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waiting();
                file.lock().map_err(failed(&guard))?;
            }
            Err(TryLockError::Error(error)) => return Err(failed(&guard)(error)),
        }
        Ok(Lock { _file: file })
    }

    /// Replaces the content of the file, atomically and durably. The lock must be held.
    pub(crate) fn replace(&self, bytes: &[u8], _: &Lock) -> Result<(), PrivateFileError> {
        let path = self.path();
        let replaced = replace_by(&path, &beside(&path, ".partial"), bytes, FileReaders::Owner);
        replaced.map_err(|source| PrivateFileError { path, source })
    }
}

/// Opens the lock file, with access for its owner only.
fn guarding(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
