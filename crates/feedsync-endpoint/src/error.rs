//! What can go wrong in an endpoint, by culprit.

use feedsync_core::{EditError, ItemId, Refusal, ResolveError};
use feedsync_formats::MoveError;
use feedsync_store::{CollectionName, StoreError};

use crate::settings::SettingError;

/// Why an operation was not carried out; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller named an item that is not there.
    #[error("there is no item {id} in {collection}")]
    NoItem {
        /// Where it was looked for.
        collection: CollectionName,
        /// What was looked for.
        id: ItemId,
    },
    /// The caller would create an item that is there already.
    #[error("there is already an item {id} in {collection}")]
    ItemExists {
        /// Where.
        collection: CollectionName,
        /// Which.
        id: ItemId,
    },
    /// The edit is not possible.
    #[error(transparent)]
    Edit(#[from] EditFailure),
    /// The collection would come to more items than it may have.
    #[error(
        "{collection} has {live} items and may have {most}; {more} more are not taken, nothing was stored"
    )]
    Full {
        /// Which.
        collection: CollectionName,
        /// Its live items.
        live: u64,
        /// The most that it may have.
        most: u64,
        /// What would have come.
        more: u64,
    },
    /// The collection would grow by more bytes than whoever owns it has left.
    #[error(
        "{collection} would grow by {more} bytes, and its owner may hold {room} more; nothing was stored"
    )]
    NoRoom {
        /// The collection.
        collection: CollectionName,
        /// Number of bytes that would have come.
        more: u64,
        /// Number of bytes that may come.
        room: u64,
    },
    /// The name is reserved for what somebody else reads.
    #[error(
        "the name {0} is reserved for what its user reads: choose a name that does not begin with `reading`"
    )]
    Reserved(CollectionName),
    /// The collection cannot be a database too, since there is a database of this name that is not its own.
    #[error(
        "there is a database {0} that does not belong to the collection: drop it, or give the collection another name"
    )]
    DatabaseTaken(CollectionName),
    /// The hub had no users when the caller was let in, and has some by now.
    #[error("the hub has users by now: sign in")]
    HasUsers,
    /// A publication cannot be read to its end: changes that it promises were purged, or the collection was made anew.
    #[error("{0} was purged or made anew while it was read: read it again")]
    Overtaken(CollectionName),
    /// The collection holds a setting that this program cannot read.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The clock is outside the years that can be written.
    #[error("the clock shows a time that cannot be written: check the date of this machine")]
    Clock,
}

/// Why an edit of an item that exists is not possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditFailure {
    /// A counter is spent.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The resolution does not fit the item.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// It would leave too many conflicts.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The outline cannot be moved.
    #[error(transparent)]
    Move(#[from] MoveError),
    /// There is nothing to do: the item is as it should become.
    #[error("nothing to do: {0}")]
    Nothing(&'static str),
}
