//! Contents of a memory store, and their changes by updates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use feedsync_core::{ItemId, Update};
use feedsync_couch::{DatabaseName, without_user};

use super::databases::DatabaseContents;
use super::logs::StoredLog;
use super::people::Register;
use crate::blob::Digest;
use crate::collection::{Collection, CollectionChange, PRIVATE_TO};
use crate::decision::{Entry, Snapshot};
use crate::environment::Environment;
use crate::error::StoreError;
use crate::identity::{Identity, LedgerEntry};
use crate::name::{CollectionName, UserId, UserName};
use crate::order::{ChangeNumber, Epoch, Moment};
use crate::plan::Plan;
use crate::remote::{Remote, RemoteId};
use crate::stored::{Discarded, DiscardedId, StoredItem};

#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) identity: Identity,
    pub(super) last_epoch: Option<Moment>,
    pub(super) last_dropped_generation: u64,
    pub(super) ledger: BTreeMap<ItemId, Vec<LedgerEntry>>,
    pub(super) collections_by_name: BTreeMap<CollectionName, CollectionContents>,
    pub(super) databases_by_name: BTreeMap<DatabaseName, DatabaseContents>,
    pub(super) remotes: BTreeMap<RemoteId, Remote>,
    pub(super) next_remote: RemoteId,
    pub(super) next_discarded: DiscardedId,
    #[cfg(feature = "queries")]
    pub(super) last_views: u64,
    pub(super) blobs: BTreeMap<Digest, (Moment, Arc<[u8]>)>,
    pub(super) people: Register,
}

#[derive(Debug, Clone)]
pub(super) struct CollectionContents {
    pub(super) collection: Collection,
    pub(super) items: BTreeMap<ItemId, StoredItem>,
    pub(super) order: BTreeMap<ChangeNumber, ItemId>,
    pub(super) purged: BTreeMap<ItemId, Vec<Update>>,
    pub(super) discarded: BTreeMap<DiscardedId, Discarded>,
    pub(super) log: Option<StoredLog>,
    /// The user to whom the collection is charged.
    pub(super) owner: Option<UserId>,
}

impl CollectionContents {
    /// An empty collection.
    pub(super) fn new(collection: Collection) -> Self {
        Self {
            collection,
            items: BTreeMap::new(),
            order: BTreeMap::new(),
            purged: BTreeMap::new(),
            discarded: BTreeMap::new(),
            log: None,
            owner: None,
        }
    }

    /// Corrects moments of change that were written while the clock was ahead: their items get moments before `now`, in
    /// their order.
    pub(super) fn redate(&mut self, now: Moment) {
        let last = self.collection.edited;
        let mut moment = now;
        for id in self.order.values().rev() {
            let item = self.items.get_mut(id).filter(|item| item.edited > last);
            if let Some(item) = item {
                moment = moment.previous();
                item.edited = moment;
            }
        }
    }
}

impl State {
    pub(super) fn begin_epoch(&mut self, environment: &dyn Environment) -> Epoch {
        let epoch = Epoch::begin(self.last_epoch, environment.now(), environment.random() as u32);
        self.last_epoch = Some(epoch.began());
        epoch
    }

    /// Returns the name of the database that is bridged to a collection.
    fn bridged(&self, collection: &Collection) -> Option<DatabaseName> {
        let name: DatabaseName = collection.name.as_str().parse().ok()?;
        let security = self.databases_by_name.get(&name)?.database.security.as_ref();
        (security == Some(&collection.bridge_security())).then_some(name)
    }

    /// Ends the charges of a removed user. A collection is charged to another owner then, if there is one.
    pub(super) fn end_charges(&mut self, user: &UserId) {
        for database_contents in self
            .databases_by_name
            .values_mut()
            .filter(|database_contents| database_contents.owner.as_ref() == Some(user))
        {
            database_contents.owner = None;
        }
        let people = &self.people;
        for collection_contents in self
            .collections_by_name
            .values_mut()
            .filter(|collection_contents| collection_contents.owner.as_ref() == Some(user))
        {
            collection_contents.owner = people.first_owner(&collection_contents.collection.name);
        }
    }

    /// Removes the collections that are private to a user.
    pub(super) fn drop_private(&mut self, user: &UserId) {
        let is_private = |collection_contents: &&CollectionContents| {
            let owner = collection_contents.collection.settings.get(PRIVATE_TO);
            owner.is_some_and(|owner| owner == user.as_str())
        };
        let names = self
            .collections_by_name
            .values()
            .filter(is_private)
            .map(|it| it.collection.name.clone());
        for name in names.collect::<Vec<_>>() {
            self.drop_collection(&name);
        }
    }

    /// Removes a user's name from the `_security` of each database.
    pub(super) fn remove_user_from_security(&mut self, user: &UserName) {
        for database_contents in self.databases_by_name.values_mut() {
            let security = &mut database_contents.database.security;
            let without = security.as_deref().and_then(|it| without_user(it, user.as_str()));
            if without.is_some() {
                *security = without;
            }
        }
    }

    /// Removes a collection with all that it holds.
    pub(super) fn drop_collection(&mut self, name: &CollectionName) {
        let collection_contents = self.collections_by_name.remove(name);
        if let Some(database) = collection_contents
            .as_ref()
            .and_then(|collection_contents| self.bridged(&collection_contents.collection))
        {
            self.databases_by_name.remove(&database);
        }
        let log = collection_contents.and_then(|collection_contents| collection_contents.log);
        let number = log.map_or(0, |stored| stored.log.place.generation.number());
        self.last_dropped_generation = self.last_dropped_generation.max(number);
        self.remotes.retain(|_, remote| remote.collection != *name);
        self.people.collection_dropped(name);
    }

    pub(super) fn collection_contents(
        &self,
        name: &CollectionName,
    ) -> Result<&CollectionContents, StoreError> {
        self.collections_by_name.get(name).ok_or_else(|| StoreError::NoCollection(name.clone()))
    }

    pub(super) fn collection_contents_mut(
        &mut self,
        name: &CollectionName,
    ) -> Result<&mut CollectionContents, StoreError> {
        self.collections_by_name.get_mut(name).ok_or_else(|| StoreError::NoCollection(name.clone()))
    }

    pub(super) fn database_mut(
        &mut self,
        name: &DatabaseName,
    ) -> Result<&mut DatabaseContents, StoreError> {
        self.databases_by_name.get_mut(name).ok_or_else(|| StoreError::NoDatabase(name.clone()))
    }

    /// Changes a collection; whatever is stored under its name is renamed with it.
    pub(super) fn change(
        &mut self,
        name: &CollectionName,
        change: CollectionChange,
        now: Moment,
    ) -> Result<Collection, StoreError> {
        if let Some(new) = change.name.as_ref().filter(|new| *new != name) {
            if self.collections_by_name.contains_key(new) {
                return Err(StoreError::CollectionExists(new.clone()));
            }
            for remote in self.remotes.values_mut() {
                if remote.collection == *name {
                    remote.collection = new.clone();
                }
            }
        }
        let mut collection_contents = self
            .collections_by_name
            .remove(name)
            .ok_or_else(|| StoreError::NoCollection(name.clone()))?;
        let bridged = self.bridged(&collection_contents.collection);
        collection_contents.collection.change_at(change, now);
        let to = collection_contents.collection.name.as_str().parse::<DatabaseName>().ok();
        if let Some((from, to)) = bridged.zip(to)
            && !self.databases_by_name.contains_key(&to)
            && let Some(mut database_contents) = self.databases_by_name.remove(&from)
        {
            database_contents.database.name = to.clone();
            self.databases_by_name.insert(to, database_contents);
        }
        let collection = collection_contents.collection.clone();
        self.people.collection_renamed(name, &collection.name);
        for discarded in collection_contents.discarded.values_mut() {
            discarded.collection = collection.name.clone();
        }
        self.collections_by_name.insert(collection.name.clone(), collection_contents);
        Ok(collection)
    }

    pub(super) fn lost_blobs(
        &self,
        collection: &CollectionName,
        from: Digest,
        most: usize,
    ) -> Result<Vec<Digest>, StoreError> {
        let named =
            self.collection_contents(collection)?.items.values().flat_map(|stored| &stored.blobs);
        let is_lost = |digest: &&Digest| **digest >= from && !self.blobs.contains_key(*digest);
        let lost: BTreeSet<Digest> = named.filter(is_lost).copied().collect();
        Ok(lost.into_iter().take(most).collect())
    }

    /// Collections and items that name a blob.
    pub(super) fn blob_named_by(&self, digest: Digest) -> Vec<(CollectionName, ItemId)> {
        let mut named = Vec::new();
        for (name, collection_contents) in &self.collections_by_name {
            let names =
                collection_contents.items.values().filter(|stored| stored.blobs.contains(&digest));
            named.extend(names.map(|stored| (name.clone(), stored.item.id.clone())));
        }
        named
    }

    /// Moves the moment at which a subscription is due, if it still has the expected value.
    pub(super) fn reschedule(&mut self, id: RemoteId, seen: Option<Moment>, due: Moment) -> bool {
        let remote = self.remotes.get_mut(&id);
        match remote.and_then(|remote| remote.subscription.as_mut()) {
            Some(subscription) if subscription.due == seen => {
                subscription.due = Some(due);
                true
            }
            _ => false,
        }
    }

    pub(super) fn sweep_blobs(&mut self, stored_before: Moment) -> u64 {
        let Self { collections_by_name, blobs, .. } = self;
        let named: BTreeSet<Digest> = collections_by_name
            .values()
            .flat_map(|collection_contents| {
                let items = collection_contents.items.values().flat_map(|stored| &stored.blobs);
                items.chain(
                    collection_contents.discarded.values().flat_map(|discarded| &discarded.blobs),
                )
            })
            .copied()
            .collect();
        let before = blobs.len();
        blobs.retain(|digest, (stored, _)| named.contains(digest) || *stored >= stored_before);
        (before - blobs.len()) as u64
    }

    pub(super) fn snapshot(
        &self,
        collection: &CollectionName,
        keys: &[ItemId],
        environment: &Arc<dyn Environment>,
    ) -> Result<Snapshot, StoreError> {
        let collection_contents = self.collection_contents(collection)?;
        let entry = |id: &ItemId| Entry {
            item: collection_contents.items.get(id).cloned(),
            purged: collection_contents.purged.get(id).cloned().unwrap_or_default(),
            issued: self.ledger.get(id).cloned().unwrap_or_default(),
        };
        let entries = keys.iter().map(|id| (id.clone(), entry(id))).collect();
        let (identity, collection) =
            (self.identity.clone(), collection_contents.collection.clone());
        Ok(Snapshot::new(identity, collection, entries, Arc::clone(environment)))
    }

    pub(super) fn apply(&mut self, plan: Plan) -> Result<(), StoreError> {
        let name = &plan.collection.name;
        let Self { collections_by_name, next_discarded, .. } = self;
        let collection_contents = collections_by_name
            .get_mut(name)
            .ok_or_else(|| StoreError::NoCollection(name.clone()))?;
        collection_contents.collection = plan.collection;
        for (id, item) in plan.items {
            // An item may keep its number, so the old entry is removed before the new one is inserted.
            if let Some(before) = collection_contents.items.remove(&id) {
                collection_contents.order.remove(&before.number);
            }
            if let Some(item) = item {
                collection_contents.order.insert(item.number, id.clone());
                collection_contents.items.insert(id, item);
            }
        }
        if let Some(now) = plan.redated {
            collection_contents.redate(now);
        }
        collection_contents.purged.extend(plan.purged);
        for id in &plan.recovered {
            collection_contents.discarded.remove(id);
        }
        for discarded in plan.discarded {
            *next_discarded = DiscardedId(discarded.id.0 + 1);
            collection_contents.discarded.insert(discarded.id, discarded);
        }
        self.identity = plan.identity;
        for (item, issued) in plan.issued {
            let rows = self.ledger.entry(item).or_default();
            match rows.binary_search_by(|row| row.by.cmp(&issued.by)) {
                Ok(place) => rows[place] = issued,
                Err(place) => rows.insert(place, issued),
            }
        }
        for act in plan.acts {
            self.people.record(plan.now, act);
        }
        for (id, state) in plan.remotes {
            if let Some(remote) = self.remotes.get_mut(&id) {
                remote.state = state;
            }
        }
        Ok(())
    }
}
