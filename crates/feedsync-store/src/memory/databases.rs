//! Implementation of [`Databases`] in memory.

mod moving;
mod room;

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use async_trait::async_trait;
use feedsync_couch::{AttachmentDigest, DatabaseName, DocumentId, LocalId};

use super::MemoryStore;
use crate::bell::Notices;
use crate::database::{
    Choose, Database, DatabaseChange, Databases, DecideDocuments, DocumentChanges, DocumentPage,
    DocumentRange, DocumentWrite, LocalDocument, MAX_COUNTED, PassOver, Wanted,
};
use crate::error::StoreError;
use crate::name::UserId;
use crate::order::{Epoch, Moment, Number};
use crate::stored::PageLimit;

use room::Document;
pub(super) use room::Room;

impl MemoryStore {
    pub(super) fn with_room<T>(
        &self,
        name: &DatabaseName,
        look: impl FnOnce(&mut Room) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        look(self.state().room_mut(name)?)
    }
}

/// Whether an id is between two bounds.
fn is_within(id: &DocumentId, from: &Bound<String>, to: &Bound<String>) -> bool {
    let bounds = (from.as_ref().map(String::as_str), to.as_ref().map(String::as_str));
    RangeBounds::<str>::contains(&bounds, id.as_str())
}

#[async_trait]
impl Databases for MemoryStore {
    async fn databases(
        &self,
        after: Option<&DatabaseName>,
        most: usize,
    ) -> Result<Vec<Database>, StoreError> {
        let state = self.state();
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let found = state.rooms.range::<DatabaseName, _>((after, Bound::Unbounded)).take(most);
        Ok(found.map(|(_, room)| room.database.clone()).collect())
    }

    async fn database(&self, name: &DatabaseName) -> Result<Option<Database>, StoreError> {
        Ok(self.state().rooms.get(name).map(|room| room.database.clone()))
    }

    async fn create_database(
        &self,
        name: &DatabaseName,
        security: Option<String>,
    ) -> Result<Option<Database>, StoreError> {
        let mut state = self.state();
        if state.rooms.contains_key(name) {
            return Ok(None);
        }
        let epoch = state.begin_epoch(&*self.environment);
        let now = self.environment.now();
        let database = Database::created(name.clone(), security, epoch, now);
        state.rooms.insert(name.clone(), Room::new(database.clone()));
        Ok(Some(database))
    }

    async fn charge(&self, name: &DatabaseName, owner: &UserId) -> Result<(), StoreError> {
        self.with_room(name, |room| {
            room.owner = Some(owner.clone());
            Ok(())
        })
    }

    async fn charged(&self, name: &DatabaseName) -> Result<Option<UserId>, StoreError> {
        self.with_room(name, |room| Ok(room.owner.clone()))
    }

    async fn drop_database(&self, name: &DatabaseName, epoch: Epoch) -> Result<(), StoreError> {
        {
            let mut state = self.state();
            state.room_mut(name)?.database.require(epoch)?;
            state.rooms.remove(name);
        }
        self.database_bell.ring(name);
        Ok(())
    }

    async fn change_database(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        change: DatabaseChange,
    ) -> Result<Database, StoreError> {
        self.with_room(name, |room| {
            room.database.require(epoch)?;
            room.database.change(change);
            Ok(room.database.clone())
        })
    }

    async fn update_documents(
        &self,
        name: &DatabaseName,
        wanted: Vec<Wanted>,
        decide: DecideDocuments,
    ) -> Result<Database, StoreError> {
        let (database, is_news) = self.with_room(name, |room| {
            // An update that fails or panics changes nothing, because it works on a copy.
            let mut changed = room.clone();
            let is_news = changed.update(wanted, decide)?;
            *room = changed;
            Ok((room.database.clone(), is_news))
        })?;
        if is_news {
            self.database_bell.ring(name);
        }
        Ok(database)
    }

    async fn documents(
        &self,
        name: &DatabaseName,
        ids: &[DocumentId],
        choose: Choose,
        most_bytes: u64,
    ) -> Result<DocumentPage, StoreError> {
        self.with_room(name, |room| {
            let documents = ids.iter().map(|id| room.stored(id));
            let documents = room.read_all(documents, &choose, most_bytes);
            Ok(DocumentPage { database: room.database.clone(), documents })
        })
    }

    async fn documents_by_id(
        &self,
        name: &DatabaseName,
        range: DocumentRange,
        choose: Choose,
        most_bytes: u64,
    ) -> Result<DocumentPage, StoreError> {
        self.with_room(name, |room| {
            let is_within = |id: &DocumentId| is_within(id, &range.from, &range.to);
            let mut ids: Vec<&DocumentId> = room
                .documents
                .iter()
                .filter(|(id, document)| {
                    is_within(id) && !(range.live_only && document.is_deleted())
                })
                .map(|(id, _)| id)
                .collect();
            if range.is_descending {
                ids.reverse();
            }
            let skip = usize::try_from(range.skip).unwrap_or(usize::MAX);
            let ids = ids.into_iter().skip(skip).take(range.most);
            let documents = room.read_all(ids.map(|id| room.stored(id)), &choose, most_bytes);
            Ok(DocumentPage { database: room.database.clone(), documents })
        })
    }

    async fn count_documents(
        &self,
        name: &DatabaseName,
        from: Bound<String>,
        to: Bound<String>,
    ) -> Result<Option<u64>, StoreError> {
        self.with_room(name, |room| {
            let is_within = |id: &DocumentId| is_within(id, &from, &to);
            let within: Vec<_> = room.documents.iter().filter(|(id, _)| is_within(id)).collect();
            let live = within.iter().filter(|(_, document)| !document.is_deleted()).count();
            Ok((within.len() as u64 <= MAX_COUNTED).then_some(live as u64))
        })
    }

    async fn document_changes(
        &self,
        name: &DatabaseName,
        after: Number,
        most: usize,
        pass_over: Option<PassOver>,
        choose: Choose,
        most_bytes: u64,
    ) -> Result<DocumentChanges, StoreError> {
        self.with_room(name, |room| {
            let mut order: Vec<_> =
                room.documents.iter().filter(|(_, document)| document.number > after).collect();
            order.sort_by_key(|(_, document)| document.number);
            let bounds = (most, after);
            let order = order.into_iter();
            let mut page = room.changes(order, bounds, pass_over.as_ref(), &choose, most_bytes);
            if page.is_end {
                page.reached = room.database.last.max(after);
            }
            Ok(page)
        })
    }

    async fn latest_document_changes(
        &self,
        name: &DatabaseName,
        after: Number,
        before: Option<Number>,
        most: usize,
        choose: Choose,
        most_bytes: u64,
    ) -> Result<DocumentChanges, StoreError> {
        self.with_room(name, |room| {
            let is_within = |number: Number| number > after && before.is_none_or(|it| number < it);
            let mut order: Vec<_> =
                room.documents.iter().filter(|(_, it)| is_within(it.number)).collect();
            order.sort_by_key(|(_, document)| std::cmp::Reverse(document.number));
            let bounds = (most, before.unwrap_or(room.database.last));
            Ok(room.changes(order.into_iter(), bounds, None, &choose, most_bytes))
        })
    }

    async fn count_changes(&self, name: &DatabaseName, after: Number) -> Result<u64, StoreError> {
        self.with_room(name, |room| {
            let is_after = |document: &&Document| document.number > after;
            Ok(room.documents.values().filter(is_after).count() as u64)
        })
    }

    async fn local_document(
        &self,
        name: &DatabaseName,
        id: &LocalId,
    ) -> Result<Option<LocalDocument>, StoreError> {
        self.with_room(name, |room| Ok(room.local.get(id).cloned()))
    }

    async fn local_documents_by_id(
        &self,
        name: &DatabaseName,
        after: Option<&LocalId>,
        limit: PageLimit,
    ) -> Result<Vec<(LocalId, LocalDocument)>, StoreError> {
        self.with_room(name, |room| Ok(room.local_documents(after, limit)))
    }

    async fn put_local_document(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        id: &LocalId,
        document: Option<LocalDocument>,
    ) -> Result<bool, StoreError> {
        self.with_room(name, |room| {
            room.database.require(epoch)?;
            let before = match document {
                Some(document) => room.local.insert(id.clone(), document),
                None => room.local.remove(id),
            };
            Ok(before.is_some())
        })
    }

    async fn compact_documents(
        &self,
        name: &DatabaseName,
        after: Option<&DocumentId>,
        most: usize,
    ) -> Result<Option<DocumentId>, StoreError> {
        self.with_room(name, |room| {
            let after = after.map_or(Bound::Unbounded, Bound::Excluded);
            let range = room.documents.range::<DocumentId, _>((after, Bound::Unbounded));
            let ids: Vec<DocumentId> = range.take(most).map(|(id, _)| id.clone()).collect();
            for id in &ids {
                let mut tree = room.documents[id].tree.clone();
                tree.compact();
                let bodies = Vec::new();
                room.put(
                    DocumentWrite { id: id.clone(), tree, is_change: false, kind: None, bodies },
                    0,
                )?;
            }
            Ok(ids.last().filter(|_| ids.len() == most).cloned())
        })
    }

    async fn put_attachment(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
        bytes: Vec<u8>,
    ) -> Result<bool, StoreError> {
        let now = self.environment.now();
        self.with_room(name, |room| {
            let bytes: Arc<[u8]> = bytes.into();
            let (stored, kept) =
                room.attachments.entry(digest.clone()).or_insert((now, Arc::clone(&bytes)));
            let is_it = *kept == bytes;
            *stored = if is_it { now } else { *stored };
            Ok(is_it)
        })
    }

    async fn attachment(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.with_room(name, |room| {
            Ok(room.attachments.get(digest).map(|(_, bytes)| bytes.to_vec()))
        })
    }

    async fn names_attachment(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
    ) -> Result<bool, StoreError> {
        self.with_room(name, |room| {
            let is_stored = room.attachments.contains_key(digest);
            Ok(is_stored && room.named_attachments().any(|named| named == digest))
        })
    }

    async fn sweep_attachments(
        &self,
        of: Option<&DatabaseName>,
        stored_before: Moment,
    ) -> Result<u64, StoreError> {
        match of {
            Some(name) => self.with_room(name, |room| Ok(room.sweep_attachments(stored_before))),
            None => {
                let mut state = self.state();
                Ok(state.rooms.values_mut().map(|room| room.sweep_attachments(stored_before)).sum())
            }
        }
    }

    async fn sweep_databases(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn follow_database(&self, name: &DatabaseName) -> Notices {
        self.database_bell.subscribe(name)
    }
}
