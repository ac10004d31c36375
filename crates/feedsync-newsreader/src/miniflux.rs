//! The interface of Miniflux, version 1.
//!
//! Each feed is in one category here. Those in no folder are in the category [`TOP`], which is always there and
//! cannot be dissolved.

mod categories;
mod entries;
mod feeds;
mod other;
mod read;
mod select;

use feedsync_reader::{FeedAddress, SubscriptionList, Title};

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

/// The number of the category of feeds that are in no folder.
pub const TOP: i64 = 1;

/// The most articles that are listed at once.
pub const MOST_ENTRIES: usize = 1_000;

/// How many articles are listed if nobody says how many.
pub const USUAL_COUNT: usize = 100;

/// What is asked.
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
    /// `categories`: answered by [`categories()`], with counts if they are asked for.
    Categories {
        /// Whether they are.
        with_counts: bool,
    },
    /// A new one: answered by [`category`].
    CreateCategory(Label),
    /// Another name for one: answered by [`category`].
    RenameCategory(FolderNumber, Label),
    /// One is dissolved: answered by [`done`].
    DeleteCategory(FolderNumber),
    /// What is in one was read: answered by [`done`].
    MarkCategoryRead(FolderNumber),
    /// The feeds of one: answered by [`feeds()`].
    CategoryFeeds(FolderNumber),
    /// `feeds`: answered by [`feeds()`].
    Feeds,
    /// One of them: answered by [`feed`].
    Feed(FeedNumber),
    /// A new one: answered by [`created`].
    CreateFeed {
        /// Where it is.
        address: FeedAddress,
        /// Where it is filed.
        folder: FolderNumber,
    },
    /// One is filed or called otherwise: answered by [`feed`].
    UpdateFeed {
        /// Which.
        feed: FeedNumber,
        /// What it is called from now on.
        title: Option<Title>,
        /// Where it is filed from now on.
        folder: Option<FolderNumber>,
        /// Where it is from now on.
        address: Option<FeedAddress>,
    },
    /// One is no longer subscribed to: answered by [`done`].
    DeleteFeed(FeedNumber),
    /// What is in one was read: answered by [`done`].
    MarkFeedRead(FeedNumber),
    /// One is to be looked at now, or those of a folder, or all: answered by [`done`].
    Refresh(Refreshed),
    /// `feeds/counters`: answered by [`counters`].
    Counters,
    /// The icon of a feed, whose number is that of the icon: answered by [`icon`].
    Icon(FeedNumber),
    /// Which feeds there are at an address: answered by [`discovered`].
    Discover(FeedAddress),
    /// `entries`, of a feed and category too: answered by [`entries()`].
    Entries(Selection),
    /// One of them: answered by [`entry`].
    Entry(ArticleNumber),
    /// The whole content of one: answered by [`content`].
    Content(ArticleNumber),
    /// Some were read, or not: answered by [`done`].
    Mark(Marking),
    /// One gets a star, or loses the one that it has: answered by [`done`].
    ToggleStar(ArticleNumber),
    /// Everything that a user has was read: answered by [`done`].
    MarkAllRead {
        /// The number of the user.
        user: i64,
    },
    /// `export`: answered by [`export()`].
    Export,
    /// `import`: answered by [`imported`].
    Import(SubscriptionList),
    /// `flush-history`, for which there is nothing to do: answered by [`accepted`].
    FlushHistory,
}

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refreshed {
    /// All feeds.
    All,
    /// Those of a folder.
    Folder(FolderNumber),
    /// One.
    Feed(FeedNumber),
}

/// The folder of the category with this number.
pub(crate) fn folder(category: i64) -> FolderNumber {
    if category == TOP { FolderNumber::TOP } else { FolderNumber::new(category) }
}
