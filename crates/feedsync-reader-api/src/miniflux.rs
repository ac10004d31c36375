//! The interface of Miniflux, version 1.
//!
//! Each feed is in one category. Feeds without a folder are in the category [`TOP`], which always exists and
//! cannot be deleted.

mod categories;
mod entries;
mod feeds;
mod other;
mod read;
mod select;

use feedsync_reading_state::{FeedAddress, SubscriptionList, Title};

use crate::marking::Marking;
use crate::selection::Selection;
use crate::shown::{ArticleNumber, FeedNumber, FolderNumber, Label};

pub use categories::{categories, category};
pub use entries::{content, entries, entry};
pub use feeds::{counters, created, discovered, feed, feeds, icon};
pub use other::{
    User, accepted, done, export, health, imported, integrations, refuse, unknown, user, version,
};
pub use read::read;

/// Category of the feeds without a folder.
pub const TOP: i64 = 1;

/// Maximum number of articles in one list.
pub const MAX_ENTRIES: usize = 1_000;

/// Default number of articles in one list.
pub const DEFAULT_COUNT: usize = 100;

/// A request of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// `me`: answered by [`user()`].
    Me,
    /// `version`: answered by [`version`].
    Version,
    /// `healthcheck`, beside the interface: answered by [`health`].
    Health,
    /// `integrations/status`: answered by [`integrations`].
    Integrations,
    /// `categories`: answered by [`categories()`], optionally with counts.
    Categories {
        /// Whether counts are requested.
        with_counts: bool,
    },
    /// Creates a category: answered by [`category`].
    CreateCategory(Label),
    /// Renames a category: answered by [`category`].
    RenameCategory(FolderNumber, Label),
    /// Deletes a category: answered by [`done`].
    DeleteCategory(FolderNumber),
    /// Marks the articles of a category as read: answered by [`done`].
    MarkCategoryRead(FolderNumber),
    /// Feeds of a category: answered by [`feeds()`].
    CategoryFeeds(FolderNumber),
    /// `feeds`: answered by [`feeds()`].
    Feeds,
    /// One feed: answered by [`feed`].
    Feed(FeedNumber),
    /// Subscribes to a feed: answered by [`created`].
    CreateFeed {
        /// Address of the feed.
        address: FeedAddress,
        /// Folder of the feed.
        folder: FolderNumber,
    },
    /// Changes the folder, the title or the address of a feed: answered by [`feed`].
    UpdateFeed {
        /// Feed to change.
        feed: FeedNumber,
        /// New title.
        title: Option<Title>,
        /// New folder.
        folder: Option<FolderNumber>,
        /// New address.
        address: Option<FeedAddress>,
    },
    /// Unsubscribes from a feed: answered by [`done`].
    DeleteFeed(FeedNumber),
    /// Marks the articles of a feed as read: answered by [`done`].
    MarkFeedRead(FeedNumber),
    /// Fetches a feed, those of a folder, or all now: answered by [`done`].
    Refresh(RefreshTarget),
    /// `feeds/counters`: answered by [`counters`].
    Counters,
    /// Icon of a feed, which has the number of the feed: answered by [`icon`].
    Icon(FeedNumber),
    /// Feeds at an address: answered by [`discovered`].
    Discover(FeedAddress),
    /// `entries`, also of a feed or category: answered by [`entries()`].
    Entries(Selection),
    /// One article: answered by [`entry`].
    Entry(ArticleNumber),
    /// Full content of an article: answered by [`content`].
    Content(ArticleNumber),
    /// Marks articles as read or unread: answered by [`done`].
    Mark(Marking),
    /// Toggles the star of an article: answered by [`done`].
    ToggleStar(ArticleNumber),
    /// Marks all articles of a user as read: answered by [`done`].
    MarkAllRead {
        /// Number of the user.
        user: i64,
    },
    /// `export`: answered by [`export()`].
    Export,
    /// `import`: answered by [`imported`].
    Import(SubscriptionList),
    /// `flush-history`, which has no effect: answered by [`accepted`].
    FlushHistory,
}

/// Feeds to fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshTarget {
    /// All feeds.
    All,
    /// Feeds of a folder.
    Folder(FolderNumber),
    /// One feed.
    Feed(FeedNumber),
}

/// Folder of a category.
pub(crate) fn folder(category: i64) -> FolderNumber {
    if category == TOP { FolderNumber::TOP } else { FolderNumber::new(category) }
}
