//! Identity of a newsreader's user: the credentials that a server accepts, which also identify the user here
//! without a network.

use std::fmt;

use feedsync_reader_api::Secret;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Interface;
use crate::authentication::Partition;
use crate::location::Location;
use crate::time::Time;

/// Maximum number of stored sessions of one account. Several newsreaders may use it at once.
const MAX_SESSIONS: usize = 16;

/// Credentials of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestCredentials {
    /// The request has no credentials.
    Anonymous,
    /// A session that a server issued at sign-in.
    Session(Secret),
    /// A header field in each request.
    Field(SignIn),
}

/// Way in which a user signs in, stored to repeat it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SignIn {
    /// A name and a password, for which the server issues a session.
    Password {
        /// User name.
        name: String,
        /// Password.
        password: String,
        /// Additional `Authorization` header, for a proxy in front of the server.
        besides: Option<String>,
    },
    /// Name and value of a header field.
    Field(String, String),
    /// A session that existed before the gateway was used. It cannot be renewed.
    Session,
}

/// A user to whom a server has responded.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// Partition of the account's responses and changes. Other credentials have another partition.
    pub partition: Partition,
    /// Interface of the server.
    pub interface: Interface,
    /// Address of the server.
    pub base: Location,
    /// Way in which the user signs in.
    pub sign_in: SignIn,
    /// Sessions that the server issued, the newest last.
    pub sessions: Vec<String>,
    /// Time at which the server last accepted the account.
    pub seen: Time,
}

impl Account {
    pub(super) fn new(
        interface: Interface,
        base: &Location,
        sign_in: SignIn,
        session: Option<&str>,
    ) -> Self {
        let partition = partition(interface, base, &sign_in, session);
        let (base, sessions) = (base.clone(), Vec::from_iter(session.map(str::to_owned)));
        Self { partition, interface, base, sign_in, sessions, seen: Time::default() }
    }

    /// User name, if the credentials contain one. The account may have had another password before.
    pub(super) fn name(&self) -> Option<String> {
        match &self.sign_in {
            SignIn::Password { name, .. } => Some(name.clone()),
            SignIn::Field(_, value) => {
                let encoded = value.strip_prefix("Basic ")?;
                let decoded = base64::Engine::decode(
                    &base64::engine::general_purpose::STANDARD,
                    encoded.trim(),
                );
                let decoded = String::from_utf8(decoded.ok()?).ok()?;
                Some(decoded.split_once(':')?.0.to_owned())
            }
            SignIn::Session => None,
        }
    }

    /// The newest session.
    pub(super) fn session(&self) -> Option<&str> {
        self.sessions.last().map(String::as_str)
    }

    /// Whether a session is in the older half, which is discarded first.
    pub(super) fn is_rare(&self, session: &str) -> bool {
        self.sessions.iter().rev().skip(MAX_SESSIONS / 2).any(|known| known == session)
    }

    /// Adds a session as the newest one. Returns whether that is a change.
    pub(super) fn add_session(&mut self, session: &str) -> bool {
        if self.session() == Some(session) {
            return false;
        }
        self.sessions.retain(|known| known != session);
        self.sessions.push(session.to_owned());
        let too_many = self.sessions.len().saturating_sub(MAX_SESSIONS);
        self.sessions.drain(..too_many);
        true
    }
}

impl SignIn {
    /// Serialized form, for storage.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses the stored form; none if it is invalid.
    pub fn of_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Partition of an account. It is a digest, so the duration of a comparison reveals nothing of the secrets.
pub(super) fn partition(
    interface: Interface,
    base: &Location,
    sign_in: &SignIn,
    session: Option<&str>,
) -> Partition {
    let (kind, parts) = match sign_in {
        SignIn::Password { name, password, .. } => ("password", [name.as_str(), password]),
        SignIn::Field(name, value) => ("field", [name.as_str(), value]),
        SignIn::Session => ("session", [session.unwrap_or_default(), ""]),
    };
    let mut hash = Sha256::new();
    for part in ["newsreader", interface.name(), base.as_str(), kind].iter().chain(&parts) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    Partition::of_bytes(hash.finalize().into())
}

impl fmt::Debug for SignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Password { .. } => "Password(...)",
            Self::Field(..) => "Field(...)",
            Self::Session => "Session",
        })
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, base, .. } = self;
        f.debug_struct("Account").field("interface", interface).field("base", base).finish()
    }
}
