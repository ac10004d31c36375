//! Storage of an endpoint's collections, logs, databases and users.
//!
//! [`Store`] is the contract: its documentation states what every backend guarantees about atomicity, order
//! and durability. [`MemoryStore`] holds everything in memory, for tests and simulations. `SqliteStore`
//! (feature `sqlite`, on by default) uses a directory of files. `PostgresStore` (feature `postgres`) uses a
//! database that several processes of one hub share.
//!
//! The store makes no protocol decisions. The effect of an edit, a merge or a purge on an item is computed
//! elsewhere and passed in as a function from a [`Snapshot`] to [`Write`]s.

mod blob;
mod collection;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod columns;
#[cfg(feature = "conformance")]
pub mod conformance;
mod contract;
mod database;
mod decision;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod digests;
mod environment;
mod error;
mod identity;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod inconsistencies;
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
mod remote;
#[cfg(feature = "sqlite")]
mod sqlite;
mod stored;
mod transfer;

pub use blob::{Digest, DigestError};
pub use collection::{
    Alteration, AlterationDecision, Collection, CollectionChange, CreationContext,
    DecideCollection, NewCollection, PRIVATE_TO,
};
pub use contract::{Store, StoreExt};
pub use database::{
    Database, DatabaseChange, Databases, DatabasesExt, DecideDocuments, DocumentChanges,
    DocumentEntry, DocumentPage, DocumentRange, DocumentRequest, DocumentWrite, DocumentsSnapshot,
    Kind, LoadedDocument, LocalDocument, MAX_COUNTED, MAX_KIND_BYTES, REVISIONS_KEPT, SelectBodies,
    SkipKind, StoredBody, StoredDocument,
};
pub use decision::{Decide, Entry, Put, Snapshot, Write};
pub use environment::{Environment, SystemEnvironment};
pub use error::StoreError;
pub use identity::{Identity, LedgerEntry};
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
pub use sqlite::{BackupReport, DamagedLog, SqliteStore};
pub use stored::{
    ChangePage, Discarded, DiscardedId, ItemPage, Origin, PageLimit, Recent, Selection, StoredItem,
    item_bytes, payload_bytes,
};
pub use transfer::{
    IdBounds, Transfer, TransferPart, TransferReport, TransferredDocument, TransferredLog, archive,
    transfer,
};
