//! Errors, by culprit.

use std::error::Error as StdError;

use feedsync_core::ItemId;
use feedsync_endpoint::{EditFailure, EndpointError};
use feedsync_formats::ReadError;
use feedsync_store::StoreError;

use crate::content::ContentError;
use crate::replica::NameError;

/// Why an operation failed. Unless a variant says otherwise, nothing was changed.
///
/// A network that is away is no fault of anybody. An application usually handles it as a value:
///
/// ```
/// # async fn example(todo: feedsync::Collection) -> Result<(), feedsync::Error> {
/// match todo.sync("https://hub.example/collections/todo").await {
///     Ok(report) => println!("{} received", report.received),
///     Err(error) if error.is_offline() => println!("offline: the edits stay here until later"),
///     Err(error) => return Err(error),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller's name of a collection or of a replica is not valid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The caller's address is not an address of `http` or `https`, has a user name or a password (which belong into a
    /// `Login`), or may not be reached: a public address that leads to a private one, or a login for an address that is
    /// not secure.
    #[error("{url}: {reason}")]
    Address {
        /// The address, without credentials.
        url: String,
        /// The fault in it.
        reason: String,
    },
    /// The caller named a collection that was removed.
    #[error("the replica has no collection {0}")]
    NoCollection(String),
    /// The caller named a remote that the collection does not have, or that was removed meanwhile.
    #[error("{collection} has no remote {url}")]
    NoRemote {
        /// Name of the collection.
        collection: String,
        /// The address, without credentials.
        url: String,
    },
    /// The caller named an item that the collection does not have.
    #[error("{collection} has no item {id}")]
    NoItem {
        /// Name of the collection.
        collection: String,
        /// The id that was looked for.
        id: ItemId,
    },
    /// The caller's id of a new item belongs to an item of the collection.
    #[error("there is already an item {id} in {collection}")]
    ItemExists {
        /// Name of the collection.
        collection: String,
        /// The id.
        id: ItemId,
    },
    /// The item's content cannot be written, or cannot be read as the type of the collection.
    #[error("item {id}: {source}")]
    Content {
        /// The item.
        id: ItemId,
        /// The fault in its content.
        source: ContentError,
    },
    /// The caller's token names a version that the item does not know on this replica, such as one of another item.
    #[error("item {id} has no such version here; read it again")]
    UnknownVersion {
        /// The item.
        id: ItemId,
    },
    /// The caller chose a version of a conflict by a position that it does not have.
    #[error("item {id} has no version {position}: it has {versions} versions, counted from 0")]
    NoVersion {
        /// The item.
        id: ItemId,
        /// The position.
        position: usize,
        /// Number of versions of the item.
        versions: usize,
    },
    /// Others edited the item during each attempt to change it. The same call may succeed later.
    #[error(
        "item {id} was edited by others during each of {attempts} attempts to change it; try again"
    )]
    Contended {
        /// The item.
        id: ItemId,
        /// Number of attempts.
        attempts: usize,
    },
    /// The item has changed since the caller saw its conflicts: read them again.
    #[error("item {id} has changed since its conflicts were read; read them again")]
    Stale {
        /// The item.
        id: ItemId,
    },
    /// The item does not allow the edit. It has no conflict to resolve, is marked
    /// [`noconflicts`](crate::Collection#items-without-conflicts), or an edit more would exceed a
    /// [limit](crate::Collection#limits): 256 versions beside the one that is shown, 2<sup>30</sup> updates, or 16 MiB in
    /// all its versions.
    #[error("item {id}: {source}")]
    Edit {
        /// The item.
        id: ItemId,
        /// Why not.
        source: EditFailure,
    },
    /// The collection is larger than one call returns; read it in pages with [`Collection::page`](crate::Collection::page).
    #[error(
        "{collection} has more than {items} items or {bytes} bytes, too much for one list; read it in pages"
    )]
    TooLarge {
        /// Name of the collection.
        collection: String,
        /// Maximum number of items.
        items: usize,
        /// Maximum number of bytes.
        bytes: usize,
    },
    /// The document is not a feed that can be read; the message has the line and the column.
    #[error("the feed cannot be read: {0}")]
    Feed(#[from] ReadError),
    /// The network or the remote is away. Items that had arrived are stored, all edits stay, and the next
    /// synchronization continues.
    #[error("offline: {reason}")]
    Offline {
        /// The request that failed, and why.
        reason: String,
    },
    /// The connection to the remote is not secure: its certificate is not valid, or something in between answered.
    /// Nothing was sent over it. Items that had arrived before are stored. A retry does not help; somebody has to look at
    /// the network or the remote.
    #[error("{reason}")]
    Untrusted {
        /// The request that failed, and the fault.
        reason: String,
    },
    /// A web page came instead of a feed: the sign-in page of a network, or the address is that of a page. Items that had
    /// arrived before are stored.
    #[error("{reason}")]
    Page {
        /// The address that answered, and how.
        reason: String,
    },
    /// The remote requires a login (401), or refuses to be read (403). Items that had arrived before are stored.
    #[error("{reason}")]
    Denied {
        /// The remote's response.
        reason: String,
    },
    /// The remote has nothing at the address (404 or 410): the address is wrong, or nobody has created the collection
    /// there. Items that had arrived before are stored.
    #[error("{reason}")]
    NotFound {
        /// The remote's response.
        reason: String,
    },
    /// The remote failed, or sent something that cannot be used, such as a document that is no feed. Items that had
    /// arrived are stored.
    #[error(transparent)]
    Remote(Box<dyn StdError + Send + Sync>),
    /// The remote asked for a pause, is overloaded, or has failed (a status from 500); synchronize again later. Items that
    /// had arrived are stored.
    #[error(transparent)]
    Busy(Box<dyn StdError + Send + Sync>),
    /// This device failed, but not its store: it cannot make connections, or its database of documents refused a
    /// document.
    #[error(transparent)]
    Device(Box<dyn StdError + Send + Sync>),
    /// The store failed: its disk is full, it is damaged, or the operating system reported an error. After
    /// [`StoreError::Unknown`] the change may have been made.
    #[error(transparent)]
    Store(StoreError),
    /// The replica refused for a reason that an application meets rarely, such as a clock that is far off.
    #[error(transparent)]
    Endpoint(EndpointError),
}

impl Error {
    /// Whether the network or the remote is away. The same call may succeed later.
    pub fn is_offline(&self) -> bool {
        matches!(self, Self::Offline { .. })
    }

    /// Whether the same call may succeed later without anybody changing anything: the network is away, the remote
    /// is overloaded or has failed (a status from 500), or others were [faster](Self::Contended).
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Offline { .. } | Self::Busy(_) | Self::Contended { .. })
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoCollection(name) => Self::NoCollection(name.to_string()),
            error => Self::Store(error),
        }
    }
}

impl From<EndpointError> for Error {
    fn from(error: EndpointError) -> Self {
        match error {
            EndpointError::Store(error) => error.into(),
            EndpointError::NoItem { collection, id } => {
                Self::NoItem { collection: collection.to_string(), id }
            }
            EndpointError::ItemExists { collection, id } => {
                Self::ItemExists { collection: collection.to_string(), id }
            }
            error => Self::Endpoint(error),
        }
    }
}

impl Error {
    /// The error of an edit of one item.
    pub(crate) fn of_edit(id: &ItemId, error: EndpointError) -> Self {
        match error {
            EndpointError::Edit(source) => Self::Edit { id: id.clone(), source },
            error => error.into(),
        }
    }
}
