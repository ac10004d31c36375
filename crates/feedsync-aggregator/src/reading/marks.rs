//! Marks in one feed, by article number.
//!
//! The reading state identifies articles by name, lists by number. Marks up to a date need neither. Each article
//! with marks of its own is looked up once, so that the read state of an article is a table lookup afterwards.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::library::{Library, LibraryError, ListEntry, NamedArticle};
use feedsync_log::{Millis, Stamp, Tick};
use feedsync_reader_api::{ArticleNumber, FeedNumber};
use feedsync_reading_state::{ArticleId, FeedState, Tag};

/// Marks in one feed. A mark up to a date covers the articles whose [sort date](ListEntry::sort_date) is not later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedMarks {
    /// Marks up to a date in ascending order, with the times at which they were made.
    up_tos: Vec<(Millis, Millis)>,
    /// Articles with marks of their own.
    exceptions: HashMap<ArticleNumber, Exception>,
    starred: BTreeSet<ArticleNumber>,
    hidden: BTreeSet<ArticleNumber>,
    tags: BTreeMap<ArticleNumber, BTreeSet<Tag>>,
}

/// An article with marks of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Exception {
    is_read: bool,
    sort_date: Millis,
    /// Time of the last mark.
    changed: Millis,
}

impl FeedMarks {
    /// Looks up the marks in a feed.
    pub(crate) async fn of(
        library: &dyn Library,
        feed: FeedNumber,
        state: &FeedState,
    ) -> Result<Self, LibraryError> {
        let made = |stamp: &Stamp| stamp.tick.millis();
        let up_tos: Vec<_> =
            state.up_tos().iter().map(|up_to| (up_to.at, made(&up_to.stamp))).collect();
        let mut marks = Self { up_tos, ..Self::default() };
        let names: Vec<ArticleId> = state.articles().map(|marked| marked.article.clone()).collect();
        if names.is_empty() {
            return Ok(marks);
        }
        for NamedArticle { name, listed } in library.numbered(feed, &names).await? {
            let number = listed.number;
            let is_hidden = state.is_hidden(&name);
            let is_read = is_hidden || state.is_read(&name, Some(listed.sort_date));
            let changed = state.changed(&name, Some(listed.sort_date)).map(Tick::millis);
            let (sort_date, changed) = (listed.sort_date, changed.unwrap_or_default());
            marks.exceptions.insert(number, Exception { is_read, sort_date, changed });
            if state.is_starred(&name) {
                marks.starred.insert(number);
            }
            if is_hidden {
                marks.hidden.insert(number);
            }
            let tags: BTreeSet<_> = state.tags(&name).cloned().collect();
            if !tags.is_empty() {
                marks.tags.insert(number, tags);
            }
        }
        Ok(marks)
    }

    /// Date up to which all articles are read, except those with marks of their own.
    pub fn up_to(&self) -> Option<Millis> {
        self.up_tos.last().map(|(at, _)| *at)
    }

    /// Whether an article of the feed is read.
    pub fn is_read(&self, listed: &ListEntry) -> bool {
        match self.exceptions.get(&listed.number) {
            Some(exception) => exception.is_read,
            None => self.up_to().is_some_and(|up_to| listed.sort_date <= up_to),
        }
    }

    /// Time of the last mark of an article, but not before its sort date.
    pub fn changed(&self, listed: &ListEntry) -> Millis {
        let marked = match self.exceptions.get(&listed.number) {
            Some(exception) => Some(exception.changed),
            None => {
                let place = self.up_tos.partition_point(|(at, _)| *at < listed.sort_date);
                self.up_tos.get(place).map(|(_, made)| *made)
            }
        };
        marked.unwrap_or_default().max(listed.sort_date)
    }

    /// Number of unread articles, given the number of articles after [`FeedMarks::up_to`].
    pub(crate) fn unread(&self, behind: u64) -> u64 {
        let covered = |at: Millis| self.up_to().is_some_and(|up_to| at <= up_to);
        let of = |is_read, is_covered| {
            let those = self.exceptions.values();
            those.filter(|of| of.is_read == is_read && covered(of.sort_date) == is_covered).count()
                as u64
        };
        (behind + of(false, true)).saturating_sub(of(true, false))
    }

    /// Whether an article is starred.
    pub fn is_starred(&self, number: ArticleNumber) -> bool {
        self.starred.contains(&number)
    }

    /// Whether an article is left out of lists: it is hidden, and neither starred nor tagged.
    pub fn is_left_out(&self, number: ArticleNumber) -> bool {
        self.hidden.contains(&number) && !self.is_starred_or_tagged(number)
    }

    /// Hidden articles.
    pub fn hidden(&self) -> impl Iterator<Item = ArticleNumber> {
        self.hidden.iter().copied()
    }

    /// Whether an article is starred or tagged.
    pub fn is_starred_or_tagged(&self, number: ArticleNumber) -> bool {
        self.is_starred(number) || self.tags.contains_key(&number)
    }

    /// Articles that are starred or tagged.
    pub fn all_starred_or_tagged(&self) -> impl Iterator<Item = ArticleNumber> {
        let tagged = self.tags.keys().filter(|number| !self.starred.contains(number));
        self.starred.iter().chain(tagged).copied()
    }

    /// Starred articles.
    pub fn starred(&self) -> impl Iterator<Item = ArticleNumber> {
        self.starred.iter().copied()
    }

    /// Tags of an article.
    pub fn tags(&self, number: ArticleNumber) -> impl Iterator<Item = &Tag> {
        self.tags.get(&number).into_iter().flatten()
    }

    /// Articles with any tag.
    pub fn all_tagged(&self) -> impl Iterator<Item = ArticleNumber> {
        self.tags.keys().copied()
    }

    /// Articles with a tag.
    pub fn tagged(&self, tag: &Tag) -> impl Iterator<Item = ArticleNumber> {
        let tagged = self.tags.iter().filter(move |(_, tags)| tags.contains(tag));
        tagged.map(|(number, _)| *number)
    }

    /// Tags of the articles of the feed, with repetitions.
    pub fn all_tags(&self) -> impl Iterator<Item = &Tag> {
        self.tags.values().flatten()
    }
}
