//! Structures of the responses to newsreaders.

use feedsync_reader_api::{FeedName, Selection, Span, Stream};

use super::facts::{Fact, Subject};

/// Structure of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Marks of articles do not change the response.
    Plain,
    /// The response is a list of articles.
    List(List),
    /// The response is only the number of articles in a list.
    Count(Filter),
    /// The response has the unread counts of feeds and other streams.
    Counts,
}

/// A list of articles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// Representation of the articles, numbered by the interface. Articles are copied only between lists of
    /// the same kind.
    pub kind: u8,
    /// Filter that selects the articles.
    pub filter: Filter,
    /// Whether the newest articles are first.
    pub is_descending: bool,
    /// Lower bound of the article numbers, if the newsreader uses it to request new articles.
    pub above: Option<i64>,
}

/// Filter of the articles in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Required read state.
    pub is_read: Option<bool>,
    /// Required star state.
    pub is_starred: Option<bool>,
    /// Required feed.
    pub feed: Option<Subject>,
    /// Required folder.
    pub folder: Option<Subject>,
    /// Whether there are other conditions that cannot be evaluated here.
    pub is_narrow: bool,
}

impl Filter {
    /// Filter of a selection.
    pub(super) fn of(selection: &Selection) -> Self {
        let mut filter = Self::default();
        [&selection.stream].into_iter().chain(&selection.include).for_each(|it| filter.add(it));
        for stream in &selection.exclude {
            match stream {
                Stream::Read => filter.is_read = Some(false),
                Stream::Unread => filter.is_read = Some(true),
                Stream::Starred => filter.is_starred = Some(false),
                Stream::Nothing => {}
                _ => filter.is_narrow = true,
            }
        }
        let spans = [selection.received, selection.published, selection.changed];
        filter.is_narrow |= spans.iter().any(|span| *span != Span::default())
            || selection.above.or(selection.below).is_some()
            || selection.search.is_some()
            || selection.from.is_some()
            || selection.skip > 0;
        filter
    }

    /// Filter of a stream.
    pub(super) fn of_stream(stream: &Stream) -> Self {
        let mut filter = Self::default();
        filter.add(stream);
        filter
    }

    fn add(&mut self, stream: &Stream) {
        match stream {
            Stream::All => {}
            Stream::Read => self.is_read = Some(true),
            Stream::Unread => self.is_read = Some(false),
            Stream::Fresh => (self.is_read, self.is_narrow) = (Some(false), true),
            Stream::Starred => self.is_starred = Some(true),
            Stream::Feed(FeedName::Number(feed)) => self.feed = Some(Subject::feed(feed)),
            Stream::Feed(FeedName::Address(feed)) => self.feed = Some(Subject::feed(feed)),
            Stream::Folder(folder) => self.folder = Some(Subject::folder(folder)),
            // The label may also be the name of a tag.
            Stream::Label(label) => {
                (self.folder, self.is_narrow) = (Some(Subject::folder(label)), true);
            }
            _ => self.is_narrow = true,
        }
    }

    /// Whether an article may have the required states, as far as they are known.
    pub(super) fn may_have(&self, is_read: Option<bool>, is_starred: Option<bool>) -> bool {
        let fits = |requested: Option<bool>, known: Option<bool>| match (requested, known) {
            (Some(requested), Some(known)) => requested == known,
            _ => true,
        };
        fits(self.is_read, is_read) && fits(self.is_starred, is_starred)
    }

    /// Whether an article is certainly in the list. `filed` says whether a feed is in a folder.
    pub(super) fn has(&self, fact: &Fact, filed: impl Fn(Subject, Subject) -> bool) -> bool {
        let is = |requested: Option<bool>, known| requested.is_none() || requested == known;
        let in_folder = |folder| fact.feed.is_some_and(|feed| filed(feed, folder));
        !self.is_narrow
            && is(self.is_read, fact.is_read)
            && is(self.is_starred, fact.is_starred)
            && (self.feed.is_none() || self.feed == fact.feed)
            && self.folder.is_none_or(in_folder)
    }

    /// Whether marks can add articles to the list.
    pub fn gains(&self) -> bool {
        !self.is_narrow && self.is_read.or(self.is_starred).is_some()
    }
}
