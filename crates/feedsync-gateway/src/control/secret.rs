//! Random secrets, which are compared without a timing leak and are never shown in debug output.

use std::fmt;
use std::path::Path;

use feedsync_store::{Digest, Environment as _, SystemEnvironment};

use crate::private_file;

/// 256 random bits, in hexadecimal digits.
#[derive(Clone)]
pub struct Secret(String);

/// Error of the token of the control port.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: String,
        /// Error of the operating system.
        source: std::io::Error,
    },
}

/// Name of the token file, in the data directory of the gateway.
pub const TOKEN_FILE: &str = "control.token";

impl Secret {
    /// Creates a random secret.
    pub fn random() -> Self {
        let environment = SystemEnvironment;
        Self((0..4).map(|_| format!("{:016x}", environment.random())).collect())
    }

    /// Creates a random secret and writes it to a file that only its owner can read; replaces an earlier file.
    pub fn stored_in(directory: &Path) -> Result<Self, TokenError> {
        let path = directory.join(TOKEN_FILE);
        let secret = Self::random();
        let text = format!("{}\n", secret.0);
        private_file::replace(&path, text.as_bytes())
            .map_err(|source| TokenError::File { path: path.display().to_string(), source })?;
        Ok(secret)
    }

    /// Wraps a secret that a client sent.
    pub(crate) fn of(text: String) -> Self {
        Self(text)
    }

    /// Text of the secret.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text is this secret. Digests are compared, so that the time of the comparison reveals nothing
    /// about the secret.
    pub fn is(&self, text: &str) -> bool {
        Digest::of(self.0.as_bytes()) == Digest::of(text.as_bytes())
    }

    /// Derives a secret for a purpose; the original cannot be computed from it.
    pub(crate) fn derived(&self, purpose: &str) -> Self {
        let text = format!("feedsync gateway {purpose} {}", self.0);
        Self(Digest::of(text.as_bytes()).to_string())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
