//! What becomes of the marks of articles.

use feedsync_log::Millis;
use feedsync_newsreader::{FolderNumber, Marking, Selection, Stream};
use feedsync_reader::Folder;
use feedsync_reading::ShelvedFeed;

use super::{Reading, Refusal};

/// So many articles at most are marked one by one, where it cannot be said of all that stands in a feed.
pub(super) const MOST_MARKED: usize = 10_000;

impl Reading {
    /// Marks articles in one way or several.
    pub(super) async fn mark(&self, marking: &Marking) -> Result<(), Refusal> {
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

    /// Marks all of a stream as read, as far as it stands before a moment. Of feeds it is one record each.
    pub(super) async fn mark_all(
        &self,
        stream: &Stream,
        up_to: Option<Millis>,
    ) -> Result<(), Refusal> {
        if let Some(feeds) = self.feeds_of(stream) {
            self.person.mark_all(&feeds, up_to).await?;
            return Ok(());
        }
        let mut unread = Selection::newest(stream.clone(), MOST_MARKED);
        unread.include.push(Stream::Unread);
        unread.published.to = up_to;
        let listed = self.select(&unread).await?.listed;
        let numbers: Vec<_> = listed.iter().map(|listed| listed.number).collect();
        self.person.mark(&numbers, true).await?;
        Ok(())
    }

    /// The feeds that a stream is made of; `None` if it is made of something else.
    pub(super) fn feeds_of(&self, stream: &Stream) -> Option<Vec<&ShelvedFeed>> {
        const TOP: &Folder = &Folder::TOP;
        let folder = match stream {
            Stream::All => return Some(self.shelf.feeds().iter().collect()),
            Stream::Feed(name) => return Some(self.feed(name).into_iter().collect()),
            Stream::Folder(FolderNumber::TOP) => TOP,
            Stream::Folder(number) => self.folders.numbered_as(*number)?,
            Stream::Label(label) => self.folders.called(label)?,
            _ => return None,
        };
        let feeds = self.shelf.feeds().iter();
        Some(feeds.filter(|feed| feed.subscription.folder == *folder).collect())
    }
}
