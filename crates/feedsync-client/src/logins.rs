//! Logins in a file that only its owner can read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::fetch::Logins;
use crate::private_file::{PrivateFile, PrivateFileError};

/// The file of logins in a directory: JSON by origin.
#[derive(Debug, Clone)]
pub struct LoginFile {
    file: PrivateFile,
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
        Self { file: PrivateFile::within(directory, Self::NAME) }
    }

    /// What it holds; nothing if it is not there.
    pub fn read(&self) -> Result<Logins, LoginFileError> {
        let path = self.file.path();
        let failed = |source| LoginFileError::File { path: path.clone(), source };
        let Some(file) = self.file.open()? else { return Ok(Logins::default()) };
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
        let lock = self.file.lock(|| {})?;
        let mut logins = self.read()?;
        let outcome = change(&mut logins);
        let text = format!("{:#}\n", serde_json::json!(logins));
        self.file.replace(text.as_bytes(), &lock)?;
        Ok(outcome)
    }
}

impl From<PrivateFileError> for LoginFileError {
    fn from(PrivateFileError { path, source }: PrivateFileError) -> Self {
        Self::File { path, source }
    }
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
