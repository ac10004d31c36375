//! The tables of the store, and the changes of an update.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_core::{ItemId, Update};
use feedsync_store::backend::Plan;
use feedsync_store::{
    ChangeNumber, Collection, CollectionName, Digest, Discarded, DiscardedId, Identity,
    LedgerEntry, Moment, Remote, RemoteId, StoreError, StoredItem,
};

/// Everything that the store holds.
pub(crate) struct Tables {
    pub(crate) identity: Identity,
    pub(crate) last_epoch: Option<Moment>,
    pub(crate) collections: BTreeMap<CollectionName, Table>,
    pub(crate) ledger: BTreeMap<ItemId, Vec<LedgerEntry>>,
    pub(crate) remotes: BTreeMap<RemoteId, Remote>,
    pub(crate) next_remote: u64,
    pub(crate) next_discarded: u64,
    pub(crate) blobs: BTreeMap<Digest, (Moment, Vec<u8>)>,
}

/// The rows of one collection.
pub(crate) struct Table {
    pub(crate) collection: Collection,
    pub(crate) items: BTreeMap<ItemId, StoredItem>,
    pub(crate) purged: BTreeMap<ItemId, Vec<Update>>,
    pub(crate) discarded: BTreeMap<DiscardedId, Discarded>,
}

impl Table {
    pub(crate) fn new(collection: Collection) -> Self {
        let (items, purged, discarded) = Default::default();
        Self { collection, items, purged, discarded }
    }

    /// The items that changed after a number, by their last change.
    pub(crate) fn by_number(&self, after: ChangeNumber) -> BTreeMap<ChangeNumber, &StoredItem> {
        let later = self.items.values().filter(|stored| stored.number > after);
        later.map(|stored| (stored.number, stored)).collect()
    }

    /// Gives items that were changed while the clock was ahead moments before `now`, in their order.
    fn redate(&mut self, now: Moment) {
        let last = self.collection.edited;
        let mut wrong: Vec<_> =
            self.items.values_mut().filter(|stored| stored.edited > last).collect();
        wrong.sort_by_key(|stored| std::cmp::Reverse(stored.number));
        let mut moment = now;
        for stored in wrong {
            moment = moment.previous();
            stored.edited = moment;
        }
    }
}

impl Tables {
    pub(crate) fn table(&self, name: &CollectionName) -> Result<&Table, StoreError> {
        self.collections.get(name).ok_or_else(|| StoreError::NoCollection(name.clone()))
    }

    pub(crate) fn table_mut(&mut self, name: &CollectionName) -> Result<&mut Table, StoreError> {
        self.collections.get_mut(name).ok_or_else(|| StoreError::NoCollection(name.clone()))
    }

    /// Whether the collection of a remote has another one of this address.
    pub(crate) fn has_remote(
        &self,
        collection: &CollectionName,
        url: &str,
        but: Option<RemoteId>,
    ) -> bool {
        self.remotes.values().any(|remote| {
            remote.collection == *collection && remote.url == url && but != Some(remote.id)
        })
    }

    /// Digests that items and discarded items name.
    pub(crate) fn named_blobs(&self) -> BTreeSet<Digest> {
        let of = |table: &Table| {
            let items = table.items.values().flat_map(|stored| stored.blobs.clone());
            let discarded = table.discarded.values().flat_map(|it| it.blobs.clone());
            items.chain(discarded).collect::<Vec<_>>()
        };
        self.collections.values().flat_map(of).collect()
    }

    /// Writes the result of an update.
    pub(crate) fn apply(&mut self, plan: Plan) -> Result<(), StoreError> {
        let name = plan.collection.name.clone();
        let table = self.table_mut(&name)?;
        table.collection = plan.collection;
        for (id, item) in plan.items {
            match item {
                Some(item) => table.items.insert(id, item),
                None => table.items.remove(&id),
            };
        }
        if let Some(now) = plan.redated {
            table.redate(now);
        }
        table.purged.extend(plan.purged);
        table.discarded.retain(|id, _| !plan.recovered.contains(id));
        let added = plan.discarded.len() as u64;
        table.discarded.extend(plan.discarded.into_iter().map(|it| (it.id, it)));
        self.next_discarded += added;
        self.identity = plan.identity;
        for (item, row) in plan.issued {
            let rows = self.ledger.entry(item).or_default();
            rows.retain(|known| known.by != row.by);
            rows.push(row);
            rows.sort_by(|one, other| one.by.cmp(&other.by));
        }
        for (id, state) in plan.remotes {
            if let Some(remote) = self.remotes.get_mut(&id) {
                remote.state = state;
            }
        }
        Ok(())
    }
}
