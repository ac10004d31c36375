//! Transfer from and to a memory store.

use std::collections::BTreeMap;
use std::ops::Bound;

use async_trait::async_trait;
use feedsync_core::{ItemId, Update};
use feedsync_couch::{AttachmentDigest, DatabaseName, LocalId};

use super::MemoryStore;
use super::databases::DatabaseContents;
use super::logs::StoredLog;
use super::state::CollectionContents;
use crate::blob::Digest;
use crate::collection::Collection;
use crate::database::{Database, EndedRevision, LocalDocument, StoredBody, WriteOrigin};
use crate::error::StoreError;
use crate::identity::LedgerEntry;
use crate::log::KeyedAppend;
use crate::name::CollectionName;
use crate::order::ChangeNumber;
use crate::stored::PageLimit;
use crate::transfer::{IdBounds, Transfer, TransferPart, TransferredDocument};

#[async_trait]
impl Transfer for MemoryStore {
    async fn marks(&self) -> Result<IdBounds, StoreError> {
        let state = self.state();
        Ok(IdBounds {
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
    ) -> Result<Vec<(ItemId, Vec<LedgerEntry>)>, StoreError> {
        Ok(page(&self.state().ledger, after, limit))
    }

    async fn purged(
        &self,
        collection: &CollectionName,
        after: Option<&ItemId>,
        limit: usize,
    ) -> Result<Vec<(ItemId, Vec<Update>)>, StoreError> {
        Ok(page(&self.state().collection_contents(collection)?.purged, after, limit))
    }

    async fn log_keys(&self, collection: &CollectionName) -> Result<Vec<KeyedAppend>, StoreError> {
        let state = self.state();
        let log = state.collection_contents(collection)?.log.as_ref();
        Ok(log.map_or(Vec::new(), |log| log.keys.iter().cloned().collect()))
    }

    async fn blobs(&self, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>, StoreError> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let state = self.state();
        let blobs = state.blobs.range((after, Bound::Unbounded)).take(limit);
        Ok(blobs.map(|(digest, _)| *digest).collect())
    }

    async fn next_body(&self, database: &DatabaseName) -> Result<u64, StoreError> {
        self.with_database(database, |database_contents| Ok(database_contents.next_body()))
    }

    async fn ordered_documents(
        &self,
        database: &DatabaseName,
        after: ChangeNumber,
        limit: PageLimit,
    ) -> Result<Vec<TransferredDocument>, StoreError> {
        self.with_database(database, |database_contents| {
            Ok(database_contents.ordered_documents(after, limit))
        })
    }

    async fn bodies(
        &self,
        database: &DatabaseName,
        after: u64,
        limit: PageLimit,
    ) -> Result<Vec<(u64, StoredBody)>, StoreError> {
        self.with_database(database, |database_contents| Ok(database_contents.bodies(after, limit)))
    }

    async fn body_origins(
        &self,
        database: &DatabaseName,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, WriteOrigin)>, StoreError> {
        self.with_database(database, |contents| Ok(contents.body_origins(after, limit)))
    }

    async fn all_ended(
        &self,
        database: &DatabaseName,
        after: u64,
        limit: usize,
    ) -> Result<Vec<EndedRevision>, StoreError> {
        self.with_database(database, |contents| Ok(contents.all_ended(after, limit)))
    }

    async fn local_documents(
        &self,
        database: &DatabaseName,
        after: Option<&LocalId>,
        limit: PageLimit,
    ) -> Result<Vec<(LocalId, LocalDocument)>, StoreError> {
        self.with_database(database, |database_contents| {
            Ok(database_contents.local_documents(after, limit))
        })
    }

    async fn attachments(
        &self,
        database: &DatabaseName,
        after: Option<&AttachmentDigest>,
        limit: usize,
    ) -> Result<Vec<AttachmentDigest>, StoreError> {
        self.with_database(database, |database_contents| {
            Ok(database_contents.attachments(after, limit))
        })
    }

    async fn load(&self, part: TransferPart) -> Result<(), StoreError> {
        let mut state = self.state();
        match part {
            // An unfinished store ends with the process, so that its state need not be recorded.
            TransferPart::Begin { retired, marks } => {
                state.identity.retired.splice(..0, retired);
                state.next_remote = state.next_remote.max(marks.next_remote);
                state.next_discarded = state.next_discarded.max(marks.next_discarded);
                state.last_epoch = state.last_epoch.max(marks.last_epoch);
                let last = state.last_dropped_generation.max(marks.last_dropped_generation);
                state.last_dropped_generation = last;
            }
            TransferPart::End => {}
            TransferPart::Ledger(rows) => state.ledger.extend(rows),
            TransferPart::Collection(collection) => {
                let epoch = state.begin_epoch(&*self.environment);
                let collection = Collection { epoch, ..collection };
                state
                    .collections_by_name
                    .insert(collection.name.clone(), CollectionContents::new(collection));
            }
            TransferPart::Items(name, items) => {
                let collection_contents = state.collection_contents_mut(&name)?;
                for stored in items {
                    collection_contents.order.insert(stored.number, stored.item.id.clone());
                    collection_contents.items.insert(stored.item.id.clone(), stored);
                }
            }
            TransferPart::Purged(name, rows) => {
                state.collection_contents_mut(&name)?.purged.extend(rows)
            }
            TransferPart::Discarded(list) => {
                for discarded in list {
                    let collection_contents =
                        state.collection_contents_mut(&discarded.collection)?;
                    collection_contents.discarded.insert(discarded.id, discarded);
                }
            }
            TransferPart::Log(name, moved) => {
                let log = StoredLog::moved(moved, &*self.environment);
                state.collection_contents_mut(&name)?.log = Some(log);
            }
            TransferPart::LogBytes(name, bytes) => {
                if let Some(stored) = &mut state.collection_contents_mut(&name)?.log {
                    stored.log.place.length += bytes.len() as u64;
                    stored.extend(&bytes);
                }
            }
            TransferPart::Database(database, next_body) => {
                let epoch = state.begin_epoch(&*self.environment);
                let database_contents =
                    DatabaseContents::moved(Database { epoch, ..database }, next_body);
                state
                    .databases_by_name
                    .insert(database_contents.database.name.clone(), database_contents);
            }
            TransferPart::Documents(name, documents) => {
                state.database_mut(&name)?.take_documents(documents)
            }
            TransferPart::Bodies(name, bodies) => state.database_mut(&name)?.take_bodies(bodies),
            TransferPart::BodyOrigins(name, origins) => {
                state.database_mut(&name)?.take_origins(origins)
            }
            TransferPart::Ended(name, ended) => state.database_mut(&name)?.take_ended(ended),
            TransferPart::Remotes(remotes) => {
                state.remotes.extend(remotes.into_iter().map(|remote| (remote.id, remote)));
            }
            TransferPart::Acts(acts) => {
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
