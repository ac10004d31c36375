//! Which articles somebody asks for.

use feedsync_log::Millis;
use feedsync_reader::Tag;

use crate::continuation::Continuation;
use crate::shown::{ArticleNumber, FeedName, FolderNumber, Label, TagNumber};

/// The most streams or labels that a request names under one name.
pub const MOST_STREAMS: usize = 100;

/// Articles that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stream {
    /// Those of all feeds that are subscribed to.
    All,
    /// Those of one feed.
    Feed(FeedName),
    /// Those of the feeds right in a folder; of [`FolderNumber::TOP`], those that are in none.
    Folder(FolderNumber),
    /// Those of the feeds of a folder that is called so, or those that are tagged so.
    Label(Label),
    /// Those that are tagged so.
    Tag(Tag),
    /// Those that have the tag with this number.
    NumberedTag(TagNumber),
    /// Those that were read.
    Read,
    /// Those that were not.
    Unread,
    /// Those that are starred.
    Starred,
    /// Those that have any tag.
    Tagged,
    /// Those that came a short while ago and were not read.
    Fresh,
    /// None: what nobody here can make a mark of, such as what is shared.
    Nothing,
}

/// By what articles are ordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// By when they came here, then by number. The order of [`Continuation`].
    #[default]
    Received,
    /// By the date that their feeds give them.
    Published,
    /// By when somebody last read, starred or tagged them, or they changed.
    Changed,
    /// By number.
    Number,
    /// By whether they were read.
    Status,
    /// By title.
    Title,
    /// By author.
    Author,
    /// By what the folder is called that their feed is in.
    FolderName,
    /// By the number of that folder.
    Folder,
    /// By the title of the feed.
    FeedTitle,
}

/// A span of time. Both ends belong to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// Where it begins.
    pub from: Option<Millis>,
    /// Where it ends.
    pub to: Option<Millis>,
}

/// Which articles somebody asks for, in which order, and how many. What is not said bounds nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Of these.
    pub stream: Stream,
    /// Those that are in all of these, too.
    pub include: Vec<Stream>,
    /// And in none of these.
    pub exclude: Vec<Stream>,
    /// When they came here.
    pub received: Span,
    /// When they were published.
    pub published: Span,
    /// When they last changed, or what is said of them.
    pub changed: Span,
    /// Those with a higher number than this.
    pub above: Option<ArticleNumber>,
    /// Those with a lower number than this.
    pub below: Option<ArticleNumber>,
    /// Those in which these words are.
    pub search: Option<String>,
    /// By what they are ordered.
    pub order: Order,
    /// Whether what is first in that order comes last.
    pub descending: bool,
    /// How many of them are left out at the beginning.
    pub skip: usize,
    /// At most so many.
    pub count: usize,
    /// Those behind this place.
    pub from: Option<Continuation>,
}

impl Selection {
    /// The newest articles of a stream, at most so many.
    pub fn newest(stream: Stream, count: usize) -> Self {
        Self {
            stream,
            include: Vec::new(),
            exclude: Vec::new(),
            received: Span::default(),
            published: Span::default(),
            changed: Span::default(),
            above: None,
            below: None,
            search: None,
            order: Order::default(),
            descending: true,
            skip: 0,
            count,
            from: None,
        }
    }
}
