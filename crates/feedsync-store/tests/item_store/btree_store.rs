//! The required methods of a store of items, on maps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use feedsync_core::ItemId;
use feedsync_store::backend::{ChangeNotifier, Page, plan, stale_before};
use feedsync_store::{
    Alteration, AlterationDecision, ChangeNumber, ChangePage, Collection, CollectionName,
    CreationContext, Decide, DecideCollection, Digest, Discarded, DiscardedId, EndpointName, Entry,
    Environment, Epoch, Identity, ItemPage, ItemStore, LedgerEntry, Moment, NewCollection,
    NewRemote, Notices, PageLimit, Remote, RemoteId, Snapshot, StoreError, StoredItem,
};

use crate::btree_tables::{Table, Tables};

/// A store of items in maps. One lock makes each method a transaction.
pub(crate) struct BTreeStore {
    tables: Mutex<Tables>,
    notifier: ChangeNotifier<CollectionName>,
    environment: Arc<dyn Environment>,
}

impl BTreeStore {
    /// A store without collections.
    pub(crate) fn new(name: &EndpointName, environment: Arc<dyn Environment>) -> Self {
        let tables = Tables {
            identity: Identity::founded(name, &*environment),
            last_epoch: None,
            collections: BTreeMap::new(),
            ledger: BTreeMap::new(),
            remotes: BTreeMap::new(),
            next_remote: 1,
            next_discarded: 1,
            blobs: BTreeMap::new(),
        };
        Self { tables: Mutex::new(tables), notifier: ChangeNotifier::default(), environment }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        // A decision that panics has changed nothing.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ItemStore for BTreeStore {
    async fn identity(&self) -> Result<Identity, StoreError> {
        Ok(self.tables().identity.clone())
    }

    async fn collections_after(
        &self,
        after: Option<&CollectionName>,
        most: usize,
    ) -> Result<Vec<Collection>, StoreError> {
        let tables = self.tables();
        let later = tables.collections.iter().filter(|(name, _)| after.is_none_or(|it| *name > it));
        Ok(later.take(most).map(|(_, table)| table.collection.clone()).collect())
    }

    async fn collection(&self, name: &CollectionName) -> Result<Option<Collection>, StoreError> {
        Ok(self.tables().collections.get(name).map(|table| table.collection.clone()))
    }

    async fn create_collection_with(
        &self,
        new: NewCollection,
        context: CreationContext,
    ) -> Result<Collection, StoreError> {
        if let Some(owner) = context.owner {
            return Err(StoreError::NoUser(owner));
        }
        let mut tables = self.tables();
        if tables.collections.contains_key(&new.name) {
            return Err(StoreError::CollectionExists(new.name));
        }
        let tail = self.environment.random() as u32;
        let epoch = Epoch::begin(tables.last_epoch, self.environment.now(), tail);
        tables.last_epoch = Some(epoch.began());
        let collection = Collection::created(new, epoch, &*self.environment);
        tables.collections.insert(collection.name.clone(), Table::new(collection.clone()));
        Ok(collection)
    }

    async fn alter_collection(
        &self,
        name: &CollectionName,
        decide: DecideCollection,
    ) -> Result<Collection, StoreError> {
        let mut tables = self.tables();
        let before = tables.table(name)?.collection.clone();
        let AlterationDecision { alteration, .. } = decide(&before);
        let is_visible = alteration.has_visible_change(&before);
        let mut after = before;
        match alteration {
            Alteration::Keep => {}
            Alteration::Change(change) => {
                after.change_at(change, self.environment.now());
                if after.name != *name && tables.collections.contains_key(&after.name) {
                    return Err(StoreError::CollectionExists(after.name));
                }
                if let Some(mut table) = tables.collections.remove(name) {
                    table.collection = after.clone();
                    for discarded in table.discarded.values_mut() {
                        discarded.collection = after.name.clone();
                    }
                    tables.collections.insert(after.name.clone(), table);
                }
                for remote in tables.remotes.values_mut().filter(|it| it.collection == *name) {
                    remote.collection = after.name.clone();
                }
            }
            Alteration::Drop => {
                tables.collections.remove(name);
                tables.remotes.retain(|_, remote| remote.collection != *name);
            }
        }
        if is_visible {
            self.notifier.notify_subscribers(name);
        }
        Ok(after)
    }

    async fn items(
        &self,
        collection: &CollectionName,
        ids: &[ItemId],
    ) -> Result<Vec<StoredItem>, StoreError> {
        let tables = self.tables();
        let table = tables.table(collection)?;
        let ids: BTreeSet<&ItemId> = ids.iter().collect();
        Ok(ids.into_iter().filter_map(|id| table.items.get(id).cloned()).collect())
    }

    async fn changes(
        &self,
        collection: &CollectionName,
        after: ChangeNumber,
        up_to: Option<ChangeNumber>,
        limit: PageLimit,
    ) -> Result<ChangePage, StoreError> {
        let tables = self.tables();
        let table = tables.table(collection)?;
        let last = table.collection.last;
        let bound = up_to.map_or(last, |up_to| up_to.min(last));
        let mut page = Page::new(limit);
        for (number, stored) in table.by_number(after) {
            if number <= bound && !page.push(stored.clone()) {
                break;
            }
        }
        Ok(ChangePage::new(table.collection.clone(), page, after, bound))
    }

    async fn items_by_id(
        &self,
        collection: &CollectionName,
        after: Option<&ItemId>,
        limit: PageLimit,
    ) -> Result<ItemPage, StoreError> {
        let tables = self.tables();
        let table = tables.table(collection)?;
        let mut page = Page::new(limit);
        for (id, stored) in &table.items {
            if after.is_none_or(|after| id > after) && !page.push(stored.clone()) {
                break;
            }
        }
        let collection = table.collection.clone();
        Ok(ItemPage { collection, items: page.items, more: page.more })
    }

    async fn update(
        &self,
        collection: &CollectionName,
        keys: Vec<ItemId>,
        mut decide: Decide,
    ) -> Result<Collection, StoreError> {
        let mut tables = self.tables();
        let table = tables.table(collection)?;
        let entry = |id: &ItemId| Entry {
            item: table.items.get(id).cloned(),
            purged: table.purged.get(id).cloned().unwrap_or_default(),
            issued: tables.ledger.get(id).cloned().unwrap_or_default(),
        };
        let entries = keys.iter().map(|id| (id.clone(), entry(id))).collect();
        let before = table.collection.clone();
        let environment = Arc::clone(&self.environment);
        let snapshot = Snapshot::new(tables.identity.clone(), before.clone(), entries, environment);
        let writes = decide(&snapshot);
        if writes.is_empty() {
            return Ok(before);
        }
        let plan = plan(snapshot, DiscardedId(tables.next_discarded), writes)?;
        let after = plan.collection.clone();
        tables.apply(plan)?;
        if after.has_changes_since(&before) {
            self.notifier.notify_subscribers(collection);
        }
        Ok(after)
    }

    async fn mark_sent(
        &self,
        collection: &CollectionName,
        up_to: ChangeNumber,
    ) -> Result<(), StoreError> {
        let mut tables = self.tables();
        let collection = &mut tables.table_mut(collection)?.collection;
        collection.sent = collection.sent.max(up_to.min(collection.last));
        Ok(())
    }

    async fn issued(&self, item: &ItemId) -> Result<Vec<LedgerEntry>, StoreError> {
        Ok(self.tables().ledger.get(item).cloned().unwrap_or_default())
    }

    async fn discarded(&self, collection: &CollectionName) -> Result<Vec<Discarded>, StoreError> {
        Ok(self.tables().table(collection)?.discarded.values().cloned().collect())
    }

    async fn remotes(
        &self,
        collection: Option<&CollectionName>,
    ) -> Result<Vec<Remote>, StoreError> {
        let tables = self.tables();
        collection.map(|name| tables.table(name)).transpose()?;
        let is_of = |remote: &&Remote| collection.is_none_or(|name| remote.collection == *name);
        Ok(tables.remotes.values().filter(is_of).cloned().collect())
    }

    async fn add_remote(&self, new: NewRemote) -> Result<Remote, StoreError> {
        let mut tables = self.tables();
        tables.table(&new.collection)?;
        if tables.has_remote(&new.collection, &new.url, None) {
            return Err(StoreError::RemoteExists(new.url));
        }
        let remote = Remote::new(RemoteId(tables.next_remote), new);
        tables.next_remote += 1;
        tables.remotes.insert(remote.id, remote.clone());
        Ok(remote)
    }

    async fn change_remote(&self, remote: Remote) -> Result<(), StoreError> {
        let mut tables = self.tables();
        let stored = tables.remotes.get(&remote.id).ok_or(StoreError::NoRemote)?;
        let collection = stored.collection.clone();
        if tables.has_remote(&collection, &remote.url, Some(remote.id)) {
            return Err(StoreError::RemoteExists(remote.url));
        }
        tables.remotes.insert(remote.id, Remote { collection, ..remote });
        Ok(())
    }

    async fn reschedule(
        &self,
        id: RemoteId,
        seen: Option<Moment>,
        due: Moment,
    ) -> Result<bool, StoreError> {
        let mut tables = self.tables();
        let subscription = tables.remotes.get_mut(&id).and_then(|it| it.subscription.as_mut());
        let Some(subscription) = subscription.filter(|it| it.due == seen) else { return Ok(false) };
        subscription.due = Some(due);
        Ok(true)
    }

    async fn remove_remote(&self, id: RemoteId) -> Result<(), StoreError> {
        self.tables().remotes.remove(&id).map(drop).ok_or(StoreError::NoRemote)
    }

    async fn put_blob(&self, bytes: Vec<u8>) -> Result<Digest, StoreError> {
        let digest = Digest::of(&bytes);
        self.tables().blobs.insert(digest, (self.environment.now(), bytes));
        Ok(digest)
    }

    async fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.tables().blobs.get(&digest).map(|(_, bytes)| bytes.clone()))
    }

    async fn missing_blobs(&self, digests: &[Digest]) -> Result<Vec<Digest>, StoreError> {
        let mut tables = self.tables();
        let now = self.environment.now();
        let mut missing = BTreeSet::new();
        for digest in digests {
            match tables.blobs.get_mut(digest) {
                Some((stored, _)) if *stored < stale_before(now) => *stored = now,
                Some(_) => {}
                None => drop(missing.insert(*digest)),
            }
        }
        Ok(missing.into_iter().collect())
    }

    async fn sweep_blobs(&self, stored_before: Moment) -> Result<u64, StoreError> {
        let mut tables = self.tables();
        let named = tables.named_blobs();
        let before = tables.blobs.len();
        tables
            .blobs
            .retain(|digest, (stored, _)| named.contains(digest) || *stored >= stored_before);
        Ok((before - tables.blobs.len()) as u64)
    }

    fn subscribe(&self, collection: &CollectionName) -> Notices {
        self.notifier.subscribe(collection)
    }
}
