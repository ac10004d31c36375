//! Lists of articles.

use std::fmt;
use std::sync::Arc;

use feedsync_log::Millis;

use feedsync_newsreader::{ArticleNumber, FeedNumber};
use feedsync_reader::ArticleId;

/// The most articles that one list holds, however many are asked for.
pub const MOST_LISTED: usize = 1_000_000;

/// The most articles that are given with their texts, or by their names, at once.
pub const MOST_SHOWN: usize = 1_000;

/// The most bytes of the words that are searched for.
pub const MOST_WORDS: usize = 1_024;

/// What a list tells of an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Listed {
    /// Its number.
    pub number: ArticleNumber,
    /// Its feed.
    pub feed: FeedNumber,
    /// When it was published by its own account at first, else when it arrived.
    pub published: Millis,
    /// Where it stands in time: a date in the future counts as the arrival.
    pub shown: Millis,
}

impl Listed {
    /// Where it stands in lists.
    pub fn place(&self) -> Place {
        Place { shown: self.shown, number: self.number }
    }
}

/// An article by both of its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedArticle {
    /// Which article of its feed it is.
    pub name: ArticleId,
    /// Its number, and what a list tells of it.
    pub listed: Listed,
}

/// Where an article stands in lists. No two have the same place, and none ever changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// When it is shown to be of.
    pub shown: Millis,
    /// Its number.
    pub number: ArticleNumber,
}

/// Decides on an article whether a list keeps it: what is unread, say. It is asked on a thread of its own, once
/// for each article in the order of the list until there are enough, and must not wait for anything.
pub type Keep = Arc<dyn Fn(&Listed) -> bool + Send + Sync>;

/// Which articles to list.
#[derive(Clone, Default)]
pub struct Selection {
    /// Those of these feeds; of feeds that are not here there are none.
    pub feeds: Vec<FeedNumber>,
    /// In the order of their numbers, else of their places.
    pub by_number: bool,
    /// The first of that order first, else the last.
    pub oldest_first: bool,
    /// Only what comes behind this place in that order.
    pub from: Option<Place>,
    /// Only those with a higher number.
    pub above: Option<ArticleNumber>,
    /// Only those with a lower number.
    pub below: Option<ArticleNumber>,
    /// Only what is shown to be of later than this.
    pub newer_than: Option<Millis>,
    /// Only what is shown to be of earlier than this.
    pub older_than: Option<Millis>,
    /// No more than so many, and never more than [`MOST_LISTED`].
    pub most: usize,
    /// Only those on which this decides so.
    pub keep: Option<Keep>,
}

impl Selection {
    /// Whether an article is within its bounds; its feeds aside, and what it keeps.
    pub(crate) fn holds(&self, listed: &Listed) -> bool {
        let Listed { number, shown, .. } = *listed;
        let is_behind = |from: Place| {
            let order = match self.by_number {
                true => number.cmp(&from.number),
                false => listed.place().cmp(&from),
            };
            if self.oldest_first { order.is_gt() } else { order.is_lt() }
        };
        self.above.is_none_or(|above| number > above)
            && self.below.is_none_or(|below| number < below)
            && self.newer_than.is_none_or(|than| shown > than)
            && self.older_than.is_none_or(|than| shown < than)
            && self.from.is_none_or(is_behind)
    }

    /// Whether it keeps an article.
    pub(crate) fn keeps(&self, listed: &Listed) -> bool {
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
