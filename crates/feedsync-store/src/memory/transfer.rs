//! Transfer from and to a memory store.

use std::collections::BTreeMap;
use std::ops::Bound;

use async_trait::async_trait;
use feedsync_core::{ItemId, Update};
use feedsync_couch::{AttachmentDigest, DatabaseName, LocalId};

use super::MemoryStore;
use super::databases::Room;
use super::logs::StoredLog;
use super::state::Shelf;
use crate::blob::Digest;
use crate::collection::Collection;
use crate::database::{Database, KeptBody, LocalDocument};
use crate::error::StoreError;
use crate::identity::Issued;
use crate::log::Keyed;
use crate::name::CollectionName;
use crate::order::Number;
use crate::stored::PageLimit;
use crate::transfer::{Marks, MovedDocument, Part, Transfer};

#[async_trait]
impl Transfer for MemoryStore {
    async fn marks(&self) -> Result<Marks, StoreError> {
        let state = self.state();
        Ok(Marks {
            next_remote: state.next_remote,
            next_discarded: state.next_discarded,
            last_epoch: state.last_epoch,
            last_dropped_generation: state.last_dropped_generation,
        })
    }

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

    async fn log_keys(&self, collection: &CollectionName) -> Result<Vec<Keyed>, StoreError> {
        let state = self.state();
        let log = state.shelf(collection)?.log.as_ref();
        Ok(log.map_or(Vec::new(), |log| log.keys.iter().cloned().collect()))
    }

    async fn blobs(&self, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>, StoreError> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let state = self.state();
        let blobs = state.blobs.range((after, Bound::Unbounded)).take(limit);
        Ok(blobs.map(|(digest, _)| *digest).collect())
    }

    async fn next_body(&self, database: &DatabaseName) -> Result<u64, StoreError> {
        self.with_room(database, |room| Ok(room.next_body()))
    }

    async fn ordered_documents(
        &self,
        database: &DatabaseName,
        after: Number,
        limit: PageLimit,
    ) -> Result<Vec<MovedDocument>, StoreError> {
        self.with_room(database, |room| Ok(room.ordered_documents(after, limit)))
    }

    async fn bodies(
        &self,
        database: &DatabaseName,
        after: u64,
        limit: PageLimit,
    ) -> Result<Vec<(u64, KeptBody)>, StoreError> {
        self.with_room(database, |room| Ok(room.bodies(after, limit)))
    }

    async fn local_documents(
        &self,
        database: &DatabaseName,
        after: Option<&LocalId>,
        limit: PageLimit,
    ) -> Result<Vec<(LocalId, LocalDocument)>, StoreError> {
        self.with_room(database, |room| Ok(room.local_documents(after, limit)))
    }

    async fn attachments(
        &self,
        database: &DatabaseName,
        after: Option<&AttachmentDigest>,
        limit: usize,
    ) -> Result<Vec<AttachmentDigest>, StoreError> {
        self.with_room(database, |room| Ok(room.attachments(after, limit)))
    }

    async fn load(&self, part: Part) -> Result<(), StoreError> {
        let mut state = self.state();
        match part {
            // An unfinished store ends with the process, so that its state need not be recorded.
            Part::Begin { retired, marks } => {
                state.identity.retired.splice(..0, retired);
                state.next_remote = state.next_remote.max(marks.next_remote);
                state.next_discarded = state.next_discarded.max(marks.next_discarded);
                state.last_epoch = state.last_epoch.max(marks.last_epoch);
                let last = state.last_dropped_generation.max(marks.last_dropped_generation);
                state.last_dropped_generation = last;
            }
            Part::End => {}
            Part::Ledger(rows) => state.ledger.extend(rows),
            Part::Collection(collection) => {
                let epoch = state.begin_epoch(&*self.environment);
                let collection = Collection { epoch, ..collection };
                state.shelves.insert(collection.name.clone(), Shelf::new(collection));
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
                    let shelf = state.shelf_mut(&discarded.collection)?;
                    shelf.discarded.insert(discarded.id, discarded);
                }
            }
            Part::Log(name, moved) => {
                let log = StoredLog::moved(moved, &*self.environment);
                state.shelf_mut(&name)?.log = Some(log);
            }
            Part::LogBytes(name, bytes) => {
                if let Some(stored) = &mut state.shelf_mut(&name)?.log {
                    stored.log.place.length += bytes.len() as u64;
                    stored.extend(&bytes);
                }
            }
            Part::Database(database, next_body) => {
                let epoch = state.begin_epoch(&*self.environment);
                let room = Room::moved(Database { epoch, ..database }, next_body);
                state.rooms.insert(room.database.name.clone(), room);
            }
            Part::Documents(name, documents) => state.room_mut(&name)?.take_documents(documents),
            Part::Bodies(name, bodies) => state.room_mut(&name)?.take_bodies(bodies),
            Part::Remotes(remotes) => {
                state.remotes.extend(remotes.into_iter().map(|remote| (remote.id, remote)));
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
