//! The interface of Tiny Tiny RSS, level 14: one address, and an operation in each request.
//!
//! Every answer has the status 200 and the number that the request had; what went wrong is said in it. Feeds and
//! categories have numbers, of which those that are not positive mean something else: what is starred, what is new,
//! the feeds in no folder. Tags are labels here, and a label is a feed with a number below [`NOT_LABELS`].
//! Nothing is published, scored or annotated.

mod account;
mod feeds;
mod headlines;
mod lists;
mod read;
mod select;
mod tree;

use std::time::Duration;

use feedsync_reader::FeedAddress;

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

/// The level of the interface.
pub const LEVEL: u32 = 14;

/// The most articles that are listed at once.
pub const MOST_HEADLINES: usize = 200;

/// The most articles that are listed by their numbers alone.
pub const MOST_COMPACT: usize = 20_000;

/// The feed of a label has a number that is as much below this as the label's own is above zero.
pub const NOT_LABELS: i64 = -1_025;

/// A request, who says to have made it, and by which number it is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The number.
    pub seq: i64,
    /// What the newsreader was given when somebody logged in.
    pub session: Option<Secret>,
    /// What is asked, or why that is answered by a [`Refusal`].
    pub request: Result<Request, Fault>,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// `login`: answered by [`logged_in`].
    Login {
        /// The name.
        user: String,
        /// What proves it.
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
    Feeds(FeedsAsked),
    /// `getCategories`: answered by [`categories`].
    Categories {
        /// Whether only those with unread articles are listed.
        unread_only: bool,
        /// Whether those without feeds are listed, too.
        include_empty: bool,
    },
    /// `getHeadlines`: answered by [`headlines()`].
    Headlines(Box<HeadlinesAsked>),
    /// `getCompactHeadlines`, an extension: answered by [`compact_headlines`].
    CompactHeadlines(Selection),
    /// `getArticle`: answered by [`articles`].
    Articles(Vec<ArticleNumber>),
    /// `updateArticle`: answered by [`updated`]. What is published or not marks nothing.
    Mark(Marking),
    /// The same, and each becomes the opposite of what it is: answered by [`updated`].
    Toggle {
        /// Which.
        articles: Vec<ArticleNumber>,
        /// What of them.
        toggled: Toggled,
    },
    /// `getConfig`: answered by [`config`].
    Config,
    /// `getPref`: answered by [`pref`].
    Pref,
    /// `updateFeed`: one is to be looked at now. Answered by [`done`].
    UpdateFeed(FeedNumber),
    /// `catchupFeed`: answered by [`done`].
    Catchup {
        /// What was read.
        stream: Stream,
        /// Only articles that are older than this.
        older_than: Option<Duration>,
    },
    /// `getLabels`: answered by [`labels`].
    Labels {
        /// The article of which it is said whether it has each.
        article: Option<ArticleNumber>,
    },
    /// `setArticleLabel`: answered by [`updated`].
    SetLabel {
        /// Which articles.
        articles: Vec<ArticleNumber>,
        /// The label.
        tag: TagNumber,
        /// Whether they get it, or lose it.
        is_added: bool,
    },
    /// `subscribeToFeed`: answered by [`subscribed`].
    Subscribe {
        /// Where it is.
        address: FeedAddress,
        /// Where it is filed.
        folder: FolderNumber,
    },
    /// `unsubscribeFeed`: answered by [`done`].
    Unsubscribe(FeedNumber),
    /// `getFeedTree`: answered by [`tree()`].
    Tree {
        /// Whether folders without feeds are in it.
        include_empty: bool,
    },
}

/// Which feeds are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedsAsked {
    /// Those of this category.
    pub category: Category,
    /// Whether only those with unread articles are listed.
    pub unread_only: bool,
    /// How many are left out at the beginning.
    pub offset: usize,
    /// At most so many; all, if nothing is said.
    pub limit: Option<usize>,
}

/// A category of feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// The feeds of a folder; of [`FolderNumber::TOP`], those in none.
    Folder(FolderNumber),
    /// What is no feed, but listed as one: starred articles and the like.
    Special,
    /// Labels.
    Labels,
    /// All feeds.
    Feeds,
    /// All feeds, and what is listed as one.
    All,
}

/// Which articles are asked for, and what of them is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadlinesAsked {
    /// The feed or category as it was given.
    pub feed: String,
    /// Whether that is a category.
    pub is_category: bool,
    /// Which articles.
    pub selection: Selection,
    /// Whether what they say is told.
    pub show_content: bool,
    /// How many characters of its beginning are.
    pub excerpt: Option<usize>,
    /// Whether their media are.
    pub include_attachments: bool,
    /// Whether the feed stands before them.
    pub include_header: bool,
}

/// What becomes the opposite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toggled {
    /// Whether it was read.
    Read,
    /// Whether it is starred.
    Starred,
}

/// How many unread articles there are in what is no feed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unread<'a> {
    /// Of those that are starred.
    pub starred: u64,
    /// Of those that came a short while ago.
    pub fresh: u64,
    /// Of those that are tagged so.
    pub tags: &'a [(ShownTag, u64)],
}

/// The number of a label's feed.
pub(crate) fn label_feed(tag: TagNumber) -> i64 {
    NOT_LABELS - tag.get()
}
