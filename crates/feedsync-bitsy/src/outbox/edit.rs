//! A single edit in the outbox.

use http::StatusCode;

use crate::authentication::Partition;
use crate::event::ErrorId;
use crate::location::Location;
use crate::propagation::Method;
use crate::time::Time;

/// Number of an edit, in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EditId(pub u64);

/// An edit as an application makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEdit<B> {
    /// Partition of the application that makes the edit.
    pub partition: Partition,
    /// Method of the edit.
    pub method: Method,
    /// Address to which the edit is sent; for POST, the collection.
    pub location: Location,
    /// The feed that shows the edited resource.
    pub feed: Location,
    /// The edited resource. For POST, the temporary address of the new member until its server has assigned
    /// one (R-B29).
    pub resource: Location,
    /// The queue in whose order the edit is sent: the collection, or the resource itself if it is in no
    /// collection.
    pub queue: Location,
    /// Entity tag of the edited representation, for `If-Match`.
    pub base: Option<String>,
    /// Whether the application named the edited representation. Such an edit applies to no other.
    pub is_conditional: bool,
    /// The edited representation, shown next to the server's if that is another.
    pub previous: Option<B>,
    /// Content of the edit; none for DELETE.
    pub body: Option<B>,
    /// Requested name of the member (RFC 5023 9.7), for POST only.
    pub slug: Option<String>,
    /// Next generation of the feed at the time of the edit, later at the time when it was first sent. Members
    /// seen before that generation are not the result of this edit.
    pub generation: u64,
    /// Value of `Idempotency-Key` for servers that support it.
    pub key: String,
}

/// An edit that is not settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit<B> {
    /// Number of the edit.
    pub id: EditId,
    /// The requested edit. It has no base while the edit that it builds on is not settled.
    pub requested: NewEdit<B>,
    /// Number of times that it was sent.
    pub tries: u32,
    /// State of its delivery.
    pub progress: Progress,
    /// Response that put the edit off, until the edit is settled or released.
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

/// State of the delivery of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The edit was never sent, or never arrived.
    Queued,
    /// The edit is being sent.
    Sent,
    /// The edit was sent, and it is unknown whether it arrived.
    Doubtful,
    /// The edit arrived, and the server has yet to carry it out.
    Accepted,
    /// The server asked to send the edit later.
    Waiting {
        /// Time until which the edit waits.
        until: Time,
    },
    /// The edit waits for credentials.
    Held,
}

impl<B> Edit<B> {
    pub(super) fn queued(id: EditId, requested: NewEdit<B>) -> Self {
        Self { id, requested, tries: 0, progress: Progress::Queued, stall: None }
    }

    /// Notes that the edit is sent once more.
    pub(crate) fn mark_sending(&mut self) {
        self.tries = self.tries.saturating_add(1);
        self.progress = Progress::Sent;
    }

    /// State after an attempt that did not arrive. An earlier attempt may have arrived and been put off, so
    /// the server may know the edit. Such an edit is doubtful, and no later edit is folded into it.
    pub(super) fn unsent(&self) -> Progress {
        if self.tries > 1 { Progress::Doubtful } else { Progress::Queued }
    }
}
