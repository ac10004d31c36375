//! Implementation of [`Databases`] on the threads of a [`SqliteStore`].

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
#[cfg(feature = "queries")]
use feedsync_couch::index::INDEX_VERSION;
use feedsync_couch::{AttachmentDigest, DatabaseName, DocumentId, LocalId};

use super::database_reads::{ChangeRange, Page, by_id, changes, count_by_id, count_changes};
use super::database_rows::{self, DatabaseRow, Finder};
use super::database_writes::{compact, sweep, update};
#[cfg(not(feature = "queries"))]
use super::no_indexes::INDEX_VERSION;
use super::schema::checkpoint_wal;
use super::{SqliteStore, attachment_rows, charges, collections, local_documents};
use crate::database::sweep::AttachmentKey;
use crate::database::{
    Database, DatabaseChange, Databases, DecideDocuments, DocumentChanges, DocumentPage,
    DocumentRange, DocumentRequest, DocumentWrite, LocalDocument, NewDatabase, SelectBodies,
    SkipKind, StoredDocument,
};
use crate::error::StoreError;
use crate::name::UserId;
use crate::notifier::Notices;
use crate::order::{ChangeNumber, Epoch, Moment};
use crate::stored::PageLimit;
use crate::transfer::Transfer;

/// Maximum size of access rules that are cached, in bytes; longer ones are read each time.
const MAX_CACHED_SECURITY_BYTES: usize = 4 << 10;

#[async_trait]
impl Databases for SqliteStore {
    async fn databases(
        &self,
        after: Option<&DatabaseName>,
        most: usize,
    ) -> Result<Vec<Database>, StoreError> {
        let after = after.cloned();
        self.readers
            .read(move |connection| database_rows::after(connection, after.as_ref(), most))
            .await
    }

    async fn database(&self, name: &DatabaseName) -> Result<Option<Database>, StoreError> {
        let version = match self.known.database(name)? {
            Ok(database) => return Ok(Some(database)),
            Err(version) => version,
        };
        let name = name.clone();
        let find = move |connection: &_| database_rows::find(connection, &name);
        let found = self.readers.read(find).await?.map(|database_row| database_row.database);
        let is_short = |it: &&Database| {
            it.security.as_ref().map_or(0, String::len) <= MAX_CACHED_SECURITY_BYTES
        };
        if let Some(database) = found.as_ref().filter(is_short) {
            self.known.cache_database(version, database);
        }
        Ok(found)
    }

    async fn create_database(
        &self,
        name: &DatabaseName,
        new: NewDatabase,
    ) -> Result<Option<Database>, StoreError> {
        let (name, environment) = (name.clone(), Arc::clone(&self.environment));
        self.writer
            .run(move |connection| {
                if database_rows::find(connection, &name)?.is_some() {
                    return Ok(None);
                }
                let epoch = collections::begin_epoch(connection, &*environment)?;
                let owner = new.owner.clone();
                let database = Database::created(name.clone(), new, epoch, environment.now());
                database_rows::insert(connection, &database, INDEX_VERSION)?;
                let mut row = database_rows::require(connection, &name)?;
                row.database.clone_from(&database);
                database_rows::write(connection, &row)?;
                if let Some(owner) = &owner {
                    charges::charge_database(connection, row.id, owner)?;
                }
                Ok(Some(database))
            })
            .await
    }

    async fn charge(&self, name: &DatabaseName, owner: &UserId) -> Result<(), StoreError> {
        let (name, owner) = (name.clone(), owner.clone());
        self.writer
            .run(move |connection| {
                let database_row = database_rows::require(connection, &name)?;
                charges::charge_database(connection, database_row.id, &owner)
            })
            .await
    }

    async fn charged(&self, name: &DatabaseName) -> Result<Option<UserId>, StoreError> {
        let name = name.clone();
        self.readers
            .read(move |connection| charges::owner(connection, charges::OF_DATABASE, name.as_str()))
            .await
    }

    async fn drop_database(&self, name: &DatabaseName, epoch: Epoch) -> Result<(), StoreError> {
        let gone = name.clone();
        self.writer
            .run_without_growth(move |connection| {
                let DatabaseRow { id, database, .. } = database_rows::require(connection, &gone)?;
                database.require(epoch)?;
                database_rows::drop(connection, id)
            })
            .await?;
        self.database_notifier.notify_subscribers(name);
        Ok(())
    }

    async fn change_database(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        change: DatabaseChange,
    ) -> Result<Database, StoreError> {
        let (name, environment) = (name.clone(), Arc::clone(&self.environment));
        self.writer
            .run(move |connection| {
                let mut database_row = database_rows::require(connection, &name)?;
                database_row.database.require(epoch)?;
                database_row.database.change(change, environment.now());
                database_rows::write(connection, &database_row)?;
                Ok(database_row.database)
            })
            .await
    }

    async fn update_documents(
        &self,
        name: &DatabaseName,
        wanted: Vec<DocumentRequest>,
        decide: DecideDocuments,
    ) -> Result<Database, StoreError> {
        let database_row = name.clone();
        let (mut decide, full) = (decide, Arc::clone(&self.is_full));
        let environment = Arc::clone(&self.environment);
        let (database, has_visible_changes) = self
            .writer
            .run_without_growth(move |connection| {
                let found = database_rows::require(connection, &database_row)?;
                update(connection, found, &wanted, environment.now(), &mut |snapshot| {
                    let writes = decide(snapshot);
                    let grows = !writes.iter().all(DocumentWrite::is_without_growth);
                    if grows && full.load(Ordering::Relaxed) {
                        Err(StoreError::Full)
                    } else {
                        Ok(writes)
                    }
                })
            })
            .await?;
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
        let (name, ids) = (name.clone(), ids.to_vec());
        self.readers
            .read(move |connection| {
                let DatabaseRow { id: database_row, database, .. } =
                    database_rows::require(connection, &name)?;
                let mut page = Page::new(connection, database_row, &choose, most_bytes);
                let mut finder = Finder::new(connection, database_row)?;
                let mut documents = Vec::with_capacity(ids.len());
                for id in ids {
                    let Some((number, tree)) = finder.find(id.as_str())? else {
                        documents.push(None);
                        continue;
                    };
                    match page.read(StoredDocument { id, number, tree })? {
                        Some(read) => documents.push(Some(read)),
                        None => break,
                    }
                }
                Ok(DocumentPage { database, documents })
            })
            .await
    }

    async fn documents_by_id(
        &self,
        name: &DatabaseName,
        range: DocumentRange,
        choose: SelectBodies,
        most_bytes: u64,
    ) -> Result<DocumentPage, StoreError> {
        let name = name.clone();
        self.readers
            .read(move |connection| by_id(connection, &name, range, &choose, most_bytes))
            .await
    }

    async fn count_documents(
        &self,
        name: &DatabaseName,
        from: Bound<String>,
        to: Bound<String>,
    ) -> Result<Option<u64>, StoreError> {
        let name = name.clone();
        self.readers.read(move |connection| count_by_id(connection, &name, from, to)).await
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
        let name = name.clone();
        let walk = ChangeRange { after, before: None, most, is_descending: false };
        self.readers
            .read(move |connection| {
                changes(connection, &name, walk, skip_kind, &choose, most_bytes)
            })
            .await
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
        let name = name.clone();
        let walk = ChangeRange { after, before, most, is_descending: true };
        self.readers
            .read(move |connection| changes(connection, &name, walk, None, &choose, most_bytes))
            .await
    }

    async fn count_changes(
        &self,
        name: &DatabaseName,
        after: ChangeNumber,
    ) -> Result<u64, StoreError> {
        let name = name.clone();
        self.readers.read(move |connection| count_changes(connection, &name, after)).await
    }

    async fn local_document(
        &self,
        name: &DatabaseName,
        id: &LocalId,
    ) -> Result<Option<LocalDocument>, StoreError> {
        let (name, id) = (name.clone(), id.clone());
        self.readers.read(move |connection| local_documents::find(connection, &name, &id)).await
    }

    async fn local_documents_by_id(
        &self,
        name: &DatabaseName,
        after: Option<&LocalId>,
        limit: PageLimit,
    ) -> Result<Vec<(LocalId, LocalDocument)>, StoreError> {
        // A transfer of a database uses the same order.
        Transfer::local_documents(self, name, after, limit).await
    }

    async fn put_local_document(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        id: &LocalId,
        document: Option<LocalDocument>,
    ) -> Result<bool, StoreError> {
        let (name, id) = (name.clone(), id.clone());
        self.writer
            .run(move |connection| {
                let database_row = database_rows::require(connection, &name)?;
                database_row.database.require(epoch)?;
                local_documents::put(connection, database_row.id, &id, document)
            })
            .await
    }

    async fn compact_documents(
        &self,
        name: &DatabaseName,
        after: Option<&DocumentId>,
        most: usize,
    ) -> Result<Option<DocumentId>, StoreError> {
        let (name, after) = (name.clone(), after.cloned());
        self.writer
            .run_without_growth(move |connection| {
                let database_row = database_rows::require(connection, &name)?;
                compact(connection, database_row, after.as_ref(), most)
            })
            .await
    }

    async fn put_attachment(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
        bytes: Vec<u8>,
    ) -> Result<bool, StoreError> {
        let (name, digest, now) = (name.clone(), digest.clone(), self.environment.now());
        self.writer
            .run(move |connection| {
                let database_row = database_rows::require(connection, &name)?.id;
                attachment_rows::put(connection, database_row, &digest, &bytes, now)
            })
            .await
    }

    async fn attachment(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let (name, digest) = (name.clone(), digest.clone());
        self.readers
            .read(move |connection| {
                let database_row = database_rows::require(connection, &name)?.id;
                attachment_rows::content(connection, database_row, &digest)
            })
            .await
    }

    async fn is_attachment_referenced(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
    ) -> Result<bool, StoreError> {
        let (name, digest) = (name.clone(), digest.clone());
        self.readers
            .read(move |connection| {
                let database_row = database_rows::require(connection, &name)?.id;
                attachment_rows::is_referenced(connection, database_row, &digest)
            })
            .await
    }

    async fn sweep_attachments(
        &self,
        of: Option<&DatabaseName>,
        stored_before: Moment,
    ) -> Result<u64, StoreError> {
        let (mut after, mut through) = (AttachmentKey::default(), i64::MAX);
        if let Some(name) = of.cloned() {
            let require = move |connection: &_| database_rows::require(connection, &name);
            through = self.readers.read(require).await?.id;
            after.database = through;
        }
        let (mut swept, mut last) = (0, Some(after));
        while let Some(after) = last {
            let scan = move |connection: &_| {
                attachment_rows::scan(connection, &after, through, stored_before)
            };
            let mut looked = self.readers.read(scan).await?;
            last = looked.last.take();
            for piece in looked.pieces() {
                let remove = move |connection: &_| {
                    attachment_rows::remove(connection, &piece, stored_before)
                };
                swept += self.writer.run_without_growth(remove).await?;
            }
        }
        Ok(swept)
    }

    async fn sweep_databases(&self) -> Result<bool, StoreError> {
        let is_more = self.writer.run_without_growth(sweep).await?;
        if !is_more {
            // The file shrinks only when a checkpoint copies the write-ahead log into it.
            self.readers.run(checkpoint_wal).await??;
        }
        Ok(is_more)
    }

    fn subscribe_to_database(&self, name: &DatabaseName) -> Notices {
        self.database_notifier.subscribe(name)
    }
}
