//! Remote feeds that a collection is synchronized with.

use std::time::Duration;

use crate::name::CollectionName;
use crate::order::{ChangeNumber, Moment};

/// Id of a remote; never used twice during the life of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteId(pub u64);

/// A remote feed and the state of its synchronization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Its id.
    pub id: RemoteId,
    /// The collection that is synchronized with it.
    pub collection: CollectionName,
    /// A name for people.
    pub name: Option<String>,
    /// The given URL: the address of a feed or of a listing that names one.
    pub url: String,
    /// State of the synchronization.
    pub state: RemoteState,
    /// Set for a remote that is only read, on a schedule.
    pub subscription: Option<Subscription>,
}

/// Schedule of a remote whose items a collection incorporates. The process that serves the store reads it,
/// and never writes to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// Interval between reads, in whole seconds.
    pub every: Duration,
    /// Whether entries without sync information are imported.
    pub plain: bool,
    /// Whether its address may resolve to private addresses, because a person gave such an address.
    pub reaches_private: bool,
    /// When it is to be read next; at once if there is no moment. A process moves the moment before it reads
    /// ([`ItemStore::reschedule`](crate::ItemStore::reschedule)), so that other processes of this store do not read
    /// it too.
    pub due: Option<Moment>,
}

/// A remote to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRemote {
    /// The collection to synchronize; it has at most one remote of each address.
    pub collection: CollectionName,
    /// A name for people.
    pub name: Option<String>,
    /// Its address.
    pub url: String,
    /// Schedule; a remote with it is only read.
    pub subscription: Option<Subscription>,
}

impl Remote {
    /// A remote whose state is still unknown.
    pub fn new(id: RemoteId, new: NewRemote) -> Self {
        let NewRemote { collection, name, url, subscription } = new;
        Self { id, collection, name, url, state: RemoteState::default(), subscription }
    }
}

/// Synchronization state of a remote. It is written together with the items that it refers to. If a write of
/// it is lost (two concurrent synchronizations), work is repeated, and no item is lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteState {
    /// The address of its FeedSync feed, if it is not `url`.
    pub changes: Option<String>,
    /// The address of its complete feed (2.3).
    pub complete: Option<String>,
    /// The `until` of its last response (4.1), an opaque text.
    pub until: Option<String>,
    /// `ETag` of the last response.
    pub etag: Option<String>,
    /// `Last-Modified` of the last response.
    pub last_modified: Option<String>,
    /// Number up to which our changes have been offered to it.
    pub pushed: ChangeNumber,
    /// Whether it may lack items at or below `pushed`: then everything is offered.
    pub may_lack: bool,
    /// Whether it is out of sync, so that the complete feed must be read (4.1.2).
    pub needs_complete: bool,
    /// Whether it accepts no pushes.
    pub read_only: bool,
    /// The last refusal of a push by a hub, until it accepts one.
    pub refusal: Option<PushRefusal>,
    /// Earliest moment of the next read, as its response demanded.
    pub not_before: Option<Moment>,
    /// Latest moment of the next read (`sx:sharing/@expires`, 2.2).
    pub expires: Option<Moment>,
    /// Number of failures since the last success.
    pub failures: u32,
    /// The last failure, as text for people.
    pub failure: Option<String>,
    /// Moment of the last success.
    pub succeeded: Option<Moment>,
}

/// A refusal of our changes by a hub, which may accept them at another time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushRefusal {
    /// When the hub refused.
    pub at: Moment,
    /// The last change that the refused push offered.
    pub up_to: ChangeNumber,
    /// The response of the hub, as text for people.
    pub reason: String,
}

impl RemoteState {
    /// The state after reading something that can only be incorporated later: everything is read again, even
    /// if the remote has not changed.
    #[must_use]
    pub fn to_be_read_again(self) -> Self {
        Self { needs_complete: true, etag: None, last_modified: None, ..self }
    }

    /// Whether changes are sent to it: it is not a feed that can only be read. After a refusal they are offered again.
    pub fn may_take_changes(&self) -> bool {
        !self.read_only || self.refusal.is_some()
    }

    /// Upper bound for the number of changes that it has not been offered, of a collection with this last change.
    pub fn pending(&self, last: ChangeNumber) -> u64 {
        let offered = if self.may_lack { 0 } else { self.pushed.get() };
        if self.may_take_changes() { last.get().saturating_sub(offered) } else { 0 }
    }
}
