//! Implementation of [`Databases`] in memory.

mod database_contents;
mod history;
#[cfg(feature = "queries")]
mod indexing;
#[cfg(feature = "queries")]
mod queries;
mod transfer;
#[cfg(feature = "queries")]
mod views;

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use async_trait::async_trait;
use feedsync_couch::{AttachmentDigest, DatabaseName, DocumentId, LocalId};

use super::MemoryStore;
use crate::database::{
    Database, DatabaseChange, Databases, DecideDocuments, DocumentChanges, DocumentPage,
    DocumentRange, DocumentRequest, DocumentWrite, LocalDocument, MAX_COUNTED, NewDatabase,
    SelectBodies, SkipKind,
};
use crate::error::StoreError;
use crate::name::UserId;
use crate::notifier::Notices;
use crate::order::{ChangeNumber, Epoch, Moment};
use crate::stored::PageLimit;

pub(super) use database_contents::DatabaseContents;
use database_contents::Document;

impl MemoryStore {
    pub(super) fn with_database<T>(
        &self,
        name: &DatabaseName,
        look: impl FnOnce(&mut DatabaseContents) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        look(self.state().database_mut(name)?)
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
        let found =
            state.databases_by_name.range::<DatabaseName, _>((after, Bound::Unbounded)).take(most);
        Ok(found.map(|(_, database_contents)| database_contents.database.clone()).collect())
    }

    async fn database(&self, name: &DatabaseName) -> Result<Option<Database>, StoreError> {
        Ok(self
            .state()
            .databases_by_name
            .get(name)
            .map(|database_contents| database_contents.database.clone()))
    }

    async fn create_database(
        &self,
        name: &DatabaseName,
        new: NewDatabase,
    ) -> Result<Option<Database>, StoreError> {
        let mut state = self.state();
        if state.databases_by_name.contains_key(name) {
            return Ok(None);
        }
        let epoch = state.begin_epoch(&*self.environment);
        let now = self.environment.now();
        let owner = new.owner.clone();
        let database = Database::created(name.clone(), new, epoch, now);
        let contents = DatabaseContents { owner, ..DatabaseContents::new(database.clone()) };
        state.databases_by_name.insert(name.clone(), contents);
        Ok(Some(database))
    }

    async fn charge(&self, name: &DatabaseName, owner: &UserId) -> Result<(), StoreError> {
        self.with_database(name, |database_contents| {
            database_contents.owner = Some(owner.clone());
            Ok(())
        })
    }

    async fn charged(&self, name: &DatabaseName) -> Result<Option<UserId>, StoreError> {
        self.with_database(name, |database_contents| Ok(database_contents.owner.clone()))
    }

    async fn drop_database(&self, name: &DatabaseName, epoch: Epoch) -> Result<(), StoreError> {
        {
            let mut state = self.state();
            state.database_mut(name)?.database.require(epoch)?;
            state.databases_by_name.remove(name);
        }
        self.database_notifier.notify_subscribers(name);
        Ok(())
    }

    async fn change_database(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        change: DatabaseChange,
    ) -> Result<Database, StoreError> {
        let now = self.environment.now();
        self.with_database(name, |database_contents| {
            database_contents.database.require(epoch)?;
            database_contents.database.change(change, now);
            Ok(database_contents.database.clone())
        })
    }

    async fn update_documents(
        &self,
        name: &DatabaseName,
        wanted: Vec<DocumentRequest>,
        decide: DecideDocuments,
    ) -> Result<Database, StoreError> {
        let now = self.environment.now();
        let (database, has_visible_changes) = self.with_database(name, |database_contents| {
            // An update that fails or panics changes nothing, because it works on a copy.
            let mut changed = database_contents.clone();
            let has_visible_changes = changed.update(wanted, decide, now)?;
            *database_contents = changed;
            Ok((database_contents.database.clone(), has_visible_changes))
        })?;
        if has_visible_changes {
            self.database_notifier.notify_subscribers(name);
        }
        Ok(database)
    }

    async fn documents(
        &self,
        name: &DatabaseName,
        ids: &[DocumentId],
        choose: SelectBodies,
        most_bytes: u64,
    ) -> Result<DocumentPage, StoreError> {
        self.with_database(name, |database_contents| {
            let documents = ids.iter().map(|id| database_contents.stored(id));
            let documents = database_contents.read_all(documents, &choose, most_bytes);
            Ok(DocumentPage { database: database_contents.database.clone(), documents })
        })
    }

    async fn documents_by_id(
        &self,
        name: &DatabaseName,
        range: DocumentRange,
        choose: SelectBodies,
        most_bytes: u64,
    ) -> Result<DocumentPage, StoreError> {
        self.with_database(name, |database_contents| {
            let is_within = |id: &DocumentId| is_within(id, &range.from, &range.to);
            let mut ids: Vec<&DocumentId> = database_contents
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
            let documents = database_contents.read_all(
                ids.map(|id| database_contents.stored(id)),
                &choose,
                most_bytes,
            );
            Ok(DocumentPage { database: database_contents.database.clone(), documents })
        })
    }

    async fn count_documents(
        &self,
        name: &DatabaseName,
        from: Bound<String>,
        to: Bound<String>,
    ) -> Result<Option<u64>, StoreError> {
        self.with_database(name, |database_contents| {
            let is_within = |id: &DocumentId| is_within(id, &from, &to);
            let within: Vec<_> =
                database_contents.documents.iter().filter(|(id, _)| is_within(id)).collect();
            let live = within.iter().filter(|(_, document)| !document.is_deleted()).count();
            Ok((within.len() as u64 <= MAX_COUNTED).then_some(live as u64))
        })
    }

    async fn document_changes(
        &self,
        name: &DatabaseName,
        after: ChangeNumber,
        most: usize,
        skip_kind: Option<SkipKind>,
        choose: SelectBodies,
        most_bytes: u64,
    ) -> Result<DocumentChanges, StoreError> {
        self.with_database(name, |database_contents| {
            let mut order: Vec<_> = database_contents
                .documents
                .iter()
                .filter(|(_, document)| document.number > after)
                .collect();
            order.sort_by_key(|(_, document)| document.number);
            let bounds = (most, after);
            let order = order.into_iter();
            let mut page =
                database_contents.changes(order, bounds, skip_kind.as_ref(), &choose, most_bytes);
            if page.is_end {
                page.reached = database_contents.database.last.max(after);
            }
            Ok(page)
        })
    }

    async fn latest_document_changes(
        &self,
        name: &DatabaseName,
        after: ChangeNumber,
        before: Option<ChangeNumber>,
        most: usize,
        choose: SelectBodies,
        most_bytes: u64,
    ) -> Result<DocumentChanges, StoreError> {
        self.with_database(name, |database_contents| {
            let is_within =
                |number: ChangeNumber| number > after && before.is_none_or(|it| number < it);
            let mut order: Vec<_> =
                database_contents.documents.iter().filter(|(_, it)| is_within(it.number)).collect();
            order.sort_by_key(|(_, document)| std::cmp::Reverse(document.number));
            let bounds = (most, before.unwrap_or(database_contents.database.last));
            Ok(database_contents.changes(order.into_iter(), bounds, None, &choose, most_bytes))
        })
    }

    async fn count_changes(
        &self,
        name: &DatabaseName,
        after: ChangeNumber,
    ) -> Result<u64, StoreError> {
        self.with_database(name, |database_contents| {
            let is_after = |document: &&Document| document.number > after;
            Ok(database_contents.documents.values().filter(is_after).count() as u64)
        })
    }

    async fn local_document(
        &self,
        name: &DatabaseName,
        id: &LocalId,
    ) -> Result<Option<LocalDocument>, StoreError> {
        self.with_database(name, |database_contents| Ok(database_contents.local.get(id).cloned()))
    }

    async fn local_documents_by_id(
        &self,
        name: &DatabaseName,
        after: Option<&LocalId>,
        limit: PageLimit,
    ) -> Result<Vec<(LocalId, LocalDocument)>, StoreError> {
        self.with_database(name, |database_contents| {
            Ok(database_contents.local_documents(after, limit))
        })
    }

    async fn put_local_document(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        id: &LocalId,
        document: Option<LocalDocument>,
    ) -> Result<bool, StoreError> {
        self.with_database(name, |database_contents| {
            database_contents.database.require(epoch)?;
            let before = match document {
                Some(document) => database_contents.local.insert(id.clone(), document),
                None => database_contents.local.remove(id),
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
        self.with_database(name, |database_contents| {
            let after = after.map_or(Bound::Unbounded, Bound::Excluded);
            let range =
                database_contents.documents.range::<DocumentId, _>((after, Bound::Unbounded));
            let ids: Vec<DocumentId> = range.take(most).map(|(id, _)| id.clone()).collect();
            for id in &ids {
                let mut tree = database_contents.documents[id].tree.clone();
                tree.compact();
                let write = DocumentWrite::compaction(id.clone(), tree);
                database_contents.put(write, 0, None)?;
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
        self.with_database(name, |database_contents| {
            let bytes: Arc<[u8]> = bytes.into();
            let (stored, kept) = database_contents
                .attachments
                .entry(digest.clone())
                .or_insert((now, Arc::clone(&bytes)));
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
        self.with_database(name, |database_contents| {
            Ok(database_contents.attachments.get(digest).map(|(_, bytes)| bytes.to_vec()))
        })
    }

    async fn is_attachment_referenced(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
    ) -> Result<bool, StoreError> {
        self.with_database(name, |database_contents| {
            let is_stored = database_contents.attachments.contains_key(digest);
            Ok(is_stored && database_contents.is_named_by_tree(digest))
        })
    }

    async fn sweep_attachments(
        &self,
        of: Option<&DatabaseName>,
        stored_before: Moment,
    ) -> Result<u64, StoreError> {
        match of {
            Some(name) => self.with_database(name, |database_contents| {
                Ok(database_contents.sweep_attachments(stored_before))
            }),
            None => {
                let mut state = self.state();
                Ok(state
                    .databases_by_name
                    .values_mut()
                    .map(|database_contents| database_contents.sweep_attachments(stored_before))
                    .sum())
            }
        }
    }

    async fn sweep_databases(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn subscribe_to_database(&self, name: &DatabaseName) -> Notices {
        self.database_notifier.subscribe(name)
    }
}
