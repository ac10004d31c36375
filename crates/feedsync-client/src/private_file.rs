//! Files that only their owner can read, and that are replaced as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

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

    /// Waits until nobody else changes it.
    pub(crate) fn lock(&self) -> Result<Lock, PrivateFileError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| PrivateFileError { path, source }
        };
        builder.create(&self.directory).map_err(failed(&self.directory))?;
        let guard = self.directory.join(format!("{}.lock", self.name));
        let file = empty(&guard).map_err(failed(&guard))?;
        file.lock().map_err(failed(&guard))?;
        Ok(Lock { _file: file })
    }

    /// Replaces what it holds: whole and durable, or not at all. The lock must be held.
    pub(crate) fn replace(&self, bytes: &[u8], _: &Lock) -> Result<(), PrivateFileError> {
        let path = self.path();
        let partial = self.directory.join(format!("{}.partial", self.name));
        let write = || {
            let mut file = empty(&partial)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&partial, &path)?;
            // The name is durable when its directory is.
            #[cfg(unix)]
            File::open(&self.directory)?.sync_all()?;
            Ok(())
        };
        write().map_err(|source| PrivateFileError { path: path.clone(), source })
    }
}

/// An empty file for its owner only.
fn empty(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
