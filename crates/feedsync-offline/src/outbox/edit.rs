//! One edit on its way.

use http::StatusCode;

use crate::authentication::Partition;
use crate::event::ErrorId;
use crate::location::Location;
use crate::propagation::Method;
use crate::time::Time;

/// Edits by the order in which they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EditId(pub u64);

/// An edit as an application makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEdit<B> {
    /// Who makes it.
    pub partition: Partition,
    /// How it edits.
    pub method: Method,
    /// Where it is sent: for POST the collection.
    pub location: Location,
    /// The feed that shows what it edits.
    pub feed: Location,
    /// What it edits: for POST the address under which the new member is known until it has one of its
    /// server's (R-B29).
    pub resource: Location,
    /// The collection in whose order it leaves; of what is in none, the resource.
    pub line: Location,
    /// The entity tag of what it is made on, for `If-Match`.
    pub base: Option<String>,
    /// Whether its application named what it is made on: then nothing else will do.
    pub is_conditional: bool,
    /// What it is made on, to be shown beside it should the server have another.
    pub was: Option<B>,
    /// What it carries; nothing for DELETE.
    pub body: Option<B>,
    /// What the member is to be called (RFC 5023 9.7); of a POST alone.
    pub slug: Option<String>,
    /// The generation of the feed that was next when it was made, and then when it was sent first: what was
    /// seen before is not what it makes.
    pub generation: u64,
    /// Its name to a server that knows `Idempotency-Key`.
    pub key: String,
}

/// An edit on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit<B> {
    /// Its place.
    pub id: EditId,
    /// What was asked. While what it is made on is on its way itself, it has no base.
    pub asked: NewEdit<B>,
    /// How often it was sent.
    pub tries: u32,
    /// Where it stands.
    pub progress: Progress,
    /// Response that put the edit off, until the edit is settled or somebody releases it.
    pub stall: Option<Stall>,
}

/// Response because of which an edit waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// Status of the latest such response.
    pub status: StatusCode,
    /// Time of the first such response.
    pub since: Time,
    /// Error that reports the response to applications.
    pub error: Option<ErrorId>,
}

/// Where an edit stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It was never sent, or never arrived.
    Queued,
    /// It is being sent.
    Sent,
    /// It was sent, and nobody knows whether it arrived.
    Doubtful,
    /// It arrived, and is still to be carried out.
    Accepted,
    /// The server wants it later.
    Waiting {
        /// When.
        until: Time,
    },
    /// It waits for credentials.
    Held,
}

impl<B> Edit<B> {
    pub(super) fn queued(id: EditId, asked: NewEdit<B>) -> Self {
        Self { id, asked, tries: 0, progress: Progress::Queued, stall: None }
    }

    /// It is sent once more.
    pub(crate) fn sends(&mut self) {
        self.tries = self.tries.saturating_add(1);
        self.progress = Progress::Sent;
    }

    /// Where it stands once it is known not to have arrived this time: what arrived and was refused for a
    /// while before may be known to its server, so that nothing is folded into it any more.
    pub(super) fn unsent(&self) -> Progress {
        if self.tries > 1 { Progress::Doubtful } else { Progress::Queued }
    }
}
