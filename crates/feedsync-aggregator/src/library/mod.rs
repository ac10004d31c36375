//! Storage for the articles of feeds and for their readers.
//!
//! [`Library`] is the interface: the subscriptions of readers, the times at which feeds are due, and their
//! articles, which can be listed, searched and read. [`SqliteLibrary`] stores all of it in one file, and
//! `PostgresLibrary` in a database that several processes share.
//!
//! Articles are not edited by users. They have no history and no conflicts, and lost ones are fetched again. They
//! are therefore stored beside the store of an endpoint and not in it. Read marks and stars are not stored here,
//! but by [`feedsync_reading_state`]. They are passed in as a filter for [lists](Selection::keep).

mod article;
mod contract;
mod error;
mod feed;
mod icon;
mod limits;
mod listing;
mod poll;
#[cfg(feature = "postgres")]
mod postgres;
mod range;
mod reader_name;
mod retention;
mod sqlite;
mod stored;

pub use article::{
    ArticleText, Enclosure, MAX_ARTICLE_BYTES, MAX_LIST_ENTRIES, MAX_TEXT_BYTES, NewArticle,
    StoredArticle,
};
pub use contract::Library;
pub use error::LibraryError;
pub(crate) use feed::FeedFingerprint;
pub use feed::{DueFeed, FeedHead, MAX_CLAIM, MAX_HOLD, MAX_PAUSE, PollState, StoredFeed};
pub use icon::{Icon, MAX_ICON_BYTES, Origin, StoredIcon};
pub use listing::{
    ArticleFilter, ListEntry, ListPosition, MAX_LISTED, MAX_LOADED, MAX_QUERY_BYTES, NamedArticle,
    Selection,
};
pub use poll::{MAX_DOCUMENT_ARTICLES, MAX_LATENESS, Poll, PollChanges, PolledDocument};
#[cfg(feature = "postgres")]
pub use postgres::PostgresLibrary;
pub use reader_name::{MAX_READER_NAME_BYTES, ReaderName, ReaderNameError};
pub use retention::Retention;
pub use sqlite::SqliteLibrary;
