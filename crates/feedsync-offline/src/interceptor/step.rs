//! What follows from a decision: what is to be stored, and what applications are told.

use std::collections::BTreeMap;

use http::{HeaderMap, Method};

use super::stored::{Content, Entity, Representation};
use super::{Attempt, Keeping, KeepingId, Policy};
use crate::authentication::Partition;
use crate::event::{ErrorId, Interaction, StateChange, SyncError};
use crate::interception::Role;
use crate::location::Location;
use crate::newsreader::{Account, Kept, Key, Written, WrittenId};
use crate::outbox::{Edit, EditId};

/// What a decision changes. All of it is stored in one transaction, or nothing is; then its events are told
/// and its tasks are carried out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Step {
    /// What changes in the store, in this order.
    pub changes: Vec<Change>,
    /// Whether it has to outlive a power cut before anybody hears of it. What can be found out again need
    /// not.
    pub is_durable: bool,
    /// What applications are told.
    pub events: Vec<Event>,
}

/// One change of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A subscription is this now.
    Keeping(Box<Keeping>),
    /// A subscription is not needed any more.
    KeepingGone(KeepingId),
    /// An edit is this now.
    Edit(Box<Edit<Entity>>),
    /// An edit is not on its way any more.
    EditGone(EditId),
    /// An error stands until it is cleared.
    Error(Box<SyncError<Option<Content>>>),
    /// An error was cleared.
    ErrorGone(ErrorId),
    /// What was edited shows until its feed was fetched again.
    Shown(Box<Shown>),
    /// It shows in the feed itself.
    ShownGone(u64),
    /// A member has an address of its server's, and requests under the one it had here are for that.
    Named {
        /// Whose it is.
        partition: Partition,
        /// Where it was here.
        pending: Location,
        /// Where it is; none if it is nowhere any more.
        member: Option<Location>,
    },
    /// The address that a member had here is forgotten.
    NamedGone {
        /// Whose it is.
        partition: Partition,
        /// Where it was here.
        pending: Location,
    },
    /// An edit is about to be carried.
    Attempt(Box<Attempt>),
    /// What became of it is known.
    AttemptGone(Box<Attempt>),
    /// What is stored of an address.
    Representation {
        /// Whose it is.
        partition: Partition,
        /// The address.
        location: Location,
        /// What is stored; none if nothing is any more.
        representation: Option<Box<Representation>>,
    },
    /// What belongs to a feed, instead of all that did. Of what did and does not, and belongs to no other feed
    /// of these people, nothing is stored any more. One that is not whole is added to what did.
    Generation {
        /// Whose it is.
        partition: Partition,
        /// The feed.
        feed: Location,
        /// All that belongs to it.
        resources: BTreeMap<Location, Belonging>,
        /// Whether all of the feed could be had.
        is_whole: bool,
    },
    /// Whether the network is used.
    Policy(Policy),
    /// Nothing else of these people is needed any more.
    Forgotten(Partition),
    /// Somebody is known to the server of a newsreader.
    Account(Box<Account>),
    /// Nothing of theirs is needed any more.
    AccountGone(Partition),
    /// An answer to a newsreader is kept.
    Kept(Box<Kept>),
    /// It is not any more.
    KeptGone {
        /// Whose it was.
        partition: Partition,
        /// Under what.
        key: Key,
    },
    /// What somebody changed with a newsreader.
    Written(Box<Written>),
    /// It is not needed any more.
    WrittenGone(WrittenId),
    /// The next places of what is counted.
    Counters(Counters),
}

/// How an address belongs to a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Belonging {
    /// What it is.
    pub role: Role,
    /// Of media, where its media link entry is edited.
    pub entry: Option<Location>,
    /// The generation in which it was first seen.
    pub seen: u64,
}

/// Places that are given once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    /// Of the next subscription.
    pub keeping: u64,
    /// Of the next application that holds one.
    pub holder: u64,
    /// Of the next edit.
    pub edit: u64,
    /// Of the next error.
    pub error: u64,
    /// Of the next edit that shows after it was carried out.
    pub shown: u64,
    /// Of the next generation of a feed.
    pub generation: u64,
}

impl Default for Counters {
    fn default() -> Self {
        Self { keeping: 1, holder: 1, edit: 1, error: 1, shown: 1, generation: 1 }
    }
}

/// An edit that its server has carried out and the feed does not show yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Its place: a round that asks for the feed afterwards finds it there.
    pub place: u64,
    /// Who made it.
    pub partition: Partition,
    /// The feed that will show it.
    pub feed: Location,
    /// What was edited: a member, or its media.
    pub resource: Location,
    /// Where it was before its server gave it an address.
    pub pending: Option<Location>,
    /// What it is now; none if it was deleted.
    pub entity: Option<Entity>,
    /// The generation that was next when it was made: what was seen before is not it.
    pub generation: u64,
}

/// What applications are told, those of the partition alone (4.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Whose event it is.
    pub partition: Partition,
    /// The feed of the subscription.
    pub feed: Location,
    /// What happened.
    pub news: News,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The subscription is in another state.
    State(StateChange),
    /// A server answered: an error, or an edit that was carried out.
    Sync(Box<Interaction<Option<Content>>>),
}

/// Names a task while it is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u64);

/// A request of ours that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its name.
    pub id: TaskId,
    /// For whom.
    pub partition: Partition,
    /// Its method.
    pub method: Method,
    /// Where it goes.
    pub location: Location,
    /// On whose word: the feed that leads there, or what an application named.
    pub source: Location,
    /// All of its headers, but for those of the connection.
    pub headers: HeaderMap,
    /// What it carries.
    pub body: Option<Content>,
}

/// What became of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered; the bytes are stored.
    Answered {
        /// The status.
        status: http::StatusCode,
        /// The headers.
        headers: HeaderMap,
        /// The bytes.
        content: Content,
    },
    /// There was no network; before anything was sent, or perhaps after all was.
    Lost {
        /// Whether it may have arrived.
        perhaps_arrived: bool,
    },
    /// There is no room for the answer.
    NoRoom,
}
