//! What is stored, as decisions read it.

use std::fmt;

use http::{HeaderMap, StatusCode};
use sha2::{Digest as _, Sha256};

use crate::authentication::Partition;
use crate::interception::Role;
use crate::location::Location;
use crate::time::Time;

/// Bytes that are stored by what they are: two of one digest are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Content {
    /// Their SHA-256.
    pub digest: Digest,
    /// How many they are.
    pub length: u64,
}

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

/// What an application sends: its bytes and what it says of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// The headers that are sent with it.
    pub headers: HeaderMap,
    /// Its bytes.
    pub content: Content,
}

/// An answer of a server that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Representation {
    /// Its status: that of an error only where there is nothing better, or where it has to be passed on.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its bytes.
    pub content: Content,
    /// When it came, or was last found to be as new.
    pub fetched: Time,
    /// The entity tag under which an application knows it that put it there itself.
    pub also: Option<String>,
}

/// What an address is to those who subscribed to a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Who.
    pub partition: Partition,
    /// The feed that it belongs to.
    pub feed: Location,
    /// What it is there.
    pub role: Role,
    /// Of media, where its media link entry is edited.
    pub entry: Option<Location>,
    /// The generation in which it was first seen.
    pub seen: u64,
}

/// What decisions are made on. What was changed by an earlier [`Step`](super::Step) has to be there.
pub trait Stored {
    /// Why nothing can be read.
    type Error;

    /// What an address is, for all who subscribed to a feed that it belongs to.
    fn resources(&self, location: &Location) -> Result<Vec<Resource>, Self::Error>;

    /// What is stored of an address.
    fn representation(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Result<Option<Representation>, Self::Error>;

    /// Bytes that are stored.
    fn content(&self, content: &Content) -> Result<Vec<u8>, Self::Error>;
}

impl Content {
    /// The name of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { digest: Digest(Sha256::digest(bytes).into()), length: bytes.len() as u64 }
    }
}

impl Representation {
    /// Whether it is what was asked for, and not what a server said instead.
    pub fn is_good(&self) -> bool {
        self.status.is_success()
    }

    /// Its entity tag, if it has one by which an edit can be made conditional: a strong one.
    pub fn strong_tag(&self) -> Option<&str> {
        let tag = self.headers.get(http::header::ETAG)?.to_str().ok()?;
        tag.starts_with('"').then_some(tag)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
