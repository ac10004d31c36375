//! Lists of articles.

use std::fmt;
use std::sync::Arc;

use feedsync_log::Millis;

use feedsync_reader_api::{ArticleNumber, FeedNumber};
use feedsync_reading_state::ArticleId;

/// Maximum number of articles in one list, even if more are requested.
pub const MAX_LISTED: usize = 1_000_000;

/// Maximum number of articles that are returned with their texts, or by their identifiers, at once.
pub const MAX_LOADED: usize = 1_000;

/// Maximum length of a search query, in bytes.
pub const MAX_QUERY_BYTES: usize = 1_024;

/// An entry of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListEntry {
    /// Number of the article.
    pub number: ArticleNumber,
    /// Feed of the article.
    pub feed: FeedNumber,
    /// Date of publication when the article was first seen, or else the time of arrival.
    pub published: Millis,
    /// Sort date: a date in the future is replaced by the time of arrival.
    pub sort_date: Millis,
}

impl ListEntry {
    /// Position in lists.
    pub fn place(&self) -> ListPosition {
        ListPosition { sort_date: self.sort_date, number: self.number }
    }
}

/// An article with its number and its identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedArticle {
    /// Identifier within the feed.
    pub name: ArticleId,
    /// Number, feed and dates.
    pub listed: ListEntry,
}

/// Position of an article in lists. Positions are unique and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListPosition {
    /// Sort date.
    pub sort_date: Millis,
    /// Number of the article.
    pub number: ArticleNumber,
}

/// Filter that decides whether a list includes an article, for example the unread ones. It is called on a
/// separate thread, once for each article in the order of the list, until the list is full. It must not block.
pub type ArticleFilter = Arc<dyn Fn(&ListEntry) -> bool + Send + Sync>;

/// Selection and order of the articles in a list.
#[derive(Clone, Default)]
pub struct Selection {
    /// Feeds of the articles; unknown feeds have none.
    pub feeds: Vec<FeedNumber>,
    /// Whether articles are sorted by number instead of by place.
    pub by_number: bool,
    /// Whether the order is ascending.
    pub oldest_first: bool,
    /// Exclusive start position in the order of the list.
    pub from: Option<ListPosition>,
    /// Exclusive lower bound of the number.
    pub above: Option<ArticleNumber>,
    /// Exclusive upper bound of the number.
    pub below: Option<ArticleNumber>,
    /// Exclusive lower bound of the sort date.
    pub newer_than: Option<Millis>,
    /// Exclusive upper bound of the sort date.
    pub older_than: Option<Millis>,
    /// Maximum number of articles; never more than [`MAX_LISTED`].
    pub most: usize,
    /// Filter, if any.
    pub keep: Option<ArticleFilter>,
}

impl Selection {
    /// Whether an article is within the bounds, disregarding the feeds and the filter.
    pub(crate) fn holds(&self, listed: &ListEntry) -> bool {
        let ListEntry { number, sort_date, .. } = *listed;
        let is_behind = |from: ListPosition| {
            let order = match self.by_number {
                true => number.cmp(&from.number),
                false => listed.place().cmp(&from),
            };
            if self.oldest_first { order.is_gt() } else { order.is_lt() }
        };
        self.above.is_none_or(|above| number > above)
            && self.below.is_none_or(|below| number < below)
            && self.newer_than.is_none_or(|than| sort_date > than)
            && self.older_than.is_none_or(|than| sort_date < than)
            && self.from.is_none_or(is_behind)
    }

    /// Whether the filter accepts an article.
    pub(crate) fn keeps(&self, listed: &ListEntry) -> bool {
        self.keep.as_ref().is_none_or(|keep| keep(listed))
    }
}

impl fmt::Debug for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selection")
            .field("feeds", &self.feeds)
            .field("by_number", &self.by_number)
            .field("oldest_first", &self.oldest_first)
            .field("from", &self.from)
            .field("above", &self.above)
            .field("below", &self.below)
            .field("newer_than", &self.newer_than)
            .field("older_than", &self.older_than)
            .field("most", &self.most)
            .field("keep", &self.keep.is_some())
            .finish()
    }
}
