//! The interface of Nextcloud News, versions 1-2 and 1-3, which differ in how articles are starred.
//!
//! In version 1-2 an article is starred by its feed and its guid, or by a hash of the guid that this server
//! issued. Lists of articles to star have the same form. Version 1-3 uses article numbers. Parameters may be in
//! the query, in a form or in JSON, as with Nextcloud.

mod items;
mod lists;
mod read;
mod star;

use feedsync_reading_state::{FeedAddress, Title};

use crate::marking::Marking;
use crate::selection::{Selection, Stream};
use crate::shown::{ArticleNumber, FeedNumber, FolderNumber, Label};

pub use items::{guid_hash, items};
pub use lists::{
    created_feed, created_folder, done, feeds, folders, levels, refuse, status, user, version,
};
pub use read::read;

/// Maximum number of articles in one list, even if all are requested.
pub const MAX_ITEMS: usize = 5_000;

/// A request of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Supported versions: answered by [`levels`].
    Levels,
    /// `version`: answered by [`version`].
    Version,
    /// `status`: answered by [`status`].
    Status,
    /// `user`: answered by [`user`].
    User,
    /// `folders`: answered by [`folders`].
    Folders,
    /// Creates a folder: answered by [`created_folder`].
    CreateFolder(Label),
    /// Renames a folder: answered by [`done`].
    RenameFolder(FolderNumber, Label),
    /// Deletes a folder and unsubscribes from its feeds: answered by [`done`].
    DeleteFolder(FolderNumber),
    /// `feeds`: answered by [`feeds`].
    Feeds,
    /// Subscribes to a feed: answered by [`created_feed`].
    CreateFeed {
        /// Address of the feed.
        address: FeedAddress,
        /// Folder of the feed.
        folder: FolderNumber,
    },
    /// Unsubscribes from a feed: answered by [`done`].
    DeleteFeed(FeedNumber),
    /// Moves a feed to another folder: answered by [`done`].
    MoveFeed(FeedNumber, FolderNumber),
    /// Renames a feed: answered by [`done`].
    RenameFeed(FeedNumber, Title),
    /// Marks the articles of a stream as read: answered by [`done`].
    MarkRead {
        /// Stream whose articles are marked.
        stream: Stream,
        /// Marks only articles up to this number.
        up_to: ArticleNumber,
    },
    /// `items`, and `items/updated`: answered by [`items()`].
    Items(Selection),
    /// Marks articles as read, unread, starred or not starred: answered by [`done`].
    Mark(Marking),
    /// Sets or removes the star of articles by their names: answered by [`done`].
    Star {
        /// Articles to change.
        items: Vec<ItemName>,
        /// New starred state.
        is_starred: bool,
    },
}

/// Name of an article: the one of its feed, or its [`guid_hash`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemName {
    /// Feed of the article.
    pub feed: FeedNumber,
    /// Candidate names: both spellings if it is unknown whether the name was encoded.
    pub names: Vec<String>,
}
