//! Assertions of other systems about users, as credentials for databases: JSON Web Tokens and the headers of
//! authenticating proxies, as CouchDB has them.
//!
//! An assertion names a user of the hub, and roles in databases. Other rights are those of the user: no assertion makes
//! somebody an administrator.

mod jwt;
mod proxy;

use std::path::{Path, PathBuf};

use feedsync_store::{Moment, UserName};
use http::HeaderMap;

use crate::config::Config;
use jwt::JwtKeys;
use proxy::ProxySecret;

/// Assertion of another system about a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assertion {
    pub(crate) user: UserName,
    /// Roles of the user in databases.
    pub(crate) roles: Vec<String>,
    /// When it ends.
    pub(crate) expires: Option<Moment>,
}

/// The keys by which assertions are verified. Without keys, none is accepted.
#[derive(Clone, Default)]
pub struct AssertionKeys {
    jwt: JwtKeys,
    proxy: Option<ProxySecret>,
}

impl std::fmt::Debug for AssertionKeys {
    /// Hides the keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AssertionKeys")
    }
}

/// Reason why keys cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssertionKeysError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        error: std::io::Error,
    },
    /// A line of the file with keys is invalid.
    #[error("{}, line {line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Reason why it is invalid.
        reason: String,
    },
    /// The secret of proxies is too short.
    #[error("{}: the secret of a proxy must have at least {least} bytes", path.display())]
    ShortSecret {
        /// The file.
        path: PathBuf,
        /// Least number of bytes.
        least: usize,
    },
}

impl AssertionKeys {
    /// Reads the keys that a configuration names.
    pub fn read(config: &Config) -> Result<Self, AssertionKeysError> {
        let jwt = match &config.couch_jwt_keys {
            None => JwtKeys::default(),
            Some(path) => JwtKeys::parse(&text_of(path)?).map_err(|(line, reason)| {
                AssertionKeysError::Line { path: path.clone(), line, reason }
            })?,
        };
        let proxy = config.couch_proxy_secret.as_ref().map(|path| {
            let secret = ProxySecret::parse(&text_of(path)?);
            let (path, least) = (path.clone(), proxy::MIN_SECRET_BYTES);
            secret.ok_or(AssertionKeysError::ShortSecret { path, least })
        });
        Ok(Self { jwt, proxy: proxy.transpose()? })
    }

    /// Returns what a JSON Web Token asserts; the error is the reason for the log.
    pub(super) fn token(&self, token: &str, now: Moment) -> Result<Assertion, &'static str> {
        self.jwt.verify(token, now)
    }

    /// Returns what a proxy asserts in headers; `None` if no proxy is known or the headers are not there. The error
    /// is the reason for the log.
    pub(super) fn headers(&self, headers: &HeaderMap) -> Option<Result<Assertion, &'static str>> {
        self.proxy.as_ref()?.verify(headers)
    }
}

fn text_of(path: &Path) -> Result<String, AssertionKeysError> {
    std::fs::read_to_string(path)
        .map_err(|error| AssertionKeysError::Io { path: path.to_owned(), error })
}

/// The roles of an assertion. Those that begin with `_` are reserved for the server.
fn unreserved(roles: impl Iterator<Item = String>) -> Vec<String> {
    roles.filter(|role| !role.is_empty() && !role.starts_with('_')).collect()
}
