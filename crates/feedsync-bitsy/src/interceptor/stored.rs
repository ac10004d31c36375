//! Read access of decisions to stored data.

use std::fmt;

use http::{HeaderMap, StatusCode};
use sha2::{Digest as _, Sha256};

use crate::authentication::Partition;
use crate::interception::Role;
use crate::location::Location;
use crate::time::Time;
use crate::validation::entity_tag;

/// Reference to stored bytes by their digest. Equal digests denote equal bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Content {
    /// SHA-256 digest of the bytes.
    pub digest: Digest,
    /// Number of bytes.
    pub length: u64,
}

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

/// Content that an application sends: bytes and the headers that describe them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// Headers that are sent with the bytes.
    pub headers: HeaderMap,
    /// The bytes.
    pub content: Content,
}

/// A stored response of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Representation {
    /// Status of the response. An error is stored only if there is nothing better, or if applications must
    /// get it.
    pub status: StatusCode,
    /// Headers of the response.
    pub headers: HeaderMap,
    /// Body of the response.
    pub content: Content,
    /// Time of the response, or of its last validation.
    pub fetched: Time,
    /// Local entity tag, known to the application that put the representation there.
    pub alias_tag: Option<String>,
}

/// Role of an address in a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Partition of the subscription.
    pub partition: Partition,
    /// The feed that the resource belongs to.
    pub feed: Location,
    /// Role of the resource in the feed.
    pub role: Role,
    /// For media: address of the media link entry.
    pub entry: Option<Location>,
    /// Generation in which the resource was first seen.
    pub seen: u64,
}

/// Stored data for decisions. The changes of earlier [`Step`](super::Step)s must be included.
pub trait Stored {
    /// Error of a read access.
    type Error;

    /// Roles of an address in all subscriptions.
    fn resources(&self, location: &Location) -> Result<Vec<Resource>, Self::Error>;

    /// Stored representation of an address.
    fn representation(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Result<Option<Representation>, Self::Error>;

    /// Bytes of a stored content.
    fn content(&self, content: &Content) -> Result<Vec<u8>, Self::Error>;
}

impl Content {
    /// Reference to these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { digest: Digest(Sha256::digest(bytes).into()), length: bytes.len() as u64 }
    }
}

impl Representation {
    /// Whether the representation is the requested resource, and not an error.
    pub fn is_success(&self) -> bool {
        self.status.is_success()
    }

    /// Entity tag, if it is a strong one, by which an edit can be made conditional.
    pub fn strong_tag(&self) -> Option<&str> {
        let tag = entity_tag(&self.headers)?;
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
