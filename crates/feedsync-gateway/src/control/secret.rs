//! Secrets: random, compared in a time that tells nothing, and never shown by accident.

use std::fmt;
use std::path::Path;

use feedsync_store::{Digest, Environment as _, SystemEnvironment};

use super::file;

/// Two hundred and fifty-six random bits, in hexadecimal digits.
#[derive(Clone)]
pub struct Secret(String);

/// Why the token of the control port cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
}

/// The file of the token, in the data directory of the gateway.
pub const TOKEN_FILE: &str = "control.token";

impl Secret {
    /// A new one.
    pub fn random() -> Self {
        let environment = SystemEnvironment;
        Self((0..4).map(|_| format!("{:016x}", environment.random())).collect())
    }

    /// A new one, in a file that only its owner can read, in place of the one that was there.
    pub fn kept_in(directory: &Path) -> Result<Self, TokenError> {
        let path = directory.join(TOKEN_FILE);
        let secret = Self::random();
        let text = format!("{}\n", secret.0);
        file::replace(&path, text.as_bytes())
            .map_err(|source| TokenError::File { path: path.display().to_string(), source })?;
        Ok(secret)
    }

    /// One that came back.
    pub(crate) fn of(text: String) -> Self {
        Self(text)
    }

    /// Its text, for who it is given to.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text is this secret. Digests are compared: how long that takes tells nothing of what is
    /// behind them.
    pub fn is(&self, text: &str) -> bool {
        Digest::of(self.0.as_bytes()) == Digest::of(text.as_bytes())
    }

    /// What follows from it for a purpose: who knows that does not know the secret.
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
