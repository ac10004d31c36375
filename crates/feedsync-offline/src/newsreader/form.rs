//! What an answer is made of.

use feedsync_newsreader::{FeedName, Selection, Span, Stream};

use super::known::{Fact, Subject};

/// What an answer is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Nothing that a change of an article changes.
    Plain,
    /// Articles.
    List(List),
    /// How many articles of such a list there are, alone.
    Count(Filter),
    /// How many are unread, of feeds and what else there is.
    Counts,
}

/// Articles in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// What of each is told, as its interface numbers that; only those of one kind are exchanged.
    pub kind: u8,
    /// Which.
    pub filter: Filter,
    /// Whether the newest come first.
    pub is_descending: bool,
    /// Only those with a higher number, if it is so that newsreaders ask for what is new.
    pub above: Option<i64>,
}

/// Which articles are in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Those that were read, or were not.
    pub is_read: Option<bool>,
    /// Those that are starred, or are not.
    pub is_starred: Option<bool>,
    /// Those of this feed.
    pub feed: Option<Subject>,
    /// Those of this folder.
    pub folder: Option<Subject>,
    /// Whether there are other conditions, too, of which nobody here can say who meets them.
    pub is_narrow: bool,
}

impl Filter {
    /// What a selection asks for.
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

    /// What a stream has.
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
            // It may be the name of a tag, too.
            Stream::Label(label) => {
                (self.folder, self.is_narrow) = (Some(Subject::folder(label)), true);
            }
            _ => self.is_narrow = true,
        }
    }

    /// Whether an article has the states that are asked for, as far as they are known.
    pub(super) fn may_have(&self, is_read: Option<bool>, is_starred: Option<bool>) -> bool {
        let fits = |asked: Option<bool>, known: Option<bool>| match (asked, known) {
            (Some(asked), Some(known)) => asked == known,
            _ => true,
        };
        fits(self.is_read, is_read) && fits(self.is_starred, is_starred)
    }

    /// Whether an article is certainly in such a list. `filed` says in which folder a feed is.
    pub(super) fn has(&self, fact: &Fact, filed: impl Fn(Subject, Subject) -> bool) -> bool {
        let is = |asked: Option<bool>, known| asked.is_none() || asked == known;
        let in_folder = |folder| fact.feed.is_some_and(|feed| filed(feed, folder));
        !self.is_narrow
            && is(self.is_read, fact.is_read)
            && is(self.is_starred, fact.is_starred)
            && (self.feed.is_none() || self.feed == fact.feed)
            && self.folder.is_none_or(in_folder)
    }

    /// Whether being marked takes articles into such a list.
    pub fn gains(&self) -> bool {
        !self.is_narrow && self.is_read.or(self.is_starred).is_some()
    }
}
