//! Selections of articles.

use feedsync_log::Millis;
use feedsync_reading_state::Tag;

use crate::continuation::Continuation;
use crate::shown::{ArticleNumber, FeedName, FolderNumber, Label, TagNumber};

/// Maximum number of streams or labels in one parameter.
pub const MAX_STREAMS: usize = 100;

/// A set of articles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stream {
    /// Articles of all subscribed feeds.
    All,
    /// Articles of one feed.
    Feed(FeedName),
    /// Articles of the feeds directly in a folder; [`FolderNumber::TOP`] has the feeds without a folder.
    Folder(FolderNumber),
    /// Articles of the feeds in a folder with this name, or articles with a tag of this name.
    Label(Label),
    /// Articles with this tag.
    Tag(Tag),
    /// Articles with the tag of this number.
    NumberedTag(TagNumber),
    /// Read articles.
    Read,
    /// Unread articles.
    Unread,
    /// Starred articles.
    Starred,
    /// Articles with any tag.
    Tagged,
    /// Unread articles that arrived recently.
    Fresh,
    /// No articles, for states that this server does not support, such as shared ones.
    Nothing,
}

/// Sort order of articles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// Time of arrival, then number. The order of [`Continuation`].
    #[default]
    Received,
    /// Date of publication.
    Published,
    /// Time of the last change of the article or of its marks.
    Changed,
    /// Article number.
    Number,
    /// Read state.
    Status,
    /// Title of the article.
    Title,
    /// Author of the article.
    Author,
    /// Name of the folder of the feed.
    FolderName,
    /// Number of the folder of the feed.
    Folder,
    /// Title of the feed.
    FeedTitle,
}

/// An inclusive span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// Start of the span.
    pub from: Option<Millis>,
    /// End of the span.
    pub to: Option<Millis>,
}

/// A selection of articles with order and limit. Fields that are `None` or empty do not restrict it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Stream that contains the articles.
    pub stream: Stream,
    /// Streams that must contain the articles, too.
    pub include: Vec<Stream>,
    /// Streams that must not contain the articles.
    pub exclude: Vec<Stream>,
    /// Time of arrival.
    pub received: Span,
    /// Date of publication.
    pub published: Span,
    /// Time of the last change of the article or of its marks.
    pub changed: Span,
    /// Exclusive lower bound of the article number.
    pub above: Option<ArticleNumber>,
    /// Exclusive upper bound of the article number.
    pub below: Option<ArticleNumber>,
    /// Words that the articles must contain.
    pub search: Option<String>,
    /// Sort order.
    pub order: Order,
    /// Whether the order is reversed.
    pub descending: bool,
    /// Number of articles to skip at the start.
    pub skip: usize,
    /// Maximum number of articles.
    pub count: usize,
    /// Cursor after which the page starts.
    pub from: Option<Continuation>,
}

impl Selection {
    /// Selects the newest articles of a stream.
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
