//! Storage of an endpoint's collections, logs, databases and users.
//!
//! [`Store`] is the contract: its documentation states what every backend guarantees about atomicity, order
//! and durability. [`MemoryStore`] holds everything in memory, for tests and simulations. `SqliteStore`
//! (feature `sqlite`, on by default) uses a directory of files. `PostgresStore` (feature `postgres`) uses a
//! database that several processes of one hub share.
//!
//! The store makes no protocol decisions. The effect of an edit, a merge or a purge on an item is computed
//! elsewhere and passed in as a function from a [`Snapshot`] to [`Write`]s.

mod bell;
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
mod impossible;
mod log;
mod memory;
mod name;
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

pub use bell::Notices;
pub use blob::{Digest, DigestError};
pub use collection::{
    Alteration, Altered, Collection, CollectionChange, DecideCollection, Founding, NewCollection,
    PRIVATE_TO,
};
pub use contract::{Store, StoreExt};
pub use database::{
    Choose, Database, DatabaseChange, Databases, DatabasesExt, DecideDocuments, DocumentChanges,
    DocumentPage, DocumentRange, DocumentWrite, DocumentsSnapshot, FoundDocument, KeptBody, Kind,
    LocalDocument, MAX_COUNTED, MOST_KIND, PassOver, REVISIONS_KEPT, ReadDocument, StoredDocument,
    Wanted,
};
pub use decision::{Decide, Entry, Put, Snapshot, Write};
pub use environment::{Environment, SystemEnvironment};
pub use error::StoreError;
pub use identity::{Identity, Issued};
pub use log::{
    Append, Ended, Expected, GENERATIONS_KEPT, Generation, KEYS_KEPT, Keyed, Log, LogOutcome,
    LogPlace, LogPlaceError, LogSnapshot, Logs, NewGeneration, NewSnapshot,
};
pub use memory::{Image, MemoryStore};
pub use name::{CollectionName, EndpointName, NameError, UserId, UserName};
pub use order::{Epoch, MAX_AHEAD, Moment, Number, Until, UntilError};
pub use people::{
    Act, ActSelection, Grant, GrantsOf, People, Recorded, Role, RoleError, Scope, Token, TokenKind,
    Usage, User,
};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use remote::{NewRemote, Remote, RemoteId, RemoteState, Subscription};
#[cfg(feature = "sqlite")]
pub use sqlite::{BackedUp, DamagedLog, SqliteStore};
pub use stored::{
    ChangePage, Discarded, DiscardedId, ItemPage, Origin, PageLimit, Recent, Selection, StoredItem,
    item_bytes, payload_bytes,
};
pub use transfer::{Marks, Moved, MovedDocument, MovedLog, Part, Transfer, archive, transfer};
