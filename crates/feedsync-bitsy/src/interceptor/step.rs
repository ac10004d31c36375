//! Results of a decision: changes to store, and events for applications.

use http::{HeaderMap, Method};

use super::stored::{Content, Entity, Representation};
use super::{Attempt, Policy, StoredSubscription, SubscriptionId};
use crate::authentication::Partition;
use crate::collections::SortedMap;
use crate::event::{ErrorId, Interaction, StateChange, SyncError};
use crate::interception::Role;
use crate::location::Location;
use crate::newsreader::{Account, CachedResponse, ChangeId, Key, StoredChange};
use crate::outbox::{Edit, EditId};
use crate::subscription::Holder;

/// Changes of a decision. All of them are stored in one transaction. Then its events are sent and its tasks
/// begin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Step {
    /// Changes of the store, in this order.
    pub changes: Vec<Change>,
    /// Whether the changes must be durable before anybody learns of them. This is not needed for data that
    /// can be fetched again.
    pub is_durable: bool,
    /// Events for applications.
    pub events: Vec<Event>,
}

impl Step {
    /// Makes the same change for several holders of a subscription, in one durable step. Holders that no longer exist
    /// are skipped, unless none exists.
    pub fn of_each<E>(
        holders: &[Holder],
        mut change: impl FnMut(Holder) -> Result<Self, E>,
    ) -> Result<Self, E> {
        let mut all = Self { is_durable: true, ..Self::default() };
        let mut refused = None;
        for holder in holders {
            match change(*holder) {
                Ok(step) => all.append(step),
                Err(error) => refused = Some(error),
            }
        }
        refused.filter(|_| all.changes.is_empty()).map_or(Ok(all), Err)
    }

    /// Adds the changes and events of another step.
    pub fn append(&mut self, other: Self) {
        self.changes.extend(other.changes);
        self.events.extend(other.events);
        self.is_durable |= other.is_durable;
    }
}

/// One change of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A subscription was created or changed.
    StoredSubscription(Box<StoredSubscription>),
    /// A subscription was removed.
    SubscriptionRemoved(SubscriptionId),
    /// An edit was added or changed.
    Edit(Box<Edit<Entity>>),
    /// An edit was removed from the outbox.
    EditRemoved(EditId),
    /// An error was recorded.
    Error(Box<SyncError<Option<Content>>>),
    /// An error was cleared.
    ErrorRemoved(ErrorId),
    /// A completed edit is shown until its feed is fetched again.
    OverlayEdit(Box<OverlayEdit>),
    /// The feed itself shows the edit.
    OverlayEditRemoved(u64),
    /// A member got a server address, which replaces its temporary address.
    MemberAddress {
        /// Partition of the member.
        partition: Partition,
        /// Temporary address.
        pending: Location,
        /// Server address; none if the member does not exist.
        member: Option<Location>,
    },
    /// A temporary address was removed.
    MemberAddressRemoved {
        /// Partition of the member.
        partition: Partition,
        /// Temporary address.
        pending: Location,
    },
    /// An edit is about to be sent while its application waits.
    Attempt(Box<Attempt>),
    /// The result of an attempt is known.
    AttemptRemoved(Box<Attempt>),
    /// The representation of an address was changed.
    Representation {
        /// Partition of the representation.
        partition: Partition,
        /// Address of the representation.
        location: Location,
        /// The representation; none if it was removed.
        representation: Option<Box<Representation>>,
    },
    /// The resources of a feed were replaced. Representations of former resources that belong to no other
    /// feed of the partition are deleted. A partial generation is added to the former resources.
    Generation {
        /// Partition of the feed.
        partition: Partition,
        /// Address of the feed.
        feed: Location,
        /// Resources of the feed.
        resources: SortedMap<Location, Belonging>,
        /// Whether all of the feed was fetched.
        is_whole: bool,
    },
    /// Policy for the use of the network.
    Policy(Policy),
    /// Other data of a partition were removed.
    PartitionRemoved(Partition),
    /// An account of a newsreader was added or changed.
    Account(Box<Account>),
    /// An account was removed.
    AccountRemoved(Partition),
    /// A response to a newsreader was stored.
    CachedResponse(Box<CachedResponse>),
    /// A stored response was removed.
    CachedResponseRemoved {
        /// Partition of the account.
        partition: Partition,
        /// Key of the request.
        key: Key,
    },
    /// A change by a newsreader was stored.
    StoredChange(Box<StoredChange>),
    /// A change by a newsreader was removed.
    StoredChangeRemoved(ChangeId),
    /// Numbers of the next rows.
    Counters(Counters),
}

/// Relation of an address to a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Belonging {
    /// Role of the resource.
    pub role: Role,
    /// For media: address of the media link entry.
    pub entry: Option<Location>,
    /// Generation in which the resource was first seen.
    pub seen: u64,
}

/// Numbers of the next rows. No number is used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    /// Number of the next subscription.
    pub stored_subscription: u64,
    /// Number of the next application's share in a subscription.
    pub holder: u64,
    /// Number of the next edit.
    pub edit: u64,
    /// Number of the next error.
    pub error: u64,
    /// Number of the next completed edit that is shown.
    pub shown: u64,
    /// Number of the next generation of a feed.
    pub generation: u64,
}

impl Default for Counters {
    fn default() -> Self {
        Self { stored_subscription: 1, holder: 1, edit: 1, error: 1, shown: 1, generation: 1 }
    }
}

/// A completed edit that the feed does not show yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayEdit {
    /// Number of the edit. A later request of the feed includes it.
    pub place: u64,
    /// Partition of the edit.
    pub partition: Partition,
    /// The feed that will show the edit.
    pub feed: Location,
    /// The edited resource: a member, or its media.
    pub resource: Location,
    /// Temporary address of the member before its server assigned one.
    pub pending: Option<Location>,
    /// Present content; none if it was deleted.
    pub entity: Option<Entity>,
    /// Next generation at the time of the edit. Resources that were seen before are not its result.
    pub generation: u64,
}

/// An event for the applications of one partition (4.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Partition of the event.
    pub partition: Partition,
    /// Feed of the subscription.
    pub feed: Location,
    /// Content of the event.
    pub kind: EventKind,
}

/// Content of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// The state of the subscription has changed.
    State(StateChange),
    /// A server responded: an error, or an edit that was carried out.
    Sync(Box<Interaction<Option<Content>>>),
}

/// Number of a running task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u64);

/// A request of the gateway that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Number of the task.
    pub id: TaskId,
    /// Partition of the request.
    pub partition: Partition,
    /// Method of the request.
    pub method: Method,
    /// Address of the request.
    pub location: Location,
    /// Origin of the address: the feed that leads there, or the address that an application named.
    pub source: Location,
    /// All headers except those of the connection.
    pub headers: HeaderMap,
    /// Body of the request.
    pub body: Option<Content>,
}

/// Result of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// There was a response, and its body is stored.
    ServerResponse {
        /// Status of the response.
        status: http::StatusCode,
        /// Headers of the response.
        headers: HeaderMap,
        /// Body of the response.
        content: Content,
    },
    /// The connection failed, before anything was sent or possibly after everything was.
    Lost {
        /// Whether the request may have arrived.
        perhaps_arrived: bool,
    },
    /// The response could not be stored for lack of space.
    OutOfSpace,
}
