//! Storage of an endpoint's items, logs, databases and users.
//!
//! The contract has four parts, each a trait whose documentation states what every implementation guarantees
//! about atomicity, order and durability:
//!
//! | Trait | Contents |
//! |---|---|
//! | [`ItemStore`] | the endpoint's identity, collections, items, remotes, blobs, the ledger of issued sequences |
//! | [`People`] | users, roles, tokens, the audit record |
//! | [`Logs`] | append-only logs of collections |
//! | [`Databases`] | databases of documents with CouchDB's replication, their indexes and views ([`Queries`]), and histories ([`PastDocuments`]) |
//!
//! [`Store`] is all of them together. [`MemoryStore`] holds everything in memory, for tests and simulations.
//! `SqliteStore` (feature `sqlite`, on by default) uses a directory of files. `PostgresStore` (feature
//! `postgres`) uses a database that several processes of one hub share.
//!
//! The store makes no protocol decisions. The effect of an edit, a merge or a purge on an item is computed
//! elsewhere and passed in as a function from a [`Snapshot`] to [`Write`]s.
//!
//! # Implementing a store
//!
//! An application that stores its data elsewhere implements [`ItemStore`], which has 22 required methods. It
//! needs no knowledge of the protocol: [`backend::plan`] computes the result of an update, and the store
//! writes it. `tests/item_store` of this crate is a complete store on maps, of less than 500 lines.
//!
//! **State.** Collections by name, each with its items, the vectors of purged items, and its recoverable
//! list; the ledger by item; remotes by id; blobs by digest; the [`Identity`]; and four values that are
//! never used again: the last epoch, the next [`RemoteId`], the next [`DiscardedId`], and the last change
//! number of each collection, which is in [`Collection`]. All of it is data of public types.
//!
//! **Required methods.**
//!
//! | Methods | What they must guarantee |
//! |---|---|
//! | `identity` | An [`Identity::founded`] once, changed by updates only. A store that is copied or restored must begin a new incarnation and new epochs. |
//! | `collections_after`, `collection` | Ascending by name. |
//! | `create_collection_with` | [`Epoch::begin`] with the store's last epoch, then [`Collection::created`]. Of concurrent calls one succeeds. |
//! | `alter_collection` | The decision sees the stored collection; [`Collection::change_at`] applies a change. A new name moves items, recoverable list and remotes. Dropping removes them, and leaves the ledger and the last epoch. |
//! | `items`, `changes`, `items_by_id` | One moment per page; [`backend::Page`] ends it. An item is in the change order once, at its last number. |
//! | `update` | One transaction: read a [`Snapshot`], call the decision, [`backend::plan`] the result, write the whole [`backend::Plan`]. No writes, an error or a panic change nothing. Durable before it returns. |
//! | `mark_sent` | The mark only grows, up to the last change. |
//! | `issued`, `discarded` | Rows ascending by line, and by id. |
//! | `remotes`, `add_remote`, `change_remote`, `reschedule`, `remove_remote` | One remote of each address in a collection; `reschedule` compares and sets. |
//! | `put_blob`, `blob`, `missing_blobs`, `sweep_blobs` | A blob stays while an item or a discarded item names it, and until it is swept. Putting it again renews its moment; so does asking for it once the moment is [stale](backend::stale_before). |
//! | `subscribe` | [`backend::ChangeNotifier`] does it, in one process. Notify after an update that [has changes](Collection::has_changes_since), and after an [alteration that is visible](Alteration::has_visible_change). |
//!
//! **Tests.** The feature `conformance` has the tests of each part of the contract. In a test file:
//!
//! ```ignore
//! use std::sync::Arc;
//! use feedsync_store::{EndpointName, Environment, conformance::Fixture};
//!
//! fn open(environment: Arc<dyn Environment>) -> Fixture<MyStore> {
//!     let name = EndpointName::new("tester").unwrap();
//!     Fixture { store: Arc::new(MyStore::new(&name, environment)), kept: Box::new(()) }
//! }
//! feedsync_store::item_store_tests!(open);
//! ```
//!
//! They also compare the store with [`MemoryStore`] under random operations. They cannot cut the power:
//! durability must be tested for each kind of storage.
//!
//! **Use.** `impl ItemsOnly for MyStore {}` makes it a [`Store`] without users, logs and databases, which
//! endpoints accept. [`People`], [`Logs`] and [`Databases`] can be implemented later instead, each with its
//! own tests.

pub mod backend;
mod blob;
mod collection;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod columns;
#[cfg(feature = "conformance")]
pub mod conformance;
mod contract;
mod database;
mod decision;
mod derived;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod digests;
mod environment;
mod error;
mod identity;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod inconsistencies;
mod item_store;
mod item_store_ext;
mod items_only;
mod log;
mod memory;
mod name;
mod notifier;
mod order;
pub mod owned;
mod people;
mod plan;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
pub mod postgres_support;
mod remote;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "sqlite")]
pub mod sqlite_support;
mod stored;
mod transfer;

pub use blob::{Digest, DigestError};
pub use collection::{
    Alteration, AlterationDecision, Collection, CollectionChange, CreationContext,
    DecideCollection, NewCollection, PRIVATE_TO,
};
pub use contract::Store;
pub use database::{
    Database, DatabaseChange, Databases, DatabasesExt, DecideDocuments, DocumentChanges,
    DocumentEntry, DocumentPage, DocumentRange, DocumentRequest, DocumentWrite, DocumentsSnapshot,
    Dropped, EndedPosition, EndedRevision, HISTORY_SECONDS, History, HistoryState, Kind,
    LoadedDocument, LocalDocument, MAX_COUNTED, MAX_KIND_BYTES, NewDatabase, PastDocument,
    PastDocuments, PastPage, PastRange, PastRevision, Queries, REVISIONS_KEPT, SelectBodies,
    SkipKind, StoredBody, StoredDocument, WriteOrigin,
};
#[cfg(feature = "queries")]
pub use database::{
    DocumentRows, IndexId, IndexPage, IndexRange, Indexes, MAX_INDEXES, MAX_ROW_LEVEL, MAX_VIEWS,
    NodeContent, RangesLimit, RowLimit, StoredIndex, StoredViews, ViewNode, ViewPage, ViewRanges,
    ViewRow, ViewState, ViewsId, ViewsSignature, ViewsUpdate,
};
pub use decision::{Decide, Entry, Put, Snapshot, Write};
pub use environment::{Environment, SystemEnvironment};
pub use error::StoreError;
pub use identity::{Identity, LedgerEntry};
pub use item_store::ItemStore;
pub use item_store_ext::ItemStoreExt;
pub use items_only::ItemsOnly;
pub use log::{
    Append, EndedGeneration, Expected, Generation, KeyedAppend, Log, LogOutcome, LogPosition,
    LogPositionError, LogSnapshot, Logs, MAX_APPEND_KEYS, MAX_EARLIER_GENERATIONS, NewGeneration,
    NewSnapshot,
};
pub use memory::{Image, MemoryStore};
pub use name::{CollectionName, EndpointName, NameError, UserId, UserName};
pub use notifier::Notices;
pub use order::{ChangeNumber, Epoch, MAX_AHEAD, Moment, Until, UntilError};
pub use people::{
    AuditAction, AuditEntry, AuditSelection, Grant, GrantFilter, People, Role, RoleError, Scope,
    Token, TokenKind, Usage, User,
};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use remote::{NewRemote, PushRefusal, Remote, RemoteId, RemoteState, Subscription};
#[cfg(feature = "sqlite")]
pub use sqlite::{BackupFile, BackupPlan, BackupReport, DamagedLog, SqliteStore};
pub use stored::{
    ChangePage, Discarded, DiscardedId, ItemPage, Origin, PageLimit, Recent, Selection, StoredItem,
};
pub use transfer::{
    IdBounds, Transfer, TransferPart, TransferReport, TransferredDocument, TransferredLog, archive,
    transfer,
};
