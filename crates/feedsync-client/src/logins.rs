//! Logins in a file that only its owner can read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use feedsync_fetch::Logins;

use crate::private_file::{PrivateFile, PrivateFileError};

/// The file of logins in a directory: JSON by origin.
#[derive(Debug, Clone)]
pub struct LoginFile {
    file: PrivateFile,
}

/// Reason for failing to read or store logins.
#[derive(Debug, thiserror::Error)]
pub enum LoginFileError {
    /// Other users may read the file.
    #[error(
        "{path}: other users of this machine can read the file, so its tokens are not safe: run \
         chmod 600 {path}, then replace the tokens"
    )]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// The file is invalid. The message does not contain its content.
    #[error("{path}: line {line} is damaged; remove the file and log in again")]
    Faulty {
        /// The file.
        path: PathBuf,
        /// Line of the fault, from 1.
        line: usize,
    },
    /// The operating system failed.
    #[error("{path}: {source}")]
    File {
        /// The file or directory.
        path: PathBuf,
        /// Message of the system.
        source: io::Error,
    },
}

impl LoginFile {
    /// The name of the file.
    pub const NAME: &'static str = "logins.json";

    /// Returns the file in this directory; neither needs to exist.
    pub fn within(directory: &Path) -> Self {
        Self { file: PrivateFile::within(directory, Self::NAME) }
    }

    /// Reads the logins; none if the file does not exist.
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

    /// Changes the logins, atomically and durably. Concurrent changes wait for each other.
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
