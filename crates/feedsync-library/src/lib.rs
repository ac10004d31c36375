//! What feeds say, kept for those who read them.
//!
//! [`Library`] is the contract: who reads which feeds, when each of them is to be asked again, and the articles
//! that they told, to be listed, searched and shown. [`SqliteLibrary`] keeps all of it in one file.
//!
//! Articles are nobody's edits. They have no history and no conflicts, and what is lost of them is fetched again;
//! so they stand beside the store of an endpoint and not in it. What somebody has read or starred does not
//! stand here either: that is [`feedsync_reader`]'s, and comes in as a decision on what is
//! [listed](Selection::keep).

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
