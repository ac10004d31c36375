//! Errors of an endpoint.

use feedsync_core::{EditError, ItemId, Refusal, ResolveError};
use feedsync_formats::MoveError;
use feedsync_store::{CollectionName, StoreError};

use crate::settings::SettingError;

/// Reason for the failure of an operation; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller named an item that does not exist.
    #[error("there is no item {id} in {collection}")]
    NoItem {
        /// The collection that was searched.
        collection: CollectionName,
        /// The id of the missing item.
        id: ItemId,
    },
    /// The caller tried to create an item that exists already.
    #[error("there is already an item {id} in {collection}")]
    ItemExists {
        /// The collection.
        collection: CollectionName,
        /// The id of the item.
        id: ItemId,
    },
    /// The edit is not possible.
    #[error(transparent)]
    Edit(#[from] EditFailure),
    /// The collection would exceed its maximum number of items.
    #[error(
        "{collection} has {live} items and may have {most}; {more} more would exceed the limit, so \
         nothing was stored"
    )]
    Full {
        /// The collection.
        collection: CollectionName,
        /// Number of its live items.
        live: u64,
        /// Maximum number of its live items.
        most: u64,
        /// Number of items that would have been added.
        more: u64,
    },
    /// The collection would grow by more bytes than its owner has left.
    #[error(
        "{collection} would grow by {more} bytes, but its owner may store only {room} more; \
         nothing was stored"
    )]
    NoRoom {
        /// The collection.
        collection: CollectionName,
        /// Number of bytes that would have come.
        more: u64,
        /// Number of bytes that may come.
        room: u64,
    },
    /// The name is reserved for the reading collection of another user.
    #[error(
        "the name {0} is reserved for the reading state of a user: choose a name that does not \
         begin with `reading`"
    )]
    Reserved(CollectionName),
    /// The collection cannot be bridged to a database, since a database of this name does not belong to it.
    #[error(
        "there is a database {0} that does not belong to the collection: drop it, or give the collection another name"
    )]
    DatabaseTaken(CollectionName),
    /// The hub had no users when the caller was let in, and has some now.
    #[error("the hub has users now: sign in")]
    HasUsers,
    /// A publication cannot be read to its end: changes that it promises were purged, or the collection was
    /// created anew.
    #[error("{0} was purged or recreated while it was being read: read it again")]
    Overtaken(CollectionName),
    /// The collection holds a setting that this program cannot read.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The clock is outside the years that can be written.
    #[error("the clock of this machine shows an impossible date: set it")]
    Clock,
}

/// Reason why an item that exists cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditFailure {
    /// A counter is used up.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The resolution does not fit the item.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The edit would leave too many conflicts.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The outline cannot be moved.
    #[error(transparent)]
    Move(#[from] MoveError),
    /// The item already is as the edit would make it.
    #[error("no change made: {0}")]
    Nothing(&'static str),
}
