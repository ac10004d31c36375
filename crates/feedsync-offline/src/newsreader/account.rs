//! Who asks: by what somebody is known to a server, and here while that is away.

use std::fmt;

use feedsync_newsreader::Secret;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Interface;
use crate::authentication::Partition;
use crate::location::Location;
use crate::time::Time;

/// Sessions of one account that are remembered: several newsreaders may be open.
const MOST_SESSIONS: usize = 16;

/// By what a request says who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// By nothing.
    Nobody,
    /// By what a server gave when somebody signed in.
    Session(Secret),
    /// By a field of the header, in each request.
    Field(SignIn),
}

/// How somebody shows who they are, to be shown again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SignIn {
    /// A name and a password, for which there is a session.
    Password {
        /// The name.
        name: String,
        /// The password.
        password: String,
        /// What `Authorization` says besides, to whoever stands before the server.
        besides: Option<String>,
    },
    /// A field of the header and what it says.
    Field(String, String),
    /// A session that was there before the gateway was: it cannot be renewed.
    Session,
}

/// Somebody who was answered by a server.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// Whose answers and changes these are: who shows other credentials is somebody else.
    pub partition: Partition,
    /// How the server is spoken to.
    pub interface: Interface,
    /// Where it is.
    pub base: Location,
    /// How they sign in.
    pub sign_in: SignIn,
    /// What they were given for it, the newest last.
    pub sessions: Vec<String>,
    /// When the server knew them last.
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

    /// What they are called, if they say it: one account may have had another password before.
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

    /// The session that is shown.
    pub(super) fn session(&self) -> Option<&str> {
        self.sessions.last().map(String::as_str)
    }

    /// Whether a session is among those that are forgotten next.
    pub(super) fn is_rare(&self, session: &str) -> bool {
        self.sessions.iter().rev().skip(MOST_SESSIONS / 2).any(|known| known == session)
    }

    /// Notes a session; whether that is news.
    pub(super) fn add_session(&mut self, session: &str) -> bool {
        if self.session() == Some(session) {
            return false;
        }
        self.sessions.retain(|known| known != session);
        self.sessions.push(session.to_owned());
        let too_many = self.sessions.len().saturating_sub(MOST_SESSIONS);
        self.sessions.drain(..too_many);
        true
    }
}

impl SignIn {
    /// As text, to be stored.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What such a text says; nothing if it is none.
    pub fn of_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Whose data it is. Only digests of secrets are compared: how long that takes tells nothing of them.
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
