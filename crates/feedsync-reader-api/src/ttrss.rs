//! The interface of Tiny Tiny RSS, level 14: one address, and an operation in each request.
//!
//! Every response has the status 200 and the number of its request; errors are in the body. Feeds and categories
//! have numbers. Those that are not positive have special meanings: starred articles, fresh articles, feeds
//! without a folder. Tags are labels here, and a label is a feed with a number below [`LABEL_FEED_BASE`]. Articles are
//! never published, scored or annotated.

mod account;
mod feeds;
mod headlines;
mod lists;
mod read;
mod select;
mod tree;

use std::time::Duration;

use feedsync_reading_state::FeedAddress;

use crate::fault::Fault;
use crate::marking::Marking;
use crate::secret::Secret;
use crate::selection::{Selection, Stream};
use crate::shown::{ArticleNumber, FeedNumber, FolderNumber, ShownTag, TagNumber};

pub use account::{
    Refusal, Subscribed, config, done, is_logged_in, level, logged_in, pref, refuse, subscribed,
    updated, version,
};
pub use feeds::feeds;
pub use headlines::{articles, compact_headlines, headlines};
pub use lists::{categories, counters, labels, unread};
pub use read::read;
pub use tree::tree;

/// Level of the interface.
pub const LEVEL: u32 = 14;

/// Maximum number of articles in a list.
pub const MAX_HEADLINES: usize = 200;

/// Maximum number of articles in a list of numbers.
pub const MAX_COMPACT_HEADLINES: usize = 20_000;

/// Upper bound of the feed numbers of labels: a label with the number n has the feed `LABEL_FEED_BASE - n`.
pub const LABEL_FEED_BASE: i64 = -1_025;

/// A request, with its session and its sequence number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Sequence number, which the response repeats.
    pub seq: i64,
    /// Session that a login returned.
    pub session: Option<Secret>,
    /// Parsed request, or the fault that is answered by a [`Refusal`].
    pub request: Result<Request, Fault>,
}

/// A request of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// `login`: answered by [`logged_in`].
    Login {
        /// User name.
        user: String,
        /// Password.
        password: Secret,
    },
    /// `logout`: answered by [`done`].
    Logout,
    /// `isLoggedIn`: answered by [`is_logged_in`].
    IsLoggedIn,
    /// `getApiLevel`: answered by [`level`].
    ApiLevel,
    /// `getVersion`: answered by [`version`].
    Version,
    /// `getUnread`: answered by [`unread`].
    Unread(Stream),
    /// `getCounters`: answered by [`counters`].
    Counters,
    /// `getFeeds`: answered by [`feeds()`].
    Feeds(FeedsRequest),
    /// `getCategories`: answered by [`categories`].
    Categories {
        /// Whether only those with unread articles are listed.
        unread_only: bool,
        /// Whether those without feeds are listed, too.
        include_empty: bool,
    },
    /// `getHeadlines`: answered by [`headlines()`].
    Headlines(Box<HeadlinesRequest>),
    /// `getCompactHeadlines`, an extension: answered by [`compact_headlines`].
    CompactHeadlines(Selection),
    /// `getArticle`: answered by [`articles`].
    Articles(Vec<ArticleNumber>),
    /// `updateArticle`: answered by [`updated`]. The published state has no effect.
    Mark(Marking),
    /// `updateArticle` that inverts a state: answered by [`updated`].
    Toggle {
        /// Articles to change.
        articles: Vec<ArticleNumber>,
        /// State to invert.
        toggled: Toggled,
    },
    /// `getConfig`: answered by [`config`].
    Config,
    /// `getPref`: answered by [`pref`].
    Pref,
    /// `updateFeed`: fetches a feed now. Answered by [`done`].
    UpdateFeed(FeedNumber),
    /// `catchupFeed`: answered by [`done`].
    Catchup {
        /// Stream that is marked as read.
        stream: Stream,
        /// Minimum age of the marked articles.
        older_than: Option<Duration>,
    },
    /// `getLabels`: answered by [`labels`].
    Labels {
        /// Article whose labels are indicated.
        article: Option<ArticleNumber>,
    },
    /// `setArticleLabel`: answered by [`updated`].
    SetLabel {
        /// Articles to change.
        articles: Vec<ArticleNumber>,
        /// Label to add or remove.
        tag: TagNumber,
        /// Whether the label is added or removed.
        is_added: bool,
    },
    /// `subscribeToFeed`: answered by [`subscribed`].
    Subscribe {
        /// Address of the feed.
        address: FeedAddress,
        /// Folder of the feed.
        folder: FolderNumber,
    },
    /// `unsubscribeFeed`: answered by [`done`].
    Unsubscribe(FeedNumber),
    /// `getFeedTree`: answered by [`tree()`].
    Tree {
        /// Whether folders without feeds are included.
        include_empty: bool,
    },
}

/// Requested feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedsRequest {
    /// Category of the feeds.
    pub category: Category,
    /// Whether only those with unread articles are listed.
    pub unread_only: bool,
    /// Number of feeds to skip at the start.
    pub offset: usize,
    /// Maximum number of feeds; all if `None`.
    pub limit: Option<usize>,
}

/// A category of feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// Feeds of a folder; [`FolderNumber::TOP`] has the feeds without a folder.
    Folder(FolderNumber),
    /// Virtual feeds, such as starred articles.
    Special,
    /// Labels.
    Labels,
    /// All feeds.
    Feeds,
    /// All feeds, including virtual ones.
    All,
}

/// Requested articles, and the requested parts of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadlinesRequest {
    /// Feed or category as it was sent.
    pub feed: String,
    /// Whether `feed` is a category.
    pub is_category: bool,
    /// Requested articles.
    pub selection: Selection,
    /// Whether contents are included.
    pub show_content: bool,
    /// Maximum number of characters of the excerpt, if one is requested.
    pub excerpt: Option<usize>,
    /// Whether media are included.
    pub include_attachments: bool,
    /// Whether the feed precedes the articles.
    pub include_header: bool,
}

/// State to invert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toggled {
    /// Read state.
    Read,
    /// Starred state.
    Starred,
}

/// Numbers of unread articles in virtual feeds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unread<'a> {
    /// Unread starred articles.
    pub starred: u64,
    /// Unread articles that arrived recently.
    pub fresh: u64,
    /// Unread articles of each tag.
    pub tags: &'a [(ShownTag, u64)],
}

/// Feed number of a label.
pub(crate) fn label_feed(tag: TagNumber) -> i64 {
    LABEL_FEED_BASE - tag.get()
}
