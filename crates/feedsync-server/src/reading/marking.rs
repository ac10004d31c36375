//! Changes of read marks, stars and tags of articles.

use feedsync_aggregator::{FeedView, ListEntry};
use feedsync_log::Millis;
use feedsync_reader_api::{
    ArticleNumber, Continuation, FolderNumber, Marking, Selection, Span, Stream,
};
use feedsync_reading_state::Folder;

use super::{Reading, Refusal};

/// Maximum number of articles of which marking as read can be undone. Each takes a record in the log then.
const MAX_UNDOABLE: usize = 100_000;

/// Maximum number of articles that are marked one by one, where a mark for a whole feed is not possible.
pub(crate) const MAX_MARKED: usize = 10_000;

/// A part of a list, in its order.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// Entries up to a position, inclusive.
    Before(Continuation),
    /// Entries from a position on, inclusive.
    Behind(Continuation),
}

impl Reading {
    /// Applies one or several marks to articles.
    pub(crate) async fn mark(&self, marking: &Marking) -> Result<(), Refusal> {
        let articles = &marking.articles;
        if let Some(is_read) = marking.read {
            self.person.mark(articles, is_read).await?;
        }
        if let Some(is_starred) = marking.starred {
            self.person.star(articles, is_starred).await?;
        }
        for tag in &marking.tag {
            self.person.tag(articles, tag, true).await?;
        }
        for tag in &marking.untag {
            self.person.tag(articles, tag, false).await?;
        }
        Ok(())
    }

    /// Marks all articles of a stream before a moment as read. Feeds take one record each.
    pub(crate) async fn mark_all(
        &self,
        stream: &Stream,
        up_to: Option<Millis>,
    ) -> Result<(), Refusal> {
        if let Some(feeds) = self.feeds_of(stream) {
            self.person.mark_all(&feeds, up_to).await?;
            return Ok(());
        }
        let mut unread = Selection::newest(stream.clone(), MAX_MARKED);
        unread.include.push(Stream::Unread);
        unread.published.to = up_to;
        let listed = self.select(&unread).await?.listed;
        self.mark_each(&listed).await
    }

    /// Marks a part of a list as read, up to the arrival time of an article, so that this can be undone, and returns the id of
    /// the action. Articles that the user was not shown stay unchanged. Feeds take one record each, where that is possible.
    pub(crate) async fn mark_part(
        &self,
        asked: &Selection,
        part: Part,
        last: ArticleNumber,
    ) -> Result<Option<u64>, Refusal> {
        let mut unread = Selection { from: None, skip: 0, count: MAX_MARKED, ..asked.clone() };
        unread.include.push(Stream::Unread);
        unread.below = Some(ArticleNumber::new(last.get().saturating_add(1)));
        match part {
            Part::Whole => unread.descending = true,
            Part::Before(place) => {
                unread.descending = !asked.descending;
                unread.from = Some(place);
            }
            Part::Behind(place) => unread.from = Some(place),
        }
        let listed = self.select(&unread).await?.listed;
        // The article at the position is part of the list, but not of the selection.
        let own = unread.from.map(|place| place.article);
        let with_own = |listed: &[ListEntry]| {
            listed.iter().map(|listed| listed.number).chain(own).collect::<Vec<_>>()
        };
        let each = async || -> Result<Option<u64>, Refusal> {
            Ok(self.person.mark_undoably(&with_own(&listed), None).await?)
        };
        let (Some(first), Some(feeds)) = (listed.first(), self.feeds_of(&asked.stream)) else {
            return each().await;
        };
        let is_of_feeds = unread.descending && asked.search.is_none();
        // A mark up to a date covers all older articles, also those outside the part.
        let up_to = Span { from: None, to: Some(first.sort_date) };
        let since =
            Selection { from: None, above: Some(last), below: None, count: 1, ..unread.clone() };
        let beside = Selection { descending: false, count: 1, ..unread.clone() };
        let is_swallowed = async |other: Selection| -> Result<bool, Refusal> {
            let other = Selection { published: up_to, ..other };
            Ok(!self.select(&other).await?.listed.is_empty())
        };
        if !is_of_feeds
            || is_swallowed(since).await?
            || (unread.from.is_some() && is_swallowed(beside).await?)
        {
            return each().await;
        }
        let all = Selection {
            from: None,
            below: None,
            count: MAX_UNDOABLE + 1,
            published: up_to,
            ..unread.clone()
        };
        let covered = self.select(&all).await?.listed;
        if covered.len() > MAX_UNDOABLE {
            self.person.mark_all(&feeds, Some(first.sort_date)).await?;
            return Ok(None);
        }
        let covered = with_own(&covered);
        Ok(self.person.mark_undoably(&covered, Some((&feeds, first.sort_date))).await?)
    }

    pub(crate) async fn mark_each(&self, listed: &[ListEntry]) -> Result<(), Refusal> {
        let numbers: Vec<_> = listed.iter().map(|listed| listed.number).collect();
        self.person.mark(&numbers, true).await?;
        Ok(())
    }

    /// Feeds of a stream; `None` if it consists of something else.
    pub(crate) fn feeds_of(&self, stream: &Stream) -> Option<Vec<&FeedView>> {
        const TOP: &Folder = &Folder::TOP;
        let folder = match stream {
            Stream::All => return Some(self.subscription_view.feeds().iter().collect()),
            Stream::Feed(name) => return Some(self.feed(name).into_iter().collect()),
            Stream::Folder(FolderNumber::TOP) => TOP,
            Stream::Folder(number) => self.folders.find_by_number(*number)?,
            Stream::Label(label) => self.folders.find_by_name(label)?,
            _ => return None,
        };
        let feeds = self.subscription_view.feeds().iter();
        Some(feeds.filter(|feed| feed.subscription.folder == *folder).collect())
    }
}
