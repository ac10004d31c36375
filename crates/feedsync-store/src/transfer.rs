//! Moving a whole store into another one, of whatever kind.

mod databases;
mod run;
mod state;

use async_trait::async_trait;
use feedsync::{By, ItemId, Update};
use feedsync_couch::{AttachmentDigest, DatabaseName, LocalId};

use self::run::Run;
use self::state::state;
use crate::blob::Digest;
use crate::collection::Collection;
use crate::contract::Store;
use crate::database::{Database, Databases, KeptBody, Kind, LocalDocument, StoredDocument};
use crate::error::StoreError;
use crate::identity::Issued;
use crate::log::{Keyed, Log};
use crate::name::CollectionName;
use crate::order::{Moment, Number};
use crate::people::Recorded;
use crate::remote::{Remote, RemoteId};
use crate::stored::{Discarded, DiscardedId, PageLimit, StoredItem};

/// So much is moved at once.
const AT_ONCE: usize = 200;

/// So many bytes of a log are, or of documents.
const BYTES_AT_ONCE: usize = 1 << 20;

/// Why a store is not moved.
const WRITTEN_TO: StoreError = StoreError::Transfer(
    "somebody wrote to it meanwhile; throw the new store away, stop the hub, and try again",
);

/// What a store can show and take in beyond its contract, so that it can be moved.
#[async_trait]
pub trait Transfer: Store + Databases {
    /// Up to where it has given out what it never gives out twice.
    async fn marks(&self) -> Result<Marks, StoreError>;

    /// The ledger, ascending by item, after an item; so many items at most.
    async fn ledger(
        &self,
        after: Option<&ItemId>,
        limit: usize,
    ) -> Result<Vec<(ItemId, Vec<Issued>)>, StoreError>;

    /// The vectors of a collection's purged items, ascending by item, after an item.
    async fn purged(
        &self,
        collection: &CollectionName,
        after: Option<&ItemId>,
        limit: usize,
    ) -> Result<Vec<(ItemId, Vec<Update>)>, StoreError>;

    /// The appends of a collection's log that are known by their keys, oldest first.
    async fn log_keys(&self, collection: &CollectionName) -> Result<Vec<Keyed>, StoreError>;

    /// The blobs that are here, ascending, after one.
    async fn blobs(&self, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>, StoreError>;

    /// The first number that no body of a database ever had.
    async fn next_body(&self, database: &DatabaseName) -> Result<u64, StoreError>;

    /// The documents of a database in the order of their changes, after a number. Of a page, here and below, the bytes
    /// are about those of the rows.
    async fn ordered_documents(
        &self,
        database: &DatabaseName,
        after: Number,
        limit: PageLimit,
    ) -> Result<Vec<MovedDocument>, StoreError>;

    /// What revisions say, by its number, ascending, after one.
    async fn bodies(
        &self,
        database: &DatabaseName,
        after: u64,
        limit: PageLimit,
    ) -> Result<Vec<(u64, KeptBody)>, StoreError>;

    /// Local documents after one, in an order of the store's own, which stays the same.
    async fn local_documents(
        &self,
        database: &DatabaseName,
        after: Option<&LocalId>,
        limit: PageLimit,
    ) -> Result<Vec<(LocalId, LocalDocument)>, StoreError>;

    /// The attachments that are here, ascending, after one.
    async fn attachments(
        &self,
        database: &DatabaseName,
        after: Option<&AttachmentDigest>,
        limit: usize,
    ) -> Result<Vec<AttachmentDigest>, StoreError>;

    /// Takes in a part of another store as it is. Only a store that nobody uses yet may be asked. From
    /// [`Part::Begin`] to [`Part::End`] nobody else can open it, and whoever is killed between them leaves
    /// it so: [`StoreError::Unfinished`].
    async fn load(&self, part: Part) -> Result<(), StoreError>;
}

/// Up to where a store has given out what it never gives out twice, also where nothing is left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// The next remote's: items tell by it where they came from, and how far they went.
    pub next_remote: RemoteId,
    /// The next place in a recoverable list.
    pub next_discarded: DiscardedId,
    /// When the latest epoch of any collection or database, dropped or not, began.
    pub last_epoch: Option<Moment>,
    /// The greatest number of a generation of logs that went with their collections.
    pub last_dropped_generation: u64,
}

/// A part of a store that is moved.
#[derive(Debug, Clone)]
pub enum Part {
    /// The first part.
    Begin {
        /// Incarnations of before, oldest first: own, retired.
        retired: Vec<By>,
        /// What comes after is given out from here on.
        marks: Marks,
    },
    /// Rows of the ledger.
    Ledger(Vec<(ItemId, Vec<Issued>)>),
    /// A collection without what it holds, in a new epoch, later than its own.
    Collection(Collection),
    /// Items of a collection, under their numbers.
    Items(CollectionName, Vec<StoredItem>),
    /// Vectors of purged items.
    Purged(CollectionName, Vec<(ItemId, Vec<Update>)>),
    /// The recoverable lists of a collection, places and all.
    Discarded(Vec<Discarded>),
    /// The log of a collection, one that was removed too, without its bytes: it begins a new generation.
    Log(CollectionName, MovedLog),
    /// What its last generation held, piece by piece.
    LogBytes(CollectionName, Vec<u8>),
    /// A database without what it holds, in a new epoch, later than its own; and the first number that no body of
    /// it ever had.
    Database(Database, u64),
    /// Documents of a database, under their numbers.
    Documents(DatabaseName, Vec<MovedDocument>),
    /// What revisions say, under the numbers by which documents name it.
    Bodies(DatabaseName, Vec<(u64, KeptBody)>),
    /// Remotes, ids and state too: items name them.
    Remotes(Vec<Remote>),
    /// The record, oldest first, under new places.
    Acts(Vec<Recorded>),
    /// The last part: the store is whole.
    End,
}

/// A log that is moved.
#[derive(Debug, Clone)]
pub struct MovedLog {
    /// As it stood.
    pub log: Log,
    /// Appends that are known by their keys, oldest first.
    pub keys: Vec<Keyed>,
    /// The bytes of its snapshot.
    pub snapshot: Option<Vec<u8>>,
}

/// A document that is moved, without what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedDocument {
    /// The document.
    pub document: StoredDocument,
    /// What its leaf says it is.
    pub kind: Kind,
}

/// What has been moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Collections.
    pub collections: u64,
    /// Items, tombstones too.
    pub items: u64,
    /// Items of which only the vector is kept, since they were purged.
    pub purged: u64,
    /// Items of the recoverable lists.
    pub discarded: u64,
    /// Items that this endpoint has signed.
    pub signed: u64,
    /// Logs, also those that were removed.
    pub logs: u64,
    /// Databases of documents.
    pub databases: u64,
    /// Their documents, deleted ones too; not those that are local.
    pub documents: u64,
    /// What is attached to documents, once for each database.
    pub attachments: u64,
    /// Remotes.
    pub remotes: u64,
    /// Blobs.
    pub blobs: u64,
    /// Users.
    pub users: u64,
    /// Tokens of users.
    pub tokens: u64,
    /// Acts of the record.
    pub acts: u64,
}

/// Moves everything into an empty store that was founded with the same name: identity, ledger,
/// collections with items, histories, origins, purged vectors, recoverable lists, logs and settings, databases
/// with revisions, what is kept of each, attachments, local documents and settings, remotes with their state, blobs,
/// users, roles, tokens and the record. `progress` is told after each part. Only what databases held that were
/// dropped, and that is not swept yet, stays behind.
///
/// What is moved goes on as a new incarnation in new epochs, as a restored backup does. If this ends
/// with an error, or not at all, the new store is to be thrown away, and cannot be opened; what was written to
/// the old one meanwhile is such an error. The old one must not be used any more afterwards.
pub async fn transfer(
    from: &dyn Transfer,
    to: &dyn Transfer,
    progress: &(dyn Fn(&Moved) + Send + Sync),
) -> Result<Moved, StoreError> {
    let is_empty = to.collections().await?.is_empty()
        && to.databases(None, 1).await?.is_empty()
        && to.users().await?.is_empty();
    if !is_empty {
        return Err(StoreError::Transfer("the store to move into is not empty"));
    }
    if to.identity().await?.name != from.identity().await?.name {
        return Err(StoreError::Transfer("the store to move into has another endpoint's name"));
    }
    let before = state(from).await?;
    let identity = &before.identity;
    let retired = identity.retired.iter().chain([&identity.by]).cloned().collect();
    to.load(Part::Begin { retired, marks: before.marks }).await?;
    let mut run = Run { from, to, moved: Moved::default(), progress };
    run.users().await?;
    run.ledger().await?;
    for collection in &before.collections {
        run.collection(collection).await?;
    }
    for looked in &before.databases {
        run.database(looked).await?;
    }
    run.moved.remotes = before.remotes.len() as u64;
    to.load(Part::Remotes(before.remotes.clone())).await?;
    run.blobs().await?;
    run.people().await?;
    if state(from).await? != before {
        return Err(WRITTEN_TO);
    }
    to.load(Part::End).await?;
    Ok(run.moved)
}

/// Copies one collection into an empty store that was founded with the same name: items with histories, origins, purged
/// vectors, recoverable lists, log, settings and remotes, and the blobs that the items name. Other collections, users
/// and databases stay behind. The copied store opens as a new incarnation.
pub async fn archive(
    from: &dyn Transfer,
    to: &dyn Transfer,
    name: &CollectionName,
) -> Result<Moved, StoreError> {
    let identity = from.identity().await?;
    let collection = from.collection(name).await?;
    let collection = collection.ok_or_else(|| StoreError::NoCollection(name.clone()))?;
    let retired = identity.retired.iter().chain([&identity.by]).cloned().collect();
    to.load(Part::Begin { retired, marks: from.marks().await? }).await?;
    let mut run = Run { from, to, moved: Moved::default(), progress: &|_| {} };
    run.collection(&collection).await?;
    run.blobs_of(name).await?;
    let remotes = from.remotes(Some(name)).await?;
    run.moved.remotes = remotes.len() as u64;
    to.load(Part::Remotes(remotes)).await?;
    to.load(Part::End).await?;
    Ok(run.moved)
}
