//! Read, decide, write: what a decision sees and what it may do.

use std::collections::BTreeMap;
use std::sync::Arc;

use feedsync::{By, Item, ItemId, Payload, Sequence, Update};

use crate::blob::Digest;
use crate::collection::Collection;
use crate::environment::Environment;
use crate::identity::{self, Identity, Issued};
use crate::order::Moment;
use crate::people::Act;
use crate::remote::{RemoteId, RemoteState};
use crate::stored::{DiscardedId, Origin, StoredItem};

/// A decision: a synchronous function from current values to changes. It may be called more than
/// once, each time with fresh values; only what it returned last is carried out. No writes:
/// nothing changes.
pub type Decide = Box<dyn FnMut(&Snapshot) -> Vec<Write> + Send>;

/// What an update's keys hold, in one transaction with what is written.
pub struct Snapshot {
    pub(crate) identity: Identity,
    pub(crate) collection: Collection,
    pub(crate) now: Moment,
    pub(crate) entries: BTreeMap<ItemId, Entry>,
    pub(crate) environment: Arc<dyn Environment>,
}

/// What a snapshot knows of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// The item, if the collection has it.
    pub item: Option<StoredItem>,
    /// What purges of the item left behind: one update for each line of edits, empty if it was
    /// never purged. A version whose topmost update they cover is known and gone.
    pub purged: Vec<Update>,
    /// How far this endpoint has signed the item, in any collection, ever; by line.
    pub issued: Vec<Issued>,
}

impl Entry {
    /// Whether a purged version knew this update.
    pub fn is_purged(&self, update: &Update) -> bool {
        self.purged.iter().any(|known| update.is_subsumed_by(known))
    }
}

impl Snapshot {
    /// This endpoint.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The collection.
    pub fn collection(&self) -> &Collection {
        &self.collection
    }

    /// The clock.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// What is known of a key; an empty entry for an item nobody knows, `None` for an id that is
    /// not among the update's keys.
    pub fn entry(&self, id: &ItemId) -> Option<&Entry> {
        self.entries.get(id)
    }

    /// The item of a key, if the collection has it.
    pub fn item(&self, id: &ItemId) -> Option<&StoredItem> {
        self.entries.get(id)?.item.as_ref()
    }

    /// The ledger: the highest sequence ever issued for a key's item in a line of edits.
    pub fn issued(&self, id: &ItemId, by: &By) -> Option<&Issued> {
        self.entries.get(id)?.issued.iter().find(|issued| issued.by == *by)
    }

    /// Whether an authoring line in a key's item is this endpoint's: one of an incarnation, or another that the
    /// ledger knows.
    pub fn is_own(&self, id: &ItemId, by: &By) -> bool {
        self.identity.is_line_of_incarnation(by) || self.issued(id, by).is_some()
    }

    /// A fresh `{name}.{random}`, for a new incarnation or a line beside all others; another one each time.
    pub fn mint(&self) -> By {
        identity::mint(&self.identity.name, &*self.environment)
    }
}

/// One change. Writes are carried out in their order, all or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Stores an item under the collection's next change number. Its id is one of the keys.
    Put(Put),
    /// Records that somebody else has this very item too: its origin becomes [`Origin::Mixed`]. Takes
    /// no number, since nothing changes for those who read.
    Shared {
        /// A key that the collection has.
        id: ItemId,
    },
    /// Moves items to the recoverable list (4.1.2). Takes the next change number, which becomes
    /// the purge horizon, so that subscribers learn that something is gone.
    Discard {
        /// Keys that the collection has.
        ids: Vec<ItemId>,
        /// Why, for people.
        reason: String,
    },
    /// Removes items for good (4.2.4): their ids and vectors stay, and the purge horizon becomes at
    /// least the highest number removed.
    Purge {
        /// Keys that the collection has.
        ids: Vec<ItemId>,
    },
    /// Enters into the ledger that a sequence has been issued; the highest counts.
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
    /// Records how far we are with a remote; nothing happens if it was removed meanwhile.
    Remote {
        /// The remote.
        id: RemoteId,
        /// Its new state.
        state: RemoteState,
    },
    /// Records that others know all changes up to the end of this update: whoever sent it knew what was there.
    Shown,
    /// Writes into the record who made these changes.
    Record(Act),
    /// Takes an item off the recoverable list; nothing happens if it is not there.
    Recovered(DiscardedId),
}

/// An item to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// The item.
    pub item: Item<Payload>,
    /// Whether this endpoint created it.
    pub created_here: bool,
    /// Where its versions came from.
    pub origin: Origin,
    /// Blobs that its versions name.
    pub blobs: Vec<Digest>,
}
