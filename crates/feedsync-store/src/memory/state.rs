//! Contents of a memory store, and their changes by updates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use feedsync_core::{ItemId, Update};
use feedsync_couch::{DatabaseName, without_user};

use super::databases::Room;
use super::logs::StoredLog;
use super::people::Register;
use crate::blob::Digest;
use crate::collection::{Collection, CollectionChange, PRIVATE_TO};
use crate::decision::{Entry, Snapshot};
use crate::environment::Environment;
use crate::error::StoreError;
use crate::identity::{Identity, Issued};
use crate::name::{CollectionName, UserId, UserName};
use crate::order::{Epoch, Moment, Number};
use crate::plan::Plan;
use crate::remote::{Remote, RemoteId};
use crate::stored::{Discarded, DiscardedId, Selection, StoredItem};

#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) identity: Identity,
    pub(super) last_epoch: Option<Moment>,
    pub(super) last_dropped_generation: u64,
    pub(super) ledger: BTreeMap<ItemId, Vec<Issued>>,
    pub(super) shelves: BTreeMap<CollectionName, Shelf>,
    pub(super) rooms: BTreeMap<DatabaseName, Room>,
    pub(super) remotes: BTreeMap<RemoteId, Remote>,
    pub(super) next_remote: RemoteId,
    pub(super) next_discarded: DiscardedId,
    pub(super) blobs: BTreeMap<Digest, (Moment, Arc<[u8]>)>,
    pub(super) people: Register,
}

#[derive(Debug, Clone)]
pub(super) struct Shelf {
    pub(super) collection: Collection,
    pub(super) items: BTreeMap<ItemId, StoredItem>,
    pub(super) order: BTreeMap<Number, ItemId>,
    pub(super) purged: BTreeMap<ItemId, Vec<Update>>,
    pub(super) discarded: BTreeMap<DiscardedId, Discarded>,
    pub(super) log: Option<StoredLog>,
    /// The user to whom the collection is charged.
    pub(super) owner: Option<UserId>,
}

impl Shelf {
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
        let security = self.rooms.get(&name)?.database.security.as_ref();
        (security == Some(&collection.bridge_security())).then_some(name)
    }

    /// Ends the charges of a removed user. A collection is charged to another owner then, if there is one.
    pub(super) fn leave(&mut self, user: &UserId) {
        for room in self.rooms.values_mut().filter(|room| room.owner.as_ref() == Some(user)) {
            room.owner = None;
        }
        let people = &self.people;
        for shelf in self.shelves.values_mut().filter(|shelf| shelf.owner.as_ref() == Some(user)) {
            shelf.owner = people.first_owner(&shelf.collection.name);
        }
    }

    /// Removes the collections that are private to a user.
    pub(super) fn drop_private(&mut self, user: &UserId) {
        let is_private = |shelf: &&Shelf| {
            let owner = shelf.collection.settings.get(PRIVATE_TO);
            owner.is_some_and(|owner| owner == user.as_str())
        };
        let names = self.shelves.values().filter(is_private).map(|it| it.collection.name.clone());
        for name in names.collect::<Vec<_>>() {
            self.drop_collection(&name);
        }
    }

    /// Removes a user's name from the `_security` of each database.
    pub(super) fn name_no_more(&mut self, user: &UserName) {
        for room in self.rooms.values_mut() {
            let security = &mut room.database.security;
            let without = security.as_deref().and_then(|it| without_user(it, user.as_str()));
            if without.is_some() {
                *security = without;
            }
        }
    }

    /// Removes a collection with all that it holds.
    pub(super) fn drop_collection(&mut self, name: &CollectionName) {
        let shelf = self.shelves.remove(name);
        if let Some(database) = shelf.as_ref().and_then(|shelf| self.bridged(&shelf.collection)) {
            self.rooms.remove(&database);
        }
        let log = shelf.and_then(|shelf| shelf.log);
        let number = log.map_or(0, |stored| stored.log.place.generation.number());
        self.last_dropped_generation = self.last_dropped_generation.max(number);
        self.remotes.retain(|_, remote| remote.collection != *name);
        self.people.collection_dropped(name);
    }

    pub(super) fn shelf(&self, name: &CollectionName) -> Result<&Shelf, StoreError> {
        self.shelves.get(name).ok_or_else(|| StoreError::NoCollection(name.clone()))
    }

    pub(super) fn shelf_mut(&mut self, name: &CollectionName) -> Result<&mut Shelf, StoreError> {
        self.shelves.get_mut(name).ok_or_else(|| StoreError::NoCollection(name.clone()))
    }

    pub(super) fn room_mut(&mut self, name: &DatabaseName) -> Result<&mut Room, StoreError> {
        self.rooms.get_mut(name).ok_or_else(|| StoreError::NoDatabase(name.clone()))
    }

    /// Changes a collection; whatever is stored under its name is renamed with it.
    pub(super) fn change(
        &mut self,
        name: &CollectionName,
        change: CollectionChange,
        now: Moment,
    ) -> Result<Collection, StoreError> {
        if let Some(new) = change.name.as_ref().filter(|new| *new != name) {
            if self.shelves.contains_key(new) {
                return Err(StoreError::CollectionExists(new.clone()));
            }
            for remote in self.remotes.values_mut() {
                if remote.collection == *name {
                    remote.collection = new.clone();
                }
            }
        }
        let mut shelf =
            self.shelves.remove(name).ok_or_else(|| StoreError::NoCollection(name.clone()))?;
        let bridged = self.bridged(&shelf.collection);
        shelf.collection.change_at(change, now);
        let to = shelf.collection.name.as_str().parse::<DatabaseName>().ok();
        if let Some((from, to)) = bridged.zip(to)
            && !self.rooms.contains_key(&to)
            && let Some(mut room) = self.rooms.remove(&from)
        {
            room.database.name = to.clone();
            self.rooms.insert(to, room);
        }
        let collection = shelf.collection.clone();
        self.people.collection_renamed(name, &collection.name);
        for discarded in shelf.discarded.values_mut() {
            discarded.collection = collection.name.clone();
        }
        self.shelves.insert(collection.name.clone(), shelf);
        Ok(collection)
    }

    pub(super) fn lost_blobs(
        &self,
        collection: &CollectionName,
        from: Digest,
        most: usize,
    ) -> Result<Vec<Digest>, StoreError> {
        let named = self.shelf(collection)?.items.values().flat_map(|stored| &stored.blobs);
        let is_lost = |digest: &&Digest| **digest >= from && !self.blobs.contains_key(*digest);
        let lost: BTreeSet<Digest> = named.filter(is_lost).copied().collect();
        Ok(lost.into_iter().take(most).collect())
    }

    /// Collections and items that name a blob.
    pub(super) fn blob_named_by(&self, digest: Digest) -> Vec<(CollectionName, ItemId)> {
        let mut named = Vec::new();
        for (name, shelf) in &self.shelves {
            let names = shelf.items.values().filter(|stored| stored.blobs.contains(&digest));
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
        let Self { shelves, blobs, .. } = self;
        let named: BTreeSet<Digest> = shelves
            .values()
            .flat_map(|shelf| {
                let items = shelf.items.values().flat_map(|stored| &stored.blobs);
                items.chain(shelf.discarded.values().flat_map(|discarded| &discarded.blobs))
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
        let shelf = self.shelf(collection)?;
        let entry = |id: &ItemId| Entry {
            item: shelf.items.get(id).cloned(),
            purged: shelf.purged.get(id).cloned().unwrap_or_default(),
            issued: self.ledger.get(id).cloned().unwrap_or_default(),
        };
        Ok(Snapshot {
            identity: self.identity.clone(),
            collection: shelf.collection.clone(),
            now: environment.now(),
            entries: keys.iter().map(|id| (id.clone(), entry(id))).collect(),
            environment: Arc::clone(environment),
        })
    }

    pub(super) fn carry_out(&mut self, plan: Plan) -> Result<(), StoreError> {
        let name = &plan.collection.name;
        let Self { shelves, next_discarded, .. } = self;
        let shelf = shelves.get_mut(name).ok_or_else(|| StoreError::NoCollection(name.clone()))?;
        shelf.collection = plan.collection;
        for (id, item) in plan.items {
            // An item may keep its number, so the old entry is removed before the new one is inserted.
            if let Some(before) = shelf.items.remove(&id) {
                shelf.order.remove(&before.number);
            }
            if let Some(item) = item {
                shelf.order.insert(item.number, id.clone());
                shelf.items.insert(id, item);
            }
        }
        if let Some(now) = plan.redated {
            shelf.redate(now);
        }
        shelf.purged.extend(plan.purged);
        for id in &plan.recovered {
            shelf.discarded.remove(id);
        }
        for discarded in plan.discarded {
            *next_discarded = DiscardedId(discarded.id.0 + 1);
            shelf.discarded.insert(discarded.id, discarded);
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

/// Whether a listing includes an item; `text` is in lower case.
pub(super) fn selects(selection: &Selection, stored: &StoredItem, text: Option<&str>) -> bool {
    let winner = &stored.item.winner;
    (selection.deleted || !winner.deleted)
        && (!selection.conflicted || !stored.item.conflicts.is_empty())
        && text.is_none_or(|text| winner.payload.text.to_ascii_lowercase().contains(text))
}
