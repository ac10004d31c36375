//! The contract of databases.

use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use feedsync_couch::{AttachmentDigest, DatabaseName, DocumentId, LocalId};

use super::{
    Database, DatabaseChange, DecideDocuments, DocumentChanges, DocumentPage, DocumentRange,
    DocumentRequest, DocumentWrite, DocumentsSnapshot, LocalDocument, NewDatabase, SelectBodies,
    SkipKind,
};
use super::{PastDocuments, Queries};
use crate::error::StoreError;
use crate::name::UserId;
use crate::notifier::Notices;
use crate::order::{ChangeNumber, Epoch, Moment};
use crate::stored::PageLimit;

/// The part of a store that holds databases; the guarantees of [`ItemStore`](crate::ItemStore) apply to it.
///
/// **Order.** Each document has one number in the change order, and takes the next one when its leaves
/// change. Numbers become visible in their order: a reader that has read all changes up to a number never
/// finds another change at or below it. A database that is created again begins a new order, in another
/// [epoch](Database::epoch). So does every database of a store that was restored.
///
/// **Atomicity.** [`update_documents`](Databases::update_documents) reads, decides and writes as one isolated
/// step. Each page is read at one moment.
///
/// **Work.** The cost of reading changes after a number follows the changes that are examined. Pages are
/// short, and an unused database costs nothing. Dropping a database takes constant time; its contents are
/// removed later, piece by piece.
///
/// **Local documents** are durable like others, are not in the change order, and are removed with their
/// database.
///
/// A database that does not exist is [`StoreError::NoDatabase`].
#[async_trait]
pub trait Databases: Queries + PastDocuments + Send + Sync + 'static {
    /// Returns databases by name after one, up to a maximum number.
    async fn databases(
        &self,
        after: Option<&DatabaseName>,
        most: usize,
    ) -> Result<Vec<Database>, StoreError>;

    /// A database, if there is one of this name.
    async fn database(&self, name: &DatabaseName) -> Result<Option<Database>, StoreError>;

    /// Creates a database with its access rules, its history and its owner, in one step; `None` if one of this name exists.
    /// Of several concurrent calls for one name, one succeeds.
    async fn create_database(
        &self,
        name: &DatabaseName,
        new: NewDatabase,
    ) -> Result<Option<Database>, StoreError>;

    /// Charges a database to a user from now on.
    async fn charge(&self, name: &DatabaseName, owner: &UserId) -> Result<(), StoreError>;

    /// The user to whom a database is charged.
    async fn charged(&self, name: &DatabaseName) -> Result<Option<UserId>, StoreError>;

    /// Removes a database with its contents if its epoch is this one. A database that was created again under
    /// the name is not removed.
    async fn drop_database(&self, name: &DatabaseName, epoch: Epoch) -> Result<(), StoreError>;

    /// Changes the settings of a database if its epoch is this one.
    async fn change_database(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        change: DatabaseChange,
    ) -> Result<Database, StoreError>;

    /// The only write of documents: passes the stored values to a decision and applies its writes. Returns
    /// the resulting database. Changed documents have the last numbers, in the order of the writes.
    async fn update_documents(
        &self,
        name: &DatabaseName,
        wanted: Vec<DocumentRequest>,
        decide: DecideDocuments,
    ) -> Result<Database, StoreError>;

    /// Documents with the chosen bodies, in the requested order; `None` for one that never existed. The page
    /// ends early, after at least one document, when the bodies exceed `most_bytes`.
    async fn documents(
        &self,
        name: &DatabaseName,
        ids: &[DocumentId],
        choose: SelectBodies,
        most_bytes: u64,
    ) -> Result<DocumentPage, StoreError>;

    /// Documents by id, deleted ones included.
    async fn documents_by_id(
        &self,
        name: &DatabaseName,
        range: DocumentRange,
        choose: SelectBodies,
        most_bytes: u64,
    ) -> Result<DocumentPage, StoreError>;

    /// Number of documents in a range of ids that are not deleted. `None` if the range has more than
    /// `MAX_COUNTED` documents, deleted ones included, so that the work of a count is bounded.
    async fn count_documents(
        &self,
        name: &DatabaseName,
        from: Bound<String>,
        to: Bound<String>,
    ) -> Result<Option<u64>, StoreError>;

    /// Documents whose last change is after a number, oldest first, up to a maximum number. A page may be
    /// shorter when many documents were skipped; it states the number up to which all changes were examined.
    async fn document_changes(
        &self,
        name: &DatabaseName,
        after: ChangeNumber,
        most: usize,
        skip_kind: Option<SkipKind>,
        choose: SelectBodies,
        most_bytes: u64,
    ) -> Result<DocumentChanges, StoreError>;

    /// The same in descending order, from the newest change down to a number, or from a given number on.
    async fn latest_document_changes(
        &self,
        name: &DatabaseName,
        after: ChangeNumber,
        before: Option<ChangeNumber>,
        most: usize,
        choose: SelectBodies,
        most_bytes: u64,
    ) -> Result<DocumentChanges, StoreError>;

    /// Number of documents whose last change is after a number.
    async fn count_changes(
        &self,
        name: &DatabaseName,
        after: ChangeNumber,
    ) -> Result<u64, StoreError>;

    /// A local document.
    async fn local_document(
        &self,
        name: &DatabaseName,
        id: &LocalId,
    ) -> Result<Option<LocalDocument>, StoreError>;

    /// Local documents whose id is greater than one, in byte order of their ids, up to a maximum number.
    async fn local_documents_by_id(
        &self,
        name: &DatabaseName,
        after: Option<&LocalId>,
        limit: PageLimit,
    ) -> Result<Vec<(LocalId, LocalDocument)>, StoreError>;

    /// Writes or removes a local document; returns whether one existed. Fails if the database has another
    /// epoch, so that the write never reaches a later database of the same name.
    async fn put_local_document(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        id: &LocalId,
        document: Option<LocalDocument>,
    ) -> Result<bool, StoreError>;

    /// Removes bodies of revisions that are not leaves, in the given number of documents after one. Returns
    /// the last document examined, or `None` at the end.
    async fn compact_documents(
        &self,
        name: &DatabaseName,
        after: Option<&DocumentId>,
        most: usize,
    ) -> Result<Option<DocumentId>, StoreError>;

    /// Stores the content of an attachment unless it is stored already. Returns `false` and stores nothing if
    /// other content has the same digest. An attachment that no document names within a day may be swept.
    async fn put_attachment(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
        bytes: Vec<u8>,
    ) -> Result<bool, StoreError>;

    /// Content of an attachment.
    async fn attachment(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
    ) -> Result<Option<Vec<u8>>, StoreError>;

    /// Whether an attachment is stored and a revision with a stored body names it. Bodies that only the history keeps do not
    /// count.
    async fn is_attachment_referenced(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
    ) -> Result<bool, StoreError>;

    /// Removes attachments that were stored before a moment and that no stored body names, of one
    /// database or of all; returns their number. A concurrent writer waits for one piece of removed
    /// attachments at most, and never for those that stay.
    async fn sweep_attachments(
        &self,
        of: Option<&DatabaseName>,
        stored_before: Moment,
    ) -> Result<u64, StoreError>;

    /// Removes a piece of the contents of dropped databases, and returns unused disk space; returns whether
    /// there is more.
    async fn sweep_databases(&self) -> Result<bool, StoreError>;

    /// Subscribes to notices of changes or of the removal of a database, by this or another process.
    fn subscribe_to_database(&self, name: &DatabaseName) -> Notices;
}

/// Methods derived from the contract.
#[async_trait]
pub trait DatabasesExt: Databases {
    /// [`Databases::update_documents`] with a result of the decision. Returns the result of the call that was
    /// applied, and the resulting database.
    async fn decide_documents<T, F>(
        &self,
        name: &DatabaseName,
        wanted: Vec<DocumentRequest>,
        mut decide: F,
    ) -> Result<(Database, T), StoreError>
    where
        T: Send + 'static,
        F: FnMut(&DocumentsSnapshot) -> (Vec<DocumentWrite>, T) + Send + 'static,
    {
        let slot = Arc::new(Mutex::new(None));
        let value = Arc::clone(&slot);
        let decide = move |snapshot: &DocumentsSnapshot| {
            let (writes, outcome) = decide(snapshot);
            *value.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            writes
        };
        let database = self.update_documents(name, wanted, Box::new(decide)).await?;
        let outcome = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        outcome
            .map(|outcome| (database, outcome))
            .ok_or_else(|| StoreError::Unknown("the decision was never asked".to_owned()))
    }
}

impl<D: Databases + ?Sized> DatabasesExt for D {}
