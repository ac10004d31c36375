//! No databases.

use std::ops::Bound;

use async_trait::async_trait;
use feedsync_couch::{AttachmentDigest, DatabaseName, DocumentId, LocalId};

use super::ItemsOnly;
use crate::database::{
    Database, DatabaseChange, Databases, DecideDocuments, DocumentChanges, DocumentPage,
    DocumentRange, DocumentRequest, LocalDocument, NewDatabase, SelectBodies, SkipKind,
};
use crate::error::StoreError;
use crate::name::UserId;
use crate::notifier::{ChangeNotifier, Notices};
use crate::order::{ChangeNumber, Epoch, Moment};
use crate::stored::PageLimit;

pub(super) fn none(name: &DatabaseName) -> StoreError {
    StoreError::NoDatabase(name.clone())
}

#[async_trait]
impl<S: ItemsOnly> Databases for S {
    async fn databases(
        &self,
        _: Option<&DatabaseName>,
        _: usize,
    ) -> Result<Vec<Database>, StoreError> {
        Ok(Vec::new())
    }

    async fn database(&self, _: &DatabaseName) -> Result<Option<Database>, StoreError> {
        Ok(None)
    }

    async fn create_database(
        &self,
        _: &DatabaseName,
        _: NewDatabase,
    ) -> Result<Option<Database>, StoreError> {
        Err(StoreError::Unsupported("databases"))
    }

    async fn charge(&self, name: &DatabaseName, _: &UserId) -> Result<(), StoreError> {
        Err(none(name))
    }

    async fn charged(&self, _: &DatabaseName) -> Result<Option<UserId>, StoreError> {
        Ok(None)
    }

    async fn drop_database(&self, name: &DatabaseName, _: Epoch) -> Result<(), StoreError> {
        Err(none(name))
    }

    async fn change_database(
        &self,
        name: &DatabaseName,
        _: Epoch,
        _: DatabaseChange,
    ) -> Result<Database, StoreError> {
        Err(none(name))
    }

    async fn update_documents(
        &self,
        name: &DatabaseName,
        _: Vec<DocumentRequest>,
        _: DecideDocuments,
    ) -> Result<Database, StoreError> {
        Err(none(name))
    }

    async fn documents(
        &self,
        name: &DatabaseName,
        _: &[DocumentId],
        _: SelectBodies,
        _: u64,
    ) -> Result<DocumentPage, StoreError> {
        Err(none(name))
    }

    async fn documents_by_id(
        &self,
        name: &DatabaseName,
        _: DocumentRange,
        _: SelectBodies,
        _: u64,
    ) -> Result<DocumentPage, StoreError> {
        Err(none(name))
    }

    async fn count_documents(
        &self,
        name: &DatabaseName,
        _: Bound<String>,
        _: Bound<String>,
    ) -> Result<Option<u64>, StoreError> {
        Err(none(name))
    }

    async fn document_changes(
        &self,
        name: &DatabaseName,
        _: ChangeNumber,
        _: usize,
        _: Option<SkipKind>,
        _: SelectBodies,
        _: u64,
    ) -> Result<DocumentChanges, StoreError> {
        Err(none(name))
    }

    async fn latest_document_changes(
        &self,
        name: &DatabaseName,
        _: ChangeNumber,
        _: Option<ChangeNumber>,
        _: usize,
        _: SelectBodies,
        _: u64,
    ) -> Result<DocumentChanges, StoreError> {
        Err(none(name))
    }

    async fn count_changes(&self, name: &DatabaseName, _: ChangeNumber) -> Result<u64, StoreError> {
        Err(none(name))
    }

    async fn local_document(
        &self,
        name: &DatabaseName,
        _: &LocalId,
    ) -> Result<Option<LocalDocument>, StoreError> {
        Err(none(name))
    }

    async fn local_documents_by_id(
        &self,
        name: &DatabaseName,
        _: Option<&LocalId>,
        _: PageLimit,
    ) -> Result<Vec<(LocalId, LocalDocument)>, StoreError> {
        Err(none(name))
    }

    async fn put_local_document(
        &self,
        name: &DatabaseName,
        _: Epoch,
        _: &LocalId,
        _: Option<LocalDocument>,
    ) -> Result<bool, StoreError> {
        Err(none(name))
    }

    async fn compact_documents(
        &self,
        name: &DatabaseName,
        _: Option<&DocumentId>,
        _: usize,
    ) -> Result<Option<DocumentId>, StoreError> {
        Err(none(name))
    }

    async fn put_attachment(
        &self,
        name: &DatabaseName,
        _: &AttachmentDigest,
        _: Vec<u8>,
    ) -> Result<bool, StoreError> {
        Err(none(name))
    }

    async fn attachment(
        &self,
        name: &DatabaseName,
        _: &AttachmentDigest,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        Err(none(name))
    }

    async fn is_attachment_referenced(
        &self,
        name: &DatabaseName,
        _: &AttachmentDigest,
    ) -> Result<bool, StoreError> {
        Err(none(name))
    }

    async fn sweep_attachments(
        &self,
        _: Option<&DatabaseName>,
        _: Moment,
    ) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn sweep_databases(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn subscribe_to_database(&self, name: &DatabaseName) -> Notices {
        // There is no database, so the notices end at once.
        ChangeNotifier::default().subscribe(name)
    }
}
