//! Files that only their owner can read, and that are replaced as a whole.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::whole_file::{Readers, beside, replace_by};

/// A file of a directory; neither needs to be there.
#[derive(Debug, Clone)]
pub(crate) struct PrivateFile {
    directory: PathBuf,
    name: &'static str,
}

/// Why a file cannot be used.
#[derive(Debug)]
pub(crate) struct PrivateFileError {
    /// The file or directory.
    pub(crate) path: PathBuf,
    /// What the system says.
    pub(crate) source: io::Error,
}

/// Keeps others from changing the file, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl PrivateFile {
    pub(crate) fn within(directory: &Path, name: &'static str) -> Self {
        Self { directory: directory.to_owned(), name }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join(self.name)
    }

    /// The file, if it is there.
    pub(crate) fn open(&self) -> Result<Option<File>, PrivateFileError> {
        match File::open(self.path()) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(PrivateFileError { path: self.path(), source }),
        }
    }

    /// Waits until nobody else changes it. If somebody does, `waiting` is told of it first.
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

    /// Replaces what it holds: whole and durable, or not at all. The lock must be held.
    pub(crate) fn replace(&self, bytes: &[u8], _: &Lock) -> Result<(), PrivateFileError> {
        let path = self.path();
        let replaced = replace_by(&path, &beside(&path, ".partial"), bytes, Readers::Owner);
        replaced.map_err(|source| PrivateFileError { path, source })
    }
}

/// The file that is locked, for its owner only.
fn guarding(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
