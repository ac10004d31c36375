//! The interface of Nextcloud News, versions 1-2 and 1-3, which differ in how a star is given.
//!
//! An article is starred by its feed and its guid, or a hash of it that this server gave. Whoever stars many names
//! them so, too; version 1-3 knows them by their numbers. What is asked for is in the query, in a form or in JSON:
//! that is one for Nextcloud, and here.

mod items;
mod lists;
mod read;
mod star;

use feedsync_reader::{FeedAddress, Title};

use crate::marking::Marking;
use crate::selection::{Selection, Stream};
use crate::shown::{ArticleNumber, FeedNumber, FolderNumber, Label};

pub use items::{guid_hash, items};
pub use lists::{
    created_feed, created_folder, done, feeds, folders, levels, refuse, status, user, version,
};
pub use read::read;

/// The most articles that are listed at once, also if all are asked for.
pub const MOST_ITEMS: usize = 5_000;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Which versions there are: answered by [`levels`].
    Levels,
    /// `version`: answered by [`version`].
    Version,
    /// `status`: answered by [`status`].
    Status,
    /// `user`: answered by [`user`].
    User,
    /// `folders`: answered by [`folders`].
    Folders,
    /// A new one: answered by [`created_folder`].
    CreateFolder(Label),
    /// Another name for one: answered by [`done`].
    RenameFolder(FolderNumber, Label),
    /// One goes, and what is in it is no longer subscribed to: answered by [`done`].
    DeleteFolder(FolderNumber),
    /// `feeds`: answered by [`feeds`].
    Feeds,
    /// A new one: answered by [`created_feed`].
    CreateFeed {
        /// Where it is.
        address: FeedAddress,
        /// Where it is filed.
        folder: FolderNumber,
    },
    /// One is no longer subscribed to: answered by [`done`].
    DeleteFeed(FeedNumber),
    /// One is filed elsewhere: answered by [`done`].
    MoveFeed(FeedNumber, FolderNumber),
    /// One is called otherwise: answered by [`done`].
    RenameFeed(FeedNumber, Title),
    /// What is in a stream was read: answered by [`done`].
    MarkRead {
        /// Of these.
        stream: Stream,
        /// Those up to this number.
        up_to: ArticleNumber,
    },
    /// `items`, and `items/updated`: answered by [`items()`].
    Items(Selection),
    /// Some were read, or starred, or not: answered by [`done`].
    Mark(Marking),
    /// Some get a star, or lose it, by their names: answered by [`done`].
    Star {
        /// Which.
        items: Vec<ItemName>,
        /// Whether they get it.
        is_starred: bool,
    },
}

/// An article as its feed calls it, or as [`guid_hash`] does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemName {
    /// The feed that it is from.
    pub feed: FeedNumber,
    /// What it is called. Where it is not known whether that was encoded, both come in question.
    pub names: Vec<String>,
}
