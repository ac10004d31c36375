//! Logins in a file that only its owner can read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::fetch::Logins;

/// The file of logins in a directory: JSON by origin.
#[derive(Debug, Clone)]
pub struct LoginFile {
    directory: PathBuf,
}

/// Why logins cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum LoginFileError {
    /// Others than its owner may read it.
    #[error("{path}: others can read it; take new tokens, then: chmod 600 {path}")]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// It is not what was kept. What it holds is not repeated.
    #[error("{path}: line {line} is not what was written; remove the file and log in again")]
    Faulty {
        /// The file.
        path: PathBuf,
        /// Where, from 1.
        line: usize,
    },
    /// The operating system failed.
    #[error("{path}: {source}")]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl LoginFile {
    /// The name of the file.
    pub const NAME: &'static str = "logins.json";

    /// The file in this directory; neither needs to be there.
    pub fn within(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// What it holds; nothing if it is not there.
    pub fn read(&self) -> Result<Logins, LoginFileError> {
        let path = self.directory.join(Self::NAME);
        let failed = |source| LoginFileError::File { path: path.clone(), source };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Logins::default()),
            Err(error) => return Err(failed(error)),
        };
        if is_open(&file.metadata().map_err(failed)?) {
            return Err(LoginFileError::Open { path });
        }
        let text = io::read_to_string(file).map_err(failed)?;
        serde_json::from_str(&text)
            .map_err(|error| LoginFileError::Faulty { path, line: error.line() })
    }

    /// Changes what it holds: whole and durable, or not at all. Who changes it at the same moment
    /// waits.
    pub fn change<T>(&self, change: impl FnOnce(&mut Logins) -> T) -> Result<T, LoginFileError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| LoginFileError::File { path, source }
        };
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.directory).map_err(failed(&self.directory))?;
        let guard = self.directory.join(format!("{}.lock", Self::NAME));
        let lock = private(&guard).map_err(failed(&guard))?;
        lock.lock().map_err(failed(&guard))?;
        let mut logins = self.read()?;
        let outcome = change(&mut logins);
        let path = self.directory.join(Self::NAME);
        let partial = self.directory.join(format!("{}.partial", Self::NAME));
        let write = || {
            let mut file = private(&partial)?;
            file.write_all(format!("{:#}\n", serde_json::json!(logins)).as_bytes())?;
            file.sync_all()?;
            fs::rename(&partial, &path)
        };
        write().map_err(failed(&path))?;
        Ok(outcome)
    }
}

/// An empty file for its owner only.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(unix)]
fn is_open(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open(_: &fs::Metadata) -> bool {
    false
}
