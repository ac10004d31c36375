//! Feeds elsewhere that a collection is kept in step with.

use std::time::Duration;

use crate::name::CollectionName;
use crate::order::{Moment, Number};

/// Names a remote for the life of the store; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteId(pub u64);

/// A remembered feed and how far we are with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Its id.
    pub id: RemoteId,
    /// The collection that it feeds.
    pub collection: CollectionName,
    /// A name for people.
    pub name: Option<String>,
    /// What the person gave: the address of a feed or of a listing that names one.
    pub url: String,
    /// How far we are.
    pub state: RemoteState,
    /// Whether it is only read, each time it is due.
    pub subscription: Option<Subscription>,
}

/// A remote whose items a collection incorporates: it is only read, by whoever serves the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// How often it is read, in whole seconds.
    pub every: Duration,
    /// Whether entries without sync information are imported.
    pub plain: bool,
    /// Whether its address may lead to private ones: a person gave one that does.
    pub reaches_private: bool,
    /// When it is to be read next; at once if there is no moment. Who reads it moves the moment
    /// first ([`Store::reschedule`](crate::Store::reschedule)), so that others of this store leave it
    /// alone.
    pub due: Option<Moment>,
}

/// A remote to remember.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRemote {
    /// The collection that it feeds; it has no two remotes of one address.
    pub collection: CollectionName,
    /// A name for people.
    pub name: Option<String>,
    /// Its address.
    pub url: String,
    /// How it is subscribed to: a remote with it is only read.
    pub subscription: Option<Subscription>,
}

impl Remote {
    /// A remote that nothing is known of yet.
    pub fn new(id: RemoteId, new: NewRemote) -> Self {
        let NewRemote { collection, name, url, subscription } = new;
        Self { id, collection, name, url, state: RemoteState::default(), subscription }
    }
}

/// How far we are with a remote. It is written together with the items it speaks of, and losing a
/// write of it (two synchronisations at once) costs a repetition, never an item.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteState {
    /// The address of its FeedSync feed, where it is not `url`.
    pub changes: Option<String>,
    /// The address of its complete feed (2.3).
    pub complete: Option<String>,
    /// The `until` that it said last (4.1): opaque.
    pub until: Option<String>,
    /// Validator of the last answer.
    pub etag: Option<String>,
    /// Validator of the last answer.
    pub last_modified: Option<String>,
    /// Our changes up to here have been offered to it.
    pub pushed: Number,
    /// It may lack items that we hold below `pushed`: offer everything.
    pub may_lack: bool,
    /// Out of sync: the complete feed is to be read (4.1.2).
    pub needs_complete: bool,
    /// It takes no pushes.
    pub read_only: bool,
    /// It asked not to be read before this.
    pub not_before: Option<Moment>,
    /// Its feed is to be read again before this (`sx:sharing/@expires`, 2.2).
    pub expires: Option<Moment>,
    /// Failures since the last success.
    pub failures: u32,
    /// What failed last, for people.
    pub failure: Option<String>,
    /// The last success.
    pub succeeded: Option<Moment>,
}

impl RemoteState {
    /// The state after something was read that may only be taken another time: all is to be read
    /// again, also where nothing has changed there.
    #[must_use]
    pub fn to_be_read_again(self) -> Self {
        Self { needs_complete: true, etag: None, last_modified: None, ..self }
    }
}
