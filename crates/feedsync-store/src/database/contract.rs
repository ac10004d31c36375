//! The contract of databases.

use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use feedsync_couch::{AttachmentDigest, DatabaseName, DocumentId, LocalId};

use super::{
    Choose, Database, DatabaseChange, DecideDocuments, DocumentChanges, DocumentPage,
    DocumentRange, DocumentWrite, DocumentsSnapshot, LocalDocument, PassOver, Wanted,
};
use crate::bell::Notices;
use crate::error::StoreError;
use crate::name::UserId;
use crate::order::{Epoch, Moment, Number};
use crate::stored::PageLimit;

/// The part of a store that keeps databases; the promises of [`Store`](crate::Store) hold for it.
///
/// **Order.** Each document has one place in the order of changes, and takes the next one when its leaves change.
/// Numbers become visible in their order: who has read all changes up to one will never find another one at or below
/// it. A database that is made again begins anew, in another [epoch](Database::epoch); so does every database of a store
/// that was put back.
///
/// **Atomicity.** [`update_documents`](Databases::update_documents) reads, decides and writes as if nothing else happened
/// between. One page is read at one moment.
///
/// **Work.** Changes after a number cost what is looked at, pages are short, and no database costs anything while nobody
/// asks for it. To drop one costs the same however much it holds: that goes later, piece by piece.
///
/// **Local documents** are durable like others, are of no order, and go with their database.
///
/// A database that does not exist is [`StoreError::NoDatabase`].
#[async_trait]
pub trait Databases: Send + Sync + 'static {
    /// Databases by name after one, at most so many.
    async fn databases(
        &self,
        after: Option<&DatabaseName>,
        most: usize,
    ) -> Result<Vec<Database>, StoreError>;

    /// A database, if there is one of this name.
    async fn database(&self, name: &DatabaseName) -> Result<Option<Database>, StoreError>;

    /// Makes a database, with who may do what; `None` if there is one of this name. Of several who make one at once,
    /// one does.
    async fn create_database(
        &self,
        name: &DatabaseName,
        security: Option<String>,
    ) -> Result<Option<Database>, StoreError>;

    /// Charges a database to a user from now on.
    async fn charge(&self, name: &DatabaseName, owner: &UserId) -> Result<(), StoreError>;

    /// The user to whom a database is charged.
    async fn charged(&self, name: &DatabaseName) -> Result<Option<UserId>, StoreError>;

    /// Removes a database with all that it holds, if it still is the one in this epoch, and not another of its name.
    async fn drop_database(&self, name: &DatabaseName, epoch: Epoch) -> Result<(), StoreError>;

    /// Changes what a database is set to, if it still is the one in this epoch.
    async fn change_database(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        change: DatabaseChange,
    ) -> Result<Database, StoreError>;

    /// The one write of documents: hands what there is of some to a decision, and carries it out. Returns the database as
    /// it then stands; documents that changed have the last numbers, in their order.
    async fn update_documents(
        &self,
        name: &DatabaseName,
        wanted: Vec<Wanted>,
        decide: DecideDocuments,
    ) -> Result<Database, StoreError>;

    /// Documents with the bodies that are chosen, in the order in which they are asked for: `None` for one that never was.
    /// It ends early, behind at least one, where the bodies have more bytes than `most_bytes`.
    async fn documents(
        &self,
        name: &DatabaseName,
        ids: &[DocumentId],
        choose: Choose,
        most_bytes: u64,
    ) -> Result<DocumentPage, StoreError>;

    /// Documents by id, deleted ones too.
    async fn documents_by_id(
        &self,
        name: &DatabaseName,
        range: DocumentRange,
        choose: Choose,
        most_bytes: u64,
    ) -> Result<DocumentPage, StoreError>;

    /// Number of documents in a range of ids that are not deleted; `None` if the range has more than `MAX_COUNTED`
    /// documents with the deleted ones, so that a count is bounded work.
    async fn count_documents(
        &self,
        name: &DatabaseName,
        from: Bound<String>,
        to: Bound<String>,
    ) -> Result<Option<u64>, StoreError>;

    /// Documents whose last change is after a number, oldest first; at most so many, and fewer where much was passed
    /// over: then it is said how far all was looked at.
    async fn document_changes(
        &self,
        name: &DatabaseName,
        after: Number,
        most: usize,
        pass_over: Option<PassOver>,
        choose: Choose,
        most_bytes: u64,
    ) -> Result<DocumentChanges, StoreError>;

    /// The same from the newest change on, down to one after a number; before one if that is given.
    async fn latest_document_changes(
        &self,
        name: &DatabaseName,
        after: Number,
        before: Option<Number>,
        most: usize,
        choose: Choose,
        most_bytes: u64,
    ) -> Result<DocumentChanges, StoreError>;

    /// How many documents changed last after a number.
    async fn count_changes(&self, name: &DatabaseName, after: Number) -> Result<u64, StoreError>;

    /// A local document.
    async fn local_document(
        &self,
        name: &DatabaseName,
        id: &LocalId,
    ) -> Result<Option<LocalDocument>, StoreError>;

    /// Local documents whose id is greater than one, in the order of their ids' bytes, at most so many.
    async fn local_documents_by_id(
        &self,
        name: &DatabaseName,
        after: Option<&LocalId>,
        limit: PageLimit,
    ) -> Result<Vec<(LocalId, LocalDocument)>, StoreError>;

    /// Writes a local document, or removes it; whether one was there. What is said of a database is not said of another
    /// one that has its name by now: without one in this epoch there is no such database.
    async fn put_local_document(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        id: &LocalId,
        document: Option<LocalDocument>,
    ) -> Result<bool, StoreError>;

    /// Lets go of bodies of revisions that are no leaves, of so many documents after one; the last that was looked at,
    /// or `None` at the end.
    async fn compact_documents(
        &self,
        name: &DatabaseName,
        after: Option<&DocumentId>,
        most: usize,
    ) -> Result<Option<DocumentId>, StoreError>;

    /// Stores what an attachment holds, unless it is here; `false`, and nothing is stored, if something else is here
    /// that is known by the same digest. What no document names within a day may be swept.
    async fn put_attachment(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
        bytes: Vec<u8>,
    ) -> Result<bool, StoreError>;

    /// What an attachment holds.
    async fn attachment(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
    ) -> Result<Option<Vec<u8>>, StoreError>;

    /// Whether an attachment is stored and a revision whose body is kept names it.
    async fn names_attachment(
        &self,
        name: &DatabaseName,
        digest: &AttachmentDigest,
    ) -> Result<bool, StoreError>;

    /// Removes attachments that were stored before a moment, and that no revision names that is kept, of a database or of
    /// all; how many. Who writes meanwhile waits for a piece of what goes at most, and never for what stays.
    async fn sweep_attachments(
        &self,
        of: Option<&DatabaseName>,
        stored_before: Moment,
    ) -> Result<u64, StoreError>;

    /// Lets go of a piece of what dropped databases held, and of the room of a store that nothing fills; whether there
    /// is more.
    async fn sweep_databases(&self) -> Result<bool, StoreError>;

    /// Notices when a database changes, or goes, also when another process does that.
    fn follow_database(&self, name: &DatabaseName) -> Notices;
}

/// What follows from the contract.
#[async_trait]
pub trait DatabasesExt: Databases {
    /// [`Databases::update_documents`] with a value out of the decision: what the call that counts returned, and the
    /// database as it then stands.
    async fn decide_documents<T, F>(
        &self,
        name: &DatabaseName,
        wanted: Vec<Wanted>,
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
