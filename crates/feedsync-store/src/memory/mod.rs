//! A store in memory, for tests and for simulations that crash, back up, restore and clone it.
//!
//! It gives every guarantee of the contract, but its contents end with the process: the state after a crash
//! is its [`Image`]. Its futures never wait.

mod databases;
mod logs;
mod people;
mod state;
mod transfer;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use feedsync_core::ItemId;
use feedsync_couch::DatabaseName;

use crate::blob::{self, Digest};
use crate::collection::{
    Alteration, AlterationDecision, Collection, CreationContext, DecideCollection, NewCollection,
};
use crate::decision::Decide;
use crate::environment::Environment;
use crate::error::StoreError;
use crate::identity::{self, Identity, LedgerEntry};
use crate::item_store::ItemStore;
use crate::name::{CollectionName, EndpointName};
use crate::notifier::{ChangeNotifier, Notices};
use crate::order::{ChangeNumber, Moment};
use crate::plan::plan;
use crate::remote::{NewRemote, Remote, RemoteId};
use crate::stored::{
    ChangePage, Discarded, DiscardedId, ItemPage, Page, PageLimit, Recent, Selection, StoredItem,
};
use state::{CollectionContents, State};

/// A store in memory.
pub struct MemoryStore {
    state: Mutex<State>,
    notifier: ChangeNotifier<CollectionName>,
    database_notifier: ChangeNotifier<DatabaseName>,
    environment: Arc<dyn Environment>,
}

/// The state of a [`MemoryStore`] after a crash, or in a backup.
#[derive(Debug, Clone)]
pub struct Image(State);

impl MemoryStore {
    /// Creates an endpoint without collections.
    pub fn new(name: &EndpointName, environment: Arc<dyn Environment>) -> Self {
        let state = State {
            identity: Identity::founded(name, &*environment),
            last_epoch: None,
            last_dropped_generation: 0,
            ledger: BTreeMap::new(),
            collections_by_name: BTreeMap::new(),
            databases_by_name: BTreeMap::new(),
            remotes: BTreeMap::new(),
            next_remote: RemoteId(1),
            next_discarded: DiscardedId(1),
            #[cfg(feature = "queries")]
            last_views: 0,
            blobs: BTreeMap::new(),
            people: Default::default(),
        };
        Self::of(state, environment)
    }

    /// A copy of the current contents.
    pub fn image(&self) -> Image {
        Image(self.state().clone())
    }

    /// Reopens the same endpoint after a crash. The image must be the last one.
    pub fn reopened(image: Image, environment: Arc<dyn Environment>) -> Self {
        Self::of(image.0, environment)
    }

    /// Opens a backup, or a copy of an endpoint: begins a new incarnation, a new epoch for each collection,
    /// and a new generation of each log.
    pub fn restored(image: Image, environment: Arc<dyn Environment>) -> Self {
        let mut state = image.0;
        let by = identity::mint(&state.identity.name, &*environment);
        let retired = std::mem::replace(&mut state.identity.by, by);
        state.identity.retired.push(retired);
        let names: Vec<_> = state.collections_by_name.keys().cloned().collect();
        for name in names {
            let epoch = state.begin_epoch(&*environment);
            if let Some(collection_contents) = state.collections_by_name.get_mut(&name) {
                collection_contents.collection.epoch = epoch;
                collection_contents.log.iter_mut().for_each(|log| log.renew(&*environment));
            }
        }
        let epoch = state.begin_epoch(&*environment);
        state
            .databases_by_name
            .values_mut()
            .for_each(|database_contents| database_contents.database.epoch = epoch);
        Self::of(state, environment)
    }

    fn of(state: State, environment: Arc<dyn Environment>) -> Self {
        let (notifier, database_notifier) = (ChangeNotifier::default(), ChangeNotifier::default());
        Self { state: Mutex::new(state), notifier, database_notifier, environment }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ItemStore for MemoryStore {
    async fn identity(&self) -> Result<Identity, StoreError> {
        Ok(self.state().identity.clone())
    }

    async fn collections(&self) -> Result<Vec<Collection>, StoreError> {
        Ok(self
            .state()
            .collections_by_name
            .values()
            .map(|collection_contents| collection_contents.collection.clone())
            .collect())
    }

    async fn collections_after(
        &self,
        after: Option<&CollectionName>,
        most: usize,
    ) -> Result<Vec<Collection>, StoreError> {
        let state = self.state();
        let next = state
            .collections_by_name
            .iter()
            .filter(|(name, _)| after.is_none_or(|after| *name > after));
        Ok(next
            .take(most)
            .map(|(_, collection_contents)| collection_contents.collection.clone())
            .collect())
    }

    async fn collection(&self, name: &CollectionName) -> Result<Option<Collection>, StoreError> {
        Ok(self
            .state()
            .collections_by_name
            .get(name)
            .map(|collection_contents| collection_contents.collection.clone()))
    }

    async fn create_collection_with(
        &self,
        new: NewCollection,
        context: CreationContext,
    ) -> Result<Collection, StoreError> {
        let mut state = self.state();
        if state.collections_by_name.contains_key(&new.name) {
            return Err(StoreError::CollectionExists(new.name));
        }
        if let Some(owner) = &context.owner {
            state.people.require(owner)?;
        }
        let epoch = state.begin_epoch(&*self.environment);
        let collection = Collection::created(new, epoch, &*self.environment);
        state
            .collections_by_name
            .insert(collection.name.clone(), CollectionContents::new(collection.clone()));
        if let Some(owner) = context.owner {
            let id = state.people.id(&owner);
            state.people.own(collection.name.clone(), owner);
            if let Some(collection_contents) = state.collections_by_name.get_mut(&collection.name) {
                collection_contents.owner = id;
            }
        }
        if let Some(act) = context.act {
            state.people.record(self.environment.now(), act);
        }
        Ok(collection)
    }

    async fn alter_collection(
        &self,
        name: &CollectionName,
        decide: DecideCollection,
    ) -> Result<Collection, StoreError> {
        let mut state = self.state();
        let before = state.collection_contents(name)?.collection.clone();
        let AlterationDecision { alteration, act } = decide(&before);
        let has_visible_changes = alteration.has_visible_change(&before);
        let after = match alteration {
            Alteration::Keep => before,
            Alteration::Change(change) => state.change(name, change, self.environment.now())?,
            Alteration::Drop => {
                state.drop_collection(name);
                before
            }
        };
        if let Some(act) = act {
            state.people.record(self.environment.now(), act);
        }
        if has_visible_changes {
            self.notifier.notify_subscribers(name);
        }
        Ok(after)
    }

    async fn item(
        &self,
        collection: &CollectionName,
        id: &ItemId,
    ) -> Result<Option<StoredItem>, StoreError> {
        Ok(self.state().collection_contents(collection)?.items.get(id).cloned())
    }

    async fn items(
        &self,
        collection: &CollectionName,
        ids: &[ItemId],
    ) -> Result<Vec<StoredItem>, StoreError> {
        let state = self.state();
        let collection_contents = state.collection_contents(collection)?;
        let ids: BTreeSet<_> = ids.iter().collect();
        Ok(ids.into_iter().filter_map(|id| collection_contents.items.get(id).cloned()).collect())
    }

    async fn changes(
        &self,
        collection: &CollectionName,
        after: ChangeNumber,
        up_to: Option<ChangeNumber>,
        limit: PageLimit,
    ) -> Result<ChangePage, StoreError> {
        let state = self.state();
        let collection_contents = state.collection_contents(collection)?;
        let last = collection_contents.collection.last;
        let bound = up_to.map_or(last, |up_to| up_to.min(last));
        let mut page = Page::new(limit);
        if after < bound {
            let range = (Bound::Excluded(after), Bound::Included(bound));
            for (_, id) in collection_contents.order.range(range) {
                let stored = &collection_contents.items[id];
                if !page.push(stored.clone()) {
                    break;
                }
            }
        }
        Ok(ChangePage::new(collection_contents.collection.clone(), page, after, bound))
    }

    async fn items_by_id(
        &self,
        collection: &CollectionName,
        after: Option<&ItemId>,
        limit: PageLimit,
    ) -> Result<ItemPage, StoreError> {
        let state = self.state();
        let collection_contents = state.collection_contents(collection)?;
        let mut page = Page::new(limit);
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        for (_, stored) in collection_contents.items.range::<ItemId, _>((from, Bound::Unbounded)) {
            if !page.push(stored.clone()) {
                break;
            }
        }
        let collection = collection_contents.collection.clone();
        Ok(ItemPage { collection, items: page.items, more: page.more })
    }

    async fn id_before(
        &self,
        collection: &CollectionName,
        before: Option<&ItemId>,
        places: NonZeroUsize,
    ) -> Result<Option<ItemId>, StoreError> {
        let state = self.state();
        let until = before.map_or(Bound::Unbounded, Bound::Excluded);
        let mut ids = state
            .collection_contents(collection)?
            .items
            .range::<ItemId, _>((Bound::Unbounded, until));
        Ok(ids.nth_back(places.get() - 1).map(|(id, _)| id.clone()))
    }

    async fn last_before(
        &self,
        collection: &CollectionName,
        recent: Recent,
    ) -> Result<ChangeNumber, StoreError> {
        let state = self.state();
        let collection_contents = state.collection_contents(collection)?;
        let is_recent = |place: usize, id: &ItemId| {
            recent.count.is_none_or(|count| (place as u64) < count)
                && recent.from.is_none_or(|from| collection_contents.items[id].edited >= from)
        };
        let mut changes = collection_contents.order.iter().rev().enumerate();
        let left_out = changes.find(|(place, (_, id))| !is_recent(*place, id));
        Ok(left_out.map_or(ChangeNumber::ZERO, |(_, (number, _))| *number))
    }

    async fn listing(
        &self,
        collection: &CollectionName,
        selection: &Selection,
        limit: PageLimit,
    ) -> Result<ItemPage, StoreError> {
        let state = self.state();
        let collection_contents = state.collection_contents(collection)?;
        let mut page = Page::new(limit);
        let before = selection.before.map_or(Bound::Unbounded, Bound::Excluded);
        for (_, id) in collection_contents.order.range((Bound::Unbounded, before)).rev() {
            let stored = &collection_contents.items[id];
            if selection.includes(stored) && !page.push(stored.clone()) {
                break;
            }
        }
        let collection = collection_contents.collection.clone();
        Ok(ItemPage { collection, items: page.items, more: page.more })
    }

    async fn update(
        &self,
        collection: &CollectionName,
        keys: Vec<ItemId>,
        mut decide: Decide,
    ) -> Result<Collection, StoreError> {
        let mut state = self.state();
        let snapshot = state.snapshot(collection, &keys, &self.environment)?;
        let writes = decide(&snapshot);
        if writes.is_empty() {
            return Ok(snapshot.collection);
        }
        let before = snapshot.collection.clone();
        let plan = plan(snapshot, state.next_discarded, writes)?;
        let after = plan.collection.clone();
        state.apply(plan)?;
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
        let mut state = self.state();
        let collection = &mut state.collection_contents_mut(collection)?.collection;
        collection.sent = collection.sent.max(up_to.min(collection.last));
        Ok(())
    }

    async fn issued(&self, item: &ItemId) -> Result<Vec<LedgerEntry>, StoreError> {
        Ok(self.state().ledger.get(item).cloned().unwrap_or_default())
    }

    async fn discarded(&self, collection: &CollectionName) -> Result<Vec<Discarded>, StoreError> {
        Ok(self.state().collection_contents(collection)?.discarded.values().cloned().collect())
    }

    async fn remotes(
        &self,
        collection: Option<&CollectionName>,
    ) -> Result<Vec<Remote>, StoreError> {
        let state = self.state();
        if let Some(name) = collection {
            state.collection_contents(name)?;
        }
        let asked = |remote: &&Remote| collection.is_none_or(|name| remote.collection == *name);
        Ok(state.remotes.values().filter(asked).cloned().collect())
    }

    async fn add_remote(&self, new: NewRemote) -> Result<Remote, StoreError> {
        let mut state = self.state();
        state.collection_contents(&new.collection)?;
        let same = |remote: &Remote| remote.collection == new.collection && remote.url == new.url;
        if state.remotes.values().any(same) {
            return Err(StoreError::RemoteExists(new.url));
        }
        let id = state.next_remote;
        state.next_remote = RemoteId(id.0 + 1);
        let remote = Remote::new(id, new);
        state.remotes.insert(id, remote.clone());
        Ok(remote)
    }

    async fn change_remote(&self, remote: Remote) -> Result<(), StoreError> {
        let mut state = self.state();
        let old = state.remotes.get(&remote.id).ok_or(StoreError::NoRemote)?;
        let collection = old.collection.clone();
        let same = |other: &Remote| {
            other.id != remote.id && other.collection == collection && other.url == remote.url
        };
        if state.remotes.values().any(same) {
            return Err(StoreError::RemoteExists(remote.url));
        }
        state.remotes.insert(remote.id, Remote { collection, ..remote });
        Ok(())
    }

    async fn reschedule(
        &self,
        id: RemoteId,
        seen: Option<Moment>,
        due: Moment,
    ) -> Result<bool, StoreError> {
        Ok(self.state().reschedule(id, seen, due))
    }

    async fn remove_remote(&self, id: RemoteId) -> Result<(), StoreError> {
        self.state().remotes.remove(&id).map(|_| ()).ok_or(StoreError::NoRemote)
    }

    async fn put_blob(&self, bytes: Vec<u8>) -> Result<Digest, StoreError> {
        let digest = Digest::of(&bytes);
        let now = self.environment.now();
        self.state().blobs.insert(digest, (now, bytes.into()));
        Ok(digest)
    }

    async fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.state().blobs.get(&digest).map(|(_, bytes)| bytes.to_vec()))
    }

    async fn missing_blobs(&self, digests: &[Digest]) -> Result<Vec<Digest>, StoreError> {
        let mut state = self.state();
        let digests: BTreeSet<_> = digests.iter().copied().collect();
        let now = self.environment.now();
        for digest in &digests {
            if let Some((stored, _)) = state.blobs.get_mut(digest)
                && *stored < blob::stale_before(now)
            {
                *stored = now;
            }
        }
        Ok(digests.into_iter().filter(|digest| !state.blobs.contains_key(digest)).collect())
    }

    async fn lost_blobs(
        &self,
        collection: &CollectionName,
        from: Digest,
        most: usize,
    ) -> Result<Vec<Digest>, StoreError> {
        self.state().lost_blobs(collection, from, most)
    }

    async fn blob_named_by(
        &self,
        digest: Digest,
    ) -> Result<Vec<(CollectionName, ItemId)>, StoreError> {
        Ok(self.state().blob_named_by(digest))
    }

    async fn sweep_blobs(&self, stored_before: Moment) -> Result<u64, StoreError> {
        Ok(self.state().sweep_blobs(stored_before))
    }

    fn subscribe(&self, collection: &CollectionName) -> Notices {
        self.notifier.subscribe(collection)
    }
}
