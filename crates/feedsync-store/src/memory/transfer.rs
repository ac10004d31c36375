//! A memory store that is moved.

use std::collections::BTreeMap;
use std::ops::Bound;

use async_trait::async_trait;
use feedsync::{ItemId, Update};

use super::MemoryStore;
use super::state::Shelf;
use crate::blob::Digest;
use crate::collection::Collection;
use crate::error::StoreError;
use crate::identity::Issued;
use crate::name::CollectionName;
use crate::remote::RemoteId;
use crate::stored::DiscardedId;
use crate::transfer::{Part, Transfer};

#[async_trait]
impl Transfer for MemoryStore {
    async fn ledger(
        &self,
        after: Option<&ItemId>,
        limit: usize,
    ) -> Result<Vec<(ItemId, Vec<Issued>)>, StoreError> {
        Ok(page(&self.state().ledger, after, limit))
    }

    async fn purged(
        &self,
        collection: &CollectionName,
        after: Option<&ItemId>,
        limit: usize,
    ) -> Result<Vec<(ItemId, Vec<Update>)>, StoreError> {
        Ok(page(&self.state().shelf(collection)?.purged, after, limit))
    }

    async fn blobs(&self, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>, StoreError> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let state = self.state();
        let blobs = state.blobs.range((after, Bound::Unbounded)).take(limit);
        Ok(blobs.map(|(digest, _)| *digest).collect())
    }

    async fn load(&self, part: Part) -> Result<(), StoreError> {
        let mut state = self.state();
        match part {
            Part::Retired(by) => drop(state.identity.retired.splice(..0, by)),
            Part::Ledger(rows) => state.ledger.extend(rows),
            Part::Collection(collection) => {
                state.last_epoch = state.last_epoch.max(Some(collection.epoch.began()));
                let epoch = state.begin_epoch(&*self.environment);
                let collection = Collection { epoch, ..collection };
                let shelf = Shelf {
                    collection: collection.clone(),
                    items: BTreeMap::new(),
                    order: BTreeMap::new(),
                    purged: BTreeMap::new(),
                    discarded: BTreeMap::new(),
                };
                state.shelves.insert(collection.name, shelf);
            }
            Part::Items(name, items) => {
                let shelf = state.shelf_mut(&name)?;
                for stored in items {
                    shelf.order.insert(stored.number, stored.item.id.clone());
                    shelf.items.insert(stored.item.id.clone(), stored);
                }
            }
            Part::Purged(name, rows) => state.shelf_mut(&name)?.purged.extend(rows),
            Part::Discarded(list) => {
                for discarded in list {
                    let next = DiscardedId(discarded.id.0 + 1);
                    state.next_discarded = state.next_discarded.max(next);
                    let shelf = state.shelf_mut(&discarded.collection)?;
                    shelf.discarded.insert(discarded.id, discarded);
                }
            }
            Part::Remotes(remotes) => {
                for remote in remotes {
                    state.next_remote = state.next_remote.max(RemoteId(remote.id.0 + 1));
                    state.remotes.insert(remote.id, remote);
                }
            }
            Part::Acts(acts) => {
                for recorded in acts {
                    state.people.record(recorded.at, recorded.act);
                }
            }
        }
        Ok(())
    }
}

fn page<T: Clone>(
    rows: &BTreeMap<ItemId, T>,
    after: Option<&ItemId>,
    limit: usize,
) -> Vec<(ItemId, T)> {
    let after = after.map_or(Bound::Unbounded, Bound::Excluded);
    let rows = rows.range::<ItemId, _>((after, Bound::Unbounded)).take(limit);
    rows.map(|(id, row)| (id.clone(), row.clone())).collect()
}
