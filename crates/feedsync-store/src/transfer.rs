//! Moving a whole store into another one, of any backend.

mod databases;
mod run;
mod state;

use async_trait::async_trait;
use feedsync_core::{By, ItemId, Update};
use feedsync_couch::{AttachmentDigest, DatabaseName, LocalId};

use self::run::Run;
use self::state::state;
use crate::blob::Digest;
use crate::collection::Collection;
use crate::contract::Store;
use crate::database::{
    Database, EndedRevision, Kind, LocalDocument, StoredBody, StoredDocument, WriteOrigin,
};
use crate::error::StoreError;
use crate::identity::LedgerEntry;
use crate::log::{KeyedAppend, Log};
use crate::name::CollectionName;
use crate::order::{ChangeNumber, Moment};
use crate::people::AuditEntry;
use crate::remote::{Remote, RemoteId};
use crate::stored::{Discarded, DiscardedId, PageLimit, StoredItem};

/// Maximum number of rows of a batch.
const BATCH_ROWS: usize = 200;

/// Maximum number of bytes of a batch of a log or of documents.
const BATCH_BYTES: usize = 1 << 20;

/// Error of a transfer during which the source was written to.
const SOURCE_CHANGED: StoreError = StoreError::Transfer(
    "the old store was changed in the meantime; delete the new store, stop the hub, and try again",
);

/// Reads and writes beyond the contract that moving a store requires.
#[async_trait]
pub trait Transfer: Store {
    /// Upper bounds of the values that the store must never issue twice.
    async fn marks(&self) -> Result<IdBounds, StoreError>;

    /// The ledger after an item, ascending by item, up to a maximum number of items.
    async fn ledger(
        &self,
        after: Option<&ItemId>,
        limit: usize,
    ) -> Result<Vec<(ItemId, Vec<LedgerEntry>)>, StoreError>;

    /// The vectors of a collection's purged items, ascending by item, after an item.
    async fn purged(
        &self,
        collection: &CollectionName,
        after: Option<&ItemId>,
        limit: usize,
    ) -> Result<Vec<(ItemId, Vec<Update>)>, StoreError>;

    /// The stored keyed appends of a collection's log, oldest first.
    async fn log_keys(&self, collection: &CollectionName) -> Result<Vec<KeyedAppend>, StoreError>;

    /// Digests of the stored blobs, ascending, after one.
    async fn blobs(&self, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>, StoreError>;

    /// The first body number that a database never used.
    async fn next_body(&self, database: &DatabaseName) -> Result<u64, StoreError>;

    /// The documents of a database in the order of their changes, after a number. The byte limit of a page,
    /// here and below, is approximate: it counts the bytes of rows.
    async fn ordered_documents(
        &self,
        database: &DatabaseName,
        after: ChangeNumber,
        limit: PageLimit,
    ) -> Result<Vec<TransferredDocument>, StoreError>;

    /// Bodies of revisions, ascending by number, after one.
    async fn bodies(
        &self,
        database: &DatabaseName,
        after: u64,
        limit: PageLimit,
    ) -> Result<Vec<(u64, StoredBody)>, StoreError>;

    /// The writes that made bodies, where they are known, ascending by number, after one.
    async fn body_origins(
        &self,
        database: &DatabaseName,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, WriteOrigin)>, StoreError>;

    /// All ended revisions, also those that are not removed yet, ascending by the number of their body, after one.
    async fn all_ended(
        &self,
        database: &DatabaseName,
        after: u64,
        limit: usize,
    ) -> Result<Vec<EndedRevision>, StoreError>;

    /// Local documents after one, in an order that the store chooses and does not change.
    async fn local_documents(
        &self,
        database: &DatabaseName,
        after: Option<&LocalId>,
        limit: PageLimit,
    ) -> Result<Vec<(LocalId, LocalDocument)>, StoreError>;

    /// Keys of the stored attachments, ascending, after one.
    async fn attachments(
        &self,
        database: &DatabaseName,
        after: Option<&AttachmentDigest>,
        limit: usize,
    ) -> Result<Vec<AttachmentDigest>, StoreError>;

    /// Writes a part of another store as it is. The store must not be in use. From [`TransferPart::Begin`] to
    /// [`TransferPart::End`] no other process can open it; an interrupted transfer leaves it in that state:
    /// [`StoreError::Unfinished`].
    async fn load(&self, part: TransferPart) -> Result<(), StoreError>;
}

/// Upper bounds of the values that a store must never issue twice, including values whose objects were
/// removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdBounds {
    /// Id of the next remote; items refer to remotes by it.
    pub next_remote: RemoteId,
    /// Next id in a recoverable list.
    pub next_discarded: DiscardedId,
    /// When the latest epoch of any collection or database, dropped ones included, began.
    pub last_epoch: Option<Moment>,
    /// The greatest generation number of logs that were dropped with their collections.
    pub last_dropped_generation: u64,
}

/// A part of a store that is moved.
#[derive(Debug, Clone)]
pub enum TransferPart {
    /// The first part.
    Begin {
        /// Earlier incarnations, oldest first, now retired.
        retired: Vec<By>,
        /// Values from which the target store continues.
        marks: IdBounds,
    },
    /// Rows of the ledger.
    Ledger(Vec<(ItemId, Vec<LedgerEntry>)>),
    /// Metadata of a collection, in a new epoch that is later than its own.
    Collection(Collection),
    /// Items of a collection, with their numbers.
    Items(CollectionName, Vec<StoredItem>),
    /// Vectors of purged items.
    Purged(CollectionName, Vec<(ItemId, Vec<Update>)>),
    /// The recoverable list of a collection, with its ids.
    Discarded(Vec<Discarded>),
    /// The log of a collection, removed ones included, without its bytes: it begins a new generation.
    Log(CollectionName, TransferredLog),
    /// A piece of the bytes of its last generation.
    LogBytes(CollectionName, Vec<u8>),
    /// Metadata of a database, in a new epoch that is later than its own, and the first body number that it
    /// never used.
    Database(Database, u64),
    /// Documents of a database, with their numbers.
    Documents(DatabaseName, Vec<TransferredDocument>),
    /// Bodies of revisions, under the numbers by which documents refer to them.
    Bodies(DatabaseName, Vec<(u64, StoredBody)>),
    /// The writes that made bodies.
    BodyOrigins(DatabaseName, Vec<(u64, WriteOrigin)>),
    /// Ended revisions of a history.
    Ended(DatabaseName, Vec<EndedRevision>),
    /// Remotes with their ids and state, because items refer to them.
    Remotes(Vec<Remote>),
    /// Entries of the audit record, oldest first; they get new positions.
    Acts(Vec<AuditEntry>),
    /// The last part: the store is complete.
    End,
}

/// A log that is moved.
#[derive(Debug, Clone)]
pub struct TransferredLog {
    /// State of the log.
    pub log: Log,
    /// Its stored keyed appends, oldest first.
    pub keys: Vec<KeyedAppend>,
    /// The bytes of its snapshot.
    pub snapshot: Option<Vec<u8>>,
}

/// A document that is moved, without its bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferredDocument {
    /// The document.
    pub document: StoredDocument,
    /// Kind that its leaf states.
    pub kind: Kind,
}

/// Numbers of moved objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransferReport {
    /// Collections.
    pub collections: u64,
    /// Items, tombstones included.
    pub items: u64,
    /// Purged items, of which only the vector is stored.
    pub purged: u64,
    /// Items of the recoverable lists.
    pub discarded: u64,
    /// Items for which this endpoint has issued sequences.
    pub signed: u64,
    /// Logs, removed ones included.
    pub logs: u64,
    /// Databases of documents.
    pub databases: u64,
    /// Documents, deleted ones included, local ones excluded.
    pub documents: u64,
    /// Attachments, counted once for each database.
    pub attachments: u64,
    /// Remotes.
    pub remotes: u64,
    /// Blobs.
    pub blobs: u64,
    /// Users.
    pub users: u64,
    /// Tokens of users.
    pub tokens: u64,
    /// Entries of the audit record.
    pub acts: u64,
}

/// Moves everything into an empty store that was founded with the same name: identity, ledger, blobs, users,
/// roles, tokens and the audit record; collections with items, histories, origins, purged vectors,
/// recoverable lists, logs and settings; databases with revisions, stored bodies, attachments, local
/// documents and settings; remotes with their state. `progress` is called after each part. Contents of
/// dropped databases that are not swept yet are not moved.
///
/// The new store continues as a new incarnation in new epochs, as a restored backup does. If this returns an
/// error, or is interrupted, the new store cannot be opened and must be deleted. A write to the old store
/// during the transfer is such an error. The old store must not be used afterwards.
pub async fn transfer(
    from: &dyn Transfer,
    to: &dyn Transfer,
    progress: &(dyn Fn(&TransferReport) + Send + Sync),
) -> Result<TransferReport, StoreError> {
    let is_empty = to.collections().await?.is_empty()
        && to.databases(None, 1).await?.is_empty()
        && to.users().await?.is_empty();
    if !is_empty {
        return Err(StoreError::Transfer("the target store is not empty"));
    }
    if to.identity().await?.name != from.identity().await?.name {
        return Err(StoreError::Transfer("the target store has another endpoint name"));
    }
    let before = state(from).await?;
    let identity = &before.identity;
    let retired = identity.retired.iter().chain([&identity.by]).cloned().collect();
    to.load(TransferPart::Begin { retired, marks: before.marks }).await?;
    let mut run = Run { from, to, moved: TransferReport::default(), progress };
    run.users().await?;
    run.ledger().await?;
    for collection in &before.collections {
        run.collection(collection).await?;
    }
    for looked in &before.databases {
        run.database(looked).await?;
    }
    run.moved.remotes = before.remotes.len() as u64;
    to.load(TransferPart::Remotes(before.remotes.clone())).await?;
    run.blobs().await?;
    run.people().await?;
    if state(from).await? != before {
        return Err(SOURCE_CHANGED);
    }
    to.load(TransferPart::End).await?;
    Ok(run.moved)
}

/// Copies one collection into an empty store that was founded with the same name: items with histories,
/// origins, purged vectors, recoverable lists, log, settings and remotes, and the blobs that the items name.
/// Other collections, users and databases are not copied. The copied store opens as a new incarnation.
pub async fn archive(
    from: &dyn Transfer,
    to: &dyn Transfer,
    name: &CollectionName,
) -> Result<TransferReport, StoreError> {
    let identity = from.identity().await?;
    let collection = from.collection(name).await?;
    let collection = collection.ok_or_else(|| StoreError::NoCollection(name.clone()))?;
    let retired = identity.retired.iter().chain([&identity.by]).cloned().collect();
    to.load(TransferPart::Begin { retired, marks: from.marks().await? }).await?;
    let mut run = Run { from, to, moved: TransferReport::default(), progress: &|_| {} };
    run.collection(&collection).await?;
    run.blobs_of(name).await?;
    let remotes = from.remotes(Some(name)).await?;
    run.moved.remotes = remotes.len() as u64;
    to.load(TransferPart::Remotes(remotes)).await?;
    to.load(TransferPart::End).await?;
    Ok(run.moved)
}
