//! Read, decide, write: the input and the output of a decision on items.

use std::collections::BTreeMap;
use std::sync::Arc;

use feedsync_core::{By, Item, ItemId, Payload, Sequence, Update};

use crate::blob::Digest;
use crate::collection::Collection;
use crate::environment::Environment;
use crate::identity::{self, Identity, LedgerEntry};
use crate::order::Moment;
use crate::people::AuditAction;
use crate::remote::{RemoteId, RemoteState};
use crate::stored::{DiscardedId, Origin, StoredItem};

/// A decision: a synchronous function from current values to changes. It may be called more than once, each
/// time with fresh values; only the result of the last call is applied. An empty list of writes changes
/// nothing.
pub type Decide = Box<dyn FnMut(&Snapshot) -> Vec<Write> + Send>;

/// The stored values of an update's keys, read in the transaction that applies the writes.
pub struct Snapshot {
    pub(crate) identity: Identity,
    pub(crate) collection: Collection,
    pub(crate) now: Moment,
    pub(crate) entries: BTreeMap<ItemId, Entry>,
    pub(crate) environment: Arc<dyn Environment>,
}

/// The stored values of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// The item, if the collection has it.
    pub item: Option<StoredItem>,
    /// Vector that purges of the item left behind: one update for each authoring line, empty if the item was
    /// never purged. A version whose topmost update it covers is known and was removed.
    pub purged: Vec<Update>,
    /// The highest sequences that this endpoint has issued for the item, in any collection at any time, by
    /// authoring line.
    pub issued: Vec<LedgerEntry>,
}

impl Entry {
    /// Whether a purged version knew this update.
    pub fn is_purged(&self, update: &Update) -> bool {
        self.purged.iter().any(|known| update.is_subsumed_by(known))
    }
}

impl Snapshot {
    /// The input of a decision, for a store that makes one: the current state, with an entry for each key of
    /// the update. The entries of a key that is new have their default value.
    pub fn new(
        identity: Identity,
        collection: Collection,
        entries: BTreeMap<ItemId, Entry>,
        environment: Arc<dyn Environment>,
    ) -> Self {
        let now = environment.now();
        Self { identity, collection, now, entries, environment }
    }

    /// This endpoint.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The collection.
    pub fn collection(&self) -> &Collection {
        &self.collection
    }

    /// Current time.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// The stored values of a key. An item that is not stored has an empty entry; an id that is not among the
    /// update's keys has `None`.
    pub fn entry(&self, id: &ItemId) -> Option<&Entry> {
        self.entries.get(id)
    }

    /// The item of a key, if the collection has it.
    pub fn item(&self, id: &ItemId) -> Option<&StoredItem> {
        self.entries.get(id)?.item.as_ref()
    }

    /// Ledger entry: the highest sequence ever issued for a key's item in an authoring line.
    pub fn issued(&self, id: &ItemId, by: &By) -> Option<&LedgerEntry> {
        self.entries.get(id)?.issued.iter().find(|issued| issued.by == *by)
    }

    /// Whether this endpoint owns an authoring line of a key's item: it belongs to an incarnation, or the
    /// ledger lists it.
    pub fn is_own(&self, id: &ItemId, by: &By) -> bool {
        self.identity.is_line_of_incarnation(by) || self.issued(id, by).is_some()
    }

    /// A new `{name}.{random}` for a new incarnation or an additional line; each call returns another one.
    pub fn mint(&self) -> By {
        identity::mint(&self.identity.name, &*self.environment)
    }
}

/// One change. Writes are applied in their order, all or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Stores an item under the collection's next change number. Its id is one of the keys.
    Put(Put),
    /// Records that another endpoint has this item too: its origin becomes [`Origin::Mixed`]. Takes no change
    /// number, since readers see no difference.
    Shared {
        /// A key that the collection has.
        id: ItemId,
    },
    /// Moves items to the recoverable list (4.1.2). Takes the next change number, which becomes the purge
    /// horizon, so that subscribers learn that something is gone.
    Discard {
        /// Keys that the collection has.
        ids: Vec<ItemId>,
        /// The reason, as text for people.
        reason: String,
    },
    /// Removes items permanently (4.2.4). Their ids and vectors stay, and the purge horizon becomes at least
    /// the highest number removed.
    Purge {
        /// Keys that the collection has.
        ids: Vec<ItemId>,
    },
    /// Records in the ledger that a sequence has been issued. The ledger stores the highest one.
    Issue {
        /// The item, a key.
        item: ItemId,
        /// An incarnation or a one-off line.
        by: By,
        /// The sequence.
        sequence: Sequence,
    },
    /// Begins a new incarnation; the current one retires.
    Reincarnate {
        /// From [`Snapshot::mint`].
        by: By,
    },
    /// Records the replication state of a remote. Has no effect if the remote was removed meanwhile.
    Remote {
        /// The remote.
        id: RemoteId,
        /// Its new state.
        state: RemoteState,
    },
    /// Records that others know all changes up to the end of this update, because its sender knew the stored
    /// values.
    Shown,
    /// Writes into the audit record who made these changes.
    Record(AuditAction),
    /// Removes an item from the recoverable list. Has no effect if it is not there.
    Recovered(DiscardedId),
}

/// An item to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// The item.
    pub item: Item<Payload>,
    /// Whether this endpoint created it.
    pub created_here: bool,
    /// Origin of its versions.
    pub origin: Origin,
    /// Blobs that its versions name.
    pub blobs: Vec<Digest>,
}
