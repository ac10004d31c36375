//! The contract of [`Databases`], method by method.

mod attachments;
pub(super) mod batch;
mod batch_state;
mod bodies;
mod changes;
mod compact;
mod documents;
#[cfg(feature = "queries")]
pub(super) mod indexes;
mod local;
#[cfg(not(feature = "queries"))]
mod no_indexes;
mod pages;
mod past_batch;
pub(super) mod past_documents;
mod past_rows;
#[cfg(test)]
mod plans;
#[cfg(feature = "queries")]
mod queries;
mod rows;
mod sweep;
pub(super) mod task;
pub(super) mod transfer;
mod view_removal;
#[cfg(feature = "queries")]
mod views;
mod write;

use std::ops::Bound;

use async_trait::async_trait;
use feedsync_couch::{AttachmentDigest, DatabaseName, DocumentId, LocalId};
use futures_util::FutureExt as _;

use self::changes::ChangeRange;
#[cfg(not(feature = "queries"))]
use self::no_indexes as indexes;
use self::pages::Page;
use self::rows::{BY_NAME_SETTLED, LOCK, LOCK_SHARED};
use super::{PostgresStore, charges, collections};
use crate::database::{
    Database, DatabaseChange, Databases, DecideDocuments, DocumentChanges, DocumentPage,
    DocumentRange, DocumentRequest, LocalDocument, NewDatabase, SelectBodies, SkipKind,
};
use crate::error::StoreError;
use crate::name::UserId;
use crate::notifier::Notices;
use crate::order::{ChangeNumber, Epoch, Moment};
use crate::stored::PageLimit;

pub(super) use self::rows::settle;

impl PostgresStore {
    async fn walk(
        &self,
        name: &DatabaseName,
        walk: ChangeRange,
        skip_kind: Option<SkipKind>,
        page: Page,
    ) -> Result<DocumentChanges, StoreError> {
        let name = name.clone();
        self.run(|node| async move {
            let mut client = node.connection().await?;
            changes::changes(&mut client, &name, walk, skip_kind, page).await
        })
        .await
    }
}

#[async_trait]
impl Databases for PostgresStore {
    async fn databases(
        &self,
        after: Option<&DatabaseName>,
        most: usize,
    ) -> Result<Vec<Database>, StoreError> {
        let after = after.cloned();
        self.run(move |node| async move {
            rows::after(&node.connection().await?, after.as_ref(), most).await
        })
        .await
    }

    async fn database(&self, name: &DatabaseName) -> Result<Option<Database>, StoreError> {
        let name = name.clone();
        self.run(|node| async move {
            let mut client = node.connection().await?;
            let mut database_row = rows::find(&client, BY_NAME_SETTLED, &name).await?;
            // If the database was restored, the epoch that the caller knows may have been lost.
            if database_row.is_none() && collections::has_moved(&client).await? {
                node.settle(&mut client).await?;
                database_row = rows::find(&client, BY_NAME_SETTLED, &name).await?;
            }
            Ok(database_row.map(|database_row| database_row.database))
        })
        .await
    }

    async fn create_database(
        &self,
        name: &DatabaseName,
        new: NewDatabase,
    ) -> Result<Option<Database>, StoreError> {
        let name = name.clone();
        self.write(|transaction, node| {
            async move { rows::create(transaction, &*node.environment, name, new).await }.boxed()
        })
        .await
    }

    async fn charge(&self, name: &DatabaseName, owner: &UserId) -> Result<(), StoreError> {
        let (name, owner) = (name.clone(), owner.clone());
        self.write(move |transaction, _| {
            async move {
                let database_row = rows::lock(transaction, LOCK_SHARED, &name).await?;
                charges::charge_database(transaction, database_row.id, &owner).await
            }
            .boxed()
        })
        .await
    }

    async fn charged(&self, name: &DatabaseName) -> Result<Option<UserId>, StoreError> {
        let name = name.clone();
        self.run(move |node| async move {
            let client = node.connection().await?;
            charges::owner(&client, charges::OF_DATABASE, name.as_str()).await
        })
        .await
    }

    async fn drop_database(&self, name: &DatabaseName, epoch: Epoch) -> Result<(), StoreError> {
        let name = name.clone();
        self.run(move |node| async move {
            let gone = name.clone();
            node.write(move |transaction, _| {
                async move { rows::drop(transaction, &gone, epoch).await }.boxed()
            })
            .await?;
            node.database_changed(&name);
            Ok(())
        })
        .await
    }

    async fn change_database(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        change: DatabaseChange,
    ) -> Result<Database, StoreError> {
        let name = name.clone();
        self.write(move |transaction, node| {
            let now = node.environment.now();
            async move {
                let mut database_row = rows::lock(transaction, LOCK, &name).await?;
                database_row.database.require(epoch)?;
                database_row.database.change(change, now);
                rows::write(transaction, &database_row).await?;
                Ok(database_row.database)
            }
            .boxed()
        })
        .await
    }

    async fn update_documents(
        &self,
        name: &DatabaseName,
        wanted: Vec<DocumentRequest>,
        decide: DecideDocuments,
    ) -> Result<Database, StoreError> {
        let name = name.clone();
        self.run(|node| batch::submit(node, name, wanted, decide)).await
    }

    async fn documents(
        &self,
        name: &DatabaseName,
        ids: &[DocumentId],
        choose: SelectBodies,
        most_bytes: u64,
    ) -> Result<DocumentPage, StoreError> {
        let (name, ids, page) = (name.clone(), ids.to_vec(), Page::new(choose, most_bytes));
        self.run(|node| async move {
            pages::documents(&mut node.connection().await?, &name, &ids, page).await
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
        let (name, page) = (name.clone(), Page::new(choose, most_bytes));
        self.run(|node| async move {
            pages::by_id(&mut node.connection().await?, &name, range, page).await
        })
        .await
    }

    async fn count_documents(
        &self,
        name: &DatabaseName,
        from: Bound<String>,
        to: Bound<String>,
    ) -> Result<Option<u64>, StoreError> {
        let name = name.clone();
        self.run(|node| async move {
            pages::count_by_id(&mut node.connection().await?, &name, from, to).await
        })
        .await
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
        let walk = ChangeRange { after, before: None, most, is_descending: false };
        self.walk(name, walk, skip_kind, Page::new(choose, most_bytes)).await
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
        let walk = ChangeRange { after, before, most, is_descending: true };
        self.walk(name, walk, None, Page::new(choose, most_bytes)).await
    }

    async fn count_changes(
        &self,
        name: &DatabaseName,
        after: ChangeNumber,
    ) -> Result<u64, StoreError> {
        let name = name.clone();
        self.run(move |node| async move {
            changes::count(&mut node.connection().await?, &name, after).await
        })
        .await
    }

    async fn local_document(
        &self,
        name: &DatabaseName,
        id: &LocalId,
    ) -> Result<Option<LocalDocument>, StoreError> {
        let (name, id) = (name.clone(), id.clone());
        self.run(|node| async move { local::find(&node.connection().await?, &name, &id).await })
            .await
    }

    async fn local_documents_by_id(
        &self,
        name: &DatabaseName,
        after: Option<&LocalId>,
        limit: PageLimit,
    ) -> Result<Vec<(LocalId, LocalDocument)>, StoreError> {
        let (name, after) = (name.clone(), after.cloned());
        self.run(|node| async move {
            local::by_id(&node.connection().await?, &name, after.as_ref(), limit).await
        })
        .await
    }

    async fn put_local_document(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        id: &LocalId,
        document: Option<LocalDocument>,
    ) -> Result<bool, StoreError> {
        let (name, id) = (name.clone(), id.clone());
        self.write(move |transaction, _| {
            async move { local::put(transaction, &name, epoch, &id, document).await }.boxed()
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
        self.write(move |transaction, _| {
            async move { compact::compact(transaction, &name, after.as_ref(), most).await }.boxed()
        })
        .await
    }

    async fn put_attachment(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
        bytes: Vec<u8>,
    ) -> Result<bool, StoreError> {
        let (name, digest) = (name.clone(), digest.clone());
        self.write(|transaction, node| {
            let now = node.environment.now();
            async move { attachments::put(transaction, &name, &digest, &bytes, now).await }.boxed()
        })
        .await
    }

    async fn attachment(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let (name, digest) = (name.clone(), digest.clone());
        self.run(|node| async move {
            attachments::content(&node.connection().await?, &name, &digest).await
        })
        .await
    }

    async fn is_attachment_referenced(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
    ) -> Result<bool, StoreError> {
        let (name, digest) = (name.clone(), digest.clone());
        self.run(|node| async move {
            attachments::is_referenced(&node.connection().await?, &name, &digest).await
        })
        .await
    }

    async fn sweep_attachments(
        &self,
        of: Option<&DatabaseName>,
        stored_before: Moment,
    ) -> Result<u64, StoreError> {
        let of = of.cloned();
        self.run(
            move |node| async move { attachments::sweep(&node, of.as_ref(), stored_before).await },
        )
        .await
    }

    async fn sweep_databases(&self) -> Result<bool, StoreError> {
        self.write(|transaction, _| sweep::sweep(transaction).boxed()).await
    }

    fn subscribe_to_database(&self, name: &DatabaseName) -> Notices {
        self.node.database_notifier.subscribe(name)
    }
}
