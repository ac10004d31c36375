//! The contract of [`Databases`] in memory.

mod moving;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use async_trait::async_trait;
use feedsync_couch::{
    AttachmentDigest, BodyPlace, DatabaseName, DocumentId, LocalId, Revision, Tree,
};

use super::MemoryStore;
use crate::bell::Notices;
use crate::database;
use crate::database::{
    Choose, Database, DatabaseChange, Databases, DecideDocuments, DocumentChanges, DocumentPage,
    DocumentRange, DocumentWrite, DocumentsSnapshot, FoundDocument, KeptBody, Kind, LocalDocument,
    PassOver, ReadDocument, StoredDocument, Wanted,
};
use crate::error::StoreError;
use crate::order::{Epoch, Moment, Number};

/// A database and what it holds.
#[derive(Debug, Clone)]
pub(super) struct Room {
    pub(super) database: Database,
    next_body: u64,
    documents: BTreeMap<DocumentId, Document>,
    bodies: BTreeMap<u64, KeptBody>,
    local: BTreeMap<LocalId, LocalDocument>,
    attachments: BTreeMap<AttachmentDigest, (Moment, Arc<[u8]>)>,
}

#[derive(Debug, Clone)]
struct Document {
    number: Number,
    tree: Tree<BodyPlace>,
    kind: Kind,
}

impl Document {
    fn is_deleted(&self) -> bool {
        self.tree.winner().is_some_and(|leaf| leaf.content.is_deleted)
    }
}

impl Room {
    fn new(database: Database) -> Self {
        Self {
            database,
            next_body: 1,
            documents: BTreeMap::new(),
            bodies: BTreeMap::new(),
            local: BTreeMap::new(),
            attachments: BTreeMap::new(),
        }
    }

    fn stored(&self, id: &DocumentId) -> Option<StoredDocument> {
        let Document { number, tree, .. } = self.documents.get(id)?;
        Some(StoredDocument { id: id.clone(), number: *number, tree: tree.clone() })
    }

    /// A document with what is chosen of it, if there is room for that.
    fn read(
        &self,
        document: StoredDocument,
        choose: &Choose,
        left: &mut database::Room,
    ) -> Option<ReadDocument> {
        let chosen = choose(&document);
        let body = |revision: Revision| {
            let place = document.tree.content(&revision)?.body;
            Some((revision, self.bodies[&place.number].clone()))
        };
        let is_taken = left.takes(&document, &chosen);
        let bodies = chosen.into_iter().filter_map(body).collect();
        is_taken.then_some(ReadDocument { document, bodies })
    }

    /// As many as there is room for.
    fn read_all(
        &self,
        documents: impl Iterator<Item = Option<StoredDocument>>,
        choose: &Choose,
        most_bytes: u64,
    ) -> Vec<Option<ReadDocument>> {
        let mut left = database::Room::of(most_bytes);
        let mut read = Vec::new();
        for document in documents {
            let is_there = document.is_some();
            let document = document.and_then(|it| self.read(it, choose, &mut left));
            if is_there && document.is_none() {
                break;
            }
            read.push(document);
        }
        read
    }

    /// Those of the changes that are not passed over, as long as there is room for them.
    fn changes<'a>(
        &'a self,
        order: impl Iterator<Item = (&'a DocumentId, &'a Document)>,
        (most, begin): (usize, Number),
        pass_over: Option<&PassOver>,
        choose: &Choose,
        most_bytes: u64,
    ) -> DocumentChanges {
        let mut left = database::Room::of(most_bytes);
        let (mut documents, mut reached, mut is_end) = (Vec::new(), begin, true);
        for (id, document) in order {
            let kind = Kind::of_column(document.kind.to_column().as_deref());
            if documents.len() < most && pass_over.is_some_and(|it| it(id, &kind)) {
                reached = document.number;
                continue;
            }
            let is_full = documents.len() == most;
            let read = self.stored(id).filter(|_| !is_full);
            let Some(read) = read.and_then(|it| self.read(it, choose, &mut left)) else {
                is_end = false;
                break;
            };
            documents.push(read);
            reached = document.number;
        }
        // A page that is full ends where it is.
        is_end &= documents.len() < most;
        DocumentChanges { database: self.database.clone(), documents, reached, is_end }
    }

    fn update(
        &mut self,
        wanted: Vec<Wanted>,
        mut decide: DecideDocuments,
    ) -> Result<bool, StoreError> {
        let found = |wanted: Wanted| {
            let found = self.documents.get(&wanted.id).map(|Document { number, tree, .. }| {
                let attachments = tree.bodies().filter_map(|(revision, content)| {
                    let kept = self.bodies[&content.body.number].attachments.clone();
                    (wanted.with_attachments && !kept.is_empty()).then(|| (revision.clone(), kept))
                });
                let attachments = attachments.collect();
                FoundDocument { tree: tree.clone(), number: *number, attachments }
            });
            (wanted.id, found.unwrap_or_default())
        };
        let snapshot = DocumentsSnapshot {
            database: self.database.clone(),
            documents: wanted.into_iter().map(found).collect(),
            next_body: self.next_body,
        };
        let writes = decide(&snapshot);
        let before = self.database.last;
        let mut is_purge = false;
        for write in writes {
            if !snapshot.documents.contains_key(&write.id) {
                let reason = format!("{} is not among the documents of the update", write.id);
                return Err(StoreError::Decision(reason));
            }
            is_purge |= self.put(write, snapshot.next_body)?;
        }
        self.database.purges += u64::from(is_purge);
        Ok(self.database.last > before || is_purge)
    }

    fn sweep_attachments(&mut self, stored_before: Moment) -> u64 {
        let named = self.bodies.values().flat_map(|body| body.attachments.iter());
        let named: BTreeSet<_> = named.map(|attachment| attachment.digest.clone()).collect();
        let before = self.attachments.len();
        self.attachments
            .retain(|digest, (stored, _)| *stored >= stored_before || named.contains(digest));
        (before - self.attachments.len()) as u64
    }

    /// Carries out a write; whether leaves went.
    fn put(&mut self, write: DocumentWrite, first_body: u64) -> Result<bool, StoreError> {
        let before = self.documents.get(&write.id);
        let (mut number, before, kind) =
            before.map(|it| (it.number, it.tree.clone(), it.kind.clone())).unwrap_or_default();
        let counted = self.database.count(&before, &write)?;
        for gone in counted.gone {
            self.bodies.remove(&gone);
        }
        for (place, body) in write.bodies {
            if place < first_body || self.bodies.insert(place, body).is_some() {
                return Err(StoreError::Decision(format!("the body {place} is there already")));
            }
            self.next_body = self.next_body.max(place + 1);
        }
        if counted.is_change {
            let next = self.database.last.next();
            number = next.ok_or_else(|| StoreError::DatabaseSpent(self.database.name.clone()))?;
            self.database.last = number;
        }
        let is_purge = before.leaves().iter().any(|leaf| !write.tree.contains(leaf.revision));
        match write.tree.is_empty() {
            true => drop(self.documents.remove(&write.id)),
            false => {
                let kind = write.kind.unwrap_or(kind);
                self.documents.insert(write.id, Document { number, tree: write.tree, kind });
            }
        }
        Ok(is_purge)
    }
}

impl MemoryStore {
    pub(super) fn with_room<T>(
        &self,
        name: &DatabaseName,
        look: impl FnOnce(&mut Room) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        look(self.state().room_mut(name)?)
    }
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

    async fn drop_database(&self, name: &DatabaseName) -> Result<(), StoreError> {
        let gone = self.state().rooms.remove(name);
        gone.ok_or_else(|| StoreError::NoDatabase(name.clone()))?;
        self.database_bell.ring(name);
        Ok(())
    }

    async fn change_database(
        &self,
        name: &DatabaseName,
        change: DatabaseChange,
    ) -> Result<Database, StoreError> {
        self.with_room(name, |room| {
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
            // What fails, or panics, changes nothing.
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
            let is_within = |id: &DocumentId| {
                let is_after = match &range.from {
                    Bound::Unbounded => true,
                    Bound::Included(from) => id.as_str() >= from.as_str(),
                    Bound::Excluded(from) => id.as_str() > from.as_str(),
                };
                let is_before = match &range.to {
                    Bound::Unbounded => true,
                    Bound::Included(to) => id.as_str() <= to.as_str(),
                    Bound::Excluded(to) => id.as_str() < to.as_str(),
                };
                is_after && is_before
            };
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
