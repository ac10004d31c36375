//! Storage for the articles of feeds and for their readers.
//!
//! [`Library`] is the interface: the subscriptions of readers, the times at which feeds are due, and their
//! articles, which can be listed, searched and read. [`SqliteLibrary`] stores all of it in one file.
//!
//! Articles are not edited by users. They have no history and no conflicts, and lost ones are fetched again. They
//! are therefore stored beside the store of an endpoint and not in it. Read marks and stars are not stored here,
//! but by [`feedsync_reading_state`]. They are passed in as a filter for [lists](Selection::keep).

mod article;
mod contract;
mod error;
mod feed;
mod icon;
mod listing;
mod poll;
mod reader_name;
mod retention;
mod sqlite;

pub use article::{
    ArticleText, Enclosure, KeptArticle, MOST_ARTICLE, MOST_LIST, MOST_TEXT, NewArticle,
};
pub use contract::Library;
pub use error::LibraryError;
pub use feed::{DueFeed, FeedHead, KeptFeed, MAX_CLAIM, MAX_HOLD, MAX_PAUSE, PollState};
pub use icon::{Icon, KeptIcon, MOST_ICON, Origin};
pub use listing::{
    Keep, Listed, MOST_LISTED, MOST_SHOWN, MOST_WORDS, NamedArticle, Place, Selection,
};
pub use poll::{LATE_AT_MOST, MOST_ARTICLES, Poll, PolledDocument, Settled};
pub use reader_name::{MOST_READER_NAME, ReaderName, ReaderNameError};
pub use retention::Retention;
pub use sqlite::SqliteLibrary;
